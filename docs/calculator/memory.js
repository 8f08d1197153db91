/* Python's memory right after its start, kept in the browser for the next visit: restoring it takes
   a third of the time of starting anew. It is one image of about 30 MB, made on this machine, named
   after the exact files that it was made from, and never sent anywhere.

   Where anything about it fails, Python starts the usual way. */

const CACHE_NAME = `trainfit-python-memory ${new URL("./", import.meta.url)}`;
const TRIAL = new URL("memory-on-trial", import.meta.url).href;

/** The address under which an image is kept; nothing is ever fetched from it. */
const addressOf = (name) => new URL(`memory/${encodeURIComponent(name)}`, import.meta.url).href;

/**
 * The image made from the files that `name` stands for, or null. Until `settle` is called it is on
 * trial: an image that the last start did not survive is thrown away.
 */
export async function recall(name) {
  try {
    const cache = await caches.open(CACHE_NAME);
    const [image, isOnTrial] = await Promise.all([
      cache.match(addressOf(name)),
      cache.match(TRIAL),
    ]);
    if (isOnTrial !== undefined) await forget();
    if (isOnTrial !== undefined || image === undefined) return null;
    const [bytes] = await Promise.all([image.arrayBuffer(), cache.put(TRIAL, new Response(""))]);
    return new Uint8Array(bytes);
  } catch {
    return null; // no storage here, or none left
  }
}

/** The recalled image works. */
export async function settle() {
  try {
    await (await caches.open(CACHE_NAME)).delete(TRIAL);
  } catch {
    // It stays on trial, and the next start is a slow one.
  }
}

/** Keeps an image in place of all others, where the browser lets us. */
export async function remember(name, bytes) {
  try {
    await forget();
    await (await caches.open(CACHE_NAME)).put(addressOf(name), new Response(bytes));
  } catch {
    await forget();
  }
}

/** Throws every image away. */
export async function forget() {
  try {
    await caches.delete(CACHE_NAME);
  } catch {
    // There is nothing to throw away without storage.
  }
}
