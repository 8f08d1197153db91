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

export class CardGrid {
  #body = null;
  #head = null;
  #rows = []; // {card, cells: [{td, button, cell}]}
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

  /** Shows `grid`; `selected` is the request's card and the GPU count of the answer. */
  show(whole, selected) {
    const grid = withoutEmptyColumns(whole);
    const shape = JSON.stringify([
      grid.gpu_counts,
      grid.cards.map((card) => [card.id, card.cells.map(Boolean)]),
    ]);
    if (shape !== this.#shape) this.#build(grid);
    this.#shape = shape;
    grid.gpu_counts.forEach((number, column) => {
      // Without a card in it, the need per GPU is the same in the whole column.
      const cell = grid.cards.map((card) => card.cells[column]).find(Boolean);
      setText(this.#head.children[column + 1].lastChild, cell ? `${gbNumber(cell.total)} GB` : "");
    });
    grid.cards.forEach((card, row) => {
      card.cells.forEach((cell, column) => {
        if (cell === null) return;
        const { button } = this.#rows[row].cells[column];
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
    });
    const row = grid.cards.findIndex((card) => card.id === selected.card);
    if (row >= 0 && selected.card !== this.#card) this.#reveal(row);
    this.#card = selected.card;
  }

  /** Scrolls the table, never the page, to a card that was chosen elsewhere. */
  #reveal(row) {
    // After the browser has laid it out and painted: asked earlier, it would have to at once.
    requestAnimationFrame(() =>
      setTimeout(() => {
        const box = this.table.parentElement;
        const line = this.#body.children[row];
        if (line === undefined) return;
        const isSeen =
          line.offsetTop > box.scrollTop &&
          line.offsetTop + line.offsetHeight < box.scrollTop + box.clientHeight;
        if (!isSeen) box.scrollTop = line.offsetTop - box.clientHeight / 2;
      }),
    );
  }

  #build(grid) {
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
    this.#rows = grid.cards.map((card, row) => ({
      id: card.id,
      cells: card.cells.map((cell, column) => ({
        numGpus: cell === null ? null : cell.num_gpus,
        button:
          cell === null
            ? null
            : el("button", { type: "button", tabindex: "-1", "data-at": `${row},${column}` }),
      })),
    }));
    this.#body.replaceChildren(
      ...grid.cards.map((card, row) =>
        el(
          "tr",
          {},
          el("th", { scope: "row", title: card.name }, card.name),
          ...this.#rows[row].cells.map(({ button }) =>
            button === null
              ? el(
                  "td",
                  { class: "tf-cell-none" },
                  el("span", { "aria-label": "not offered" }, "·"),
                )
              : el("td", {}, button),
          ),
        ),
      ),
    );
    const first = this.#rows.findIndex((row) => row.cells.some((cell) => cell.button !== null));
    if (first >= 0)
      this.#setFocus(
        first,
        this.#rows[first].cells.findIndex((cell) => cell.button !== null),
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
