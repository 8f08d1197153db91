/* The page's side of the worker that runs the Python core.

   One call is in flight at a time. Each kind of question has one waiting place, and a newer
   question takes it over: while someone types, only the first and the latest state are computed. */

import { nextTask } from "./tasks.js";

const WORKER_URL = new URL("../../calculator/worker.js", import.meta.url);
const START_LIMIT_MS = 300_000; // 6 MB take two minutes over slow 3G
const ANSWER_LIMIT_MS = 20_000;
const PRACTICE_RUNS = 8;
const PRACTICE_PAUSE_MS = 20;

class Engine {
  #worker = null;
  #state = "idle"; // idle | starting | ready | failed
  #waiting = new Map();
  #inFlight = null;
  #nextId = 1;
  #watchdog = 0;
  #listener = null;
  #loaded = null; // what the worker said when it was ready
  #problem = null; // why it failed

  /**
   * Tells `listener` from now on, and what it has missed. The worker starts before the page is
   * there to listen.
   *
   * @param {{onProgress: (progress: {label: string, share: number}) => void,
   *          onReady: (loaded: object) => void, onFailure: (message: string) => void}} listener
   */
  listen(listener) {
    this.#listener = listener;
    if (this.#loaded !== null) listener.onReady(this.#loaded);
    if (this.#problem !== null) listener.onFailure(this.#problem);
  }

  get state() {
    return this.#state;
  }

  /** Starts the worker once; also the way to try again after a failure. */
  start() {
    if (this.#state === "starting" || this.#state === "ready") return;
    this.#state = "starting";
    // Where a link was followed, early.js has started a worker and kept what it said until now.
    const early = globalThis.trainfitEarly;
    globalThis.trainfitEarly = null;
    try {
      this.#worker = early?.worker ?? new Worker(WORKER_URL, { type: "module" });
    } catch (error) {
      this.#fail(`this browser did not start a worker (${error.message})`);
      return;
    }
    this.#watch(START_LIMIT_MS, "it did not start");
    if (!early) this.#worker.postMessage({ type: "start" });
    this.#worker.onmessage = this.#worker.onerror = (event) => this.#hear(event);
    for (const event of early?.events ?? []) this.#hear(event);
  }

  #hear(event) {
    if (event.type === "message") {
      this.#receive(event.data);
    } else {
      event.preventDefault();
      this.#fail(event.message || "a file of the calculator could not be loaded");
    }
  }

  /**
   * The core's answer to one request, or null where a newer question of the same kind replaced it.
   * Rejects when the engine has failed.
   */
  ask(kind, request) {
    if (this.#state === "failed") return Promise.reject(new Error("the calculator is not running"));
    this.start();
    return new Promise((resolve, reject) => {
      this.#waiting.get(kind)?.resolve(null);
      // A fresh place at the end of the queue: what was asked last is computed last.
      this.#waiting.delete(kind);
      this.#waiting.set(kind, { request, resolve, reject });
      this.#sendNext();
    });
  }

  /**
   * Asks one question over and over, for nothing but the exercise: a browser compiles WebAssembly
   * well only where it has run for a while, and until then an answer takes four times as long. A
   * real question waits for one run of these at most.
   */
  async practise(request) {
    for (let run = 0; run < PRACTICE_RUNS; run += 1) {
      await new Promise((resolve) => setTimeout(resolve, PRACTICE_PAUSE_MS));
      if (this.#state !== "ready") return;
      try {
        await this.ask("practice", request);
      } catch {
        return; // told to the listener
      }
    }
  }

  #sendNext() {
    if (this.#state !== "ready" || this.#inFlight !== null || this.#waiting.size === 0) return;
    const [kind, question] = this.#waiting.entries().next().value;
    this.#waiting.delete(kind);
    this.#inFlight = { id: this.#nextId++, ...question };
    this.#worker.postMessage({
      type: "run",
      id: this.#inFlight.id,
      text: JSON.stringify(question.request),
    });
    this.#watch(ANSWER_LIMIT_MS, "one answer did not come");
  }

  #watch(limitMs, what) {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(
      () => this.#fail(`${what} within ${limitMs / 1000} seconds`),
      limitMs,
    );
  }

  #receive(message) {
    if (message.type === "progress") {
      this.#listener?.onProgress(message);
    } else if (message.type === "ready") {
      clearTimeout(this.#watchdog);
      this.#state = "ready";
      this.#loaded = message;
      this.#listener?.onReady(message);
      this.#sendNext();
    } else if (message.type === "failed") {
      this.#fail(message.message);
    } else if (message.type === "answer" && message.id === this.#inFlight?.id) {
      clearTimeout(this.#watchdog);
      const { resolve, reject } = this.#inFlight;
      this.#inFlight = null;
      if (message.problem === undefined) {
        const answer = JSON.parse(message.text);
        this.#sendNext();
        // Reading it and showing it are two tasks, so that neither is long.
        nextTask().then(() => resolve(answer));
      } else {
        // The core answers every request, wrong ones too: Python itself is no longer well.
        reject(new Error(message.problem));
        this.#startAnew();
      }
    }
  }

  /** Another worker in place of one that cannot be relied on any more. */
  #startAnew() {
    this.#worker.terminate();
    this.#worker = null;
    this.#loaded = null;
    this.#state = "idle";
    if (this.#waiting.size > 0) this.start();
  }

  #fail(message) {
    clearTimeout(this.#watchdog);
    this.#worker?.terminate();
    this.#worker = null;
    this.#loaded = null;
    this.#state = "failed";
    const abandoned = [this.#inFlight, ...this.#waiting.values()].filter((entry) => entry !== null);
    this.#inFlight = null;
    this.#waiting.clear();
    for (const entry of abandoned) entry.reject(new Error(message));
    this.#problem = message;
    this.#listener?.onFailure(message);
  }

  /** Forgets a failure, so that the next question starts a new worker. */
  reset() {
    if (this.#state === "failed") this.#state = "idle";
    this.#problem = null;
  }
}

/** The one of this page; with instant navigation it survives a change of page. */
export const engine = new Engine();
