/* The row below an answer: copies of it in the forms that people pass on. */

import { el, setText } from "./dom.js";
import { copy, download, toCsv, toEmbed, toJson, toMarkdown } from "./export.js";
import { fitsInLink } from "./state.js";

/**
 * A line that says what was copied, and a box to copy from by hand where the browser keeps its
 * clipboard to itself.
 */
export function copyBox() {
  const said = el("span", { class: "tf-said", role: "status" });
  const box = el("textarea", {
    class: "tf-input tf-copy",
    rows: 4,
    readonly: true,
    hidden: true,
    "aria-label": "Text to copy",
  });
  const offer = async (text, what) => {
    const isCopied = await copy(text);
    box.hidden = isCopied;
    if (!isCopied) {
      box.value = text;
      box.focus();
      box.select();
    }
    setText(said, isCopied ? `${what} copied` : "Copy the text below");
  };
  return { said, box, offer };
}

export const button = (label, onclick) =>
  el("button", { type: "button", class: "tf-button", onclick }, label);

/**
 * @param {object} settings
 * @param {() => object} settings.read the answer on the page, as the writers of export.js take it,
 *   with its `state` and the `grid` of cards
 * @param {() => string} settings.takeLink the link to the present state, put into the address too
 * @param {() => void} settings.onReset
 */
export function shareRow({ read, takeLink, onReset }) {
  const { said, box, offer } = copyBox();
  return el(
    "div",
    { class: "tf-share", role: "group", "aria-label": "Share this answer" },
    button("Copy link", () =>
      offer(
        takeLink(),
        fitsInLink(read().state) ? "Link" : "Link without your config (too long for a link)",
      ),
    ),
    button("Copy Markdown", () => offer(toMarkdown(read()), "Markdown")),
    button("Copy JSON", () => offer(toJson(read()), "JSON")),
    button("Copy embed code", () => offer(toEmbed(read()), "HTML for your page")),
    button("Download CSV", () => download("trainfit-cards.csv", "text/csv", toCsv(read().grid))),
    button("Reset", onReset),
    said,
    box,
  );
}
