// Answers golden requests with the archive that the site serves, in Pyodide.

import { readFileSync } from "node:fs";
import { loadServedPython, parameters, report } from "./harness.mjs";

const { python, manifest } = await loadServedPython(parameters.site);
const answer = python.runPython(`
import dataclasses
import json
import marshal
import zipimport

methods = marshal.loads(zipimport.zipimporter("/core.zip").get_data("${manifest.core.methods}"))
compiled_here = []

def exec_known(text, *namespaces):
    if text not in methods:
        compiled_here.append(text)
    exec(methods.get(text, text), *namespaces)

dataclasses.exec = exec_known
import generator
from generator.core import api
from generator.core.codec import catalog_from_dict

catalog = catalog_from_dict(json.loads(generator.__loader__.get_data("/core.zip/bundle.json")))
lambda text: api.run(text, catalog)
`);
const requests = JSON.parse(readFileSync(parameters.requests, "utf8"));
const modules = python.runPython(`
import sys
json.dumps({n: m.__file__ for n, m in sys.modules.items() if n.startswith("generator.")})
`);
report({
  responses: requests.map((request) => answer(request)),
  modules: JSON.parse(modules),
  compiledMethods: python.runPython("len(compiled_here)"),
});
