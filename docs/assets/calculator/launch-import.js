/* Where a config.json or a launch file is pasted, dropped or opened, and what came of it. */

import { el, setText } from "./dom.js";
import { count } from "./format.js";

/** Larger texts are refused before anything reads them; real files have 1 to 20 kB. */
const MAX_FILE_CHARACTERS = 200_000;
const TYPING_DELAY_MS = 200;

const TOO_LONG = (characters) =>
  `The text has ${count(characters)} characters; a config.json or a launch file has at most ` +
  `${count(MAX_FILE_CHARACTERS)}. Paste that file itself.`;

/**
 * @param {object} settings
 * @param {(text: string) => Promise<object|null>} settings.read the core's reading of a text: what
 *   it recognises, or an error; null where a newer question took its place
 * @param {(recognised: object) => {label: string, words: string, isImplied: boolean}[]}
 *   settings.accept takes a reading over, and says in words what it has set
 * @returns {{root: HTMLElement, noteChange: () => void}} the box, and who to tell that a setting
 *   was changed, so that the report does not pass for what is set now
 */
export function importBox({ read, accept }) {
  const problem = el("p", {
    id: "tf-config-problem",
    class: "tf-problem",
    role: "alert",
    hidden: true,
  });
  const report = el("div", { class: "tf-reading", role: "status" });

  let timer = 0;
  /** Shows a problem, or none; what was typed before it is not read any more. */
  const refuse = (sentence) => {
    clearTimeout(timer);
    problem.hidden = sentence === null;
    setText(problem, sentence ?? "");
    if (sentence !== null) report.replaceChildren();
  };

  const take = async (text) => {
    refuse(null);
    report.replaceChildren();
    if (text.trim() === "") return;
    if (text.length > MAX_FILE_CHARACTERS) {
      refuse(TOO_LONG(text.length));
      return;
    }
    setText(report, "Reading…");
    let reading;
    try {
      reading = await read(text);
    } catch (error) {
      refuse(`It could not be read: ${error.message}`);
      return;
    }
    if (reading === null) return;
    if (reading.error !== undefined) refuse(reading.error.message);
    else report.replaceChildren(...summary(reading, accept(reading)));
  };

  const area = el("textarea", {
    id: "tf-config",
    class: "tf-input tf-config",
    rows: 4,
    spellcheck: "false",
    placeholder: '{"model_type": "llama", "hidden_size": 4096, …}',
    "aria-describedby": "tf-config-help tf-config-problem",
  });
  area.addEventListener("input", () => {
    refuse(null);
    timer = setTimeout(() => take(area.value), TYPING_DELAY_MS);
  });
  area.addEventListener("paste", (event) => {
    const length = event.clipboardData.getData("text/plain").length;
    if (length <= MAX_FILE_CHARACTERS) return;
    // The box would be busy with it for seconds.
    event.preventDefault();
    refuse(TOO_LONG(length));
  });

  const show = (text) => {
    area.value = text.length > MAX_FILE_CHARACTERS ? "" : text;
    take(text);
  };
  const open = async (file) => {
    if (file.size > MAX_FILE_CHARACTERS * 4) refuse(TOO_LONG(file.size));
    else show(await file.text());
  };
  const file = el("input", {
    id: "tf-config-file",
    type: "file",
    accept: ".json,.yaml,.yml,application/json",
    class: "tf-file",
    onchange: () => {
      if (file.files.length > 0) open(file.files[0]);
    },
  });
  const root = el(
    "details",
    { class: "tf-own" },
    el("summary", {}, "Paste or drop a config.json or a launch file"),
    el(
      "label",
      { class: "tf-label", for: "tf-config" },
      "config.json, or a file of your training tool",
    ),
    area,
    problem,
    report,
    el("label", { class: "tf-label", for: "tf-config-file" }, "Or open the file"),
    file,
    el(
      "p",
      { id: "tf-config-help", class: "tf-help" },
      "axolotl, TRL, LLaMA-Factory, torchtune, DeepSpeed and accelerate are understood. " +
        "It stays in this browser; nothing is sent anywhere.",
    ),
  );
  root.addEventListener("dragover", (event) => {
    event.preventDefault();
    root.classList.add("tf-dropping");
  });
  root.addEventListener("dragleave", () => root.classList.remove("tf-dropping"));
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("tf-dropping");
    const [dropped] = event.dataTransfer.files;
    root.open = true;
    if (dropped !== undefined) open(dropped);
    else show(event.dataTransfer.getData("text/plain"));
  });
  const noteChange = () => {
    const since = report.querySelector(".tf-reading-since");
    if (since !== null) setText(since, " Settings have changed since then.");
  };
  return { root, noteChange };
}

const TAKEN_FOR = Object.freeze({
  config: "a model’s config.json",
  count: "a number of parameters",
  accelerate: "an accelerate file",
  axolotl: "an axolotl file",
  deepspeed: "a DeepSpeed file",
  "llama-factory": "a LLaMA-Factory file",
  torchtune: "a torchtune file",
  trl: "a TRL file",
});

/** What was read, in words: what is set now, what the tool does by itself, and what is left. */
function summary({ tool, ignored, notes }, settings) {
  const list = (isImplied) =>
    settings
      .filter((setting) => setting.isImplied === isImplied)
      .map(({ label, words }) => `${label}: ${words}`);
  const paragraph = (heading, items) =>
    items.length === 0
      ? null
      : el("p", {}, el("strong", {}, `${heading} `), items.join(" · "));
  return [
    el(
      "p",
      {},
      `Read as ${TAKEN_FOR[tool] ?? tool}.`,
      el("span", { class: "tf-reading-since" }),
    ),
    paragraph("Filled in:", list(false)),
    paragraph("Not in the file, so as the tool does it:", list(true)),
    paragraph("Not used:", ignored),
    ...notes.map((note) => el("p", {}, note)),
  ].filter((piece) => piece !== null);
}
