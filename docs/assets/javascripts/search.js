// The theme's search worker with two changes: `zero-3` and `3,212,749,824` are one word each. The
// theme splits them, looks for every word that begins with 3, and finds Llama 3.2 3B.
"use strict";

const SETUP = 0;
const QUERY = 2;
const STRATEGY = /\b(zero)[-\s]?([0-3])\b/gi;

const LARGE = /\b\d{1,3}(?:,\d{3}){2,}\b/g;

// The hyphen that does not break and the low quotation mark look the same and separate nothing.
const whole = (text) =>
  text
    .replace(STRATEGY, "$1\u2011$2")
    .replace(LARGE, (number) => number.replaceAll(",", "\u201a"));

function prepared({ type, data }) {
  if (type === QUERY) return { type, data: whole(data) };
  if (type !== SETUP) return { type, data };
  const docs = data.docs.map((doc) => ({ ...doc, title: whole(doc.title), text: whole(doc.text) }));
  return { type, data: { ...data, docs } };
}

const listen = self.addEventListener.bind(self);
self.addEventListener = (name, listener) =>
  listen(name, name === "message" ? (event) => listener({ data: prepared(event.data) }) : listener);
importScripts(`workers/${new URL(self.location).searchParams.get("worker")}`);
