/* Has the service worker keep what this visit loaded, so that the next one needs no network. */

const WORKER_URL = new URL("../../calculator/service-worker.js", import.meta.url);

/** Where there is no service worker (an old browser, a page without https) nothing is lost. */
export async function keepForOffline(root, files) {
  if (!("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register(WORKER_URL, { updateViaCache: "none" });
    const { active } = await navigator.serviceWorker.ready;
    navigator.serviceWorker.addEventListener("message", ({ data }) => {
      if (data?.type === "kept") root.dataset.offline = "ready";
    });
    // The messages of a service worker wait for this call where the listener is not `onmessage`.
    navigator.serviceWorker.startMessages();
    active.postMessage({ type: "keep", urls: [...new Set([...loadedByPage(), ...files])] });
  } catch {
    // The calculator works as well, only not without a network.
  }
}

function loadedByPage() {
  const page = new URL(location.href);
  page.hash = "";
  page.search = "";
  const resources = performance.getEntriesByType("resource").map((entry) => entry.name);
  return [page.href, ...resources.filter((url) => url.startsWith(page.origin))];
}
