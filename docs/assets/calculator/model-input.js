/* Models outside the catalog: parameter counts as people write them, and names to show. */

import { count } from "./format.js";

/** The least that a model is estimated for, as the core has it; 1.7 is part of a name. */
export const FEWEST_PARAMETERS = 10_000_000;

const SCALES = Object.freeze({ "": 1, k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12 });
const COUNT = new RegExp(
  "^([0-9][0-9_,' ]*(?:\\.[0-9]+)?)(?:e([0-9]{1,2}))?" +
    "\\s*([kmbgt]?)(?:r?illion)?(?:\\s*(?:params?|parameters?))?$",
  "i",
);

/** The number that `text` spells as people write large ones (`13B`, `13e9`, `8,030,261,248`). */
export function parseParameterCount(text) {
  // No count is longer, and the pattern's time grows with the square of a run of spaces.
  const match = text.length <= 64 ? COUNT.exec(text.trim()) : null;
  if (match === null) return null;
  const [, digits, exponent, scale] = match;
  if (/,(?![0-9]{3}(?![0-9]))/.test(digits)) return null; // 1,5B is 1.5B in some languages
  const value = Number(digits.replace(/[_,' ]/g, "")) * 10 ** Number(exponent ?? 0);
  const whole = Math.round(value * SCALES[scale.toLowerCase()]);
  return Number.isSafeInteger(whole) && whole > 0 ? whole : null;
}

/** A short name for a model that is not in the catalog. */
export function describeOwnModel(model) {
  if (model.num_parameters !== undefined) {
    return `${count(model.num_parameters)} parameters, typical shape`;
  }
  const { config } = model;
  const name = config._name_or_path || config.architectures?.[0] || config.model_type;
  return typeof name === "string" && name !== ""
    ? `Your config: ${name.slice(0, 60)}`
    : "Your config.json";
}
