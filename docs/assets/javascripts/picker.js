// The home page's question: model, method and card lead to the row that answers it.

import { element, WORDS } from "./common.js";
import { modelsNamed } from "./names.js";

const form = document.querySelector(".tf-picker");
const output = document.querySelector(".tf-picked");
const api = form.dataset.api;
const METHODS = { full: "full fine-tuning", lora: "LoRA", qlora: "QLoRA" };
const SHORT = { ddp: "DDP", "zero-1": "ZeRO-1", "zero-2": "ZeRO-2", "zero-3": "ZeRO-3" };
const files = new Map();

async function json(path) {
  if (!files.has(path)) {
    files.set(
      path,
      fetch(api + path).then((response) => {
        if (!response.ok) throw new Error(`${response.status}`);
        return response.json().then((file) => file.items);
      }),
    );
    // The next question asks again.
    files.get(path).catch(() => files.delete(path));
  }
  return files.get(path);
}

const MOST_CHOICES = 8;
const TYPING_DELAY_MS = 500; // after the last key

/** Asks which of several models was meant. */
function askWhich(models) {
  const choices = models.slice(0, MOST_CHOICES).map(({ id, name }) => {
    const button = element("button", { type: "button", textContent: name });
    button.addEventListener("click", () => {
      form.elements.model.value = id;
      update();
      form.elements.model.focus();
    });
    return button;
  });
  const more = models.length - choices.length;
  output.replaceChildren("Which one?", ...choices, more > 0 ? `and ${more} more` : "");
}

/** Fewest GPUs of a card under the strategy that shards least; where none fits, the closest miss. */
function answer(data, method, cardId) {
  const { axes } = data;
  const card = axes.card.indexOf(cardId);
  const optimizer = axes.optimizer.indexOf("adamw");
  const place = (names, index) => names.reduce((sum, name) => sum * axes[name].length + (index[name] ?? 0), 0);
  let best = null;
  axes.strategy.forEach((strategy, s) => {
    const index = { method: axes.method.indexOf(method), optimizer, strategy: s, card };
    const first = data.first_num_gpus[place(data.first_num_gpus_axes, index)];
    const counts = strategy === "single" ? [1] : data.allowed_gpu_counts[card].filter((count) => strategy !== "ddp" || count > 1);
    for (const count of first ? [first] : counts) {
      index.num_gpus = axes.num_gpus.indexOf(count);
      const bytes = data.total_bytes_per_gpu[place(data.total_bytes_per_gpu_axes, index)];
      const fits = bytes <= data.fits_up_to_bytes[card];
      const verdict = fits ? "fits" : bytes <= data.tight_up_to_bytes[card] ? "tight" : "no";
      const rank = { fits: 0, tight: 1, no: 2 }[verdict];
      const weight = verdict === "no" ? bytes : count;
      if (!best || rank < best.rank || (rank === best.rank && weight < best.weight)) {
        best = { strategy, count, bytes, verdict, rank, weight };
      }
    }
  });
  const at = axes.num_gpus.indexOf(best.count);
  const part = (permille) => (best.bytes * permille[at]) / 1000;
  best.low = best.bytes - part(data.likely_below_permille);
  best.high = best.bytes + part(data.likely_above_permille);
  return best;
}

let numAsked = 0;

/** Answers the question that stands there; the address of the answer's row, if it has one. */
async function update() {
  numAsked += 1;
  const own = numAsked;
  try {
    return await answerQuestion(() => own !== numAsked);
  } catch (error) {
    if (own !== numAsked) return null;
    output.textContent = `The figures could not be loaded (${error.message}). All models are in the list of models.`;
    return null;
  }
}

/** `isOld` tells whether another question came meanwhile, whose answer may already stand there. */
async function answerQuestion(isOld) {
  const models = await json("models.json");
  if (isOld()) return null;
  const [model, ...others] = modelsNamed(models, form.elements.model.value);
  if (!model) {
    const calculator = element("a", { href: "calculator/", textContent: "The calculator" });
    const takes = " takes a config.json, or a number of parameters.";
    output.replaceChildren("No such model in the catalog. ", calculator, takes);
    return null;
  }
  if (others.length > 0) {
    askWhich([model, ...others]);
    return null;
  }
  const [data] = await json(`models/${model.id}.json`);
  if (isOld()) return null;
  const { method, card } = Object.fromEntries(new FormData(form));
  const best = answer(data, method, card);
  const name = form.elements.card.selectedOptions[0].textContent;
  const cards = await json("cards.json");
  if (isOld()) return null;
  const isInFp16 = !cards.find(({ id }) => id === card).supports_bf16;
  const link = element("a", {
    href: `models/${model.id}/#${method}--adamw--${best.strategy}--${card}`,
    textContent: `${model.name}, ${METHODS[method]} on ${best.count} × ${name}`,
  });
  const gb = element("span", { textContent: `${(best.bytes / 1e9).toFixed(1)} GB per GPU` });
  const verdict = element("span", { className: `v-${best.verdict}`, textContent: WORDS[best.verdict] });
  const strategy = SHORT[best.strategy] ? ` with ${SHORT[best.strategy]} ` : " ";
  const likely = element("small", { textContent: likelyWords(best) });
  output.replaceChildren(link, strategy, gb, " ", verdict, isInFp16 ? " in FP16 " : " ", likely);
  return link.href;
}

/** Where published readings lie, as the static answer of `docs/index.md` has it. */
function likelyWords({ low, high }) {
  return `likely ${(low / 1e9).toFixed(1)} to ${(high / 1e9).toFixed(1)} GB, by training stack`;
}

/** As the page names it: without the vendor, with the size. */
function cardName({ name, vendor, memory_marketed_gb: size }) {
  const own = name.replace(`${vendor} `, "");
  return own.includes(`${size} GB`) ? own : `${own} ${size} GB`;
}

async function start() {
  const [models, cards] = await Promise.all([json("models.json"), json("cards.json")]);
  const option = (value, text) => element("option", { value, textContent: text });
  document.getElementById("tf-models").replaceChildren(...models.map((each) => option(each.id, each.name)));
  const select = form.elements.card;
  const chosen = select.value;
  const vendors = Map.groupBy
    ? Map.groupBy(cards, (card) => card.vendor)
    : cards.reduce((map, card) => map.set(card.vendor, [...(map.get(card.vendor) ?? []), card]), new Map());
  select.replaceChildren(
    ...[...vendors].map(([vendor, listed]) => {
      listed.sort((a, b) => a.memory_marketed_gb - b.memory_marketed_gb || a.name.localeCompare(b.name));
      return element("optgroup", { label: vendor }, ...listed.map((card) => option(card.id, cardName(card))));
    }),
  );
  select.value = chosen;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const href = await update();
  if (href) location.assign(href);
});
form.addEventListener("change", update);
// What stands there answers another question from now on.
let typing = 0;
form.elements.model.addEventListener("focus", ({ target }) => target.select());
form.elements.model.addEventListener("input", () => {
  numAsked += 1;
  output.replaceChildren();
  clearTimeout(typing);
  typing = setTimeout(update, TYPING_DELAY_MS);
});
// The lists come when someone comes near; where they do not, the next approach asks again.
const listen = () => {
  const approach = () => {
    for (const event of ["focusin", "pointerenter"]) form.removeEventListener(event, approach);
    start().catch(listen);
  };
  for (const event of ["focusin", "pointerenter"]) form.addEventListener(event, approach);
};
listen();
