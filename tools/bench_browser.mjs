// Times the calculator's page in Chromium as a visitor meets it: a link to a set-up is followed, then
// a control is changed. Parameters and report as in tests/browser/harness.mjs.
//
// Each profile begins empty. Its first visit is cold; the second, in a browser started anew, follows
// once the first has kept what it keeps. Both begin in a window that has come to rest. Times are
// milliseconds, of an answer from the start of the navigation.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openProfile, parameters, report } from "../tests/browser/harness.mjs";
import { WINDOW_MS, timeChanges, watchScripts } from "../tests/browser/speed.mjs";

const TIMEOUT_MS = 120_000;
const MEMORY_CACHE = "trainfit-python-memory";
const PAUSE_MS = 400; // between two changes: the solvers are done by then

const visits = [];
for (let profile = 0; profile < parameters.profiles; profile += 1) {
  const folder = await mkdtemp(join(tmpdir(), "trainfit-"));
  for (const visit of ["cold", "second"]) visits.push({ visit, ...(await time(folder)) });
  await rm(folder, { recursive: true });
}
report(visits);

/** One visit with the profile of a folder. */
async function time(folder) {
  const context = await openProfile(folder);
  const page = await context.newPage();
  await page.addInitScript(watchScripts);
  await page.waitForTimeout(WINDOW_MS);
  await page.goto(`${parameters.url}calculator/#${parameters.link}`);
  await page.waitForFunction(
    (link) => document.getElementById("tf-calculator")?.dataset.shown === link,
    parameters.link,
    { timeout: TIMEOUT_MS, polling: 10 },
  );
  const seen = await page.evaluate(() => ({
    answered: performance.now(),
    isRestored: document.getElementById("tf-calculator").dataset.python === "restored",
  }));
  do await page.waitForTimeout(PAUSE_MS);
  while (!(await page.evaluate(isKept, MEMORY_CACHE)));
  const changes = await page.evaluate(timeChanges, {
    number: parameters.changes,
    pause: PAUSE_MS,
  });
  const longestScript = await page.evaluate(() => globalThis.longestScript);
  await context.close();
  return { ...seen, changes, longestScript };
}

/** Runs in the page: whether Python's memory has been kept for the next visit. */
async function isKept(prefix) {
  const names = (await caches.keys()).filter((name) => name.startsWith(prefix));
  if (names.length === 0) return false;
  const kept = await (await caches.open(names[0])).keys();
  return kept.some(({ url }) => url.includes("/memory/"));
}
