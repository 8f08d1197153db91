// Answers search queries as the built site does: with its own index and its own worker, which loads
// the theme's.
//
// Parameters as JSON on standard input: the folder of the site, the worker's address as the pages
// name it, and queries. Prints the addresses that each query finds, best first, as one JSON object.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createContext, runInContext } from "node:vm";

const { site, worker, queries } = JSON.parse(readFileSync(0, "utf8"));
const location = new URL(worker, "http://localhost/");
const read = (path) => readFileSync(join(site, path), "utf8");

let receive;
let answered;
const scope = {
  console,
  URL,
  location,
  addEventListener: (name, listener) => {
    if (name === "message") receive = listener;
  },
  postMessage: (message) => answered(message),
  importScripts: (path) => runInContext(read(join(dirname(location.pathname), path)), scope),
};
scope.self = scope;
createContext(scope);
runInContext(read(location.pathname), scope);

function ask(type, data) {
  return new Promise((resolve) => {
    answered = resolve;
    receive({ data: { type, data } });
  });
}

// Message types of the theme's worker: 0 set up, 1 ready, 2 query, 3 result.
const { config, docs } = JSON.parse(read("search/search_index.json"));
await ask(0, { config, docs, options: { suggest: true } });

const found = {};
for (const query of queries) {
  const { data } = await ask(2, query);
  // A group is one page with its sections, as the list of results shows it.
  found[query] = data.items.map((group) => group[0].location.split("#")[0]).slice(0, 10);
}
process.stdout.write(JSON.stringify(found));
