// How the calculator's speed is measured, by the tests and by `make bench` alike.

/** After this a new window is at rest: Chromium renders its toolbar, for half a second of a core. */
export const WINDOW_MS = 2000;

/** Nobody changes a set-up sooner: the answer has to be read first. */
export const READ_MS = 800;

/**
 * Runs in the page: the longest script of the calculator that held the page up, in milliseconds,
 * and where in our files it began.
 */
export function watchScripts() {
  globalThis.longestScript = { duration: 0, place: "" };
  new PerformanceObserver((list) => {
    for (const script of list.getEntries().flatMap(({ scripts }) => scripts)) {
      const { duration, sourceURL, sourceCharPosition, invokerType } = script;
      if (!sourceURL.includes("/assets/calculator/")) continue;
      if (duration <= globalThis.longestScript.duration) continue;
      const file = new URL(sourceURL).pathname.split("/").pop();
      globalThis.longestScript = { duration, place: `${file}:${sourceCharPosition} ${invokerType}` };
    }
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
