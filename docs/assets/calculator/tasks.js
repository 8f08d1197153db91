/* Long work in pieces, so that a key press never waits for all of it. */

const SLICE_MS = 8; // half a frame; the other half is the browser's

/** Lets the browser handle input and paint before what comes next. */
export function nextTask() {
  return globalThis.scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
}

/** `work` of each item in order, with pauses for the browser; gives the results. */
export async function inSlices(items, work) {
  const results = [];
  let begun = performance.now();
  for (const item of items) {
    if (performance.now() - begun > SLICE_MS) {
      await nextTask();
      begun = performance.now();
    }
    results.push(work(item, results.length));
  }
  return results;
}
