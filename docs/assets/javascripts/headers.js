// Keeps the head of a long table in sight. A table scrolls sideways in a box of its own, in which
// `position: sticky` cannot hold to the window, so a copy of the head sticks in front of the box.

/** Widths of a table's columns, by a row that has them all. */
function columnWidths(table) {
  const row = [...table.rows].find((each) => each.parentElement !== table.tHead && [...each.cells].every((cell) => cell.colSpan === 1));
  return row ? [...row.cells].map((cell) => cell.getBoundingClientRect().width) : null;
}

function copyOfHead(table, widths) {
  const copy = table.cloneNode(false);
  copy.removeAttribute("id");
  copy.removeAttribute("role");
  const columns = document.createElement("colgroup");
  for (const width of widths) {
    const column = document.createElement("col");
    column.style.width = `${width}px`;
    columns.append(column);
  }
  copy.append(columns, table.tHead.cloneNode(true));
  copy.style.tableLayout = "fixed";
  copy.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
  return copy;
}

function pin(wide) {
  const table = wide.querySelector("table");
  const pinned = document.createElement("div");
  const view = document.createElement("div");
  pinned.className = "tf-pinned";
  // The table has its own head; this one is for the eye.
  pinned.setAttribute("aria-hidden", "true");
  pinned.inert = true;
  pinned.append(view);
  wide.before(pinned);
  const follow = () => (view.scrollLeft = wide.scrollLeft);
  const draw = () => {
    const widths = table.offsetParent && !table.caption ? columnWidths(table) : null;
    view.replaceChildren(...(widths ? [copyOfHead(table, widths)] : []));
    // As large as the box itself, in which the copy stops at the last row.
    for (const [side, name] of [["top", "Top"], ["left", "Left"], ["width", "Width"], ["height", "Height"]]) {
      pinned.style[side] = `${wide[`offset${name}`]}px`;
    }
    follow();
  };
  wide.addEventListener("scroll", follow, { passive: true });
  new ResizeObserver(draw).observe(table);
  // Another optimizer or length has other rows.
  new MutationObserver(draw).observe(table.tBodies[0], { childList: true });
}

/** Pins the heads of tables as they come near. */
export function pinHeads(tables) {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        pin(target);
      }
    },
    { rootMargin: "300px" },
  );
  for (const table of tables) near.observe(table.closest(".tf-wide"));
}
