/* Runs the Python core off the main thread: Pyodide and the core come from our own origin, text
   goes in, text comes out. Messages are listed in ../assets/calculator/engine.js.

   It lies beside the page, since a service worker reaches no further than its own folder. */

import { forget, recall, remember, settle } from "./memory.js";

const MANIFEST_URL = new URL("../assets/core/manifest.json", import.meta.url);
const ARCHIVE_PATH = "/trainfit-core.zip";
const QUIET_MS = 3000; // after the last answer: by then nobody waits for this thread

// zipimport reads the stored (uncompressed) archive without unpacking it, and needs no zipfile.
// Dataclasses compile their methods at import; those of the archive are compiled already, and are
// found by their source.
const BOOT = `
import dataclasses
import json
import marshal
import sys
import zipimport

def boot(archive_path, bundle_name, methods_name):
    archive = zipimport.zipimporter(archive_path)
    methods = marshal.loads(archive.get_data(methods_name))
    dataclasses.exec = lambda text, *namespaces: exec(methods.get(text, text), *namespaces)
    sys.path.insert(0, archive_path)
    from generator.core import api, codec

    catalog = codec.catalog_from_dict(json.loads(archive.get_data(bundle_name)))
    return lambda text: api.run(text, catalog)
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

let run = null; // answers requests, text to text
let files = []; // addresses of what was loaded
let python = null;
let imageName = null; // of Python's memory, where it is still to be kept
let initialHeapBytes = 0;

/** Starts Python and the core; true where that took no more than restoring their memory. */
async function load() {
  // Pyodide would wait for ever. Some browsers switch it off, as a protection.
  if (typeof WebAssembly === "undefined") throw new Error("this browser runs no WebAssembly");
  progress("Reading the list of files", 0.02);
  // Never a stored list: it names the files that there are now.
  const listed = await (await fetch(MANIFEST_URL, { cache: "no-cache" })).json();
  const { core, pyodide: runtime } = listed;
  const folder = new URL(runtime.folder, MANIFEST_URL).href;
  const library = new URL(runtime.standard_library, folder).href;
  const archiveUrl = new URL(core.file, MANIFEST_URL).href;
  files = [
    ...["worker.js", "memory.js"].map((name) => new URL(name, import.meta.url).href),
    MANIFEST_URL.href,
    archiveUrl,
    ...Object.keys(runtime.files).map((name) => new URL(name, folder).href),
  ];
  const name = `${runtime.version}-${runtime.standard_library}-${core.file}`;
  // The archive and the kept memory travel while Python starts.
  const archive = fetch(archiveUrl).then((response) => response.arrayBuffer());
  archive.catch(() => {}); // reported where it is awaited
  const recalled = recall(name);
  progress("Loading Python", 0.1);
  const { loadPyodide } = await import(new URL(runtime.entry, folder).href);
  const settings = {
    indexURL: folder,
    stdLibURL: library,
    // The list of further packages is empty and ours: without it, Pyodide would ask for one.
    lockFileContents: runtime.lock,
    packageBaseUrl: folder,
  };
  progress("Starting Python", 0.2);
  const image = await recalled;
  if (image !== null) {
    try {
      python = await loadPyodide({ ...settings, _loadSnapshot: image });
      python.FS.writeFile(ARCHIVE_PATH, new Uint8Array(await archive));
      run = python.globals.get("run");
      JSON.parse(run("{}")); // an error in words; the image answers
      settle();
      return true;
    } catch {
      await forget();
    }
  }
  python = await loadPyodide({ ...settings, _makeSnapshot: true });
  initialHeapBytes = python._module.HEAP8.length;
  progress("Starting the estimator", 0.8);
  python.FS.writeFile(ARCHIVE_PATH, new Uint8Array(await archive));
  python.runPython(BOOT);
  const names = [ARCHIVE_PATH, core.bundle, core.methods].map((each) => JSON.stringify(each));
  python.runPython(`run = boot(${names.join(", ")})\nNone`);
  run = python.globals.get("run");
  imageName = name;
  return false;
}

let quietTimer = 0;

/** Keeps Python's memory for the next visit once nobody has asked for a while. */
function keepMemoryWhenQuiet() {
  clearTimeout(quietTimer);
  if (imageName === null) return;
  quietTimer = setTimeout(async () => {
    const name = imageName;
    imageName = null;
    // A heap that has grown would not be restored.
    if (python._module.HEAP8.length !== initialHeapBytes) return;
    let image;
    try {
      image = python.makeMemorySnapshot();
    } catch {
      return; // this Python holds something that cannot be kept
    }
    await remember(name, image);
  }, QUIET_MS);
}

self.addEventListener("message", async ({ data }) => {
  if (data.type === "start") {
    try {
      const isRestored = await Promise.race([load(), failedFetch]);
      self.postMessage({ type: "ready", files, isRestored });
      keepMemoryWhenQuiet();
    } catch (error) {
      self.postMessage({ type: "failed", message: lastLine(error) });
    }
  } else if (data.type === "run") {
    try {
      self.postMessage({ type: "answer", id: data.id, text: run(data.text) });
    } catch (error) {
      imageName = null; // whatever broke Python must not come back with its memory
      self.postMessage({ type: "answer", id: data.id, problem: lastLine(error) });
    }
    keepMemoryWhenQuiet();
  }
});

/** The sentence of an error; a Python one ends its traceback with it. */
function lastLine(error) {
  const lines = String(error?.message ?? error)
    .trim()
    .split("\n");
  return lines[lines.length - 1];
}
