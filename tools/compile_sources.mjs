// Compiles every .py of a zip file with Pyodide's Python and writes a zip file of the .pyc.
//
// The browser then imports the estimator without compiling it, in a third of the time. Docstrings
// stay: a dataclass without one makes the standard library build a signature for it, which is slow.
//
// Dataclasses write methods as source and compile that when their module is imported, which would be
// half of the import. So the modules are imported here once, and what was compiled is kept by its
// source in one more member, for the start in the browser to look up.
//
// Usage: node tools/compile_sources.mjs <folder of the pyodide package> <standard library> <in> <out>

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const BUILD = `
import dataclasses, importlib.util, marshal, sys, zipfile

METHODS = "dataclass-methods.bin"  # generator/emit/browser_archive.py has the same name
UNCHECKED_HASH = (1).to_bytes(4, "little")  # used as it is, not compared with the source beside it

with zipfile.ZipFile("/sources.zip") as sources, zipfile.ZipFile("/compiled.zip", "w") as compiled:
    for name in sorted(sources.namelist()):
        if name.endswith(".py"):
            code = compile(sources.read(name), name, "exec", dont_inherit=True)
            header = importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + bytes(8)
            compiled.writestr(zipfile.ZipInfo(name + "c"), header + marshal.dumps(code))

methods = {}

def exec_and_keep(text, *namespaces):
    methods[text] = compile(text, "<dataclass>", "exec", dont_inherit=True)
    exec(methods[text], *namespaces)

dataclasses.exec = exec_and_keep
sys.path.insert(0, "/compiled.zip")
with zipfile.ZipFile("/compiled.zip") as compiled:
    names = sorted(compiled.namelist())
for name in names:
    importlib.import_module(name.removesuffix(".pyc").removesuffix("/__init__").replace("/", "."))
with zipfile.ZipFile("/compiled.zip", "a") as compiled:
    compiled.writestr(zipfile.ZipInfo(METHODS), marshal.dumps(methods))
`;

const [packageFolder, library, input, output] = process.argv.slice(2);
if (!output) {
  console.error("usage: node tools/compile_sources.mjs <pyodide package> <standard library> <in> <out>");
  process.exit(2);
}
// Without this, Node would print the line of an error's origin: a megabyte, in Pyodide's case.
process.on("uncaughtException", (error) => {
  console.error(error.message);
  process.exit(1);
});
const folder = resolve(packageFolder);
const { loadPyodide } = await import(pathToFileURL(resolve(folder, "pyodide.mjs")).href);
const pyodide = await loadPyodide({
  indexURL: folder,
  stdLibURL: resolve(library),
  env: { PYTHONHASHSEED: "0", HOME: "/home/pyodide" },
});
pyodide.FS.writeFile("/sources.zip", new Uint8Array(readFileSync(input)));
pyodide.runPython(BUILD);
writeFileSync(output, pyodide.FS.readFile("/compiled.zip"));
