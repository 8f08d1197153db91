/* A text box with a searchable list, after the ARIA 1.2 combobox pattern (list autocomplete). What
   is marked when the box is left is chosen; Escape takes back what was typed. */

import { holds, holdsRun, isWhole, wordsOf } from "../javascripts/names.js";
import { el } from "./dom.js";

const MAX_SHOWN = 60;
const NO_NAME = /^\s*(?:[-+]\s*[0-9.]|0+(?![0-9.]))/; // a number below zero, or zero

/**
 * @param {object} settings
 * @param {string} settings.id id of the text box
 * @param {string} settings.describedBy id of its help line
 * @param {() => {value: string, label: string, detail: string, search: string}[]} settings.options
 * @param {(typed: string) => (object|null)} [settings.extra] an option made from what is typed,
 *   such as a parameter count: `{value, label, detail}`; it goes before all others, or with
 *   `isAfterWhole` behind those that have what is typed as whole words
 * @param {(option: object) => number} [settings.distance] orders what matches equally well
 * @param {(value: unknown) => void} settings.onChoose
 * @param {(typed: string) => void} settings.onMiss told what was typed and is nothing
 */
export function combobox({
  id,
  describedBy,
  options,
  extra = () => null,
  distance = () => 0,
  onChoose,
  onMiss,
}) {
  const listId = `${id}-list`;
  const input = el("input", {
    id,
    type: "text",
    class: "tf-input",
    role: "combobox",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": listId,
    "aria-describedby": describedBy,
  });
  const list = el("ul", { id: listId, class: "tf-options", role: "listbox", hidden: true });
  const root = el("div", { class: "tf-combobox" }, input, list);
  let shown = [];
  let active = -1;
  let currentLabel = "";
  let hasTyped = false; // since the last choice

  const close = () => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const mark = (index) => {
    list.children[active]?.removeAttribute("aria-selected");
    active = index;
    const item = list.children[active];
    if (item === undefined) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", item.id);
  };

  const choose = (option) => {
    close();
    hasTyped = false;
    currentLabel = option.label;
    input.value = option.label;
    if (document.activeElement === input) input.select(); // what is typed next takes its place
    onChoose(option.value);
  };

  const open = (query) => {
    const words = wordsOf(query);
    const holding = (test) => options().filter(({ search }) => test(search, words));
    let found = NO_NAME.test(query) ? [] : holding(holds);
    if (found.length === 0 && !NO_NAME.test(query)) found = holding(holdsRun);
    const isClose = (option) => isWhole(option.search, words);
    const farness = (option) => (isClose(option) ? 0 : 1000) + distance(option);
    if (words.length > 0) found.sort((left, right) => farness(left) - farness(right));
    shown = found.slice(0, MAX_SHOWN);
    const made = extra(query);
    if (made !== null) {
      shown.splice(made.isAfterWhole ? shown.filter(isClose).length : 0, 0, made);
    }
    const rows = shown.map((option, index) => {
      const row = el(
        "li",
        { id: `${listId}-${index}`, role: "option", class: "tf-option" },
        el("span", { class: "tf-option-label" }, option.label),
        el("span", { class: "tf-option-detail" }, option.detail),
      );
      row.addEventListener("mousedown", (event) => {
        event.preventDefault(); // the text box keeps the focus
        choose(option);
      });
      return row;
    });
    if (rows.length === 0) {
      rows.push(
        el(
          "li",
          { class: "tf-option tf-option-none", role: "option", "aria-disabled": "true" },
          "Nothing found",
        ),
      );
    } else if (found.length > MAX_SHOWN) {
      const more = `${found.length - MAX_SHOWN} more: type to narrow`;
      rows.push(
        el(
          "li",
          { class: "tf-option tf-option-none", role: "option", "aria-disabled": "true" },
          more,
        ),
      );
    }
    list.replaceChildren(...rows);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(query !== "" && shown.length > 0 ? 0 : -1);
  };

  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => {
    if (list.hidden) open(input.value === currentLabel ? "" : input.value);
  });
  /** Takes what is marked; where something was typed that is nothing, says so. */
  const settle = () => {
    const typed = input.value.trim();
    if (!list.hidden && shown[active] !== undefined) choose(shown[active]);
    else if (!list.hidden && shown.length === 0 && typed !== "") onMiss(typed);
  };

  input.addEventListener("input", () => {
    hasTyped = true;
    open(input.value);
  });
  input.addEventListener("blur", () => {
    if (hasTyped) settle();
    hasTyped = false;
    close();
    input.value = currentLabel;
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) {
        open(input.value === currentLabel ? "" : input.value);
        if (active < 0) mark(0);
        return;
      }
      const step = event.key === "ArrowDown" ? 1 : -1;
      mark(Math.min(Math.max(active + step, 0), shown.length - 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      settle();
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      hasTyped = false;
      close();
      input.value = currentLabel;
    }
  });

  return {
    root,
    input,
    /** Shows a choice that was made elsewhere (a link, a click in the table). */
    show(label) {
      currentLabel = label;
      if (document.activeElement !== input || list.hidden) input.value = label;
    },
  };
}
