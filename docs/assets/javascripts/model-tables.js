// The tables of a model page for other optimizers and lengths, and what each cell is made of.
// They are complete without this script; it reads the page's JSON when a reader asks for more.

import { element, METHODS, SIGNS, STRATEGIES } from "./common.js";
import { addressOf, announce, copy, focusedCardOf, idInAddress, mark, reveal, tell } from "./tables.js";

const article = document.querySelector("article");
const modelPage = document.querySelector("[data-model]");
// What a table gets when the script for it has come; nothing waits for that.
let addTabStop = () => {};

let loading = null;
function load() {
  if (loading === null) {
    loading = fetch(modelPage.dataset.model).then((response) => {
      if (!response.ok) throw new Error(`${response.status}`);
      return response.json().then((file) => file.items[0]);
    });
    // The next question asks again.
    loading.catch(() => (loading = null));
  }
  return loading;
}

function figures(data, { method, optimizer, strategy }) {
  const { axes } = data;
  const position = [
    axes.method.indexOf(method),
    axes.optimizer.indexOf(optimizer),
    axes.strategy.indexOf(strategy),
  ];
  const flat = (names, index) => names.reduce((sum, name, place) => sum * axes[name].length + index[place], 0);
  const total = (count, length) =>
    data.total_bytes_per_gpu[
      flat(data.total_bytes_per_gpu_axes, [...position, axes.num_gpus.indexOf(count), length])
    ];
  /** What a total is made of, in bytes by memory line; each line names the axes that change it. */
  const parts = (count, length) => {
    const [method, optimizer, strategy] = position;
    const at = { method, optimizer, strategy, num_gpus: axes.num_gpus.indexOf(count), sequence_length: length };
    return data.parts_per_gpu.map(({ part, axes: names, bytes }) => [
      part,
      bytes[flat(names, names.map((name) => at[name]))],
    ]);
  };
  const first = (length, card) =>
    data.first_num_gpus[flat(data.first_num_gpus_axes, [...position, length, card])];
  const counts = (card) => {
    if (strategy === "single") return [1];
    return data.allowed_gpu_counts[card].filter((count) => strategy !== "ddp" || count > 1);
  };
  const verdict = (bytes, card) => {
    if (bytes <= data.fits_up_to_bytes[card]) return "fits";
    return bytes <= data.tight_up_to_bytes[card] ? "tight" : "no";
  };
  const cell = (card, count, length) => {
    const bytes = total(count, length);
    return { count, bytes, verdict: verdict(bytes, card) };
  };
  const answer = (card, length) => {
    const found = first(length, card);
    const cells = (found ? [found] : counts(card)).map((count) => cell(card, count, length));
    return cells.find((each) => each.verdict !== "no") ?? cells.at(-1) ?? null;
  };
  return { counts, cell, answer, parts };
}

function gigabytes(bytes) {
  const value = bytes / 1e9;
  return value >= 999.95
    ? Math.round(value).toLocaleString("en-US")
    : value.toFixed(1);
}

function tableCell(cell, withCount) {
  if (!cell) return element("td", { className: "na", textContent: "–" });
  const count = withCount ? `${cell.count} × ` : "";
  return element("td", {
    className: `v-${cell.verdict}`,
    textContent: `${SIGNS[cell.verdict]} ${count}${gigabytes(cell.bytes)}`,
  });
}

/** Card groups as the page has them: id, short name and size in the page's order. */
function cardsOf(details) {
  return [...details.querySelectorAll("th[scope=row] a[href]")].map((link) => {
    let size = link.previousElementSibling;
    while (size && size.tagName !== "SPAN") size = size.previousElementSibling;
    return { id: link.id.split("--").at(-1), name: link.textContent, size: size.textContent };
  });
}

/** One line on a length: the smallest card that fits, and on how many, as the page was written. */
function outcomeOf(rows, length, strategy) {
  const fitting = rows.flatMap(({ answers, cards }) =>
    answers[length]?.verdict === "fits"
      ? cards.map(({ size }) => ({ count: answers[length].count, size: parseInt(size, 10) }))
      : [],
  );
  if (fitting.length === 0) return strategy === "single" ? "fits no card" : "fits no card up to 64 GPUs";
  const least = (key, found = fitting) => Math.min(...found.map((each) => each[key]));
  const size = least("size");
  const count = least("count", fitting.filter((each) => each.size === size));
  const fewest = least("count");
  const first = `fits ${size} GB cards from ${count} GPU${count > 1 ? "s" : ""}`;
  if (fewest === count) return first;
  const other = least("size", fitting.filter((each) => each.count === fewest));
  return `${first}, ${other} GB cards from ${fewest}`;
}

function redraw(details, data, section) {
  const { strategy } = details.dataset;
  const { counts, cell, answer } = figures(data, { ...section.dataset, strategy });
  const table = details.querySelector(".tf-wide > table");
  details.cards ??= cardsOf(details).sort(
    (a, b) => parseInt(a.size, 10) - parseInt(b.size, 10),
  );
  const heads = [...table.tHead.rows[1].cells].slice(0, -data.axes.sequence_length.length);
  const columns = heads.map((head) => parseInt(head.textContent, 10));
  const length = data.axes.sequence_length.indexOf(Number(section.dataset.length));
  const merged = new Map();
  for (const card of details.cards) {
    const index = data.axes.card.indexOf(card.id);
    const available = counts(index);
    const cells = columns.map((count) => {
      const used = strategy === "ddp" ? available[0] : count;
      return available.includes(used) ? cell(index, used, length) : null;
    });
    const answers = data.axes.sequence_length.map((_, each) => answer(index, each));
    const hopeless = [...cells, ...answers].every((each) => !each || each.verdict === "no");
    const key = JSON.stringify([hopeless ? "" : card.size, cells, answers]);
    if (!merged.has(key)) merged.set(key, { cells, answers, hopeless, cards: [] });
    merged.get(key).cards.push(card);
  }
  const rows = [...merged.values()].sort((a, b) => Number(a.hopeless) - Number(b.hopeless));
  const prefix = `${section.dataset.method}--${section.dataset.optimizer}--${strategy}`;
  details.id = prefix;
  table.tBodies[0].replaceChildren(
    ...rows.map((row) => {
      const header = element("th", { scope: "row" });
      if (row.hopeless) header.colSpan = 1 + columns.length;
      row.cards.forEach((card, index) => {
        const sameSize = index > 0 && row.cards[index - 1].size === card.size;
        if (index > 0) header.append(sameSize ? ", " : " ");
        if (!sameSize) header.append(element("span", { textContent: card.size }), " ");
        const id = `${prefix}--${card.id}`;
        const link = element("a", { id, href: `#${id}`, textContent: card.name });
        header.append(link);
      });
      return element(
        "tr",
        {},
        header,
        ...(row.hopeless ? [] : row.cells.map((each) => tableCell(each, false))),
        ...row.answers.map((each) => tableCell(each, true)),
      );
    }),
  );
  addTabStop(table);
  const label = Number(section.dataset.length).toLocaleString("en-US");
  table.querySelector("[data-length-head]").textContent = `GB per GPU at ${label} tokens on`;
  details.querySelector("summary span").textContent = outcomeOf(rows, length, strategy);
}

/** Draws the tables of a method anew; false where their figures do not come. */
async function show(section, optimizer, length) {
  const select = (name) => section.querySelector(`[data-control=${name}]`);
  let data = null;
  try {
    data = await load();
    const option = select("optimizer").querySelector(`option[value="${CSS.escape(optimizer)}"]`);
    Object.assign(section.dataset, { optimizer, optimizerName: option.textContent, length });
    for (const details of section.querySelectorAll("details.tf-strategy")) redraw(details, data, section);
    mark(idInAddress());
    section.dataset.drawn = `optimizer=${optimizer} length=${length}`;
    announce(`${METHODS[section.dataset.method]}, ${section.dataset.optimizerName}, ${length} tokens`);
  } catch (error) {
    tell(`The figures could not be loaded (${error.message}); the tables are as they were.`);
  }
  // What is chosen is what the tables show.
  select("optimizer").value = section.dataset.optimizer;
  select("length").value = section.dataset.length;
  return data !== null;
}

function addControls(section) {
  const choose = (name, label, options, chosen) => {
    const select = element("select");
    select.dataset.control = name;
    for (const [value, text] of options) select.append(element("option", { value, textContent: text }));
    select.value = chosen;
    select.addEventListener("change", () => {
      const [optimizer, length] = ["optimizer", "length"].map(
        (each) => section.querySelector(`[data-control=${each}]`).value,
      );
      show(section, optimizer, length);
    });
    return element("label", {}, `${label} `, select);
  };
  const optimizers = JSON.parse(modelPage.dataset.optimizers);
  const lengths = JSON.parse(modelPage.dataset.lengths).map((length) => [
    String(length),
    `${length.toLocaleString("en-US")} tokens`,
  ]);
  section.dataset.optimizerName = optimizers.find(([id]) => id === section.dataset.optimizer)[1];
  section.dataset.length = section.dataset.ownLength = lengths[0][0];
  section.prepend(
    element(
      "p",
      { className: "tf-controls" },
      choose("optimizer", "Optimizer", optimizers, section.dataset.optimizer),
      choose("length", "Sequence length", lengths, lengths[0][0]),
    ),
  );
}

/* What a cell stands for, and what that is made of */

const cardNames = new Map(
  [...document.querySelectorAll("details.tf-strategy")].flatMap((details) =>
    cardsOf(details).map(({ id, name, size }) => [id, name.includes(size) ? name : `${name} ${size}`]),
  ),
);

function lengthsOfPage() {
  return JSON.parse(modelPage.dataset.lengths);
}

/** Where a cell stands, counted from the first column after the row's header. */
function columnOf(cell) {
  let column = -1;
  for (let other = cell.previousElementSibling; other; other = other.previousElementSibling) column += other.colSpan;
  return column;
}

/** The place of a cell: method, optimizer, strategy, cards, length, and the count if its column has one. */
function placeOf(cell) {
  const lengths = lengthsOfPage();
  const link = cell.matches("td") ? cell.querySelector("a[href^='#']") : null;
  const linked = link?.hash.slice(1).split("--") ?? [];
  if (linked.length === 4) {
    const [method, optimizer, strategy, card] = linked;
    const length = cell.closest("#fewest-gpus") ? columnOf(cell) % lengths.length : 0;
    return { method, optimizer, strategy, cards: [card], length };
  }
  const { method, optimizer, length } = cell.closest(".tf-method")?.dataset ?? {};
  const row = cell.parentElement;
  const ladder = cell.closest("table[data-strategy]");
  if (ladder) {
    const head = ladder.tHead.rows[0].cells[columnOf(cell) + 1];
    if (cell.matches("th")) return null;
    const { strategy } = ladder.dataset;
    return { method, optimizer: row.dataset.optimizer, strategy, cards: [head.dataset.card], length: 0 };
  }
  const details = cell.closest("details.tf-strategy");
  if (!details) return null;
  const ids = [...row.querySelectorAll("th[scope=row] a[href]")].map((each) => each.id.split("--").at(-1));
  const focused = focusedCardOf(row);
  const own = focused ? [focused.id.split("--").at(-1)] : ids;
  const shown = { method, optimizer, strategy: details.dataset.strategy, cards: own };
  const now = lengths.indexOf(Number(length));
  if (cell.matches("th")) return { ...shown, length: now };
  const counts = [...cell.closest("table").tHead.rows[1].cells].slice(0, -lengths.length);
  const column = columnOf(cell);
  if (column >= counts.length) return { ...shown, length: column - counts.length };
  return { ...shown, length: now, column: parseInt(counts[column].textContent, 10) };
}

function setUpOf(cell) {
  if (cell.matches(".na, .tf-uncopied")) return null;
  const place = placeOf(cell);
  if (!place?.cards.length) return null;
  const rowId = [place.method, place.optimizer, place.strategy, place.cards[0]].join("--");
  return { ...place, rowId, name: cardNames.get(place.cards[0]) ?? place.cards[0] };
}

function figuresOf(data, setUp) {
  const { axes } = data;
  const { counts, cell, answer, parts } = figures(data, setUp);
  const indices = setUp.cards.map((card) => axes.card.indexOf(card));
  const [card] = indices;
  const available = counts(card);
  const column = setUp.strategy === "ddp" && setUp.column ? available[0] : setUp.column;
  const found = setUp.column
    ? available.includes(column) && cell(card, column, setUp.length)
    : answer(card, setUp.length);
  if (!found) return null;
  const place = axes.num_gpus.indexOf(found.count);
  const bytes = found.bytes;
  const fits = indices.map((each) => data.fits_up_to_bytes[each]);
  // No more than what fits: the driver's figure is not published, or it is the limit itself.
  const usable = indices.map((each) => data.tight_up_to_bytes[each]).filter((each, index) => each > fits[index]);
  const tokens = axes.sequence_length[setUp.length];
  const optimizers = new Map(JSON.parse(modelPage.dataset.optimizers));
  const { method, optimizer, strategy, cards } = setUp;
  setUp.count = found.count;
  setUp.words = [
    METHODS[method],
    optimizers.get(optimizer),
    ...(strategy === "single" ? [] : [STRATEGIES[strategy]]),
    `${tokens.toLocaleString("en-US")} tokens`,
  ].join(", ");
  const request = { v: 1, model: data.id, method, optimizer, card: cards[0], strategy };
  if (found.count > 1) request.num_gpus = found.count;
  return {
    total: bytes,
    verdict: found.verdict,
    parts: parts(found.count, setUp.length).filter(([, part]) => part > 0),
    low: bytes - Math.floor((bytes * data.likely_below_permille[place]) / 1000),
    high: bytes + Math.floor((bytes * data.likely_above_permille[place]) / 1000),
    fits,
    usable,
    request: { ...request, sequence_length: tokens },
  };
}

/* Addresses of rows that are drawn first */

/** Says on the page that an address of a row leads to none, as one with a misspelt card does. */
function noteMissing(id) {
  const note = element("p", { className: "tf-note tf-missing" }, "No row of this page has the address ");
  note.append(element("code", { textContent: `#${id}` }), "; its method, optimizer, strategy or card is not in the tables.");
  note.setAttribute("role", "status");
  document.querySelector("h1").after(note);
}

/** Draws the tables that an address asks for; false where their figures do not come. */
async function drawFor(id, tokens) {
  const [method, optimizer] = id.split("--");
  const section = document.querySelector(`.tf-method[data-method="${CSS.escape(method)}"]`);
  const isKnown = JSON.parse(modelPage.dataset.optimizers).some(([each]) => each === optimizer);
  if (!section || !isKnown) return true;
  return show(section, optimizer, tokens ?? section.dataset.length);
}

/** The length that this page was opened for, where it has one of the tables' lengths. */
function tokensInAddress() {
  const tokens = new URLSearchParams(location.search).get("tokens");
  return lengthsOfPage().map(String).includes(tokens) ? tokens : null;
}

async function revealRow(tokens = null) {
  const id = idInAddress();
  document.querySelector(".tf-missing")?.remove();
  const isThere = document.getElementById(id) && tokens === null;
  if (!id.includes("--") || isThere || !(await drawFor(id, tokens))) return;
  if (id !== idInAddress()) return; // another address came meanwhile
  if (document.getElementById(id)) reveal();
  else noteMissing(id);
}

/* Badges: their code names the address that the site was built for; here it is the one that answers. */

function nameThisSite() {
  const built = document.querySelector("link[rel=canonical]")?.href;
  if (!built) return;
  const [from, to] = [built, location.href].map((address) => new URL("../../", address).href);
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (from !== to && texts.nextNode()) {
    const { currentNode: text } = texts;
    if (text.data.includes(from)) text.data = text.data.replaceAll(from, to);
  }
}

document.querySelectorAll(".tf-method").forEach(addControls);
import("./breakdown.js").then((module) => {
  addTabStop = module.addTabStop;
  module.addTabStops(document.querySelectorAll(".tf-method .tf-wide > table.t"));
  const copyLink = (id) => copy(addressOf(id), "Link");
  module.addBreakdown({ article, setUpOf, load, figuresOf, copyLink });
});
window.addEventListener("hashchange", () => revealRow());
revealRow(tokensInAddress());
nameThisSite();
