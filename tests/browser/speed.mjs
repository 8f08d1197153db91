// How the calculator's speed is measured, by the tests and by `make bench` alike.

/** After this a new window is at rest: Chromium renders its toolbar, for half a second of a core. */
export const WINDOW_MS = 2000;

/** Nobody changes a set-up sooner: the answer has to be read first. */
export const READ_MS = 800;

/** Runs in the page: how long scripts of the calculator hold the page up. */
export function watchScripts() {
  globalThis.ownScripts = [];
  new PerformanceObserver((list) => {
    for (const { duration, sourceURL } of list.getEntries().flatMap(({ scripts }) => scripts))
      if (sourceURL.includes("/assets/calculator/")) globalThis.ownScripts.push(duration);
  }).observe({ type: "long-animation-frame", buffered: true });
}

/** Runs in the page: from a change of the sequence length until all of its answer is painted. */
export async function timeChanges({ number, pause }) {
  const root = document.getElementById("tf-calculator");
  const control = document.getElementById("tf-sequence_length");
  const times = [];
  for (let change = 0; change < number; change += 1) {
    const length = 1000 + 37 * change;
    const started = performance.now();
    control.value = String(length);
    control.dispatchEvent(new Event("input", { bubbles: true }));
    while (!root.dataset.shown?.includes(`sequence_length=${length}`)) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    times.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return times;
}
