// Addresses and copies of tables and their rows, on every page that has some.

import { element, METHODS, STRATEGIES } from "./common.js";

const article = document.querySelector("article");

/* Elements and text */

const said = element("p", { className: "tf-announced" });
said.setAttribute("role", "status");
article.append(said);

export function announce(text) {
  said.textContent = text;
}

/** Says it to those who listen and, in the theme's own way, to those who look. */
export function tell(text) {
  announce(text);
  window.alert$?.next(text);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { value: text, className: "tf-announced" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  tell(`${what} copied`);
}

/** The address of a table or row, at the length that it shows where that is not the page's own. */
export function addressOf(id) {
  const { length, ownLength } = document.getElementById(id)?.closest(".tf-method")?.dataset ?? {};
  const query = length === ownLength ? "" : `?tokens=${length}`;
  return `${location.origin}${location.pathname}${query}#${id}`;
}

function textOf(cell) {
  return cell.innerText.replace(/\s+/g, " ").trim();
}

/* A table as rows of text, with its two header rows joined into one */

function matrixOf(table) {
  const head = [];
  [...table.tHead.rows].forEach((row, index) => {
    let column = 0;
    for (const cell of row.cells) {
      if (cell.matches(".tf-uncopied")) continue;
      while (head[column]?.until > index) column += 1;
      for (let span = 0; span < cell.colSpan; span += 1) {
        const before = head[column + span]?.text;
        const text = cell.dataset.md ?? textOf(cell);
        head[column + span] = { text: [before, text].filter(Boolean).join(" "), until: index + cell.rowSpan };
      }
      column += cell.colSpan;
    }
  });
  const rows = [...table.tBodies].flatMap((body) =>
    [...body.rows].filter((row) => !row.hidden),
  );
  return { head: head.map((each) => each.text), rows };
}

function rowTexts(row) {
  return [...row.cells].flatMap((cell) => {
    if (cell.matches(".tf-uncopied")) return [];
    const clone = cell.cloneNode(true);
    clone.querySelector(".tf-tools")?.remove();
    clone.querySelectorAll("small").forEach((small) => small.prepend(" "));
    const text = clone.textContent.replace(/\s+/g, " ").trim();
    return [text, ...Array(cell.colSpan - 1).fill("✕ no")];
  });
}

function titleOf(table) {
  const details = table.closest("details.tf-strategy");
  const page = document.querySelector("h1").firstChild.textContent.trim();
  if (!details) return page;
  const section = details.closest(".tf-method");
  const optimizer = section.dataset.optimizerName;
  const length = `${Number(section.dataset.length).toLocaleString("en-US")} tokens`;
  const parts = [METHODS[section.dataset.method], optimizer, STRATEGIES[details.dataset.strategy], length];
  return [page, ...parts].join(", ");
}

function markdown(table, rows, id) {
  const { head } = matrixOf(table);
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = head.map((_, index) => (index ? "---:" : "---"));
  return [
    `**${titleOf(table)}** (${table.dataset.note ?? "GB per GPU; ✓ fits, ≈ tight, ✕ no"})`,
    "",
    line(head),
    line(rule),
    ...rows.map((row) => line(rowTexts(row))),
    "",
    `[Conditions and all figures](${addressOf(id)})`,
    "",
  ].join("\n");
}

function csv(table) {
  const { head, rows } = matrixOf(table);
  const quote = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return [head, ...rows.map(rowTexts)].map((cells) => cells.map(quote).join(",")).join("\n") + "\n";
}

/* Tools: one set per open table, one that follows the row under pointer or focus */

function button(label, title, action) {
  const made = element("button", { type: "button", textContent: label, title });
  made.addEventListener("click", action);
  return made;
}

function tableId(table) {
  return table.closest("details[id], figure[id], [id]")?.id ?? "";
}

function addTableTools(table) {
  if (table.dataset.tools) return;
  table.dataset.tools = "yes";
  const tools = element(
    "p",
    { className: "tf-tools" },
    button("Copy link", "Copy this table's address", () => copy(addressOf(tableId(table)), "Link")),
    button("Copy Markdown", "Copy this table as Markdown", () =>
      copy(markdown(table, matrixOf(table).rows, tableId(table)), "Table"),
    ),
    button("Copy CSV", "Copy this table as CSV", () => copy(csv(table), "Table")),
  );
  table.closest(".tf-wide").after(tools);
}

const rowTools = element(
  "span",
  { className: "tf-tools" },
  button("Link", "Copy this row's address", (event) => {
    copy(addressOf(idOfRow(event.target.closest("tr"))), "Link");
  }),
  button("MD", "Copy this row as Markdown", (event) => {
    const row = event.target.closest("tr");
    copy(markdown(row.closest("table"), [row], idOfRow(row)), "Row");
  }),
);
let focusedCard = null;

/** The card of a row that pointer or focus was last on, if it was on one. */
export function focusedCardOf(row) {
  return focusedCard && row.contains(focusedCard) ? focusedCard : null;
}

function idOfRow(row) {
  const focused = focusedCardOf(row);
  if (focused) return focused.id;
  return row.querySelector("th[scope=row] a.tf-target")?.id ?? row.querySelector("th[scope=row] a[id]")?.id ?? row.id;
}

function showRowTools(event) {
  const row = event.target.closest?.("table.t tbody tr");
  const header = row?.querySelector("th[scope=row]");
  if (!header || !idOfRow(row)) return;
  const card = event.target.closest("a[id]");
  if (card) focusedCard = card;
  if (rowTools.parentElement !== header) header.append(rowTools);
}
article.addEventListener("pointerover", showRowTools);
article.addEventListener("focusin", showRowTools);

/* Addresses */

export function idInAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

/** Marks the row that an address leads to, and in it the card that is meant, and nothing else. */
export function mark(id) {
  document.querySelectorAll(".tf-target").forEach((each) => each.classList.remove("tf-target"));
  const found = document.getElementById(id);
  const row = found?.closest("table.t tbody tr");
  row?.classList.add("tf-target");
  if (row && found !== row) found.classList.add("tf-target");
}

/** Marks what the address leads to and brings it into sight. */
export function reveal() {
  const id = idInAddress();
  mark(id);
  const found = id && document.getElementById(id);
  if (!found) return;
  for (let outer = found.closest("details"); outer; outer = outer.parentElement.closest("details")) {
    outer.open = true;
  }
  const row = found.closest("table.t tbody tr");
  if (row) focusedCard = null;
  if (!row && !found.matches("details")) return;
  found.getBoundingClientRect(); // Firefox does not scroll to what was never laid out
  // A table is read from its top.
  found.scrollIntoView({ block: row ? "center" : "start" });
}

document.querySelectorAll("table.t").forEach((table) => {
  const details = table.closest("details");
  if (!details || details.open) addTableTools(table);
  else details.addEventListener("toggle", () => addTableTools(table), { once: true });
});
import("./headers.js").then(({ pinHeads }) => pinHeads(document.querySelectorAll(".tf-wide > table.t")));
window.addEventListener("hashchange", reveal);
reveal();
