// Answers golden requests with the archive that the site serves, in Pyodide.

import { readFileSync } from "node:fs";
import { loadServedPython, parameters, report } from "./harness.mjs";

const { python } = await loadServedPython(parameters.site);
const answer = python.runPython(`
import json
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
report({ responses: requests.map((request) => answer(request)), modules: JSON.parse(modules) });
