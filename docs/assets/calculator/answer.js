/* The answer to one request: verdict, breakdown, what would change it, and what it rests on. */

import { FIT_SHARE, phaseName, sequenceCurve } from "./charts.js";
import { el } from "./dom.js";
import { COMPONENTS, FIELD_WORDS, VERDICTS } from "./fields.js";
import {
  count,
  gb,
  gbNumber,
  gpus,
  money,
  parameters,
  percent,
  rough,
  verdictText,
} from "./format.js";

const section = (title, ...children) =>
  el(
    "section",
    { class: "tf-section" },
    el("h2", { class: "tf-section-title" }, title),
    ...children,
  );

/** One sentence for screen readers and for the strip on phones. */
export function summary(result, card) {
  const total = gb(result.per_gpu.total);
  if (card === null || result.card === null) return `${total} per GPU`;
  return (
    `${verdictText(result.card.verdict)}: ${total} of ${card.memory_marketed_gb} GB per GPU, ` +
    gpus(result.num_gpus)
  );
}

const capitalised = (text) => text[0].toUpperCase() + text.slice(1);

/** The reason without the figures that the headline has: up to the share, and the share itself. */
function reasonBeyond({ card }) {
  const rest = /^[^(]*\([^)]*\)([:,].*)$/.exec(card.reason);
  return rest === null ? card.reason : `${percent(card.share)} of the card${rest[1]}`;
}

/** What an end of the range would be on the card, where it is not what the figure is; or null. */
function otherEnd({ card, low, high, request }) {
  const narrower =
    request.stack === "generic" ? " Naming the training stack below narrows the range." : "";
  if (card.verdict === "fits" && high > card.memory_usable_bytes)
    return `The upper end of the range would not fit.${narrower}`;
  if (card.verdict === "no" && low <= FIT_SHARE * card.memory_marketed_bytes)
    return `The lower end of the range would fit.${narrower}`;
  if (card.verdict === "no" && low <= card.memory_usable_bytes)
    return `The lower end of the range would be tight.${narrower}`;
  return null;
}

/** What stands in for the recipe's own on a card without bf16 or FlashAttention, or null. */
export function standIns(request, card) {
  return {
    precision: card?.is_in_fp16 && request.precision.startsWith("bf16") ? "FP16" : null,
    attention:
      request.attention === "flash" && card?.supports_flash_attention === false
        ? "memory-efficient attention"
        : null,
  };
}

/**
 * What a set-up is made of, in words, without its model; what is at its default and needs no word
 * is left out. `card` is the answer's, or null.
 */
export function setupWords(request, { optimizer, stack, card }) {
  const instead = standIns(request, card);
  const word = (key) => FIELD_WORDS[key].options[request[key]];
  const accumulation = request.gradient_accumulation_steps;
  // A frozen base has no master.
  const precision =
    request.method === "full"
      ? word("precision")
      : ({ "bf16-mixed": "bf16", "fp16-mixed": "FP16" }[request.precision] ?? word("precision"));
  return [
    request.method === "full"
      ? "full fine-tuning"
      : `${word("method")} rank ${count(request.lora.rank)}`,
    optimizer,
    request.strategy === "single" ? null : word("strategy"),
    `${count(request.sequence_length)} token${request.sequence_length === 1 ? "" : "s"} × ` +
      count(request.micro_batch_size) +
      (accumulation > 1 ? ` × ${count(accumulation)} accumulated` : ""),
    instead.precision === null ? precision : precision.replace("bf16", instead.precision),
    request.activation_checkpointing === "full"
      ? null
      : `checkpointing ${word("activation_checkpointing").toLowerCase()}`,
    request.attention === "flash" ? instead.attention : `${word("attention")} attention`,
    request.loss === "standard" ? null : `${word("loss").toLowerCase()} loss`,
    request.stack === "generic" ? null : stack,
  ].filter((each) => each !== null);
}

/** Set-up, verdict, figure and reason. */
export function headline({ result, card, setup }) {
  const { per_gpu: lines } = result;
  const verdict = card === null || result.card === null ? null : result.card.verdict;
  const notes = [
    result.low === result.high
      ? null
      : `likely between ${gbNumber(result.low)} and ${gb(result.high)}`,
    `PyTorch allocates ${gb(result.allocated)}`,
    `peak: ${phaseName(result.peak_phase).toLowerCase()}`,
  ].filter((note) => note !== null);
  const other = result.card === null ? null : otherEnd(result);
  const trained =
    result.num_trainable_parameters === result.num_parameters
      ? "all trained"
      : `${parameters(result.num_trainable_parameters)} trained`;
  return el(
    "div",
    { class: "tf-headline" },
    el("p", { class: "tf-setup" }, setup),
    el(
      "p",
      { class: verdict === null ? "tf-verdict" : `tf-verdict verdict-${verdict}` },
      verdict === null
        ? null
        : el(
            "span",
            { class: "tf-verdict-word" },
            el("span", { class: "tf-sign", "aria-hidden": "true" }, VERDICTS[verdict].sign),
            ` ${capitalised(VERDICTS[verdict].word)}`,
          ),
      el(
        "span",
        { class: "tf-figure" },
        el(
          "span",
          { class: "tf-figure-number", "data-tf": "total", "data-bytes": lines.total },
          gbNumber(lines.total),
        ),
        card === null ? " GB per GPU" : ` of ${card.memory_marketed_gb} GB per GPU`,
      ),
      el(
        "span",
        { class: "tf-count" },
        card === null ? gpus(result.num_gpus) : `${count(result.num_gpus)} × ${card.name}`,
      ),
    ),
    result.card === null ? null : el("p", { class: "tf-reason" }, reasonBeyond(result)),
    el(
      "p",
      { class: "tf-notes" },
      capitalised(
        `${notes.join(" · ")} · ${parameters(result.num_parameters)} parameters, ${trained}`,
      ),
    ),
    other === null ? null : el("p", { class: "tf-notes" }, other),
  );
}

/** A memory line as a term of the sum: `16.1 ÷ 8`, or what of it is alive at the peak. */
function divided({ bytes, term }) {
  if (term === undefined || term.divisor === 1) return gbNumber(bytes);
  const share = term.bytes / term.divisor;
  return Math.abs(share - bytes) <= share * 0.005
    ? `${gbNumber(term.bytes)} ÷ ${count(term.divisor)}`
    : gbNumber(bytes);
}

/** The memory lines as a ledger, with the sum that leads from the whole to one GPU. */
export function ledger(result) {
  const { per_gpu: lines } = result;
  const used = COMPONENTS.filter(([key]) => lines[key] > 0).map(([key, label, word]) => ({
    key,
    label,
    word,
    term: divided({ bytes: lines[key], term: result.formula[key] }),
  }));
  const isSharded = used.some(({ term }) => term.includes("÷"));
  const row = ({ key, label, term }) =>
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("span", { class: `tf-swatch tf-back-${key}`, "aria-hidden": "true" }),
        label,
      ),
      isSharded ? el("td", { class: "tf-quiet" }, term) : null,
      el("td", {}, gbNumber(lines[key])),
      el("td", { class: "tf-quiet tf-share-cell" }, percent(lines[key] / lines.total)),
    );
  const sum = used.map(({ word, term }) => `${word} ${term}`).join(" + ");
  return el(
    "div",
    { class: "tf-ledger-box" },
    el(
      "table",
      { class: "tf-ledger" },
      el("caption", { class: "tf-hidden" }, "Memory of one GPU by component, in GB"),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, `At the peak: ${phaseName(result.peak_phase).toLowerCase()}`),
          isSharded ? el("th", { scope: "col" }, "whole ÷ GPUs") : null,
          el("th", { scope: "col" }, "GB per GPU"),
          el("th", { scope: "col", class: "tf-share-cell" }, "share"),
        ),
      ),
      el("tbody", {}, ...used.map(row)),
      el(
        "tfoot",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "row" }, "Total"),
          isSharded ? el("td") : null,
          el("td", {}, gbNumber(lines.total)),
          el("td", { class: "tf-share-cell" }),
        ),
      ),
    ),
    el("p", { class: "tf-formula" }, `per GPU = ${sum} = ${gb(lines.total)}`),
  );
}

/** What the colours of the bars mean, for the view that has no ledger. */
export function legend({ per_gpu: lines }) {
  const used = COMPONENTS.filter(([key]) => lines[key] > 0);
  return el(
    "ul",
    { class: "tf-legend" },
    ...used.map(([key, label]) =>
      el(
        "li",
        {},
        el("span", { class: `tf-swatch tf-back-${key}`, "aria-hidden": "true" }),
        `${label} ${gbNumber(lines[key])}`,
      ),
    ),
  );
}

/** Changes that would make it fit, cheapest first, each a button that makes it. */
export function changes(list, onApply) {
  return section(
    "Cheapest changes that fit",
    list.length === 0
      ? el(
          "p",
          { class: "tf-notes" },
          "No single change makes it fit; try two, or a larger card in the table below.",
        )
      : el(
          "ol",
          { class: "tf-changes" },
          ...list.map((change) =>
            el(
              "li",
              {},
              el(
                "button",
                { type: "button", class: "tf-link-button", onclick: () => onApply(change) },
                capitalised(change.label),
              ),
              el(
                "span",
                { class: `verdict-${change.verdict}` },
                ` ${verdictText(change.verdict)}, ${gb(change.total)}`,
              ),
              el(
                "span",
                { class: "tf-tag" },
                change.changes_training ? `${change.cost}; changes what is learned` : change.cost,
              ),
            ),
          ),
        ),
  );
}

/** What the core's solvers found, with a button where the finding is a setting. */
export function solutions(solved, { cardName, onApply }) {
  const row = (label, text, change) =>
    el(
      "div",
      { class: "tf-solution" },
      el("dt", {}, label),
      el(
        "dd",
        {},
        text,
        change === null
          ? null
          : el(
              "button",
              {
                type: "button",
                class: "tf-link-button",
                onclick: () => onApply(change),
                "aria-label": `Use: ${label}, ${text}`,
              },
              "use",
            ),
      ),
    );
  const none = ["none fits", null];
  /** A card and a count on which it fits, named and with the figure that it is best in. */
  const setUp = (label, found, figure) =>
    row(
      label,
      ...(found
        ? [
            `${count(found.num_gpus)} × ${cardName(found.card)}, ${figure(found)}` +
              (found.is_in_fp16 ? ", in FP16" : ""),
            { card: found.card, num_gpus: found.num_gpus },
          ]
        : none),
    );
  const {
    longest_sequence: longest,
    largest_micro_batch: batch,
    fewest_gpus: fewest,
    cheapest,
    cheapest_run: cheapestRun,
    fastest,
  } = solved;
  const limit = solved.context_length;
  const isBeyond = typeof limit === "number" && longest > limit;
  const tokens = isBeyond
    ? `${count(longest)} tokens, beyond the model’s ${count(limit)}`
    : `${count(longest)} tokens`;
  return el(
    "dl",
    { class: "tf-solutions" },
    row("Longest sequence", ...(longest ? [tokens, { sequence_length: longest }] : none)),
    row("Largest micro-batch", ...(batch ? [count(batch), { micro_batch_size: batch }] : none)),
    row("Fewest GPUs, same strategy", ...(fewest ? [gpus(fewest), { num_gpus: fewest }] : none)),
    setUp("Cheapest per hour", cheapest, ({ usd_per_hour: usd }) => `$${money(usd)} an hour`),
    setUp("Cheapest run", cheapestRun, ({ usd, hours }) => `$${money(usd)}, ${rough(hours)} hours`),
    setUp("Fastest run", fastest, ({ hours }) => `${rough(hours)} hours`),
  );
}

/** Two figures of a quantity as people would say them, once where they come to the same. */
function span(low, high, shown = rough) {
  return shown(low) === shown(high) ? shown(low) : `${shown(low)} to ${shown(high)}`;
}

/** The data set that hours and money are for, in words. */
function dataSetWords({ num_tokens: tokens, num_processed_tokens: processed }, epochs) {
  const words = `${parameters(tokens)} tokens`;
  const passes = epochs === 1 ? "" : ` in ${count(epochs)} epochs`;
  return processed > tokens
    ? `${words}${passes}, ${parameters(processed)} with padding`
    : `${words}${passes}`;
}

/** What one GPU sends, where some strategies send it again for each micro-batch of a step. */
function sentWords({
  bytes_sent_per_gpu_per_optimizer_step: sent,
  bytes_sent_per_gpu_per_step: once,
  relative_to_ddp_per_optimizer_step: ratio,
}) {
  if (sent === 0) return "nothing";
  const words = `${gb(sent)}, ${ratio.toFixed(2)} × DDP`;
  return sent === once ? words : `${words}; ${gb(once)} with one micro-batch`;
}

/** Communication, time and cost. */
export function running(result, { epochs, isHalf }) {
  const rows = [];
  const row = (label, text) =>
    rows.push(el("div", { class: "tf-solution" }, el("dt", {}, label), el("dd", {}, text)));
  row("Sent per GPU and step", sentWords(result.communication));
  const { throughput } = result;
  const speed = throughput.tokens_per_second;
  if (typeof speed === "number" && speed > 0) {
    const { cost } = throughput;
    const perGpu = [
      throughput.tokens_per_second_per_gpu_low,
      throughput.tokens_per_second_per_gpu_high,
    ];
    const [slow, fast] = perGpu.map((rate) => rate * result.num_gpus);
    row("Speed, all GPUs", `${span(slow, fast)} tokens per second`);
    // Samples alone are no size, nor is their length.
    const usual = isHalf ? ", until samples have both number and mean length" : "";
    row("Data set", `${dataSetWords(cost, epochs)}${usual}`);
    row("Time", `${span(cost.hours_low, cost.hours_high)} hours`);
    const basis = cost.price_date === "given" ? "at your price" : `prices of ${cost.price_date}`;
    row(
      "Money",
      cost.usd === null
        ? "no price known for this card; enter one under Data set and price"
        : `US$ ${span(cost.usd_low, cost.usd_high, money)}, ${basis}`,
    );
  } else {
    row("Speed", throughput.note ?? "not known");
  }
  const isMoot = result.card?.verdict === "no";
  return section(
    `Communication, time and cost${isMoot ? ", if it fitted" : ""}`,
    el("dl", { class: "tf-solutions" }, ...rows),
  );
}

/** What the answer rests on. */
export function assumptions(result) {
  return el(
    "details",
    { class: "tf-assumptions" },
    el("summary", {}, "What this assumes"),
    el("ul", {}, ...result.assumptions.map((text) => el("li", {}, text))),
  );
}

/** Memory against sequence length. */
export function curveSection({ points, result, request, card, width }) {
  const picture = sequenceCurve({
    points,
    current: request.sequence_length,
    total: result.per_gpu.total,
    card,
    width,
  });
  return section("Memory against sequence length", picture);
}
