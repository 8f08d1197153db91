/* What a set-up is called, on the page and in copied Markdown, under Node: no page needed. */

import assert from "node:assert/strict";
import test from "node:test";

import { setupWords } from "../../docs/assets/calculator/answer.js";
import { toMarkdown } from "../../docs/assets/calculator/export.js";
import { defaultState, toRequest } from "../../docs/assets/calculator/state.js";

const BOTH = { is_in_fp16: false, supports_flash_attention: true };
const NEITHER = { is_in_fp16: true, supports_flash_attention: false };
const request = (changes) => toRequest({ ...defaultState(), ...changes });
const words = (changes, card) =>
  setupWords(request(changes), { optimizer: "AdamW", stack: "DeepSpeed", card });

function markdown(changes, card) {
  const result = { per_gpu: { weights: 1e9, total: 1e9 }, low: 9e8, high: 1.1e9, num_gpus: 1, card };
  const named = { name: "Card", memory_marketed_gb: 16 };
  const judged = { ...card, verdict: "fits", reason: "" };
  return toMarkdown({
    result: { ...result, card: judged },
    request: request(changes),
    card: named,
    modelName: "Model",
    link: "https://example.org/#v=1",
  });
}

test("a set-up has the words of its recipe", () => {
  assert.deepEqual(words({}, BOTH), [
    "full fine-tuning",
    "AdamW",
    "2,048 tokens × 1 × 8 accumulated",
    "bf16 with FP32 master",
  ]);
  assert.deepEqual(words({ method: "qlora", attention: "eager" }, BOTH).slice(-2), [
    "bf16",
    "Eager attention",
  ]);
});

test("without a card nothing stands in for anything", () => {
  assert.deepEqual(words({}, null), words({}, BOTH));
});

test("a card without bf16 and FlashAttention is said to train with what stands in for them", () => {
  assert.deepEqual(words({}, NEITHER).slice(-2), [
    "FP16 with FP32 master",
    "memory-efficient attention",
  ]);
  assert.deepEqual(words({ method: "lora", attention: "sdpa" }, NEITHER).slice(-2), [
    "FP16",
    "SDPA attention",
  ]);
});

test("Markdown names all of the recipe, and what stands in for it", () => {
  const changed = { gradient_accumulation_steps: 4 };
  const [, , plain] = markdown(changed, BOTH).split("\n");
  const [, , old] = markdown(changed, NEITHER).split("\n");

  assert.equal(
    plain,
    "full · adamw · single · bf16-mixed · 2,048 tokens · micro-batch 1 · gradient accumulation 4 · " +
      "checkpointing full · flash attention · standard loss · generic stack",
  );
  assert.equal(
    old,
    plain
      .replace("bf16-mixed", "bf16-mixed in FP16")
      .replace("flash attention", "memory-efficient attention"),
  );
});

test("what is asked to train in FP16 needs nothing in its stead", () => {
  const [, , setup] = markdown({ precision: "fp16-mixed" }, NEITHER).split("\n");
  assert.match(setup, / · fp16-mixed · /);
  assert.equal(words({ precision: "fp16-mixed" }, NEITHER).at(-2), "FP16 with FP32 master");
});
