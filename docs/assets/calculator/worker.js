/* Runs the Python core off the main thread: Pyodide and the core come from our own origin, text
   goes in, text comes out. Messages are listed in engine.js. */

const MANIFEST_URL = new URL("../core/manifest.json", import.meta.url);
const ARCHIVE_PATH = "/trainfit-core.zip";

// zipimport reads the stored (uncompressed) archive without unpacking it, and needs no zipfile.
const BOOT = `
import json
import sys
import zipimport

def boot(archive_path, bundle_name):
    sys.path.insert(0, archive_path)
    from generator.core import api, codec

    bundle = zipimport.zipimporter(archive_path).get_data(bundle_name)
    catalog = codec.catalog_from_dict(json.loads(bundle))
    return lambda text: api.run(text, catalog)

boot
`;

const progress = (label, share) => self.postMessage({ type: "progress", label, share });

// When its WebAssembly does not arrive, Pyodide only logs that and never answers. So every fetch of
// this worker is watched, Pyodide's own included; the responses stay the browser's, which keeps its
// code cache.
const fetchOfBrowser = self.fetch;
const failedFetch = new Promise((_, reject) => {
  self.fetch = async (resource, options) => {
    const name = String(resource?.url ?? resource)
      .split("/")
      .pop();
    try {
      const response = await fetchOfBrowser(resource, options);
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return response;
    } catch (error) {
      const failure = new Error(`${name} could not be loaded (${error.message})`);
      reject(failure);
      throw failure;
    }
  };
});
failedFetch.catch(() => {}); // reported where it is awaited

/** The function that answers requests, text to text. */
async function load() {
  progress("Reading the list of files", 0.02);
  const { core, pyodide: runtime } = await (await fetch(MANIFEST_URL)).json();
  const folder = new URL(runtime.folder, MANIFEST_URL).href;
  // The archive travels while Python starts.
  const archive = fetch(new URL(core.file, MANIFEST_URL)).then((response) =>
    response.arrayBuffer(),
  );
  archive.catch(() => {}); // reported where it is awaited
  progress("Loading Python", 0.1);
  const { loadPyodide } = await import(new URL(runtime.entry, folder).href);
  progress("Starting Python", 0.2);
  const pyodide = await loadPyodide({
    indexURL: folder,
    stdLibURL: new URL(runtime.standard_library, folder).href,
    // The list of further packages is empty and ours: without it, Pyodide would ask for one.
    lockFileContents: runtime.lock,
    packageBaseUrl: folder,
  });
  progress("Starting the estimator", 0.8);
  pyodide.FS.writeFile(ARCHIVE_PATH, new Uint8Array(await archive));
  const boot = pyodide.runPython(BOOT);
  const run = boot(ARCHIVE_PATH, core.bundle);
  boot.destroy();
  return run;
}

let run = null;

self.addEventListener("message", async ({ data }) => {
  if (data.type === "start") {
    try {
      run = await Promise.race([load(), failedFetch]);
      self.postMessage({ type: "ready" });
    } catch (error) {
      self.postMessage({ type: "failed", message: lastLine(error) });
    }
  } else if (data.type === "run") {
    try {
      self.postMessage({ type: "answer", id: data.id, text: run(data.text) });
    } catch (error) {
      self.postMessage({ type: "answer", id: data.id, problem: lastLine(error) });
    }
  }
});

/** The sentence of an error; a Python one ends its traceback with it. */
function lastLine(error) {
  const lines = String(error?.message ?? error)
    .trim()
    .split("\n");
  return lines[lines.length - 1];
}
