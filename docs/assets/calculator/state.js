/* The calculator's state and its one written form: the URL fragment `#v=1&model=...&method=lora`.

   Flat on purpose: keys are the request's field names, with a dot for the nested ones
   (`lora.rank`). A second set-up to compare with has the same keys after `vs.`. Defaults are left
   out, so they are part of the format: changing one needs a new VERSION and a decoder for the old
   one. Nothing in here touches the page. */

import { count } from "./format.js";

const VERSION = 1;

/** Longest pasted config that a link may carry, in characters of its base64 form. */
export const MAX_CONFIG_CHARACTERS = 6000;
const MAX_FRAGMENT_CHARACTERS = 24000;
const MAX_PROBLEMS = 8;
const KEPT_PREFIX = "vs.";
const VIEWS = Object.freeze(["compact"]);

const ID = /^[a-z0-9]+(?:[.-][a-z0-9]+)*$/;
const MODULE_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const STACK_VERSION = /^[0-9]+(?:\.[0-9]+)*$/;

/** One entry per key of the fragment, in the order in which links spell them. */
export const FIELDS = Object.freeze({
  method: { kind: "choice", default: "full", choices: ["full", "lora", "qlora"] },
  "lora.rank": { kind: "integer", default: 16, min: 1, max: 65536 },
  "lora.target_modules": { kind: "modules", default: "all-linear" },
  "lora.adapter_dtype": { kind: "choice", default: "fp32", choices: ["fp32", "bf16"] },
  "lora.base_dtype": {
    kind: "choice",
    default: "nf4-dq",
    choices: ["nf4-dq", "nf4", "gptq-int4", "int8"],
  },
  "lora.dropout": { kind: "flag", default: false },
  "lora.train_embeddings": { kind: "flag", default: false },
  "lora.train_head": { kind: "flag", default: false },
  optimizer: { kind: "id", default: "adamw" },
  card: { kind: "id", default: "h100-sxm-80gb", none: "none" },
  strategy: {
    kind: "choice",
    default: "single",
    choices: ["single", "ddp", "zero-1", "zero-2", "zero-3"],
  },
  num_gpus: { kind: "integer", default: null, none: "auto", min: 1, max: 65536 },
  sequence_length: { kind: "integer", default: 2048, min: 1, max: 16777216 },
  micro_batch_size: { kind: "integer", default: 1, min: 1, max: 65536 },
  gradient_accumulation_steps: { kind: "integer", default: 8, min: 1, max: 1048576 },
  activation_checkpointing: {
    kind: "choice",
    default: "full",
    choices: ["full", "selective", "none"],
  },
  precision: {
    kind: "choice",
    default: "bf16-mixed",
    choices: ["bf16-mixed", "bf16-pure", "fp16-mixed", "amp", "fp32"],
  },
  attention: { kind: "choice", default: "flash", choices: ["flash", "sdpa", "eager"] },
  loss: { kind: "choice", default: "standard", choices: ["standard", "chunked", "fused"] },
  optimizer_implementation: {
    kind: "choice",
    default: "fused",
    choices: ["fused", "foreach", "in-backward"],
  },
  stack: { kind: "id", default: "generic" },
  stack_version: { kind: "version", default: null, none: "latest" },
  "card.memory_gb": { kind: "integer", default: null, none: "catalog", min: 1, max: 10000 },
  "card.reserved_gb": { kind: "decimal", default: 0, min: 0, max: 10000 },
  "dataset.num_tokens": { kind: "integer", default: null, none: "unknown", min: 1, max: 1e15 },
  "dataset.num_samples": { kind: "integer", default: null, none: "unknown", min: 1, max: 1e12 },
  "dataset.tokens_per_sample": {
    kind: "integer",
    default: null,
    none: "unknown",
    min: 1,
    max: 16777216,
  },
  "dataset.epochs": { kind: "decimal", default: 1, min: 0.001, max: 1000 },
  "dataset.packing": { kind: "flag", default: true },
  price_usd_per_hour: { kind: "decimal", default: null, none: "list", min: 0.001, max: 10000 },
});

export const DEFAULT_MODEL = "llama-3.1-8b";

/** A fresh state with every field at its default. */
export function defaultState() {
  const state = { model: DEFAULT_MODEL };
  for (const [key, field] of Object.entries(FIELDS)) state[key] = field.default;
  return state;
}

/** True where two field values mean the same setting. */
function isSame(left, right) {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

/** What came from outside, cut to a length that a message can carry. */
export function quoted(text) {
  const plain = String(text).replace(/\s+/g, " ");
  return `“${plain.length > 48 ? `${plain.slice(0, 48)}…` : plain}”`;
}

/**
 * The value that `text` stands for in `field`, or undefined where it stands for none.
 * The same check serves links and the page's own controls.
 */
export function parseValue(field, text) {
  if (field.none !== undefined && text === field.none) return null;
  switch (field.kind) {
    case "choice":
      return field.choices.includes(text) ? text : undefined;
    case "integer": {
      if (!/^[0-9]{1,16}$/.test(text)) return undefined;
      const value = Number(text);
      return value >= field.min && value <= field.max ? value : undefined;
    }
    case "decimal": {
      if (!/^[0-9]{1,8}(?:\.[0-9]{1,19})?$/.test(text)) return undefined;
      const value = Number(text);
      return value >= field.min && value <= field.max ? value : undefined;
    }
    case "id":
      return text.length <= 64 && ID.test(text) ? text : undefined;
    case "version":
      return text.length <= 32 && STACK_VERSION.test(text) ? text : undefined;
    case "flag":
      return text === "yes" ? true : text === "no" ? false : undefined;
    case "modules": {
      if (text === "all-linear") return text;
      const names = text.split(",").map((name) => name.trim());
      const isList =
        names.length <= 32 && names.every((name) => name.length <= 64 && MODULE_NAME.test(name));
      return isList ? names : undefined;
    }
    default:
      return undefined;
  }
}

/** How `value` is written in a link and in a text control; the inverse of `parseValue`. */
export function formatValue(field, value) {
  if (value === null) return field.none ?? "";
  if (field.kind === "flag") return value ? "yes" : "no";
  if (field.kind === "modules" && Array.isArray(value)) return value.join(",");
  return String(value);
}

/** What a field accepts, for a message. */
export function expectation(field) {
  switch (field.kind) {
    case "choice":
      return `one of ${field.choices.join(", ")}`;
    case "integer":
      return (
        `a whole number from ${count(field.min)} to ${count(field.max)}` +
        (field.none ? ` or “${field.none}”` : "")
      );
    case "decimal":
      return (
        `a number from ${field.min} to ${count(field.max)}` +
        (field.none ? ` or “${field.none}”` : "")
      );
    case "flag":
      return "yes or no";
    case "modules":
      return "all-linear, or module names separated by commas";
    case "version":
      return "a release such as 4.48.1";
    default:
      return "an id of the catalog";
  }
}

function toBase64Url(text) {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function fromBase64Url(text) {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return new TextDecoder("utf-8", { fatal: true }).decode(
    Uint8Array.from(binary, (character) => character.charCodeAt(0)),
  );
}

/** True where the state's model can travel in a link. */
export function fitsInLink(state) {
  const { model } = state;
  if (typeof model === "string" || model.config === undefined) return true;
  return toBase64Url(JSON.stringify(model.config)).length <= MAX_CONFIG_CHARACTERS;
}

function encodeModel(model) {
  if (typeof model === "string") return ["model", model];
  if (model.num_parameters !== undefined)
    return ["model.num_parameters", String(model.num_parameters)];
  return ["model.config", toBase64Url(JSON.stringify(model.config))];
}

function encodeState(state, prefix) {
  const parts = [];
  if (fitsInLink(state)) {
    const [key, value] = encodeModel(state.model);
    parts.push(`${prefix}${key}=${encodeURIComponent(value)}`);
  }
  for (const [key, field] of Object.entries(FIELDS)) {
    if (isSame(state[key], field.default)) continue;
    const value = encodeURIComponent(formatValue(field, state[key])).replace(/%2C/g, ",");
    parts.push(`${prefix}${key}=${value}`);
  }
  return parts;
}

/**
 * The fragment of a state, without the leading `#`. A config that is too long is left out, and a
 * set-up to compare with is left out as a whole where its config is.
 */
export function encode(state, { kept = null, view = null } = {}) {
  return [
    `v=${VERSION}`,
    ...encodeState(state, ""),
    ...(kept === null || !fitsInLink(kept) ? [] : encodeState(kept, KEPT_PREFIX)),
    ...(view === null ? [] : [`view=${view}`]),
  ].join("&");
}

/** Catalog id, bare parameter count or config out of a link; undefined where the text is none. */
function decodeModel(key, text) {
  if (key === "model") return parseValue({ kind: "id" }, text);
  if (key === "model.num_parameters") {
    const isCount =
      /^[0-9]{1,16}$/.test(text) && Number(text) > 0 && Number.isSafeInteger(Number(text));
    return isCount ? { num_parameters: Number(text) } : undefined;
  }
  if (text.length > MAX_CONFIG_CHARACTERS) return undefined;
  try {
    const config = JSON.parse(fromBase64Url(text));
    return config !== null && typeof config === "object" && !Array.isArray(config)
      ? { config }
      : undefined;
  } catch {
    return undefined;
  }
}

const MODEL_KEYS = Object.freeze({
  model: "an id of the catalog",
  "model.num_parameters": "a whole number of parameters",
  "model.config": "a Hugging Face config",
});

/** One setting of a link, put into `state`; a sentence where it is none. */
function readSetting(state, key, value, shown) {
  if (Object.hasOwn(MODEL_KEYS, key)) {
    const model = decodeModel(key, value);
    if (model === undefined) {
      return (
        `The link's ${shown} ${quoted(value)} is not ${MODEL_KEYS[key]}; ` +
        `${DEFAULT_MODEL} is used.`
      );
    }
    state.model = model;
    return null;
  }
  if (!Object.hasOwn(FIELDS, key)) {
    return `The link has a setting that this page does not know, ${quoted(shown)}; it was ignored.`;
  }
  const field = FIELDS[key];
  const parsed = parseValue(field, value);
  if (parsed === undefined) {
    const fallback = formatValue(field, field.default) || "the default";
    return (
      `The link's ${shown} ${quoted(value)} is not ${expectation(field)}; ${fallback} is used.`
    );
  }
  state[key] = parsed;
  return null;
}

/** One GPU is what strategy single means; a sentence where a link asks for more. */
function withoutIdleGpus(state) {
  if (state.strategy !== "single" || state.num_gpus === null) return null;
  const number = state.num_gpus;
  state.num_gpus = null;
  return number === 1
    ? null
    : `The link asks for ${count(number)} GPUs, but strategy single evaluates one ` +
        "GPU; choose DDP or ZeRO for several.";
}

/**
 * What a fragment describes: the state, the set-up that it is compared with and the view, null
 * where there is none, and a sentence for each thing that was not used.
 * Returns null for a fragment that is no state (empty, or the anchor of a heading).
 */
export function decode(fragment) {
  const text = fragment.replace(/^#/, "");
  if (!text.includes("=")) return null;
  const decoded = { state: defaultState(), kept: null, view: null, problems: [] };
  const report = (sentence) => {
    if (sentence !== null && decoded.problems.length < MAX_PROBLEMS)
      decoded.problems.push(sentence);
  };
  if (text.length > MAX_FRAGMENT_CHARACTERS) {
    report(
      `The link is ${count(text.length)} characters long; at most ` +
        `${count(MAX_FRAGMENT_CHARACTERS)} are read. The defaults are shown.`,
    );
    return decoded;
  }
  const seen = new Set();
  for (const part of text.split("&")) {
    if (part === "") continue;
    const cut = part.indexOf("=");
    const key = cut < 0 ? part : part.slice(0, cut);
    let value;
    try {
      value = cut < 0 ? "" : decodeURIComponent(part.slice(cut + 1).replace(/\+/g, " "));
    } catch {
      report(`The link's ${quoted(key)} is not readable and was ignored.`);
      continue;
    }
    if (seen.has(key)) {
      report(`The link gives ${quoted(key)} twice; the first is used.`);
      continue;
    }
    seen.add(key);
    if (key === "v") {
      if (value !== String(VERSION)) {
        report(
          `The link was made for version ${quoted(value)} of this page, which reads version ` +
            `${VERSION}; check the settings before you rely on the answer.`,
        );
      }
    } else if (key === "view") {
      if (VIEWS.includes(value)) decoded.view = value;
      else report(`The link's view ${quoted(value)} does not exist; the whole page is shown.`);
    } else if (key.startsWith(KEPT_PREFIX)) {
      decoded.kept ??= defaultState();
      report(readSetting(decoded.kept, key.slice(KEPT_PREFIX.length), value, key));
    } else {
      report(readSetting(decoded.state, key, value, key));
    }
  }
  report(withoutIdleGpus(decoded.state));
  if (decoded.kept !== null) report(withoutIdleGpus(decoded.kept));
  return decoded;
}

/** The id that the core gives a card that is known by its size alone. */
export const OWN_CARD = "own";

/** What the page calls such a card; the core's name for it. */
export const ownCardName = (sizeGb) => `Card with ${count(sizeGb)} GB`;

/** The card of a request: an id, null, or an object for a size or with what others hold of it. */
function cardOf(state) {
  const size = state["card.memory_gb"];
  const reserved = state["card.reserved_gb"];
  if (size === null && (state.card === null || reserved === 0)) return state.card;
  return {
    ...(size === null ? { id: state.card } : { memory_gb: size }),
    ...(reserved === 0 ? {} : { reserved_gb: reserved }),
  };
}

/** True where a state names a data set by samples: their number and their mean length. */
export function hasSamples(state) {
  return state["dataset.num_samples"] !== null && state["dataset.tokens_per_sample"] !== null;
}

/** Data set and price as far as the state has them; a size that lacks a part is none yet. */
function costOf(state) {
  const dataset = {};
  if (hasSamples(state)) {
    dataset.num_samples = state["dataset.num_samples"];
    dataset.tokens_per_sample = state["dataset.tokens_per_sample"];
    dataset.packing = state["dataset.packing"];
  } else if (state["dataset.num_tokens"] !== null) {
    dataset.num_tokens = state["dataset.num_tokens"];
  }
  if (state["dataset.epochs"] !== 1) dataset.epochs = state["dataset.epochs"];
  const price = state.price_usd_per_hour;
  return {
    ...(Object.keys(dataset).length === 0 ? {} : { dataset }),
    ...(price === null || cardOf(state) === null ? {} : { price_usd_per_hour: price }),
  };
}

const NESTED = /^(?:lora|card|dataset)\.|^(?:card|price_usd_per_hour)$/;

/**
 * The request object of the core for a state: nested, without what is at its default and does not
 * apply. Adapter settings of one's own go along under a full fine-tune, for the LoRA that it may
 * be told to change to.
 */
export function toRequest(state) {
  const request = { model: state.model };
  const lora = {};
  let needsLora = state.method !== "full";
  for (const [key, field] of Object.entries(FIELDS)) {
    const value = state[key];
    if (key.startsWith("lora.")) {
      needsLora ||= !isSame(value, field.default);
      if (value !== null) lora[key.slice("lora.".length)] = value;
    } else if (!NESTED.test(key) && (value !== null || field.none !== undefined)) {
      request[key] = value;
    }
  }
  request.card = cardOf(state);
  if (needsLora) request.lora = lora;
  return request;
}

/** As `toRequest`, for the questions whose answer has hours and money. */
export function toCostRequest(state) {
  return { ...toRequest(state), ...costOf(state) };
}

/** As `toRequest`, for a launch file, which says how the data set is used and not its size. */
export function toExportRequest(state) {
  const dataset = { epochs: state["dataset.epochs"], packing: state["dataset.packing"] };
  return { ...toRequest(state), dataset };
}

/** What a request sets, as changes of a state: the inverse of `toRequest`, with its data set. */
export function changesOf({ lora, card, dataset, ...fields }) {
  const nested = (prefix, object) =>
    Object.fromEntries(Object.entries(object).map(([key, value]) => [`${prefix}.${key}`, value]));
  const changes = {
    ...fields,
    ...nested("lora", lora ?? {}),
    ...nested("dataset", dataset ?? {}),
  };
  if (card === undefined) return changes;
  if (card === null || typeof card === "string") {
    return { ...changes, card, "card.memory_gb": null, "card.reserved_gb": 0 };
  }
  return {
    ...changes,
    ...(card.id === undefined ? {} : { card: card.id }),
    "card.memory_gb": card.memory_gb ?? null,
    "card.reserved_gb": card.reserved_gb ?? 0,
  };
}

/** What a choice does away with: the other way to say the same. */
const REPLACED = Object.freeze({
  card: ["card.memory_gb"],
  "card.memory_gb": ["card"],
  "dataset.num_tokens": ["dataset.num_samples", "dataset.tokens_per_sample"],
  "dataset.num_samples": ["dataset.num_tokens"],
  "dataset.tokens_per_sample": ["dataset.num_tokens"],
});

/** A copy of `state` with some dotted fields set; fields that do not exist are left alone. */
export function withChanges(state, changes) {
  const next = { ...state };
  for (const [field, value] of Object.entries(changes)) {
    if (field !== "model" && !Object.hasOwn(FIELDS, field)) continue;
    next[field] = value;
    if (value === null && field !== "card") continue;
    for (const other of REPLACED[field] ?? []) {
      if (!Object.hasOwn(changes, other)) next[other] = FIELDS[other].default;
    }
  }
  // One GPU is what the strategy means, so a count would contradict it.
  if (next.strategy === "single") next.num_gpus = null;
  return next;
}
