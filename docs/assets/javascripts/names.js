// Names as people type and paste them: parted by any sign, with their owner and training stage.
"use strict";

// What ids leave out; as STAGE_SUFFIXES of generator/core/catalog.py.
const STAGES = new Set(["instruct", "it", "chat", "base", "hf"]);
const SHORTEST_NAME = 3; // less is still being typed

function partsOf(text) {
  return text.toLowerCase().split(/[\s/_-]+/).filter(Boolean);
}

/** What is typed, as words to look for; those of a stage count where they stand alone. */
export function wordsOf(typed) {
  const words = partsOf(typed);
  const telling = words.filter((word) => !STAGES.has(word));
  return telling.length > 0 ? telling : words;
}

/** Whether a text holds all words, also as parts of longer ones. */
export function holds(text, words) {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}

/** Whether all words are whole ones, as `3` is in "Llama 3 8B" and not in "Llama 3.1 8B". */
export function isWhole(text, words) {
  const parts = partsOf(text);
  return words.every((word) => parts.includes(word));
}

const squeezed = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "");

/** Whether a text holds what is typed, whatever parts the two: `rtx4090`, `qwen25`, `llama3.1 8b`. */
export function holdsRun(text, words) {
  const run = squeezed(words.join(""));
  return run.length >= SHORTEST_NAME && squeezed(text).includes(run);
}

/** As `holds`, but no number is found within a longer one, as `5` would be in "65B" and "2.5". */
function holdsNumbers(text, words) {
  const lower = text.toLowerCase();
  const startsIn = (word, at) => /^\d/.test(word) && /[\d.]/.test(lower[at - 1] ?? "");
  return words.every((word) => {
    let at = lower.indexOf(word);
    while (at >= 0 && startsIn(word, at)) at = lower.indexOf(word, at + 1);
    return at >= 0;
  });
}

/**
 * The models of models.json that may be meant: the one with that name, else all that hold the words
 * as whole ones, else as parts; the shortest name first.
 */
export function modelsNamed(models, typed) {
  const words = wordsOf(typed);
  const wanted = words.join(" ");
  const namesOf = ({ id, name, hugging_face: repository }) => [id, name, repository];
  const exact = models.find((model) => namesOf(model).some((each) => wordsOf(each).join(" ") === wanted));
  if (exact) return [exact];
  if (wanted.length < SHORTEST_NAME) return [];
  const text = (model) => namesOf(model).join(" ");
  const holding = (test) => models.filter((model) => test(text(model), words));
  let found = holding(holdsNumbers);
  if (found.length === 0) found = holding(holdsRun);
  found.sort((one, other) => one.name.length - other.name.length);
  const whole = found.filter((model) => isWhole(text(model), words));
  return whole.length > 0 ? whole : found;
}
