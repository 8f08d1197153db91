/* Numbers for people, as the generated pages write them: GB is 10^9 bytes, and the unit is always
   there. */

import { VERDICTS } from "./fields.js";

const GB = 1e9;

// Not with Intl: the first of its formatters reads its data, 15 ms of every visit and in one piece.
const withCommas = (number) => number.replace(/(?<!\.\d*)\B(?=(?:\d{3})+(?!\d))/g, ",");

const grouped = (value, digits) => withCommas(value.toFixed(digits));

/** Gigabytes without the unit: two decimals below 10, one above. */
export function gbNumber(bytes) {
  const gb = bytes / GB;
  if (bytes > 0 && gb < 0.005) return "<0.01";
  return grouped(gb, Math.abs(gb) < 10 ? 2 : 1);
}

export function gb(bytes) {
  return `${gbNumber(bytes)} GB`;
}

/** A number with all its digits. */
export function count(value) {
  return withCommas(String(value));
}

/** Two significant digits, which is what an estimate of time or speed is worth. */
export function rough(value) {
  if (value > 0 && value < 0.001) return "<0.001";
  return count(Number(value.toPrecision(2)));
}

/** US dollars: cents where they matter, else two significant digits. */
export function money(value) {
  if (value > 0 && value < 0.005) return "<0.01";
  return value < 10 ? grouped(value, 2) : rough(value);
}

/** `8.03 billion`, for parameter counts. */
export function parameters(value) {
  if (value >= 1e12) return `${grouped(value / 1e12, 2)} trillion`;
  if (value >= 1e9) return `${grouped(value / 1e9, 2)} billion`;
  if (value >= 1e6) return `${grouped(value / 1e6, 1)} million`;
  return count(value);
}

/** A share of a card as whole per cent, never rounded across the 95 % and 100 % lines. */
export function percent(share) {
  const value = share * 100;
  const rounded = Math.round(value);
  const isAcross = (line) => value <= line !== rounded <= line;
  if (isAcross(95) || isAcross(100)) return `${grouped(value, 1)} %`;
  return rounded > 999 ? `${grouped(share, 0)} ×` : `${rounded} %`;
}

export function gpus(number) {
  return number === 1 ? "1 GPU" : `${count(number)} GPUs`;
}

/** Sign and word of a verdict: `✓ fits`. */
export function verdictText(verdict) {
  const { sign, word } = VERDICTS[verdict];
  return `${sign} ${word}`;
}

/** Tokens with the short form that people use: `8k` for 8,192. */
export function shortTokens(tokens) {
  return tokens >= 1024 && tokens % 1024 === 0 ? `${count(tokens / 1024)}k` : count(tokens);
}
