// Drives the generated pages and the home page. `scenario` names what to do; what came
// of it goes to the test, which compares it with the core.

import axe from "axe-core";
import { allowClipboard, parameters, report, withPage } from "./harness.mjs";

const address = (path) => parameters.url + path;

/** Every strategy table as a reader sees it: its line in words, and rows as text and class. */
function drawn() {
  const clean = (text) => text.replace(/\s+/g, " ").trim();
  return [...document.querySelectorAll("details.tf-strategy")].map((details) => ({
    outcome: details.querySelector("summary span").textContent,
    rows: [...details.querySelector(".tf-wide > table").tBodies[0].rows].map((row) =>
      [...row.cells].map((cell) => [clean(cell.textContent), cell.className, cell.colSpan]),
    ),
  }));
}

async function choose(page, control, value) {
  await page.evaluate(
    ([name, chosen]) => {
      for (const select of document.querySelectorAll(`select[data-control=${name}]`)) {
        select.value = chosen;
        select.dispatchEvent(new Event("change"));
      }
    },
    [control, value],
  );
  await page.waitForFunction(
    ([name, chosen]) =>
      [...document.querySelectorAll(".tf-method")].every((section) => section.dataset.drawn?.includes(`${name}=${chosen}`)),
    [control, value],
  );
}

const scenarios = {
  /** The page's own tables, others drawn by the script, and the first ones drawn again. */
  async redraw() {
    return withPage(async (page, record) => {
      await page.goto(address(`models/${parameters.model}/`));
      await page.waitForSelector("select[data-control=length]");
      const first = await page.evaluate(drawn);
      await choose(page, "length", "32768");
      const other = await page.evaluate(drawn);
      await choose(page, "length", "2048");
      const again = await page.evaluate(drawn);
      return { first, other, again, ...record };
    });
  },

  /** An address of another optimizer's row: what is shown and marked. */
  async row_address() {
    return withPage(async (page, record) => {
      await page.goto(address(`models/${parameters.model}/#${parameters.row}`));
      // A row that is far away has no text yet.
      await page.waitForFunction(() => document.querySelector("tr.tf-target > td")?.innerText);
      const found = {
        marked: await page.evaluate(() =>
          [...document.querySelectorAll("tr.tf-target > *")].map((cell) => cell.innerText.trim()),
        ),
        card: await page.innerText("a.tf-target"),
        isInView: await page.evaluate(() => {
          const box = document.querySelector("tr.tf-target").getBoundingClientRect();
          return box.top > 0 && box.bottom < innerHeight;
        }),
      };
      await choose(page, "length", "8192");
      const later = await page.evaluate(() => ({
        marked: [...document.querySelectorAll(".tf-target")].map((each) => each.id || each.localName),
        outcomes: [...document.querySelectorAll("details.tf-strategy > summary span")].map(
          (each) => each.textContent,
        ),
      }));
      return { ...found, later, ...record };
    });
  },

  /** What the buttons of a row and a table put on the clipboard. */
  async copy() {
    return withPage(async (page, record, context) => {
      await allowClipboard(context);
      await page.goto(address(`models/${parameters.model}/#${parameters.row}`));
      await page.waitForSelector("tr.tf-target");
      await page.hover("tr.tf-target a.tf-target");
      const read = () => page.evaluate(() => navigator.clipboard.readText());
      const copied = {};
      // Not by clicks: before each, Firefox's driver scrolls, and brings the pointer to another row.
      const press = (label) => page.press(`tr.tf-target .tf-tools >> text=${label}`, "Enter");
      await press("Link");
      copied.link = await read();
      await press("MD");
      copied.row = await read();
      const details = page.locator("details.tf-strategy", { has: page.locator("tr.tf-target") });
      await details.getByRole("button", { name: "Copy Markdown" }).click();
      copied.table = await read();
      await details.getByRole("button", { name: "Copy CSV" }).click();
      copied.csv = await read();
      return { copied, ...record };
    });
  },

  /** How far below the window's top an address of a section leads, afresh and within the page. */
  async section_address() {
    const tops = {};
    for (const width of [1280, 390]) {
      tops[width] = await withPage(
        async (page) => {
          const path = `models/${parameters.model}/`;
          const top = async () => {
            await page.waitForLoadState("networkidle");
            return page.evaluate((id) => document.getElementById(id).getBoundingClientRect().top, parameters.section);
          };
          await page.goto(address(`${path}#${parameters.section}`));
          const afresh = await top();
          await page.goto(address(path));
          const link = page.locator(`a[href="#${parameters.section}"]:visible`).first();
          await link.click();
          await page.waitForFunction((id) => location.hash === `#${id}`, parameters.section);
          return [afresh, await top()];
        },
        { context: { viewport: { width, height: 844 } } },
      );
    }
    return tops;
  },

  /** The link of a table at another length, copied and opened afresh; and the code of the badges. */
  async length_in_link() {
    return withPage(async (page, record, context) => {
      await allowClipboard(context);
      await page.goto(address(`models/${parameters.model}/`));
      await page.waitForSelector("select[data-control=length]");
      await choose(page, "length", "8192");
      const table = page.locator("#full--adamw--zero-3");
      await table.getByRole("button", { name: "Copy link" }).click();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      await page.goto("about:blank");
      await page.goto(link);
      await page.waitForSelector(".tf-method[data-method=full][data-drawn$='length=8192']");
      return {
        link,
        head: await table.locator("[data-length-head]").first().innerText(),
        top: await table.evaluate((each) => each.getBoundingClientRect().top),
        others: await page.locator(".tf-method[data-drawn]").count(),
        badges: await page.locator("#badges ~ .highlight, #badges ~ pre").allInnerTexts(),
        ...record,
      };
    });
  },

  /** Addresses of no row, one with an optimizer that the script draws, then of a row. */
  async missing_row() {
    return withPage(async (page, record) => {
      const notes = [];
      for (const row of parameters.rows) {
        await page.goto(address(`models/${parameters.model}/#${row}`));
        await page.waitForSelector(".tf-missing");
        notes.push(await page.innerText(".tf-missing"));
      }
      await page.goto(address(`models/${parameters.model}/#${parameters.row}`));
      await page.waitForSelector("tr.tf-target");
      return { notes, left: await page.locator(".tf-missing").count(), ...record };
    });
  },

  /** The home page's question, typed as people type it. */
  async picker() {
    return withPage(async (page, record) => {
      await page.setViewportSize({ width: 360, height: 740 });
      await page.goto(address(""));
      const before = await page.innerText(".tf-picked");
      await page.focus(".tf-picker [name=card]");
      await page.waitForSelector(`.tf-picker option[value="${parameters.card}"]`, { state: "attached" });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      await page.selectOption(".tf-picker [name=card]", parameters.card);
      await page.selectOption(".tf-picker [name=method]", parameters.method);
      await page.fill(".tf-picker [name=model]", parameters.unknown);
      await page.press(".tf-picker [name=model]", "Tab");
      await page.getByText("No such model in the catalog").waitFor();
      await page.fill(".tf-picker [name=model]", parameters.whole);
      await page.waitForSelector(".tf-picked a"); // without leaving the field
      await page.fill(".tf-picker [name=model]", parameters.several);
      await page.press(".tf-picker [name=model]", "Enter");
      await page.getByText("Which one?").waitFor();
      const offered = await page.locator(".tf-picked button").allInnerTexts();
      await page.locator(".tf-picked button").first().click();
      await page.waitForSelector(".tf-picked a");
      const chosen = await page.inputValue(".tf-picker [name=model]");
      const answered = await page.innerText(".tf-picked a");
      await page.fill(".tf-picker [name=model]", parameters.typed);
      await page.press(".tf-picker [name=model]", "Enter");
      await page.waitForSelector(".tf-target");
      return { before, overflow, offered, chosen, answered, url: page.url(), marked: await page.innerText("tr.tf-target"), ...record };
    });
  },

  /** What the home page answers for each of some cards. */
  async picked_cards() {
    return withPage(async (page, record) => {
      await page.goto(address(""));
      await page.focus(".tf-picker [name=card]");
      const answers = {};
      for (const [card, name] of Object.entries(parameters.cards)) {
        await page.waitForSelector(`.tf-picker option[value="${card}"]`, { state: "attached" });
        await page.selectOption(".tf-picker [name=card]", card);
        await page.locator(".tf-picked a", { hasText: name }).waitFor();
        answers[card] = (await page.innerText(".tf-picked")).replace(/\s+/g, " ");
      }
      return { answers, ...record };
    });
  },

  /** A model page's controls while its figures do not come, and once they do. */
  async tables_without_figures() {
    return withPage(async (page) => {
      await page.goto(address(`models/${parameters.model}/`));
      const figures = "**/api/v1/**";
      const optimizer = page.locator("select[data-control=optimizer]").first();
      await page.route(figures, (route) => route.abort());
      await optimizer.selectOption("sgd");
      await page.getByText("could not be loaded").first().waitFor();
      const kept = await optimizer.inputValue();
      await page.unroute(figures);
      await optimizer.selectOption("sgd");
      await page.waitForSelector("[data-drawn^='optimizer=sgd']");
      return [kept, await optimizer.inputValue()];
    });
  },

  /** The home page's question while its figures do not come, and once they do. */
  async picker_without_figures() {
    return withPage(async (page, { errors }) => {
      await page.goto(address(""));
      const figures = "**/api/v1/**";
      await page.route(figures, (route) => route.abort());
      await page.press(".tf-picker [name=model]", "Enter");
      await page.getByText("could not be loaded").waitFor();
      await page.unroute(figures);
      await page.press(".tf-picker [name=model]", "Enter");
      await page.waitForSelector("tr.tf-target");
      return { url: page.url(), errors: errors.filter((error) => !error.includes("ERR_FAILED")) };
    });
  },

  /** What cells are made of, by pointer, by keyboard and by tap, and that Escape ends it. */
  async breakdown() {
    return withPage(
      async (page, record, context) => {
        await allowClipboard(context);
        await page.goto(address(`models/${parameters.model}/`));
        await page.waitForSelector("#tf-breakdown", { state: "attached" });
        const box = page.locator("#tf-breakdown");
        const grid = "#full--adamw--zero-3 .tf-wide > table";
        const read = () =>
          page.evaluate(() => ({
            head: document.querySelector("#tf-breakdown-text p").textContent,
            text: document.querySelector("#tf-breakdown-text").textContent,
            lines: Object.fromEntries(
              [...document.querySelectorAll("#tf-breakdown tr")].map((row) => [...row.cells].map((cell) => cell.textContent)),
            ),
            calculator: document.querySelector("#tf-breakdown a").getAttribute("href"),
            described: document.querySelector("[aria-describedby=tf-breakdown-text]")?.textContent,
          }));
        const found = {};
        const row = page.locator(`${grid} tbody tr`, { has: page.locator(`[id="${parameters.row}"]`) });
        await row.scrollIntoViewIfNeeded();
        await row.locator("td").nth(3).hover();
        await box.waitFor({ state: "visible" });
        found.hovered = await read();
        // The pointer can go over the box; Escape sends it away.
        await box.hover();
        await page.waitForTimeout(500);
        found.staysUnderPointer = await box.isVisible();
        await page.keyboard.press("Escape");
        found.afterEscape = await box.isVisible();
        await page.mouse.move(0, 0);

        await page.locator(`${grid} tbody td[tabindex]`).first().focus();
        await page.keyboard.press("ArrowRight");
        await box.waitFor({ state: "visible" });
        found.focused = await read();
        found.tabStops = await page.locator(`${grid} td[tabindex="0"]`).count();
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => document.activeElement?.textContent === "Copy link");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => document.querySelector("[role=status].tf-announced").textContent.includes("copied"));
        found.copied = await page.evaluate(() => navigator.clipboard.readText());
        await page.keyboard.press("Escape");
        found.afterSecondEscape = await box.isVisible();
        found.focusReturns = await page.evaluate(() => document.activeElement.matches("td[tabindex='0']"));

        await choose(page, "optimizer", "adamw-8bit");
        await page.locator(`[id="${parameters.row.replace("adamw", "adamw-8bit")}"]`).locator("xpath=ancestor::tr").locator("td").nth(3).click();
        await box.waitFor({ state: "visible" });
        found.clicked = await read();
        return { ...found, ...record };
      },
      { context: { viewport: { width: 1440, height: 900 } } },
    );
  },

  /** Accessibility with a breakdown open, in both colour schemes. */
  async breakdown_axe() {
    const context = { bypassCSP: true, viewport: { width: 1440, height: 900 } };
    return withPage(
      async (page) => {
        const found = {};
        for (const colorScheme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme });
          await page.goto(address(`models/${parameters.model}/`), { waitUntil: "load" });
          await page.locator("#tf-breakdown").waitFor({ state: "attached" });
          await page.locator("#full--adamw--zero-3 tbody td").nth(3).click();
          await page.locator("#tf-breakdown").waitFor({ state: "visible" });
          await page.evaluate(axe.source);
          const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
          found[colorScheme] = result.violations.map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`);
        }
        return found;
      },
      { context },
    );
  },

  /** A linked row far down a long table: its table's head is in sight, its columns above their cells. */
  async head_in_sight() {
    const found = {};
    for (const width of [1440, 360]) {
      found[width] = await withPage(
        async (page, record) => {
          await page.goto(address(`models/${parameters.model}/#${parameters.row}`));
          await page.waitForSelector("tr.tf-target");
          await page.waitForSelector("#full--adamw--zero-3 .tf-pinned th");
          await page.evaluate(() => (document.querySelector("#full--adamw--zero-3 .tf-wide").scrollLeft = 90));
          await page.waitForTimeout(200);
          return page.evaluate(() => {
            const heads = [...document.querySelectorAll("#full--adamw--zero-3 .tf-pinned thead tr:last-child th")];
            const cells = [...document.querySelectorAll("tr.tf-target td")];
            const box = (element) => element.getBoundingClientRect();
            return {
              heads: heads.map((head) => head.textContent),
              isInView: heads.every((head) => box(head).top >= 0 && box(head).bottom < innerHeight),
              isAboveRow: heads.every((head) => box(head).bottom <= box(cells[0]).top),
              offset: Math.max(...cells.map((cell, index) => Math.abs(box(cell).right - box(heads[index]).right))),
              overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            };
          });
        },
        { context: { viewport: { width, height: 740 } } },
      );
    }
    return found;
  },

  /** Accessibility of every kind of page in both colour schemes. */
  async axe() {
    const context = { bypassCSP: true, viewport: { width: 1280, height: 900 } };
    return withPage(
      async (page) => {
        const found = {};
        for (const colorScheme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme });
          // On a busy machine the network rests before the page's scripts have run.
          await page.goto(address(parameters.path), { waitUntil: "load" });
          await page.waitForLoadState("networkidle");
          await page.evaluate(axe.source);
          // The other scheme changes colours, and these are the rules about them.
          const ofColours = ["color-contrast", "link-in-text-block"];
          const rules = colorScheme === "light" ? {} : { runOnly: { type: "rule", values: ofColours } };
          const result = await page.evaluate(
            (options) => window.axe.run(document, { resultTypes: ["violations"], ...options }),
            rules,
          );
          found[colorScheme] = result.violations.map(
            (each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`,
          );
        }
        return found;
      },
      { context },
    );
  },

  /** Whether a page is wider than a phone, and how much moved while it loaded. */
  async layout() {
    const context = { viewport: { width: 360, height: 740 } };
    if (parameters.browser === "chromium") context.hasTouch = true;
    return withPage(
      async (page, record) => {
        // Only Chromium tells of shifts; elsewhere they stay at 0.
        await page.addInitScript(() => {
          window.shift = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) {
              if (!entry.hadRecentInput) window.shift += entry.value;
            }
          }).observe({ type: "layout-shift", buffered: true });
        });
        const pages = {};
        for (const path of parameters.paths) {
          await page.goto(address(path), { waitUntil: "load" });
          await page.waitForLoadState("networkidle");
          pages[path] = await page.evaluate(() => ({
            overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            shift: window.shift,
          }));
        }
        return { pages, ...record };
      },
      { context },
    );
  },
};

report(await scenarios[parameters.scenario]());
