/* Pictures of an answer: stacked bars per phase, and memory against sequence length.
   Positions are SVG attributes, never style text, so a strict content policy holds. */

import { el, svg } from "./dom.js";
import { COMPONENTS } from "./fields.js";
import { count, gb, gbNumber, shortTokens } from "./format.js";

export const FIT_SHARE = 0.95;

const PHASES = Object.freeze({
  forward: "Forward",
  loss: "Loss",
  backward: "Backward",
  step: "Optimizer step",
});

/** What a phase of the core is called on the page. */
export function phaseName(phase) {
  return PHASES[phase] ?? phase;
}

const across = (value, scale) => `${((value / scale) * 100).toFixed(3)}%`;

/** The sizes of a card that the picture draws: where “fits” ends, and where the card does. */
function limitsOf(card) {
  if (card === null) return [];
  const marketed = card.memory_marketed_gb * 1e9;
  return [
    { bytes: Math.min(marketed * FIT_SHARE, card.usable_bytes ?? Infinity), kind: "fit" },
    { bytes: marketed, kind: "card" },
  ];
}

/** What is dashed: the usual share, or what is left where that is less. */
function dashedWords(card) {
  const isShort = card.usable_bytes < card.memory_marketed_gb * 1e9 * FIT_SHARE;
  return isShort ? `${gb(card.usable_bytes)} that can be used` : "95 %";
}

/** One stacked bar with its name and total; `limits` are lines across it. */
function memoryBar({ name, lines, total, limits, scale, isPeak }) {
  let x = 0;
  const parts = COMPONENTS.filter(([key]) => lines[key] > 0).map(([key, label]) => {
    const part = svg(
      "rect",
      {
        class: `tf-fill-${key}`,
        x: across(x, scale),
        width: across(lines[key], scale),
        y: 0,
        height: "100%",
      },
      svg("title", {}, `${label}: ${gb(lines[key])}`),
    );
    x += lines[key];
    return part;
  });
  const marks = limits.map(({ bytes, kind }) =>
    svg("line", {
      class: `tf-limit-${kind}`,
      x1: across(bytes, scale),
      x2: across(bytes, scale),
      y1: 0,
      y2: "100%",
    }),
  );
  return el(
    "div",
    { class: isPeak ? "tf-bar tf-bar-peak" : "tf-bar" },
    el("span", { class: "tf-bar-name" }, name),
    svg(
      "svg",
      { class: "tf-bar-picture", width: "100%", "aria-hidden": "true", focusable: "false" },
      ...parts,
      ...marks,
    ),
    el("span", { class: "tf-bar-total" }, gbNumber(total)),
  );
}

/** The longest of some totals and limits, with a little air after it. */
const scaleOf = (totals, limits) =>
  1.02 * Math.max(...totals, ...limits.map((limit) => limit.bytes));

/** One stacked bar for each phase of a step, against the card's size. */
export function phaseBars(result, card) {
  const phases = result.phases ?? [];
  const limits = limitsOf(card);
  const scale = scaleOf(
    phases.map((phase) => phase.total),
    limits,
  );
  const rows = phases.map(({ phase, lines, total }) =>
    memoryBar({
      name: phaseName(phase),
      lines,
      total,
      limits,
      scale,
      isPeak: phase === result.peak_phase,
    }),
  );
  const labels =
    card === null
      ? null
      : el(
          "div",
          { class: "tf-bar tf-bar-scale", "aria-hidden": "true" },
          el("span", { class: "tf-bar-name" }),
          svg(
            "svg",
            { class: "tf-bar-picture", width: "100%" },
            svg(
              "text",
              { x: across(limits[1].bytes, scale), y: "0.95em", "text-anchor": "end" },
              `card ${card.memory_marketed_gb} GB, ${dashedWords(card)} of it dashed`,
            ),
          ),
          el("span", { class: "tf-bar-total" }, "GB"),
        );
  return el("div", { class: "tf-bars" }, labels, ...rows);
}

/** Peaks of several set-ups on one scale, each against its own card. */
export function peakBars(entries) {
  const scale = scaleOf(
    entries.map(({ result }) => result.per_gpu.total),
    entries.flatMap(({ card }) => limitsOf(card)),
  );
  return el(
    "div",
    { class: "tf-bars" },
    ...entries.map(({ name, result, card }) =>
      memoryBar({
        name,
        lines: result.per_gpu,
        total: result.per_gpu.total,
        limits: limitsOf(card),
        scale,
        isPeak: true,
      }),
    ),
  );
}

/** Round steps for an axis of gigabytes with at most `most` labels. */
function gbTicks(top, most) {
  const step =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find(
      (size) => top / 1e9 / size <= most,
    ) ?? 1e4;
  const ticks = [];
  for (let value = 0; value * 1e9 <= top; value += step) ticks.push(value);
  return ticks;
}

/**
 * Memory against sequence length, with the card's lines and the current setting.
 * The vertical axis ends at twice the card, since beyond that nothing is left to read.
 */
export function sequenceCurve({ points, current, total, card, width }) {
  const height = 260;
  const left = 44;
  const right = 12;
  const top = 18;
  const bottom = 34;
  const limits = limitsOf(card);
  const highest = Math.max(...points.map((point) => point.high ?? point.total));
  const ceiling =
    card === null
      ? highest * 1.05
      : Math.min(highest * 1.05, Math.max(limits[1].bytes * 2, total * 1.3));
  const roof = Math.max(ceiling, card === null ? 0 : limits[1].bytes * 1.15);
  const lengths = points.map((point) => point.sequence_length);
  const low = Math.log2(Math.min(...lengths, current));
  const span = Math.log2(Math.max(...lengths, current)) - low || 1;
  const x = (length) => left + ((Math.log2(length) - low) / span) * (width - left - right);
  const y = (bytes) => top + (1 - bytes / roof) * (height - top - bottom);
  const path = (key) =>
    points
      .map(
        (point, index) =>
          `${index ? "L" : "M"}${x(point.sequence_length).toFixed(1)} ${y(point[key]).toFixed(1)}`,
      )
      .join("");
  const band = points.every((point) => point.low === point.high)
    ? null
    : `${path("high")}${[...points]
        .reverse()
        .map((point) => `L${x(point.sequence_length).toFixed(1)} ${y(point.low).toFixed(1)}`)
        .join("")}Z`;
  const ticks = gbTicks(roof, 5);
  const everyOther = width < 460 ? 2 : 1;
  const powers = lengths.filter((length) => Number.isInteger(Math.log2(length)));
  const spoken =
    `Memory per GPU against sequence length: ` +
    points
      .filter((point) => powers.includes(point.sequence_length))
      .map((point) => `${gb(point.total)} at ${count(point.sequence_length)} tokens`)
      .join(", ") +
    (card === null ? "" : `. The card has ${card.memory_marketed_gb} GB.`);
  const clipId = "tf-curve-clip";
  const isRight = x(current) > width - 150;
  const picture = svg(
    "svg",
    {
      class: "tf-curve",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": spoken,
    },
    svg(
      "clipPath",
      { id: clipId },
      svg("rect", {
        x: left,
        y: top - 6,
        width: width - left - right,
        height: height - top - bottom + 6,
      }),
    ),
    ...ticks.flatMap((value) => [
      svg("line", {
        class: "tf-tick",
        x1: left,
        x2: width - right,
        y1: y(value * 1e9),
        y2: y(value * 1e9),
      }),
      svg("text", { x: left - 6, y: y(value * 1e9) + 4, "text-anchor": "end" }, String(value)),
    ]),
    svg("text", { x: left - 6, y: 10, "text-anchor": "end" }, "GB"),
    ...powers
      .filter((_, index) => index % everyOther === 0)
      .map((length) => {
        const anchor = x(length) > width - right - 14 ? "end" : "middle";
        return svg(
          "text",
          { x: x(length), y: height - bottom + 16, "text-anchor": anchor },
          shortTokens(length),
        );
      }),
    svg("text", { x: width - right, y: height - 2, "text-anchor": "end" }, "tokens per sequence"),
    svg(
      "g",
      { "clip-path": `url(#${clipId})` },
      band === null ? null : svg("path", { class: "tf-curve-band", d: band }),
      ...limits.map(({ bytes, kind }) =>
        svg("line", {
          class: `tf-limit-${kind}`,
          x1: left,
          x2: width - right,
          y1: y(bytes),
          y2: y(bytes),
        }),
      ),
      svg("path", { class: "tf-curve-line", d: path("total") }),
      svg("line", {
        class: "tf-curve-now",
        x1: x(current),
        x2: x(current),
        y1: y(0),
        y2: y(Math.min(total, roof)),
      }),
    ),
    card === null
      ? null
      : svg(
          "text",
          { x: left + 6, y: y(limits[1].bytes) - 5, class: "tf-curve-card" },
          `${card.name}: ${card.memory_marketed_gb} GB, ${dashedWords(card)} dashed`,
        ),
    total > roof
      ? null
      : svg("circle", { class: "tf-curve-dot", cx: x(current), cy: y(total), r: 4 }),
    total > roof
      ? null
      : svg(
          "text",
          {
            class: "tf-curve-here",
            x: x(current) + (isRight ? -8 : 8),
            y: y(total) + 16,
            "text-anchor": isRight ? "end" : "start",
          },
          `${gb(total)} at ${shortTokens(current)}`,
        ),
  );
  return picture;
}
