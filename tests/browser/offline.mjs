// Visits to the calculator with the profile of a folder, and what each left in the browser.

import { openProfile, parameters, report } from "./harness.mjs";
import { WINDOW_MS } from "./speed.mjs";

const TIMEOUT_MS = 60_000;

const context = await openProfile(parameters.profile);
try {
  const results = [];
  for (const each of parameters.visits) results.push(await visit(each));
  report(results);
} finally {
  await context.close();
}

async function visit({ link, query = "", isSettling, isDamaging, isTimed, isForgetful }) {
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  if (isForgetful) await forgetFetched(page);
  if (isTimed) await page.waitForTimeout(WINDOW_MS);
  await page.goto(`${parameters.url}calculator/${query}#${link}`);
  await page.waitForFunction(
    (wanted) => document.getElementById("tf-calculator")?.dataset.shown === wanted,
    link,
    { timeout: TIMEOUT_MS },
  );
  const answeredMs = await page.evaluate(() => performance.now());
  const totalBytes = await page.evaluate(() =>
    Number(document.querySelector("[data-tf=total]").dataset.bytes),
  );
  if (isSettling) await settle(page);
  if (isDamaging) await damage(page);
  const python = await page.evaluate(
    () => document.getElementById("tf-calculator").dataset.python,
  );
  const caches = await held(page);
  await page.close();
  return { totalBytes, answeredMs, python, caches, errors };
}

/** What the browser holds: the addresses in each cache. */
function held(page) {
  return page.evaluate(async () => {
    const found = {};
    for (const name of await caches.keys()) {
      const keys = await (await caches.open(name)).keys();
      found[name] = keys.map((request) => request.url);
    }
    return found;
  });
}

/** Empties the browser's own cache of what it fetched; what scripts have kept stays. */
async function forgetFetched(page) {
  const session = await context.newCDPSession(page);
  await session.send("Network.clearBrowserCache");
  await session.detach();
}

/** Puts nonsense in the place of Python's kept memory. */
function damage(page) {
  return page.evaluate(async () => {
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const request of await cache.keys()) {
        if (!request.url.includes("/memory/")) continue;
        const bytes = new Uint8Array(await (await cache.match(request)).arrayBuffer());
        await cache.put(request, new Response(bytes.fill(7, bytes.length >> 8)));
      }
    }
  });
}

/** Waits until files and memory of this visit are kept. */
async function settle(page) {
  for (let waited = 0; waited < TIMEOUT_MS; waited += 200) {
    const isKept = await page.evaluate(
      () => document.getElementById("tf-calculator").dataset.offline === "ready",
    );
    const urls = Object.values(await held(page)).flat();
    const archive = urls.find((url) => /\/core\/core-[^/]*$/.test(url))?.split("/").pop();
    const images = urls.filter((url) => /\/memory(\/|-on-trial)/.test(url));
    const isSettled = images.length === 1 && images[0].includes(archive);
    if (isKept && isSettled) return;
    await page.waitForTimeout(200);
  }
  throw new Error(`nothing was kept: ${JSON.stringify(await held(page))}`);
}
