// The theme's search worker with five changes: `zero-3` and `3,212,749,824` are one word each, since
// the theme splits them, looks for every word that begins with 3, and finds Llama 3.2 3B; a model or
// card that is asked for by name comes first, since to the theme "3" and "8B" are words like others; and
// of `8x H100` the card is looked for, since its page is about any number of it; and names are found
// however they are parted.
"use strict";

const SETUP = 0;
const QUERY = 2;
const RESULT = 3;
const STRATEGY = /\b(zero)[-\s]?([0-3])\b/gi;
// Not `8x7B`, which is a model.
const NUM_CARDS = /\b\d{1,5}\s*[x\u00d7](?:\s+|(?=[a-z]))/gi;
const LARGE = /\b\d{1,3}(?:,\d{3}){2,}\b/g;
const NAMED_PAGE = /^(?:models|cards)\/[^/#]+\/$/;

// The hyphen that does not break and the low quotation mark look the same and separate nothing.
const whole = (text) =>
  text
    .replace(STRATEGY, "$1\u2011$2")
    .replace(LARGE, (number) => number.replaceAll(",", "\u201a"));

const wordsOf = (text) => text.toLowerCase().split(/[\s/_-]+/).filter(Boolean);

const squeezed = (text) => text.replace(/[^a-z0-9]+/g, "");

const nameOfPage = new Map(); // words of a model's or card's name, by its page's address
const partsOf = new Map(); // words of names by how they look run together: gptoss, rtx4090, qwen25
let asked = new Set(); // words of the latest query

/** A query with its words parted as names have them: `gptoss` as `gpt oss`, `qwen 3` as `qwen3`. */
function asNamed(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (let at = 0; at < words.length; at += 1) {
    // Not `3 4b`, which is no 34B.
    const isName = at + 1 < words.length && /^[a-z]+$/.test(words[at]);
    const joined = isName ? partsOf.get(squeezed(words[at] + words[at + 1])) : null;
    if (joined?.length === 1) {
      found.push(...joined);
      at += 1;
    } else {
      // Not `31b`, as Gemma 3 1B would be, and not what has signs of its own.
      const isRun = /^[a-z]+[a-z0-9]*$/.test(words[at]);
      found.push(...((isRun && partsOf.get(words[at])) || [words[at]]));
    }
  }
  return found.join(" ");
}

function prepared({ type, data }) {
  if (type === QUERY) {
    const query = asNamed(data.replace(NUM_CARDS, ""));
    asked = new Set(wordsOf(query));
    return { type, data: whole(query) };
  }
  if (type !== SETUP) return { type, data };
  for (const { location, title } of data.docs) {
    if (!NAMED_PAGE.test(location)) continue;
    const name = wordsOf(title);
    nameOfPage.set(location, name);
    name.forEach((_, first) => {
      for (let end = first + 1; end <= name.length; end += 1) {
        const words = name.slice(first, end);
        if (!partsOf.has(squeezed(words.join("")))) partsOf.set(squeezed(words.join("")), words);
      }
    });
  }
  const docs = data.docs.map((doc) => ({ ...doc, title: whole(doc.title), text: whole(doc.text) }));
  return { type, data: { ...data, docs } };
}

/**
 * How well a page's name is what is asked for: a name all of whose words are asked for counts by its
 * length, one that has all words asked for counts half, others nothing.
 */
function namedBy([page]) {
  const name = nameOfPage.get(page.location.replace(/#.*/, ""));
  if (name === undefined) return 0;
  if (name.every((word) => asked.has(word))) return name.length;
  return [...asked].every((word) => name.includes(word)) ? 0.5 : 0;
}

function sorted({ type, data }) {
  if (type !== RESULT) return { type, data };
  const items = [...data.items].sort((one, other) => namedBy(other) - namedBy(one));
  return { type, data: { ...data, items } };
}

const listen = self.addEventListener.bind(self);
self.addEventListener = (name, listener) =>
  listen(name, name === "message" ? (event) => listener({ data: prepared(event.data) }) : listener);
const post = self.postMessage.bind(self);
self.postMessage = (message) => post(sorted(message));
importScripts(`workers/${new URL(self.location).searchParams.get("worker")}`);
