// Writes a trimmed standard library for Pyodide, as byte code, to the file named on the command line.
//
// Pyodide's own python_stdlib.zip holds all of the library as deflated source, which the browser has
// to inflate and compile at every start: that is most of the time until the first result. This one
// holds what the start and the estimator import, already compiled and stored as it is, so that the
// web server's compression works on it. Byte code fits one exact Python release, so Pyodide itself,
// run here by Node, does the compiling.
//
// Usage: node tools/build_stdlib.mjs <folder of the pyodide package> <output file>

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const BUILD = `
import importlib, io, marshal, sys, zipfile

# What generator.core may import (tests/core/test_imports.py holds the same list), and what an error
# report or the decoding of text may reach for later.
for name in (
    "collections", "dataclasses", "enum", "functools", "json", "math", "types", "typing",
    "encodings.ascii", "encodings.latin_1", "linecache", "traceback",
    "encodings.cp437",  # zipfile decodes member names with it
):
    importlib.import_module(name)

ARCHIVE = next(entry for entry in sys.path if entry.endswith(".zip"))
# asyncio, which Pyodide's event loop imports, does without it where it is missing.
LEFT_OUT = {"ssl.py", "_ssl.py"}
OPTIMIZE = 2  # without docstrings and asserts
UNCHECKED_HASH = (1).to_bytes(4, "little")  # never compared with a source file, as there is none

def member(module):
    path = getattr(module, "__file__", None) or ""
    return path.removeprefix(ARCHIVE + "/") if path.startswith(ARCHIVE) else None

def compiled(name, source):
    code = compile(source, f"{ARCHIVE}/{name}", "exec", optimize=OPTIMIZE, dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + bytes(8) + marshal.dumps(code)

names = sorted({name for name in map(member, list(sys.modules.values())) if name} - LEFT_OUT)
output = io.BytesIO()
with zipfile.ZipFile(ARCHIVE) as library, zipfile.ZipFile(output, "w") as trimmed:
    for name in names:
        entry = zipfile.ZipInfo(name + "c", date_time=(1980, 1, 1, 0, 0, 0))
        entry.external_attr = 0o644 << 16
        trimmed.writestr(entry, compiled(name, library.read(name)))
with open("/stdlib.zip", "wb") as file:
    file.write(output.getvalue())
len(names)
`;

const [packageFolder, output] = process.argv.slice(2);
if (!packageFolder || !output) {
  console.error("usage: node tools/build_stdlib.mjs <folder of the pyodide package> <output file>");
  process.exit(2);
}
// Without this, Node would print the line of an error's origin: a megabyte, in Pyodide's case.
process.on("uncaughtException", (error) => {
  console.error(error.message);
  process.exit(1);
});
const folder = resolve(packageFolder);
const { loadPyodide } = await import(pathToFileURL(resolve(folder, "pyodide.mjs")).href);
// A fixed hash seed makes the order inside frozen sets, and with it the bytes, the same every time.
const pyodide = await loadPyodide({ indexURL: folder, env: { PYTHONHASHSEED: "0", HOME: "/home/pyodide" } });
const count = pyodide.runPython(BUILD);
writeFileSync(output, pyodide.FS.readFile("/stdlib.zip"));
console.log(`${count} modules`);
