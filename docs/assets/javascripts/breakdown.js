// What a cell of a model page's tables is made of: shown on hover, on focus and on tap.
// The figures are the model's own JSON; the page is complete without this script.

import { element, WORDS } from "./common.js";

const COMPONENTS = {
  weights: "Weights",
  master_weights: "FP32 master weights",
  gradients: "Gradients",
  optimizer_states: "Optimizer states",
  activations: "Activations and loss",
  buffers: "Buffers",
  overhead: "Overhead",
};
// Long enough that a pointer on its way to the box does not change what the box says.
const REST_MS = 160;
const AWAY_MS = 260;
const GAP = 6;
const SVG = "http://www.w3.org/2000/svg";

/** Two decimals below 10, one above: small parts would otherwise be nothing. */
export function gb(bytes) {
  const value = bytes / 1e9;
  if (bytes > 0 && value < 0.005) return "<0.01";
  return value.toLocaleString("en-US", {
    minimumFractionDigits: value < 10 ? 2 : value < 999.95 ? 1 : 0,
    maximumFractionDigits: value < 10 ? 2 : value < 999.95 ? 1 : 0,
  });
}

function span(values) {
  const [low, high] = [gb(Math.min(...values)), gb(Math.max(...values))];
  return low === high ? low : `${low} to ${high}`;
}

/** The box's place: beside the table where the window has room, so that no cell is hidden. */
function place(box, cell) {
  const table = cell.closest(".tf-wide").getBoundingClientRect();
  const right = Math.min(table.right, cell.closest("table").getBoundingClientRect().right);
  const own = cell.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const inside = (value, size, limit) => Math.max(GAP, Math.min(value, limit - size - GAP));
  const limit = document.documentElement.clientWidth;
  let left = right + 2 * GAP;
  let top = inside(own.top - GAP, height, innerHeight);
  if (left + width + GAP > limit) {
    left = inside(own.left, width, limit);
    const below = own.bottom + GAP;
    top = below + height + GAP <= innerHeight ? below : Math.max(GAP, own.top - GAP - height);
  }
  box.style.left = `${Math.round(left)}px`;
  box.style.top = `${Math.round(top)}px`;
}

function bar(parts, limit, scale) {
  const make = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const across = (bytes) => `${((100 * bytes) / scale).toFixed(2)}%`;
  const drawn = make("svg", { class: "tf-bar-picture", width: "100%", "aria-hidden": "true" });
  let x = 0;
  for (const [part, bytes] of parts) {
    const box = { x: across(x), width: across(bytes), y: "0", height: "100%" };
    drawn.append(make("rect", { class: `tf-fill-${part}`, ...box }));
    x += bytes;
  }
  const at = { x1: across(limit), x2: across(limit), y1: "-25%", y2: "125%" };
  drawn.append(make("line", { class: "tf-limit-fit", ...at }));
  return drawn;
}

/**
 * @param {object} settings
 * @param {(cell: Element) => object | null} settings.setUpOf what a cell stands for, by the page
 * @param {() => Promise<object>} settings.load the model's JSON
 * @param {(data: object, setUp: object) => object} settings.figuresOf bytes of a set-up
 * @param {(id: string) => void} settings.copyLink
 */
export function addBreakdown({ article, setUpOf, load, figuresOf, copyLink }) {
  const box = element("div", { id: "tf-breakdown", className: "tf-popover", hidden: true });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "What the figure is made of");
  if (box.showPopover) box.popover = "manual";
  article.append(box);
  let shown = null;
  let wanted = null;
  let timer = 0;
  let isPinned = false;
  // A link to a row focuses it without anybody having asked what it is made of.
  let isKeyed = false;

  function hide() {
    clearTimeout(timer);
    wanted = null;
    isPinned = false;
    if (!shown) return;
    shown.classList.remove("tf-shown");
    (shown.querySelector("a:focus") ?? shown).removeAttribute("aria-describedby");
    shown.removeAttribute("aria-describedby");
    shown = null;
    if (box.popover && box.matches(":popover-open")) box.hidePopover();
    box.hidden = true;
  }

  function fill(data, setUp) {
    const found = figuresOf(data, setUp);
    if (!found) return false;
    const { parts, total, low, high, fits, usable, verdict } = found;
    const others = setUp.cards.length - 1;
    const names = others > 0 ? `${setUp.name} and ${others} more` : setUp.name;
    const rows = parts.map(([part, bytes]) => {
      const header = element("th", { scope: "row" });
      const swatch = element("span", { className: `tf-swatch tf-back-${part}` });
      header.append(swatch, COMPONENTS[part] ?? part);
      return element("tr", {}, header, element("td", { textContent: gb(bytes) }));
    });
    const sum = element("tr", {}, element("th", { scope: "row", textContent: "Total, GB per GPU" }));
    sum.append(element("td", { textContent: gb(total) }));
    const button = element("button", { type: "button", textContent: "Copy link" });
    button.addEventListener("click", () => copyLink(setUp.rowId));
    const state = new URLSearchParams(found.request);
    const calculator = element("a", { href: `../../calculator/#${state}`, textContent: "Calculator" });
    box.replaceChildren(
      element(
        "div",
        { id: "tf-breakdown-text" },
        element(
          "p",
          {},
          element("b", { textContent: `${setUp.count} × ${names}` }),
          " ",
          element("span", { className: `v-${verdict}`, textContent: WORDS[verdict] }),
        ),
        element("p", { className: "tf-quiet", textContent: `${setUp.words}.` }),
        bar(parts, fits[0], 1.03 * Math.max(total, fits[0])),
        element("table", { className: "tf-lines" }, element("tbody", {}, ...rows), element("tfoot", {}, sum)),
        element("p", {
          className: "tf-quiet",
          textContent:
            `Likely between ${gb(low)} and ${gb(high)} GB. ` +
            `Fits up to ${span(fits)} GB${usable.length ? `, usable ${span(usable)} GB` : ""}.`,
        }),
      ),
      element("p", { className: "tf-tools" }, button, calculator),
    );
    return true;
  }

  async function show(cell, { pin = false } = {}) {
    const setUp = setUpOf(cell);
    if (!setUp) {
      if (!isPinned) hide();
      return;
    }
    wanted = cell;
    let text;
    try {
      const data = await load();
      if (wanted !== cell) return;
      if (!fill(data, setUp)) return void hide();
    } catch (error) {
      if (wanted !== cell) return;
      text = `The breakdown could not be loaded (${error.message}).`;
      box.replaceChildren(element("p", { id: "tf-breakdown-text", textContent: text }));
    }
    const kept = wanted;
    if (shown && shown !== cell) hide();
    wanted = kept;
    isPinned ||= pin;
    shown = cell;
    cell.classList.add("tf-shown");
    (cell.querySelector("a:focus") ?? cell).setAttribute("aria-describedby", "tf-breakdown-text");
    box.hidden = false;
    if (box.popover && !box.matches(":popover-open")) box.showPopover();
    place(box, cell);
  }

  const cellOf = (target) => target.closest?.("table.t tbody :is(td, th[scope=row])") ?? null;

  /* Pointer */

  article.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch" || isPinned) return;
    clearTimeout(timer);
    if (box.contains(event.target)) return;
    const cell = cellOf(event.target);
    // The figures come while the pointer is still on its way.
    if (event.target.closest?.(".tf-wide")) load().catch(() => {});
    if (cell && setUpOf(cell)) {
      if (cell !== shown) timer = setTimeout(show, REST_MS, cell);
    } else if (shown) timer = setTimeout(hide, AWAY_MS);
  });
  document.documentElement.addEventListener("pointerleave", () => {
    if (!isPinned) timer = setTimeout(hide, AWAY_MS);
  });
  document.addEventListener("click", (event) => {
    if (box.contains(event.target)) return;
    const cell = cellOf(event.target);
    if (cell?.matches("td") && !event.target.closest("a, button") && setUpOf(cell)) {
      clearTimeout(timer);
      isPinned = false;
      moveTo(cell);
      show(cell, { pin: true });
    } else hide();
  });

  document.addEventListener("keydown", () => (isKeyed = true), { capture: true });
  document.addEventListener("pointerdown", () => (isKeyed = false), { capture: true });

  /* Keyboard: one tab stop per table, arrows within it */

  function moveTo(cell) {
    const stop = cell.closest("table[role=grid]")?.querySelector("tbody td[tabindex='0']");
    if (!stop) return;
    stop.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  }

  /** From the box back to its cell, which does not ask for the box again. */
  function giveBack(cell) {
    hide();
    isKeyed = false;
    cell.focus();
  }

  function neighbour(cell, key) {
    const row = cell.parentElement;
    const cells = [...row.querySelectorAll("td")];
    const index = cells.indexOf(cell);
    if (key === "Home") return cells[0];
    if (key === "End") return cells.at(-1);
    if (key === "ArrowLeft" || key === "ArrowRight") return cells[index + (key === "ArrowLeft" ? -1 : 1)];
    const next = key === "ArrowUp" ? row.previousElementSibling : row.nextElementSibling;
    const across = [...(next?.querySelectorAll("td") ?? [])];
    // Rows that fit nowhere have only the last columns.
    return across.at(Math.max(index - cells.length, -across.length));
  }

  article.addEventListener("focusin", (event) => {
    if (box.contains(event.target)) return;
    const cell = cellOf(event.target);
    if (!cell || !isKeyed) return;
    clearTimeout(timer);
    isPinned = false;
    show(cell);
  });
  article.addEventListener("focusout", (event) => {
    if (isPinned || box.contains(event.relatedTarget)) return;
    if (shown && !cellOf(event.relatedTarget ?? document.body)) hide();
  });
  article.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (box.contains(target)) {
      const controls = [...box.querySelectorAll("button, a")];
      if (key === "Tab" && target === (event.shiftKey ? controls[0] : controls.at(-1))) {
        event.preventDefault();
        giveBack(shown);
      }
      return;
    }
    if (!target.matches("table.t tbody td[tabindex]")) return;
    if (key === "Enter" || key === " ") {
      event.preventDefault();
      show(target, { pin: true }).then(() => box.querySelector("button")?.focus());
      return;
    }
    const next = /^(Arrow|Home|End)/.test(key) ? neighbour(target, key) : null;
    if (!next) return;
    event.preventDefault();
    moveTo(next);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shown) return;
    if (box.contains(document.activeElement)) giveBack(shown);
    else hide();
  });
  // A box beside a cell that has scrolled away would speak for another.
  document.addEventListener("scroll", () => shown && place(box, shown), { capture: true, passive: true });
}

/**
 * Tab stops for tables as they come near: what the browser has not laid out yet has no place, and a
 * target without a place is one that nobody can hit.
 */
export function addTabStops(tables) {
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      addTabStop(target);
    }
  });
  for (const table of tables) near.observe(table);
}

/** Makes the first cell of a table reachable by Tab; from there `moveTo` goes on by arrows. */
export function addTabStop(table) {
  table.setAttribute("role", "grid");
  table.querySelector("tbody td")?.setAttribute("tabindex", "0");
}
