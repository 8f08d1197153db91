// Times the calculator's worker in Chromium: parameters and report as in tests/browser/harness.mjs.
//
// Each profile is fresh; its first visit is cold, the later ones find the browser's cache. Times are
// milliseconds from the worker's start. `estimate` and `grid` are later questions, answered warm.

import { parameters, report, withPage } from "../tests/browser/harness.mjs";

const REPEATED_QUESTIONS = 30;

const visits = [];
for (let profile = 0; profile < parameters.profiles; profile += 1) {
  await withPage(async (page) => {
    for (let visit = 0; visit < parameters.visits; visit += 1) {
      await page.goto(parameters.url);
      const times = await page.evaluate(timeWorker, {
        workerUrl: new URL("calculator/worker.js", parameters.url).href,
        request: parameters.request,
        repeated: REPEATED_QUESTIONS,
      });
      visits.push({ profile, visit, ...times });
    }
  });
}
report(visits);

/** Runs in the page. */
async function timeWorker({ workerUrl, request, repeated }) {
  const start = performance.now();
  const worker = new Worker(workerUrl, { type: "module" });
  const waiting = [];
  worker.addEventListener("message", ({ data }) => {
    if (data.type === "failed") throw new Error(data.message);
    if (data.type !== "progress") waiting.shift()(data);
  });
  const next = () => new Promise((resolve) => waiting.push(resolve));
  const ask = async (question) => {
    const asked = performance.now();
    const answered = next();
    worker.postMessage({ type: "run", id: 1, text: JSON.stringify(question) });
    const { text } = await answered;
    return { milliseconds: performance.now() - asked, isError: text.startsWith('{"error"') };
  };
  const ready = next();
  worker.postMessage({ type: "start" });
  await ready;
  const readyAfter = performance.now() - start;
  const first = await ask(request);
  const firstAnswerAfter = performance.now() - start;
  const median = async (question) => {
    const times = [];
    for (let turn = 0; turn < repeated; turn += 1) {
      // Another length each time, as when someone types.
      const { milliseconds } = await ask({ ...question, sequence_length: 1024 + 64 * turn });
      times.push(milliseconds);
    }
    return times.sort((a, b) => a - b)[Math.floor(repeated / 2)];
  };
  const estimate = await median(request);
  const grid = await median({ ...request, op: "grid" });
  worker.terminate();
  return { readyAfter, firstAnswerAfter, estimate, grid, isError: first.isError };
}
