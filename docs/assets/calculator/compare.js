/* Two set-ups side by side: what differs in them, and what differs in their answers. */

import { peakBars } from "./charts.js";
import { el } from "./dom.js";
import { COMPONENTS, FIELD_WORDS } from "./fields.js";
import { count, gbNumber, parameters, percent, rough, verdictText } from "./format.js";
import { FIELDS, encode, formatValue, hasSamples, ownCardName } from "./state.js";

const NONE = "–";

/** False for a setting of another method. */
export function applies(key, state) {
  if (key === "lora.base_dtype") return state.method === "qlora";
  if (key === "dataset.packing") return hasSamples(state);
  return !key.startsWith("lora.") || state.method !== "full";
}

/** A field's value as the form words it. */
export function settingWords(key, state, nameOf) {
  const value = state[key];
  const words = FIELD_WORDS[key];
  if (key === "card" && state["card.memory_gb"] !== null) {
    return ownCardName(state["card.memory_gb"]);
  }
  if (key === "model" || key === "card" || words.source !== undefined) return nameOf(key, value);
  if (!applies(key, state)) return NONE;
  if (value === null) return words.placeholder ?? NONE;
  if (typeof value === "number") return count(value);
  return words.options?.[value] ?? formatValue(FIELDS[key], value);
}

const signed = (difference, text) =>
  difference === 0 ? "same" : `${difference < 0 ? "−" : "+"}${text}`;

function gbDifference(kept, now) {
  return signed(now - kept, gbNumber(Math.abs(now - kept)));
}

function relativeDifference(kept, now) {
  if (!(kept > 0) || !(now > 0)) return "";
  return signed(Math.round((now / kept - 1) * 1000), percent(Math.abs(now / kept - 1)));
}

/** Rows of words, kept and now, for the settings that differ. */
function settingRows(kept, now, nameOf) {
  return Object.keys(FIELD_WORDS)
    .filter((key) => isNews(key, kept.state, now.state))
    .map((key) => [
      FIELD_WORDS[key].label,
      settingWords(key, kept.state, nameOf),
      settingWords(key, now.state, nameOf),
      "",
    ])
    .filter(([, left, right]) => left !== right);
}

/** A detail of a method that only one of the two has, and that is as usual there, is no news. */
function isNews(key, kept, now) {
  if (key === "lora.rank" || applies(key, kept) === applies(key, now)) return true;
  const own = applies(key, kept) ? kept : now;
  return own[key] !== FIELDS[key].default;
}

/** Rows of figures; a row that neither answer has is left out. */
function figureRows(kept, now) {
  const [left, right] = [kept.result, now.result];
  const shownBytes = (bytes) => (bytes === 0 ? NONE : gbNumber(bytes));
  const bytes = (label, read) => [
    label,
    shownBytes(read(left)),
    shownBytes(read(right)),
    gbDifference(read(left), read(right)),
  ];
  const sent = (result) => result.communication.bytes_sent_per_gpu_per_optimizer_step;
  const speeds = [left, right].map((result) => result.throughput.tokens_per_second);
  const hours = [left, right].map((result) => result.throughput.cost?.hours);
  const money = [left, right].map((result) => result.throughput.cost?.usd);
  const shownFigure = (figure) =>
    typeof figure === "number" ? rough(figure) : NONE;
  return [
    [
      "Verdict",
      ...[left, right].map(({ card }) => (card === null ? NONE : verdictText(card.verdict))),
      "",
    ],
    ["GPUs", count(left.num_gpus), count(right.num_gpus), ""],
    ...COMPONENTS.filter(([key]) => left.per_gpu[key] > 0 || right.per_gpu[key] > 0).map(
      ([key, label]) => bytes(label, (result) => result.per_gpu[key]),
    ),
    bytes("Total, GB per GPU", (result) => result.per_gpu.total),
    bytes("PyTorch allocates", (result) => result.allocated),
    ...(sent(left) + sent(right) > 0 ? [bytes("Sent per GPU and step", sent)] : []),
    [
      "Trained parameters",
      parameters(left.num_trainable_parameters),
      parameters(right.num_trainable_parameters),
      "",
    ],
    ["Tokens per second", ...speeds.map(shownFigure), relativeDifference(...speeds)],
    ["Hours", ...hours.map(shownFigure), relativeDifference(...hours)],
    ["US$", ...money.map(shownFigure), relativeDifference(...money)],
  ];
}

/** The comparison as a table below two bars on one scale. */
function comparison(kept, now, nameOf) {
  const settings = settingRows(kept, now, nameOf);
  const row = (cells, kind) =>
    el(
      "tr",
      { class: kind },
      el("th", { scope: "row" }, cells[0]),
      ...cells.slice(1).map((cell) => el("td", {}, cell)),
    );
  const isTotal = ([label]) => label.startsWith("Total");
  return el(
    "div",
    {},
    peakBars([
      { name: "Kept", ...kept },
      { name: "This one", ...now },
    ]),
    settings.length === 0
      ? el("p", { class: "tf-notes" }, "Both are the same set-up: change a setting to compare.")
      : null,
    el(
      "div",
      { class: "tf-scroll-x" },
      el(
        "table",
        { class: "tf-ledger tf-compare" },
        el("caption", { class: "tf-hidden" }, "The kept set-up and this one, memory in GB"),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("td"),
            ...["Kept", "This one", "Difference"].map((name) => el("th", { scope: "col" }, name)),
          ),
        ),
        el("tbody", { class: "tf-compare-settings" }, ...settings.map((cells) => row(cells))),
        el(
          "tbody",
          {},
          ...figureRows(kept, now).map((cells) =>
            row(cells, isTotal(cells) ? "tf-compare-total" : undefined),
          ),
        ),
      ),
    ),
  );
}

/** A set-up that is kept while others are tried, and how the one on the page compares. */
export class ComparePanel {
  #kept = null; // {state, result}, the result null until it is computed
  #now = null;
  #settings;

  /**
   * @param {object} settings
   * @param {(state: object) => Promise<object|null>} settings.ask the core's estimate
   * @param {(key: string, value: unknown) => string} settings.nameOf names of catalog entries
   * @param {(state: object) => object|null} settings.cardOf
   * @param {() => void} settings.onKeep something is kept, or nothing is any more
   * @param {(state: object) => void} settings.onSwap the kept state is to be the page's
   * @param {(sentence: string) => void} settings.onProblem
   */
  constructor(settings) {
    this.#settings = settings;
    const link = (label, onclick) =>
      el("button", { type: "button", class: "tf-link-button", onclick }, label);
    this.keepButton = link("Keep this set-up to compare with", () => this.#keepThis());
    this.keepRow = el("p", { class: "tf-keep" }, this.keepButton);
    this.title = el("h2", { class: "tf-section-title", tabindex: "-1" }, "Compared");
    this.table = el("div");
    this.root = el(
      "section",
      { class: "tf-section", hidden: true },
      this.title,
      this.table,
      el(
        "p",
        { class: "tf-keep" },
        link("Keep this one instead", () => this.#keepThis()),
        link("Swap", () => this.#swap()),
        link("Stop comparing", () => this.#stop()),
      ),
    );
  }

  /** The kept state, or null. */
  get state() {
    return this.#kept?.state ?? null;
  }

  /** Holds a state to compare with, or lets go of it with null. */
  async keep(state, result = null) {
    if (state !== null && this.#kept !== null && encode(state) === encode(this.#kept.state)) return;
    const kept = state === null ? null : { state, result };
    this.#kept = kept;
    this.#draw();
    if (kept === null || result !== null) return;
    let answered;
    try {
      answered = await this.#settings.ask(state);
    } catch {
      return; // who asks has told so
    }
    if (answered === null || this.#kept !== kept) return;
    if (answered.error === undefined) {
      kept.result = answered;
    } else {
      this.#kept = null;
      this.#settings.onProblem(
        `The set-up to compare with has no answer: ${answered.error.message}`,
      );
    }
    this.#draw();
  }

  /** The page shows another answer. */
  show(state, result) {
    this.#now = { state, result };
    if (this.#kept !== null) this.#draw();
  }

  #keepThis() {
    this.keep(this.#now.state, this.#now.result);
    this.#settings.onKeep();
    this.title.focus();
  }

  #swap() {
    const { state } = this.#kept;
    this.#kept = this.#now;
    this.#settings.onSwap(state);
  }

  #stop() {
    this.keep(null);
    this.#settings.onKeep();
    this.keepButton.focus();
  }

  #draw() {
    const kept = this.#kept;
    this.keepRow.hidden = kept !== null;
    this.root.hidden = kept === null;
    if (kept === null) return;
    if (kept.result === null || this.#now === null) {
      this.table.replaceChildren(el("p", { class: "tf-notes" }, "Being computed…"));
      return;
    }
    const { cardOf, nameOf } = this.#settings;
    const withCard = (entry) => ({ ...entry, card: cardOf(entry.state) });
    this.table.replaceChildren(comparison(withCard(kept), withCard(this.#now), nameOf));
  }
}
