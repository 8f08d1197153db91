/* The link codec and the reader of pasted models, under Node: no page needed. */

import assert from "node:assert/strict";
import test from "node:test";

import {
  DEFAULT_MODEL,
  FIELDS,
  MAX_CONFIG_CHARACTERS,
  changesOf,
  decode,
  defaultState,
  encode,
  fitsInLink,
  formatValue,
  parseValue,
  toCostRequest,
  toExportRequest,
  toRequest,
  withChanges,
} from "../../docs/assets/calculator/state.js";
import { parseParameterCount } from "../../docs/assets/calculator/model-input.js";

/** A small generator of repeatable numbers, so that a failure comes back. */
function* numbers(seed) {
  let value = seed;
  for (;;) {
    value = (Math.imul(value, 1664525) + 1013904223) >>> 0;
    yield value / 2 ** 32;
  }
}

function randomState(next) {
  const pick = (list) => list[Math.floor(next() * list.length)];
  const state = defaultState();
  state.model = pick([
    "llama-3.1-8b",
    "qwen2.5-7b",
    { num_parameters: 1 + Math.floor(next() * 1e12) },
    { config: { model_type: "llama", hidden_size: 64, name: "ünïcode <b>&#=+%" } },
  ]);
  for (const [key, field] of Object.entries(FIELDS)) {
    if (next() < 0.4) continue;
    if (field.none !== undefined && next() < 0.2) state[key] = null;
    else if (field.kind === "choice") state[key] = pick(field.choices);
    else if (field.kind === "integer")
      state[key] = field.min + Math.floor(next() * (field.max - field.min));
    else if (field.kind === "decimal") state[key] = Math.ceil(next() * 1000) / 8;
    else if (field.kind === "flag") state[key] = next() < 0.5;
    else if (field.kind === "id") state[key] = pick(["rtx-4090-24gb", "adamw-8bit", "torch-fsdp2"]);
    else if (field.kind === "version") state[key] = pick([null, "4.49", "0.12.1"]);
    else state[key] = pick(["all-linear", ["q_proj", "v_proj"]]);
  }
  if (state.strategy === "single") state.num_gpus = null;
  return state;
}

test("a link leaves defaults out", () => {
  assert.equal(encode(defaultState()), `v=1&model=${DEFAULT_MODEL}`);
});

test("any state comes back from its link, without a complaint", () => {
  const stream = numbers(20261130);
  const next = () => stream.next().value;
  for (let round = 0; round < 2000; round += 1) {
    const state = randomState(next);
    const link = encode(state);
    const decoded = decode(`#${link}`);
    assert.deepEqual(decoded, { state, kept: null, view: null, problems: [] }, link);
    const kept = randomState(next);
    const both = encode(state, { kept, view: "compact" });
    assert.deepEqual(decode(`#${both}`), { state, kept, view: "compact", problems: [] }, both);
    assert.doesNotMatch(link, /[\s<>"'`{}]/);
  }
});

test("links of version 1 keep their meaning", () => {
  const link =
    "#v=1&model=qwen2.5-7b&method=qlora&lora.rank=64&card=rtx-4090-24gb&strategy=zero-3" +
    "&num_gpus=auto";
  const { state, problems } = decode(link);
  assert.deepEqual(problems, []);
  assert.deepEqual(toRequest(state), {
    model: "qwen2.5-7b",
    method: "qlora",
    optimizer: "adamw",
    card: "rtx-4090-24gb",
    strategy: "zero-3",
    num_gpus: null,
    sequence_length: 2048,
    micro_batch_size: 1,
    gradient_accumulation_steps: 8,
    activation_checkpointing: "full",
    precision: "bf16-mixed",
    attention: "flash",
    loss: "standard",
    optimizer_implementation: "fused",
    stack: "generic",
    stack_version: null,
    lora: {
      rank: 64,
      target_modules: "all-linear",
      adapter_dtype: "fp32",
      base_dtype: "nf4-dq",
      dropout: false,
      train_embeddings: false,
      train_head: false,
    },
  });
});

test("an empty fragment and a heading's anchor are no state", () => {
  assert.equal(decode(""), null);
  assert.equal(decode("#"), null);
  assert.equal(decode("#calculator"), null);
});

test("unknown keys, bad values and repeated keys are told, and change nothing else", () => {
  const { state, problems } = decode(
    "#v=1&colour=red&sequence_length=-5&micro_batch_size=1e3&card=%3Cimg%3E&method=lora" +
      "&method=full&precision=%E0%A4%A",
  );
  assert.deepEqual(state, { ...defaultState(), method: "lora" });
  assert.equal(problems.length, 6);
  assert.match(problems[0], /does not know, “colour”/);
  assert.match(
    problems[1],
    /sequence_length “-5” is not a whole number from 1 to 16,777,216; 2048 is used/,
  );
  assert.match(problems[4], /twice/);
  assert.match(problems[5], /not readable/);
});

test("what is wrong with the set-up to compare with is told by its own name", () => {
  const { state, kept, problems } = decode(
    "#v=1&method=lora&vs.lora.rank=-1&vs.strategy=ddp&view=3d",
  );
  assert.deepEqual(state, { ...defaultState(), method: "lora" });
  assert.deepEqual(kept, { ...defaultState(), strategy: "ddp" });
  assert.match(problems[0], /vs\.lora\.rank “-1” is not a whole number/);
  assert.match(problems[1], /view “3d” does not exist/);
});

test("another version is told", () => {
  assert.match(decode("#v=2&model=qwen2.5-7b").problems[0], /version “2”/);
});

test("names of built-in properties are only unknown keys", () => {
  const { state, problems } = decode("#v=1&__proto__=x&constructor=y&toString=z&hasOwnProperty=1");
  assert.deepEqual(state, defaultState());
  assert.equal(problems.length, 4);
  assert.equal({}.x, undefined);
});

test("hostile fragments end in messages, never in an exception or a foreign value", () => {
  const stream = numbers(7);
  const next = () => stream.next().value;
  const alphabet = [
    "model",
    "=",
    "&",
    "%",
    "%00",
    "<script>",
    "lora.rank",
    "999999999999",
    "-1",
    "NaN",
    "\u0000",
    "…",
    "__proto__",
    "v",
    "#",
    "{}",
    "a".repeat(500),
    "model.config",
    "eyJhIjp7fX0",
    "../",
    "javascript:alert(1)",
    "vs.",
    "vs.model",
    "view",
  ];
  for (let round = 0; round < 10000; round += 1) {
    let fragment = "#";
    for (let piece = Math.floor(next() * 20); piece >= 0; piece -= 1) {
      fragment += alphabet[Math.floor(next() * alphabet.length)];
    }
    const decoded = decode(fragment);
    if (decoded === null) continue;
    assert.ok(decoded.problems.length <= 8);
    for (const state of [decoded.state, decoded.kept].filter((each) => each !== null)) {
      assert.deepEqual(Object.keys(state), Object.keys(defaultState()));
      for (const [key, field] of Object.entries(FIELDS)) {
        const value = state[key];
        if (value !== null) assert.deepEqual(parseValue(field, formatValue(field, value)), value);
      }
    }
  }
  assert.equal(decode(`#${"a=1&".repeat(10000)}`).problems.length, 1);
});

test("a config that is too long stays out of the link", () => {
  const state = {
    ...defaultState(),
    model: { config: { note: "x".repeat(MAX_CONFIG_CHARACTERS) } },
  };
  assert.equal(fitsInLink(state), false);
  assert.equal(encode(state), "v=1");
});

test("a change sets the fields that it names, and nothing that does not exist", () => {
  assert.equal(withChanges(defaultState(), { "lora.rank": 8 })["lora.rank"], 8);
  const polluting = JSON.parse('{"__proto__": {"polluted": true}, "nothing": 1}');
  assert.deepEqual(withChanges(defaultState(), polluting), defaultState());
});

test("a size in place of a card, and what others hold of it", () => {
  const own = withChanges(defaultState(), { "card.memory_gb": 20 });
  assert.deepEqual(toRequest(own).card, { memory_gb: 20 });
  const less = withChanges(defaultState(), { "card.reserved_gb": 0.5 });
  assert.deepEqual(toRequest(less).card, { id: "h100-sxm-80gb", reserved_gb: 0.5 });
  assert.equal(toRequest(withChanges(own, { card: "rtx-4090-24gb" })).card, "rtx-4090-24gb");
  assert.equal(toRequest(withChanges(own, { card: null })).card, null);
  assert.equal(toRequest(withChanges(less, { card: null })).card, null);
});

test("a data set is its tokens or its samples, whichever was given last", () => {
  const cost = (state) => {
    const { dataset, price_usd_per_hour: price } = toCostRequest(state);
    return { dataset, price };
  };
  const tokens = withChanges(defaultState(), { "dataset.num_tokens": 5e6 });
  assert.deepEqual(cost(tokens), { dataset: { num_tokens: 5e6 }, price: undefined });
  const samples = withChanges(tokens, { "dataset.num_samples": 1000 });
  assert.equal(cost(samples).dataset, undefined); // not before their length is known
  const whole = withChanges(samples, { "dataset.tokens_per_sample": 300, price_usd_per_hour: 2 });
  assert.deepEqual(cost(whole), {
    dataset: { num_samples: 1000, tokens_per_sample: 300, packing: true },
    price: 2,
  });
  const again = withChanges(whole, { "dataset.num_tokens": 7e6, "dataset.epochs": 3 });
  assert.deepEqual(cost(again).dataset, { num_tokens: 7e6, epochs: 3 });
  assert.equal(cost(withChanges(whole, { card: null })).price, undefined);
});

test("a card's size does away with the card", () => {
  const sized = withChanges(
    withChanges(defaultState(), { card: "t4-16gb" }),
    { "card.memory_gb": 20 },
  );
  assert.equal(encode(sized), "v=1&model=llama-3.1-8b&card.memory_gb=20");
  assert.equal(withChanges(sized, { card: "t4-16gb" })["card.memory_gb"], null);
});

test("a launch file has epochs and packing, and gives them back", () => {
  const state = withChanges(defaultState(), { "dataset.epochs": 3, "dataset.packing": false });
  const { dataset } = toExportRequest(state);
  assert.deepEqual(dataset, { epochs: 3, packing: false });
  assert.deepEqual(withChanges(defaultState(), changesOf({ dataset })), state);
  assert.deepEqual(changesOf({ dataset: {} }), {});
  for (const epochs of [1 / 3, 1 / 300, 1 / 999]) {
    const part = withChanges(state, changesOf({ dataset: { epochs } }));
    assert.deepEqual(decode(encode(part)).state, part);
  }
});

test("one GPU is what strategy single means", () => {
  const { state, problems } = decode("#v=1&strategy=single&num_gpus=8");
  assert.equal(state.num_gpus, null);
  assert.match(problems[0], /8 GPUs, but strategy single evaluates one GPU/);
  assert.equal(
    withChanges({ ...defaultState(), strategy: "ddp", num_gpus: 4 }, { strategy: "single" })
      .num_gpus,
    null,
  );
});

test("parameter counts are read as people write them", () => {
  const cases = {
    "13B": 13e9,
    "7.6b": 7.6e9,
    "350M": 350e6,
    "13e9": 13e9,
    "8,030,261,248": 8030261248,
    "8_030_261_248 parameters": 8030261248,
    "1,5B": null,
    "1,50": null,
    "1.2 trillion": 1.2e12,
    0: null,
    "-3B": null,
    "1e99": null,
    "llama-3.1-8b": null,
    "": null,
  };
  for (const [text, expected] of Object.entries(cases))
    assert.equal(parseParameterCount(text), expected, text);
});

test("a request gives back the state that it was made from", () => {
  const stream = numbers(1130);
  const next = () => stream.next().value;
  for (let round = 0; round < 500; round += 1) {
    const state = randomState(next);
    const isAsked = (key) =>
      !/^(?:dataset|price)/.test(key) &&
      (state["card.memory_gb"] === null || key !== "card") &&
      (state["card.memory_gb"] !== null || state.card !== null || key !== "card.reserved_gb");
    const back = withChanges(defaultState(), changesOf(toRequest(state)));
    for (const key of Object.keys(FIELDS).filter(isAsked)) {
      assert.deepEqual(back[key], state[key], key);
    }
    assert.deepEqual(back.model, state.model);
  }
});

test("a long text that is no count is known quickly", () => {
  const started = performance.now();
  assert.equal(parseParameterCount(`1${" ".repeat(199_000)}x`), null);
  assert.ok(performance.now() - started < 200);
});
