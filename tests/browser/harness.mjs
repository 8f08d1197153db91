// What the browser tests' scripts share: parameters in, one JSON result out, and a browser.
//
// A script is run by `run_node` of conftest.py, which gives it parameters as JSON on standard input
// and reads the value that the script passes to `report`.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

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

const CANDIDATES = [
  process.env.CHROME_PATH,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/**
 * Runs `body` with a fresh page of a fresh profile and closes the browser afterwards.
 *
 * `body` receives the page and a record of what went on: `requests` (every address asked for),
 * `errors` (uncaught errors and console errors) and `violations` (of the Content-Security-Policy).
 */
export async function withPage(body, { context: contextOptions = {}, launch = {} } = {}) {
  const browser = await openBrowser(launch);
  try {
    const context = await browser.newContext(contextOptions);
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

/** How to start a browser from the system's packages that asks nobody for anything by itself. */
function launchOptions() {
  const executablePath = CANDIDATES.filter(Boolean).find((path) => existsSync(path));
  if (!executablePath)
    throw new Error("no Chromium found: run `make chromium`, or set CHROME_PATH");
  return {
    executablePath,
    args: [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  };
}

/** A browser with a fresh profile. */
export function openBrowser(options = {}) {
  return chromium.launch({ ...launchOptions(), ...options });
}

/** A browser with the profile of a folder, which outlives it: what a visit left is there. */
export function openProfile(folder) {
  return chromium.launchPersistentContext(folder, launchOptions());
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
