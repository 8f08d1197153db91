/* Long work in pieces, so that a key press never waits for all of it. */

// Half a frame. Where the worker and the browser have both cores of a small machine, what takes the
// processor 10 ms takes 30 by the clock.
const SLICE_MS = 8;

/** Lets the browser handle input and paint before what comes next. */
export function nextTask() {
  return globalThis.scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
}

/** Work in pieces, from now on. */
export class Slices {
  #begun = performance.now();

  /** A pause for the browser, where the work has taken its time. */
  async pause() {
    if (performance.now() - this.#begun < SLICE_MS) return;
    await nextTask();
    this.#begun = performance.now();
  }

  /** `work` of each item in order; gives the results. */
  async map(items, work) {
    const results = [];
    for (const item of items) {
      results.push(work(item, results.length));
      if (performance.now() - this.#begun >= SLICE_MS) await this.pause();
    }
    return results;
  }
}
