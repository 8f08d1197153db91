/* All cards against all GPU counts: one table, updated in place, with one tab stop (ARIA grid
   pattern). */

import { el, setText } from "./dom.js";
import { VERDICTS } from "./fields.js";
import { count, gb, gbNumber, gpus, percent } from "./format.js";

/** A strategy has no use for some counts: one GPU is all that Single has. */
function withoutEmptyColumns({ gpu_counts: counts, cards }) {
  const isUsed = counts.map((_, column) => cards.some((card) => card.cells[column] !== null));
  const used = (list) => list.filter((_, column) => isUsed[column]);
  return {
    gpu_counts: used(counts),
    cards: cards.map((card) => ({ ...card, cells: used(card.cells) })),
  };
}

/** A card's line, its cells still without figures. */
function newRow(card, row) {
  const cells = card.cells.map((cell, column) => ({
    numGpus: cell === null ? null : cell.num_gpus,
    button:
      cell === null
        ? null
        : el("button", { type: "button", tabindex: "-1", "data-at": `${row},${column}` }),
  }));
  const line = el(
    "tr",
    {},
    el("th", { scope: "row", title: card.name }, card.name),
    ...cells.map(({ button }) =>
      button === null
        ? el("td", { class: "tf-cell-none" }, el("span", { "aria-label": "not offered" }, "·"))
        : el("td", {}, button),
    ),
  );
  return { id: card.id, cells, line };
}

/** Writes a card's figures into its line. */
function fillRow(row, card, selected) {
  card.cells.forEach((cell, column) => {
    if (cell === null) return;
    const { button } = row.cells[column];
    const { sign, word } = VERDICTS[cell.verdict];
    const isSelected = card.id === selected.card && cell.num_gpus === selected.numGpus;
    const style = `tf-cell tf-cell-${cell.verdict}${isSelected ? " tf-cell-on" : ""}`;
    if (button.className !== style) button.className = style;
    setText(button, `${sign} ${percent(cell.share)}`);
    const spoken =
      `${word}, ${percent(cell.share)} of ${card.name}, ${gpus(cell.num_gpus)}, ` +
      `${gb(cell.total)} each`;
    if (button.title !== spoken) {
      button.title = spoken;
      button.setAttribute("aria-label", spoken);
    }
    if (isSelected) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
}

export class CardGrid {
  #body = null;
  #head = null;
  #rows = []; // {id, cells: [{numGpus, button}], line}
  #turn = 0;
  #shape = "";
  #card = null;
  #focus = [0, 0];

  /** @param {(cardId: string, numGpus: number) => void} onChoose */
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.#head = el("tr");
    this.#body = el("tbody");
    this.table = el(
      "table",
      {
        class: "tf-grid",
        role: "grid",
        "aria-labelledby": "tf-grid-title",
        "aria-describedby": "tf-grid-help",
      },
      el("thead", {}, this.#head),
      this.#body,
    );
    this.#body.addEventListener("keydown", (event) => this.#move(event));
    this.#body.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button === null) return;
      const [row, column] = button.dataset.at.split(",").map(Number);
      this.#setFocus(row, column);
      const entry = this.#rows[row];
      this.onChoose(entry.id, entry.cells[column].numGpus);
    });
  }

  /**
   * Shows `grid`; `selected` is the request's card and the GPU count of the answer, `slices` the
   * pieces of its work. False where a newer one took its place on the way.
   */
  async show(whole, selected, slices) {
    const turn = (this.#turn += 1);
    const grid = withoutEmptyColumns(whole);
    const shape = JSON.stringify([
      grid.gpu_counts,
      grid.cards.map((card) => [card.id, card.cells.map(Boolean)]),
    ]);
    const isAnew = shape !== this.#shape;
    const rows = await slices.map(grid.cards, (card, index) => {
      const row = isAnew ? newRow(card, index) : this.#rows[index];
      if (turn === this.#turn) fillRow(row, card, selected);
      return row;
    });
    if (turn !== this.#turn) return false;
    if (isAnew) this.#take(grid, rows);
    this.#shape = shape;
    grid.gpu_counts.forEach((number, column) => {
      // Without a card in it, the need per GPU is the same in the whole column.
      const cell = grid.cards.map((card) => card.cells[column]).find(Boolean);
      setText(this.#head.children[column + 1].lastChild, cell ? `${gbNumber(cell.total)} GB` : "");
    });
    const row = grid.cards.findIndex((card) => card.id === selected.card);
    if (row >= 0 && selected.card !== this.#card) this.#reveal(row);
    this.#card = selected.card;
    return true;
  }

  /** Scrolls the table, never the page, to a card that was chosen elsewhere. */
  #reveal(row) {
    const line = this.#body.children[row];
    const box = this.table.parentElement;
    // An observer is called right after layout; at any other time these questions would force one.
    const observer = new ResizeObserver(() => {
      observer.disconnect();
      const isSeen =
        line.offsetTop > box.scrollTop &&
        line.offsetTop + line.offsetHeight < box.scrollTop + box.clientHeight;
      if (!isSeen) box.scrollTop = line.offsetTop - box.clientHeight / 2;
    });
    observer.observe(line);
  }

  /** Puts rows of another shape in place. */
  #take(grid, rows) {
    this.table.style.setProperty("--tf-columns", String(grid.gpu_counts.length));
    this.#head.replaceChildren(
      el("th", { scope: "col" }, "Card"),
      ...grid.gpu_counts.map((number) =>
        el(
          "th",
          { scope: "col" },
          el("span", {}, count(number)),
          el("br"),
          el("span", { class: "tf-quiet" }),
        ),
      ),
    );
    this.#rows = rows;
    this.#body.replaceChildren(...rows.map(({ line }) => line));
    const first = rows.findIndex((row) => row.cells.some((cell) => cell.button !== null));
    if (first >= 0)
      this.#setFocus(
        first,
        rows[first].cells.findIndex((cell) => cell.button !== null),
      );
  }

  #setFocus(row, column) {
    const [oldRow, oldColumn] = this.#focus;
    this.#rows[oldRow]?.cells[oldColumn]?.button?.setAttribute("tabindex", "-1");
    this.#rows[row].cells[column].button.setAttribute("tabindex", "0");
    this.#focus = [row, column];
  }

  #move(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    let [row, column] = this.#focus;
    do {
      row += step[0];
      column += step[1];
    } while (this.#rows[row]?.cells[column]?.button === null);
    const target = this.#rows[row]?.cells[column]?.button;
    if (target === undefined) return;
    this.#setFocus(row, column);
    target.focus();
  }
}
