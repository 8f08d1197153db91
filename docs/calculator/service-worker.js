/* Keeps the calculator for the next visit and for places without a network.

   Its reach is its own folder: the calculator's page, that page's worker, and what the two load.
   The rules:
   - a file whose name changes with its content comes from the cache, where it is there; before
     that from the browser's own one, since Chromium keeps the machine code that it made of a file
     only with what it fetched itself;
   - everything else comes from the network, and from the cache only where there is no network, so
     that nobody online ever sees a page or a list of files that is out of date;
   - the cache holds exactly what the last complete visit used. The page lists it; what an older
     release left is removed, so Pyodide's 14 MB are there once. */
"use strict";

const PREFIX = "trainfit-calculator ";
const FORMAT = 1; // of this cache; another number makes a new one and removes the old
const CACHE_NAME = `${PREFIX}${FORMAT} ${self.registration.scope}`;
const SITE = new URL("../", self.registration.scope).href;

// Names that carry a hash, and Pyodide's files below their release.
const NAMED_BY_CONTENT =
  /[.-][0-9a-f]{8,}\.(?:min\.)?[a-z]+$|\/assets\/pyodide\/[0-9][0-9.]*\/[^/]+$/;

const isOurs = (url) => url.href.startsWith(SITE);
const isNamedByContent = (url) => NAMED_BY_CONTENT.test(url.pathname);

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) {
        const isFormer =
          name.startsWith(PREFIX) && name.endsWith(` ${self.registration.scope}`);
        if (isFormer && name !== CACHE_NAME) await caches.delete(name);
      }
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !isOurs(url)) return;
  event.respondWith(isNamedByContent(url) ? fromCache(request) : fromNetwork(request));
});

async function fromCache({ url }) {
  try {
    const own = await fetch(url, { cache: "only-if-cached", mode: "same-origin" });
    if (own.ok) return own;
  } catch {
    // It is not there any more.
  }
  return (await (await caches.open(CACHE_NAME)).match(url)) ?? fetch(url);
}

async function fromNetwork(request) {
  try {
    // A page's request cannot be given another cache mode; hosts let pages be asked for anew.
    return await (request.mode === "navigate"
      ? fetch(request)
      : fetch(request, { cache: "no-cache" }));
  } catch (error) {
    const kept = await (await caches.open(CACHE_NAME)).match(request.url, { ignoreSearch: true });
    if (kept === undefined) throw error;
    return kept;
  }
}

self.addEventListener("message", (event) => {
  if (event.data?.type !== "keep" || !Array.isArray(event.data.urls)) return;
  event.waitUntil(keep(event.data.urls, event.source));
});

/** Makes the cache hold these addresses and no others; without a network it stays as it is. */
async function keep(urls, client) {
  const cache = await caches.open(CACHE_NAME);
  const wanted = new Set(urls.map((url) => new URL(url)).filter(isOurs).map((url) => url.href));
  const held = new Set((await cache.keys()).map((request) => request.url));
  const missing = [...wanted].filter((url) => !held.has(url) || !isNamedByContent(new URL(url)));
  const responses = await Promise.all(
    missing.map(async (url) => [url, await fetch(url)]),
  );
  const found = responses.filter(([, response]) => response.ok);
  await Promise.all(found.map(([url, response]) => cache.put(url, response)));
  for (const url of held) if (!wanted.has(url)) await cache.delete(url);
  client?.postMessage({ type: "kept", files: wanted.size });
}
