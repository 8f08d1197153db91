// What the browser tests' scripts share: parameters in, one JSON result out, and a browser.
//
// A script is run by `run_node` of conftest.py, which gives it parameters as JSON on standard input
// and reads the value that the script passes to `report`.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { browserType, contextOptions, launchOptions } from "./browsers.mjs";

export const parameters = JSON.parse(readFileSync(0, "utf8") || "{}");

const RESULT_MARK = "RESULT ";

export function report(value) {
  process.stdout.write(`${RESULT_MARK}${JSON.stringify(value)}\n`);
}

// Without this, Node would print the line of an error's origin: a megabyte, in Pyodide's case.
for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.on(event, (error) => {
    const lines = (error?.stack ?? String(error)).split("\n").slice(0, 20);
    console.error(lines.join("\n").slice(0, 4000));
    process.exit(1);
  });
}

const BROWSER = parameters.browser ?? "chromium";

/**
 * Runs `body` with a fresh page of a fresh profile and closes both afterwards. `isOwn` asks for a
 * browser that did nothing before, where times count.
 *
 * `body` receives the page and a record of what went on: `requests` (every address asked for),
 * `errors` (uncaught errors and console errors) and `violations` (of the Content-Security-Policy).
 */
export async function withPage(body, { context: options = {}, isOwn = false } = {}) {
  const browser = await openBrowser({ isOwn });
  try {
    const context = await browser.newContext(contextOptions(BROWSER, options));
    const page = await context.newPage();
    const record = { requests: [], errors: [], violations: [] };
    context.on("request", (request) => record.requests.push(request.url()));
    page.on("pageerror", (error) => record.errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() !== "error") return;
      const text = `${message.text()} (${message.location().url})`;
      const isViolation = /content security policy/i.test(text);
      (isViolation ? record.violations : record.errors).push(text);
    });
    return await body(page, record, context);
  } finally {
    await browser.close();
  }
}

/** A browser that opens fresh profiles: the one that all tests share, or a new one. */
function openBrowser({ isOwn }) {
  const type = browserType(BROWSER);
  if (parameters.endpoint && !isOwn) return type.connect(parameters.endpoint);
  return type.launch(launchOptions(BROWSER));
}

/** Lets the page use the clipboard; Firefox is started so that it may. */
export async function allowClipboard(context) {
  if (BROWSER === "chromium")
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
}

/**
 * Clicks, or taps, once nothing moves any more: an answer that arrives between the press and its
 * release moves what lies below it away from the pointer, and the click is lost.
 */
export async function press(locator, { isTap = false } = {}) {
  await locator.page().waitForFunction(() => document.querySelector("[data-busy]") === null);
  await (isTap ? locator.tap() : locator.click());
}

/** A browser with the profile of a folder, which outlives it: what a visit left is there. */
export function openProfile(folder) {
  return browserType(BROWSER).launchPersistentContext(folder, launchOptions(BROWSER));
}

/** Pyodide in this process, with exactly the files that the site serves. */
export async function loadServedPython(siteFolder) {
  const assets = resolve(siteFolder, "assets");
  const manifest = JSON.parse(readFileSync(resolve(assets, "core/manifest.json"), "utf8"));
  const folder = resolve(assets, "core", manifest.pyodide.folder);
  const { loadPyodide } = await import(resolve(folder, manifest.pyodide.entry));
  const python = await loadPyodide({
    indexURL: folder,
    stdLibURL: resolve(folder, manifest.pyodide.standard_library),
    // Without a list of packages, Pyodide would ask for one.
    lockFileContents: manifest.pyodide.lock,
    packageBaseUrl: folder,
  });
  const archive = readFileSync(resolve(assets, "core", manifest.core.file));
  python.FS.writeFile("/core.zip", new Uint8Array(archive));
  python.runPython("import sys; sys.path.insert(0, '/core.zip')");
  return { python, manifest };
}
