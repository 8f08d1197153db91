// The theme's search worker with three changes: `zero-3` and `3,212,749,824` are one word each, since
// the theme splits them, looks for every word that begins with 3, and finds Llama 3.2 3B; and a model
// whose whole name is asked for comes first, since to the theme "3" and "8B" are words like others.
"use strict";

const SETUP = 0;
const QUERY = 2;
const RESULT = 3;
const STRATEGY = /\b(zero)[-\s]?([0-3])\b/gi;
const LARGE = /\b\d{1,3}(?:,\d{3}){2,}\b/g;
const MODEL_PAGE = /^models\/[^/#]+\/$/;

// The hyphen that does not break and the low quotation mark look the same and separate nothing.
const whole = (text) =>
  text
    .replace(STRATEGY, "$1\u2011$2")
    .replace(LARGE, (number) => number.replaceAll(",", "\u201a"));

const wordsOf = (text) => text.toLowerCase().split(/[\s/_-]+/).filter(Boolean);

const nameOfPage = new Map(); // words of the model's name, by the page's address
let asked = new Set(); // words of the latest query

function prepared({ type, data }) {
  if (type === QUERY) {
    asked = new Set(wordsOf(data));
    return { type, data: whole(data) };
  }
  if (type !== SETUP) return { type, data };
  for (const { location, title } of data.docs) {
    if (MODEL_PAGE.test(location)) nameOfPage.set(location, wordsOf(title));
  }
  const docs = data.docs.map((doc) => ({ ...doc, title: whole(doc.title), text: whole(doc.text) }));
  return { type, data: { ...data, docs } };
}

/** How many words of a page's name are asked for, where all of them are; of names the longest counts. */
function numNamed([page]) {
  const name = nameOfPage.get(page.location.replace(/#.*/, "")) ?? [];
  return name.every((word) => asked.has(word)) ? name.length : 0;
}

function sorted({ type, data }) {
  if (type !== RESULT) return { type, data };
  const items = [...data.items].sort((one, other) => numNamed(other) - numNamed(one));
  return { type, data: { ...data, items } };
}

const listen = self.addEventListener.bind(self);
self.addEventListener = (name, listener) =>
  listen(name, name === "message" ? (event) => listener({ data: prepared(event.data) }) : listener);
const post = self.postMessage.bind(self);
self.postMessage = (message) => post(sorted(message));
importScripts(`workers/${new URL(self.location).searchParams.get("worker")}`);
