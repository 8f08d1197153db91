/* Long work in pieces, so that a key press never waits for all of it. */

const SLICE_MS = 16; // a frame: what takes no longer is better done at once, with one layout

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
