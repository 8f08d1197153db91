// The site as readers meet it who see, move, or wait differently. `scenario` names what to do.

import { parameters, press, report, withPage } from "./harness.mjs";

const ANSWER_TIMEOUT_MS = 60_000;
const LINK = "v=1&model=llama-3.1-8b&strategy=zero-3&num_gpus=8";
const address = (path) => new URL(path, parameters.url).href;

function shown(page, link) {
  return page.waitForFunction(
    (wanted) => document.getElementById("tf-calculator")?.dataset.shown === wanted,
    link,
    { timeout: ANSWER_TIMEOUT_MS },
  );
}

/** Whether the focus is seen, at each of the next stops of the Tab key. */
async function unseenStops(page, count) {
  const unseen = [];
  for (let presses = 0; presses < count; presses += 1) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => {
      const node = document.activeElement;
      if (node === document.body) return null;
      // A control may leave showing its focus to the box around it, or to the label behind it.
      const boxes = [node, node.parentElement, node.nextElementSibling ?? node];
      const isSeen = boxes.some((each) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(each);
        return outlineStyle !== "none" && outlineWidth !== "0px";
      });
      return isSeen ? null : node.id || node.className || node.outerHTML.slice(0, 100);
    });
    if (name !== null) unseen.push(name);
  }
  return unseen;
}

const scenarios = {
  /** A whole estimate on a phone. */
  async phone() {
    return withPage(
      async (page, record) => {
        const overflow = () =>
          page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            return scrollWidth - clientWidth;
          });
        await page.goto(address(`calculator/#${LINK}`));
        await shown(page, LINK);
        await press(page.getByText("Paste or drop"), { isTap: true });
        await press(page.getByText("Launch configuration"), { isTap: true });
        await page.locator("[data-tf-file]").first().waitFor();
        await press(page.getByRole("button", { name: "Keep this set-up" }), { isTap: true });
        await press(page.getByLabel("QLoRA", { exact: true }), { isTap: true });
        await shown(page, parameters.changed);
        const answered = {
          overflow: await overflow(),
          totalBytes: await page.evaluate(() =>
            Number(document.querySelector("[data-tf=total]").dataset.bytes),
          ),
          strip: await page.locator(".tf-strip").innerText(),
          isStripInView: await page.evaluate(() => {
            const { top, bottom } = document.querySelector(".tf-strip").getBoundingClientRect();
            return top > 0 && bottom <= innerHeight;
          }),
          // Targets of WCAG 2.2 AA; a checkbox or radio is hit by its label.
          small: await page.evaluate(() =>
            [...document.querySelectorAll("#tf-calculator :is(button, select, summary, label)")]
              .filter((node) => node.checkVisibility())
              .map((node) => [node.getBoundingClientRect(), node])
              .filter(([box, node]) => Math.min(box.width, box.height) < 24 && !node.htmlFor)
              .filter(([, node]) => getComputedStyle(node).display !== "inline")
              .map(([box, node]) => `${node.className || node.textContent} ${box.height}`),
          ),
        };
        await page.goto(address(`models/llama-3.1-8b/#${parameters.row}`));
        await page.locator("tr.tf-target").waitFor();
        return { answered, tables: await overflow(), ...record };
      },
      { context: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } },
    );
  },

  /** What still moves for a reader who asked for less of that. */
  async less_motion() {
    return withPage(
      async (page) => {
        const moving = {};
        for (const path of ["", "models/llama-3.1-8b/", `calculator/#${LINK}`]) {
          await page.goto(address(path));
          if (path.includes("#")) await shown(page, LINK);
          moving[path] = await page.evaluate(() => {
            const lasting = (times) => times.split(",").some((each) => parseFloat(each) > 0.01);
            return [...document.querySelectorAll("main *, html")]
              .filter((node) => {
                const style = getComputedStyle(node);
                const moves =
                  style.animationName !== "none" && lasting(style.animationDuration);
                return (
                  moves || lasting(style.transitionDuration) || style.scrollBehavior === "smooth"
                );
              })
              .map((node) => node.className || node.tagName);
          });
        }
        return moving;
      },
      { context: { reducedMotion: "reduce" } },
    );
  },

  /** A reader's own colours in place of ours. */
  async own_colours() {
    return withPage(
      async (page) => {
        await page.goto(address(`calculator/#${LINK}`));
        await shown(page, LINK);
        const look = (selector) =>
          page.evaluate((wanted) => {
            const { backgroundColor, color } = getComputedStyle(document.querySelector(wanted));
            return { backgroundColor, color };
          }, selector);
        const calculator = {
          verdict: await page.locator(".tf-verdict-word").innerText(),
          cells: await page.locator(".tf-cell").allInnerTexts(),
          chosenCell: await page.evaluate(
            () => getComputedStyle(document.querySelector(".tf-cell-on")).outlineStyle,
          ),
          checked: await look(".tf-segment:has(input:checked)"),
          unchecked: await look(".tf-segment:has(input:not(:checked))"),
          swatches: await page.evaluate(() => [
            ...new Set(
              [...document.querySelectorAll(".tf-ledger .tf-swatch")].map(
                (each) => getComputedStyle(each).backgroundColor,
              ),
            ),
          ]),
          page: await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
        };
        const box = page.getByRole("combobox", { name: "Card" });
        await press(box);
        await box.press("ArrowDown");
        await page.locator("[role=option][aria-selected=true]").waitFor();
        calculator.selected = await look("[role=option][aria-selected=true]");
        calculator.unselected = await look("[role=option]:not([aria-selected=true])");
        await box.press("Escape");
        calculator.unseen = await unseenStops(page, 30);
        await page.goto(address(`models/llama-3.1-8b/#${parameters.row}`));
        await page.locator("tr.tf-target").waitFor();
        const tables = {
          cells: await page.locator("td:is(.v-fits, .v-tight, .v-no)").allTextContents(),
          mark: await page.evaluate(
            () => getComputedStyle(document.querySelector("tr.tf-target > td")).outlineStyle,
          ),
          unseen: await unseenStops(page, 15),
        };
        return { calculator, tables };
      },
      { context: { forcedColors: "active" } },
    );
  },

  /** The calculator while Python is still on its way, over a slow line. */
  async slow_line() {
    return withPage(async (page, record) => {
      const total = page.locator("[data-tf=total]");
      await page.goto(address("calculator/"), { waitUntil: "commit" });
      await total.waitFor();
      const first = { total: await total.innerText(), text: await page.innerText("article") };
      await page.getByLabel("QLoRA", { exact: true }).check({ timeout: ANSWER_TIMEOUT_MS });
      await page.locator(".tf-progress").waitFor();
      const waiting = await page.evaluate(() => ({
        text: document.querySelector(".tf-progress").innerText,
        isBusy: document.getElementById("tf-calculator").ariaBusy,
        isAnswered: document.getElementById("tf-calculator").dataset.python !== undefined,
        isChecked: document.querySelector("#tf-calculator input[value=qlora]").checked,
      }));
      return { first, waiting, ...record };
    });
  },
};

report(await scenarios[parameters.scenario]());
