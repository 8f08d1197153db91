/* What someone pastes, drops or types as "my own model": a Hugging Face config or a parameter
   count. */

/** Larger texts are refused before they are parsed; real configs have 1 to 20 kB. */
export const MAX_CONFIG_BYTES = 200_000;

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
  const value = Number(digits.replace(/[_,' ]/g, "")) * 10 ** Number(exponent ?? 0);
  const count = Math.round(value * SCALES[scale.toLowerCase()]);
  return Number.isSafeInteger(count) && count > 0 ? count : null;
}

/**
 * The model of a pasted text: `{ model }` as the request takes it, or `{ problem }`, a sentence.
 */
export function parseModelText(text) {
  if (text.length > MAX_CONFIG_BYTES) {
    return {
      problem:
        `The text has ${text.length.toLocaleString("en")} characters; a config.json has at most ` +
        `${MAX_CONFIG_BYTES.toLocaleString("en")}. Paste the model's config.json itself.`,
    };
  }
  const trimmed = text.trim();
  if (trimmed === "")
    return { problem: "Nothing to read: paste a config.json or a parameter count such as 13B." };
  const count = parseParameterCount(trimmed);
  if (count !== null) return { model: { num_parameters: count } };
  if (!trimmed.startsWith("{")) {
    return {
      problem:
        "That is neither JSON nor a parameter count. Paste a config.json, or a number such as 13B.",
    };
  }
  let config;
  try {
    config = JSON.parse(trimmed);
  } catch (error) {
    return { problem: `The JSON does not parse (${error.message}). Paste the whole config.json.` };
  }
  return { model: { config } };
}

/** A short name for a model that is not in the catalog. */
export function describeOwnModel(model) {
  if (model.num_parameters !== undefined) {
    return `${model.num_parameters.toLocaleString("en")} parameters`;
  }
  const { config } = model;
  const name = config._name_or_path || config.architectures?.[0] || config.model_type;
  return typeof name === "string" && name !== ""
    ? `Your config: ${name.slice(0, 60)}`
    : "Your config.json";
}
