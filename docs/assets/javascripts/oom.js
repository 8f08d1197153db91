// The box that decodes an out-of-memory message: the core, which the calculator's worker runs in the
// browser, compares the failed request with the tensors of the reader's run.
"use strict";

import { engine } from "../calculator/engine.js";
import { element } from "./common.js";
import { modelsNamed } from "./names.js";

const form = document.querySelector(".tf-oom");
const output = document.querySelector(".tf-oom-answer");
const field = (name) => form.elements[name];
const site = form.dataset.site;
let models = null; // on their way once someone comes near

const say = (text) => output.replaceChildren(element("p", { textContent: text }));

function size(bytes) {
  return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(2)} GiB` : `${(bytes / 2 ** 20).toFixed(2)} MiB`;
}

const count = (value) => value.toLocaleString("en-US");

/* What the reader's run is, as the core takes it */

function request() {
  const numGpus = Number(field("num_gpus").value);
  const strategy = field("strategy").value;
  return {
    model: field("model").value.trim(),
    method: field("method").value,
    sequence_length: Number(field("sequence_length").value),
    micro_batch_size: Number(field("micro_batch_size").value),
    attention: field("attention").value,
    strategy,
    ...(strategy === "single" ? {} : { num_gpus: numGpus }),
  };
}

function calculatorLink() {
  const query = new URLSearchParams({ v: "1", ...request() });
  return `${site}calculator/#${query}`;
}

/* The answer */

function tensorItem(each) {
  const page = element("a", { href: site + each.page, textContent: "more" });
  return element(
    "li",
    {},
    element("strong", { textContent: each.tensor }),
    `, made in the ${each.phase} phase`,
    element("br"),
    element("span", { className: "tf-product", textContent: `${each.formula} = ${size(each.num_bytes)}` }),
    element("br"),
    `${each.remedy} `,
    page,
  );
}

function lead({ candidates, message }) {
  const requested = size(message.requested_bytes);
  if (candidates.length === 0) return `No tensor of this run has ${requested}.`;
  if (!candidates[0].is_exact) return `No tensor of this run has exactly ${requested}; near it is:`;
  const one = candidates.length === 1;
  return `${requested} is ${one ? "one tensor of this run" : "one of these tensors of this run"}:`;
}

function show(answer) {
  if (answer.error) {
    say(answer.error.message);
    return;
  }
  const parts = [];
  if (answer.names_a_tensor) parts.push(element("p", { textContent: lead(answer) }));
  if (answer.candidates.length) parts.push(element("ol", {}, ...answer.candidates.map(tensorItem)));
  if (!answer.candidates.some((each) => each.is_exact)) {
    parts.push(
      ...answer.tokens_of_logits.map(({ dtype, fewest, most }) =>
        element("p", {
          textContent:
            `As ${dtype} logits it would be ${fewest === most ? count(most) : `${count(fewest)} to ${count(most)}`}` +
            " tokens in the micro-batch, padding included.",
        }),
      ),
    );
  }
  parts.push(...answer.observations.map((text) => element("p", { textContent: text })));
  parts.push(
    element(
      "p",
      {},
      element("a", { href: calculatorLink(), textContent: "This run in the calculator" }),
      ", with each phase and what would fit.",
    ),
  );
  output.replaceChildren(...parts);
}

/** A name that was typed becomes the id that it means, where the reader sees it. */
async function nameModel() {
  const box = field("model");
  box.value = modelsNamed(await models, box.value)[0]?.id ?? box.value;
}

async function decode() {
  if (engine.state !== "ready") say("Loading the estimator…");
  try {
    await nameModel();
    const answer = await engine.ask("decode", { op: "decode", message: field("message").value, ...request() });
    if (answer) show(answer);
  } catch (error) {
    say(`The estimator did not start: ${error.message}. The list below does the same by hand.`);
    engine.reset();
  }
}

/* Nothing is loaded before a reader comes near */

/** The models of the catalog; none where their list does not arrive, and ids still count. */
async function listModels() {
  try {
    const { items } = await (await fetch(`${site}api/v1/models.json`)).json();
    document
      .getElementById("tf-oom-models")
      .replaceChildren(...items.map((each) => element("option", { value: each.id, textContent: each.name })));
    return items;
  } catch {
    return [];
  }
}

function start() {
  engine.start();
  models ??= listModels();
}

form.addEventListener("focusin", start, { once: true });
form.addEventListener("submit", (event) => {
  event.preventDefault();
  start(); // a click does not focus the button in every browser
  decode();
});
field("strategy").addEventListener("change", () => {
  const isSingle = field("strategy").value === "single";
  field("num_gpus").disabled = isSingle;
  field("num_gpus").closest("label").hidden = isSingle;
});
form.hidden = false;
