// Sorting and filtering of the pages that list all models and all cards. The tables are complete
// without this script. What is chosen stands in the address, so that a list can be linked to.
"use strict";

const form = document.querySelector(".tf-filter");
const table = document.querySelector(`${form.dataset.table} .tf-wide > table`);
const body = table.tBodies[0];
const rows = [...body.rows];
const heads = [...table.tHead.rows[0].cells];
const status = form.querySelector("[role=status]");
const texts = new Map(
  rows.map((row) => [row, `${row.id} ${row.dataset.family ?? ""} ${row.textContent}`.toLowerCase()]),
);
let sorted = { column: -1, descending: false };

/* Which rows are shown */

/** Whether a row's value is the chosen one, or lies within `low..high`, the end left out. */
function matches(value, chosen) {
  const [low, high] = chosen.split("..");
  if (high === undefined) return value === chosen;
  if (value === "") return false;
  const number = Number(value);
  if (Number.isNaN(number)) return value >= low;
  return number >= Number(low) && (high === "" || number < Number(high));
}

function filter() {
  const chosen = [...new FormData(form)].filter(([, value]) => value);
  let shown = 0;
  for (const row of rows) {
    const isShown = chosen.every(([name, value]) =>
      name === "words"
        ? value.toLowerCase().split(/\s+/).every((word) => texts.get(row).includes(word))
        : matches(row.dataset[name], value),
    );
    if (row.hidden === isShown) row.hidden = !isShown;
    shown += isShown ? 1 : 0;
  }
  const all = shown === rows.length;
  const few = shown === 0 ? ": nothing has all of this" : "";
  status.textContent = all ? `${shown} ${form.dataset.noun}` : `${shown} of ${rows.length} ${form.dataset.noun}${few}`;
  table.hidden = shown === 0; // a head alone would be drawn over itself
}

/* In which order */

function valueOf(row, column) {
  const cell = row.cells[column];
  // The row's buttons come and go in its header; its name is the link.
  const value = cell.dataset.value ?? (cell.querySelector("a") ?? cell).textContent.trim();
  return value !== "" && !Number.isNaN(Number(value)) ? Number(value) : value;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function sort(column, descending) {
  if (column < 0 && sorted.column < 0) return;
  sorted = { column, descending };
  heads.forEach((head, index) => {
    if (index === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  const ordered = [...rows];
  if (column >= 0) {
    const values = new Map(rows.map((row) => [row, valueOf(row, column)]));
    // What is unknown stands last either way; the order of equals is that of the page.
    ordered.sort((a, b) => {
      const [first, second] = [values.get(a), values.get(b)];
      if (first === "" || second === "") return Number(first === "") - Number(second === "");
      return descending ? compare(second, first) : compare(first, second);
    });
  }
  body.append(...ordered);
}

/* The address */

const slug = (head) => head.textContent.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-");

function writeAddress() {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  if (sorted.column >= 0) query.set("sort", (sorted.descending ? "-" : "") + slug(heads[sorted.column]));
  const search = query.size ? `?${query}` : "";
  history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
}

function readAddress() {
  const query = new URLSearchParams(location.search);
  for (const field of form.elements) {
    if (field.name && query.has(field.name)) {
      field.value = query.get(field.name);
      // A choice that the list no longer has.
      if (field.selectedIndex === -1) field.value = "";
    }
  }
  const wanted = query.get("sort") ?? "";
  const column = heads.findIndex((head) => slug(head) === wanted.replace(/^-/, ""));
  sort(column, wanted.startsWith("-"));
  filter();
}

heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const first = head.dataset.first === "descending";
    sort(column, sorted.column === column ? !sorted.descending : first);
    writeAddress();
  });
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => {
  filter();
  writeAddress();
});
form.addEventListener("reset", () => {
  // The fields are empty only after this event.
  setTimeout(() => {
    sort(-1, false);
    filter();
    writeAddress();
  });
});
readAddress();
form.hidden = false;
