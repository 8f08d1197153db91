/* The set-up as launch files of a tool: chosen, shown, copied, saved. */

import { el } from "./dom.js";
import { download } from "./export.js";
import { button, copyBox } from "./share.js";
import { encode } from "./state.js";

const TYPES = Object.freeze({ json: "application/json", yaml: "application/yaml" });

export class ExportPanel {
  #tools;
  #ask;
  #state = null;
  #shownFor = null; // what the files on the page were made from

  /**
   * @param {{id: string, name: string}[]} tools
   * @param {(tool: string, state: object) => Promise<object|null>} ask the core's answer, null
   *   where a newer question took its place
   */
  constructor(tools, ask) {
    this.#tools = tools;
    this.#ask = ask;
    this.select = el(
      "select",
      { id: "tf-export-tool", class: "tf-input", onchange: () => this.#refresh() },
      ...tools.map(({ id, name }) => el("option", { value: id }, name)),
    );
    this.output = el("div", { "aria-live": "polite" });
    this.root = el(
      "details",
      { class: "tf-more" },
      el("summary", {}, "Launch configuration for your tool"),
      el(
        "div",
        { class: "tf-tool" },
        el("label", { for: "tf-export-tool" }, "Written for"),
        this.select,
      ),
      this.output,
    );
    this.root.addEventListener("toggle", () => this.#refresh());
  }

  /** The set-up has changed; files are written again where someone looks at them. */
  show(state) {
    this.#state = state;
    this.#refresh();
  }

  async #refresh() {
    if (!this.root.open || this.#state === null) return;
    const tool = this.select.value;
    const state = this.#state;
    const wanted = JSON.stringify([tool, state]);
    if (wanted === this.#shownFor) return;
    let answer;
    try {
      answer = await this.#ask(tool, state);
    } catch (error) {
      answer = { error: { message: error.message } };
    }
    if (answer === null) return;
    this.#shownFor = wanted;
    this.root.dataset.shown = `${tool} ${encode(state)}`;
    this.output.replaceChildren(...(answer.error ? [refusal(answer.error)] : pieces(answer)));
  }
}

const refusal = ({ message }) => el("p", { class: "tf-notice" }, message);

function pieces({ files, command, notes }) {
  return [
    ...files.map(fileBox),
    el(
      "div",
      { class: "tf-file-box" },
      el("h3", { class: "tf-file-name" }, "Start"),
      el("pre", { class: "tf-code", tabindex: "0" }, command),
    ),
    notes.length === 0
      ? null
      : el("ul", { class: "tf-file-notes" }, ...notes.map((note) => el("li", {}, note))),
  ].filter((piece) => piece !== null);
}

function fileBox({ filename, text }) {
  const { said, box, offer } = copyBox();
  const suffix = filename.split(".").pop();
  return el(
    "div",
    { class: "tf-file-box" },
    el("h3", { class: "tf-file-name" }, filename),
    el(
      "pre",
      { class: "tf-code", tabindex: "0", "data-tf-file": filename, "aria-label": filename },
      text,
    ),
    el(
      "div",
      { class: "tf-share", role: "group", "aria-label": filename },
      button("Copy", () => offer(text, filename)),
      button("Download", () => download(filename, TYPES[suffix] ?? "text/plain", text)),
      said,
      box,
    ),
  );
}
