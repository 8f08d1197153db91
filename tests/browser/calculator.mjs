// Drives the calculator. `scenario` names what to do; what came of it goes to the test,
// which compares it with the core.

import axe from "axe-core";
import { allowClipboard, parameters, press, report, withPage } from "./harness.mjs";
import { READ_MS, WINDOW_MS, timeChanges, watchScripts } from "./speed.mjs";

const ANSWER_TIMEOUT_MS = 60_000;
const address = (fragment = "") => `${parameters.url}calculator/${fragment}`;

/** Waits until the page shows the answer of exactly this state. */
async function shown(page, link) {
  await page.waitForFunction(
    (wanted) => document.getElementById("tf-calculator")?.dataset.shown === wanted,
    link,
    { timeout: ANSWER_TIMEOUT_MS },
  );
}

/** Waits until the solvers have answered for exactly this state. */
async function solved(page, link) {
  await page.waitForFunction(
    (wanted) => document.getElementById("tf-calculator").dataset.solved === wanted,
    link,
    { timeout: ANSWER_TIMEOUT_MS },
  );
}

/** What a reader sees of the answer. */
function read(page) {
  return page.evaluate(() => {
    const text = (selector) => document.querySelector(selector)?.innerText ?? null;
    const root = document.getElementById("tf-calculator");
    return {
      totalBytes: Number(document.querySelector("[data-tf=total]").dataset.bytes),
      headline: text(".tf-verdict"),
      setup: text(".tf-setup"),
      formula: text(".tf-formula"),
      notes: text(".tf-headline .tf-notes"),
      isStripSeen: root.querySelector(".tf-strip")?.checkVisibility({ visibilityProperty: true }),
      otherEnd: text(".tf-headline .tf-notes + .tf-notes"),
      gpusHelp: text("#tf-num_gpus-help"),
      hasBand: root.querySelector(".tf-curve-band") !== null,
      notice: text(".tf-notice"),
      status: text("[data-tf=status]"),
      verdictWord: text(".tf-verdict-word"),
      gridTotals: [...root.querySelectorAll(".tf-grid thead .tf-quiet")].map(
        (cell) => cell.textContent,
      ),
      cells: root.querySelectorAll(".tf-cell").length,
      chosenCell: root.querySelector(".tf-cell-on")?.title ?? null,
      fragment: location.hash,
    };
  });
}

/** What stands in the lists of figures, by its name. */
function readRows(page) {
  return page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll(".tf-solution")].map((row) => [
        row.firstChild.innerText,
        row.lastChild.firstChild.textContent,
      ]),
    ),
  );
}

/** Notes each set-up that a visitor of the page gets to see, from the first paint on. */
async function watchSetups(page) {
  await page.addInitScript(() => {
    globalThis.seenSetups = [];
    const look = () => {
      const shown = document.querySelector(".tf-setup");
      if (shown?.checkVisibility({ visibilityProperty: true }))
        if (globalThis.seenSetups.at(-1) !== shown.innerText)
          globalThis.seenSetups.push(shown.innerText);
      requestAnimationFrame(look);
    };
    look();
  });
}

async function brokenRules(page, { runOnly } = {}) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (options) => globalThis.axe.run("#tf-calculator", options),
    runOnly === undefined ? {} : { runOnly },
  );
  return violations.map(({ id, impact, nodes }) => ({
    id,
    impact,
    where: nodes.slice(0, 5).map((node) => `${node.target.join(" ")}: ${node.failureSummary}`),
  }));
}

const scenarios = {
  /** Text boxes filled in, one after the other, on top of a link. */
  async fill() {
    return withPage(async (page, record) => {
      await page.goto(address(`#${parameters.link}`));
      await shown(page, parameters.link);
      for (const [label, text] of parameters.texts) {
        await page.getByRole("textbox", { name: label }).fill(text);
      }
      await shown(page, parameters.changed);
      await solved(page, parameters.changed);
      return { ...(await read(page)), rows: await readRows(page), ...record };
    });
  },

  /** Text boxes typed into key by key and left, each on top of the same link. */
  async slips() {
    return withPage(async (page, record) => {
      const found = [];
      for (const [label, text] of parameters.texts) {
        await page.goto("about:blank");
        await page.goto(address(`#${parameters.link}`));
        await shown(page, parameters.link);
        const box = page.getByRole("textbox", { name: label });
        await box.press("Control+A");
        await box.pressSequentially(text, { delay: 30 });
        await box.press("Tab");
        await page.waitForFunction(
          () => document.getElementById("tf-calculator").dataset.busy === undefined,
        );
        await shown(page, parameters.link);
        const problem = await page.locator(".tf-problem:not([hidden])").allInnerTexts();
        found.push({ problem, ...(await read(page)) });
      }
      return { found, ...record };
    });
  },

  /** A card of a size that no card of the catalog has. */
  async own_card() {
    return withPage(async (page, record) => {
      await page.goto(address());
      const box = page.getByRole("combobox", { name: "Card" });
      await box.fill(parameters.typed);
      await page.keyboard.press("Enter");
      await shown(page, parameters.changed);
      return { ...(await read(page)), box: await box.inputValue(), ...record };
    });
  },

  /** Names typed into a list's box, each left by a key: what stands there then, and what is told. */
  async names() {
    return withPage(async (page, record) => {
      await page.goto(address());
      await page.locator("#tf-calculator[data-shown]").waitFor();
      const { isStripSeen } = await read(page);
      const found = [];
      for (const [label, typed, key] of parameters.names) {
        const box = page.getByRole("combobox", { name: label });
        await box.fill(typed);
        await page.keyboard.press(key);
        const told = await page.locator(`#tf-${label.toLowerCase()}-problem`).innerText();
        if (key === "Enter" && told !== "") await page.keyboard.press("Escape");
        found.push([await box.inputValue(), told]);
      }
      return { found, isStripSeen, ...record };
    });
  },

  /** Training stacks, one after the other: the address after each. */
  async stacks() {
    return withPage(async (page, record) => {
      await page.goto(address(`#${parameters.link}`));
      await shown(page, parameters.link);
      const [links, told] = [[], []];
      for (const name of parameters.stacks) {
        await page.getByLabel("Training stack").selectOption({ label: name });
        await page.waitForFunction(() => {
          const { shown, busy } = document.getElementById("tf-calculator").dataset;
          return busy === undefined && location.hash === `#${shown}`;
        });
        links.push(await page.evaluate(() => location.hash.slice(1)));
        told.push(await page.locator("[data-field=stack] .tf-told").innerText());
      }
      return { links, told, ...record };
    });
  },

  /** A link, then a change of control: the answer after each, and the address at the end. */
  async link_then_change() {
    return withPage(async (page, record) => {
      await watchSetups(page);
      await page.goto(address(`#${parameters.link}`));
      await shown(page, parameters.link);
      const first = await read(page);
      const setups = await page.evaluate(() => globalThis.seenSetups);
      await press(page.getByLabel("ZeRO-3 / FSDP"));
      await page.getByRole("textbox", { name: "Number of GPUs" }).fill("8");
      await page.getByRole("textbox", { name: "Sequence length" }).fill("8k");
      await shown(page, parameters.changed);
      await page.waitForFunction((wanted) => location.hash === `#${wanted}`, parameters.changed);
      const second = await read(page);
      await solved(page, parameters.changed);
      return { first, second, setups, solutions: await readRows(page), ...record };
    });
  },

  /** One set-up kept, another chosen, the two swapped; then the link opened anew. */
  async comparison() {
    return withPage(async (page, record) => {
      const readTable = () =>
        page.evaluate(() =>
          [...document.querySelectorAll(".tf-compare tbody tr")].map((row) =>
            [...row.children].map((cell) => cell.textContent),
          ),
        );
      const rowsOf = async (fragment) => {
        await page.waitForFunction((wanted) => location.hash === `#${wanted}`, fragment);
        return readTable();
      };
      await page.goto(address(`#${parameters.kept}`));
      await shown(page, parameters.kept);
      await press(page.getByRole("button", { name: "Keep this set-up" }));
      await press(page.getByLabel("LoRA", { exact: true }));
      await shown(page, parameters.changed);
      const compared = await rowsOf(parameters.both);
      await press(page.getByRole("button", { name: "Swap" }));
      await shown(page, parameters.kept);
      const swapped = await readTable();
      await page.goto("about:blank");
      await page.goto(address(`#${parameters.both}`));
      await shown(page, parameters.changed);
      await page.locator(".tf-compare").waitFor();
      const reopened = await readTable();
      await press(page.getByRole("button", { name: "Stop comparing" }));
      await page.waitForFunction((wanted) => location.hash === `#${wanted}`, parameters.changed);
      return { compared, swapped, reopened, ...record };
    });
  },

  /** A suggested change, taken. */
  async take_change() {
    return withPage(async (page) => {
      await page.goto(address(`#${parameters.link}`));
      await shown(page, parameters.link);
      const button = page.locator(".tf-changes button").nth(parameters.index);
      const promised = await button.evaluate((node) => node.parentElement.innerText);
      await press(button);
      await page.waitForFunction(
        (before) =>
          ![undefined, before].includes(document.getElementById("tf-calculator").dataset.shown),
        parameters.link,
      );
      const isFocused = await page.evaluate(() =>
        document.activeElement.classList.contains("tf-head"),
      );
      const taken = await read(page);
      const link = await page.evaluate(() => location.hash.slice(1));
      await page.goBack();
      await shown(page, parameters.link);
      const former = await read(page);
      await page.goForward();
      await shown(page, link);
      return { promised, isFocused, taken, former, again: await read(page) };
    });
  },

  /** A config too long for a link, then a reset, back, and a reload: what is shown after each. */
  async long_config() {
    return withPage(async (page, record) => {
      const parametersShown = async (words) => {
        const notes = page.locator(".tf-headline .tf-notes", { hasText: `${words} parameters` });
        await notes.first().waitFor({ timeout: ANSWER_TIMEOUT_MS });
        return (await read(page)).totalBytes;
      };
      await page.goto(address());
      await press(page.getByText("Paste or drop"));
      await page.getByLabel("config.json, or a file").fill(parameters.config);
      const pasted = await parametersShown(parameters.words);
      await press(page.getByRole("button", { name: "Reset" }));
      await shown(page, parameters.start);
      await page.goBack();
      const back = await parametersShown(parameters.words);
      await page.reload();
      const reloaded = await parametersShown(parameters.words);
      return { pasted, back, reloaded, ...record };
    });
  },

  /** The page without any script. */
  async without_scripts() {
    return withPage(
      async (page) => {
        await page.goto(address());
        return { text: await page.locator("#tf-calculator").innerText() };
      },
      { context: { javaScriptEnabled: false } },
    );
  },

  /** One after the other, each in a profile of its own: a part that the calculator needs is gone. */
  async missing_parts() {
    return withPage(async (page, record, context) => {
      const outcomes = {};
      for (const part of parameters.parts) {
        const visit = await context.browser().newContext();
        const visitor = await visit.newPage();
        if (part === "Worker") {
          await visitor.addInitScript(() => delete globalThis.Worker);
        } else if (part === "WebAssembly") {
          const worker = await (await fetch(address("worker.js"))).text();
          const body = `delete globalThis.WebAssembly;\n${worker}`;
          await visitor.route("**/calculator/worker.js", (route) =>
            route.fulfill({ body, contentType: "text/javascript" }),
          );
        } else {
          await visitor.route(part, (route) => route.fulfill({ status: 404, body: "" }));
        }
        await visitor.goto(address("#v=1&model=llama-3.1-8b&strategy=ddp"));
        await visitor
          .locator("[data-tf=status]:not([hidden])")
          .waitFor({ timeout: ANSWER_TIMEOUT_MS });
        outcomes[part] = await read(visitor);
        // The page may be asking for a part at this very moment.
        await visitor.unrouteAll({ behavior: "ignoreErrors" });
        await visit.close();
      }
      return outcomes;
    });
  },

  /** Fragments that nobody means well with, one after the other, in one page. */
  async hostile_fragments() {
    return withPage(async (page, record) => {
      let dialogs = 0;
      page.on("dialog", (dialog) => {
        dialogs += 1;
        dialog.dismiss();
      });
      await page.goto(address());
      const outcomes = [];
      for (const fragment of parameters.fragments) {
        await page.evaluate((text) => {
          location.hash = text;
        }, fragment);
        outcomes.push(
          await page.evaluate(() => ({
            notice: document.querySelector(".tf-notice").innerText,
            foreign: document.querySelectorAll(
              "#tf-calculator :is(script, iframe, img, object, embed, style)",
            ).length,
          })),
        );
      }
      await page.evaluate(() => {
        location.hash = "#v=1&model=llama-3.1-8b&strategy=ddp";
      });
      await shown(page, "v=1&model=llama-3.1-8b&strategy=ddp");
      const isTouched = await page.evaluate(
        () => "touched" in globalThis || "touched" in Object.prototype,
      );
      return { outcomes, dialogs, isTouched, final: await read(page), ...record };
    });
  },

  /** Texts pasted as one's own model: the answer or the message after each. */
  async pasted_models() {
    return withPage(async (page, record) => {
      await page.goto(address());
      await press(page.getByText("Paste or drop"));
      const outcomes = [];
      for (const text of parameters.texts) {
        const area = page.getByLabel("config.json, or a file");
        await area.fill("");
        await page.waitForFunction(
          () =>
            document.querySelector("#tf-config-problem").hidden &&
            document.querySelector(".tf-reading").textContent === "",
        );
        await page.evaluate(() => {
          delete document.getElementById("tf-calculator").dataset.shown;
        });
        await area.fill(text);
        await page.waitForFunction(
          () =>
            document.getElementById("tf-calculator").dataset.shown !== undefined ||
            document.querySelector("#tf-config-problem").hidden === false ||
            document.querySelector(".tf-notice").hidden === false,
          undefined,
          { timeout: ANSWER_TIMEOUT_MS },
        );
        outcomes.push({
          ...(await read(page)),
          problem: await page.locator("#tf-config-problem").innerText(),
          reading: await page.locator(".tf-reading").innerText(),
        });
      }
      return { outcomes, ...record };
    });
  },

  /** Files that nobody means well with, given in every way there is; then an honest one. */
  async hostile_files() {
    return withPage(async (page, record, context) => {
      const session = await context.newCDPSession(page);
      await session.send("Performance.enable");
      await page.goto(address());
      await press(page.getByText("Paste or drop"));
      const outcomeOf = async (give) => {
        await page.evaluate(() => {
          const area = document.getElementById("tf-config");
          area.value = "";
          area.dispatchEvent(new Event("input"));
        });
        await page.waitForFunction(
          () =>
            document.getElementById("tf-config-problem").hidden &&
            document.querySelector(".tf-reading").textContent === "",
        );
        await give();
        await page.waitForFunction(
          () =>
            !document.getElementById("tf-config-problem").hidden ||
            document.querySelector(".tf-reading").textContent.startsWith("Read as"),
          undefined,
          { timeout: ANSWER_TIMEOUT_MS },
        );
        return page.evaluate(() => ({
          problem: document.getElementById("tf-config-problem").innerText,
          reading: document.querySelector(".tf-reading").innerText,
          foreign: document.querySelectorAll(
            "#tf-calculator :is(script, iframe, img, object, embed, style)",
          ).length,
        }));
      };
      const type = (text) =>
        page.evaluate((value) => {
          const area = document.getElementById("tf-config");
          area.value = value;
          area.dispatchEvent(new Event("input"));
        }, text);
      const transfer = (kind) =>
        page.evaluate(
          ([what, length]) => {
            const data = new DataTransfer();
            if (what === "drop-file") data.items.add(new File(["x".repeat(length)], "x.json"));
            else data.setData("text/plain", "x".repeat(length));
            const area = document.getElementById("tf-config");
            const options = { bubbles: true, cancelable: true };
            area.dispatchEvent(
              what === "paste"
                ? new ClipboardEvent("paste", { ...options, clipboardData: data })
                : new DragEvent("drop", { ...options, dataTransfer: data }),
            );
          },
          [kind, 10_000_000],
        );
      const typed = [];
      for (const text of parameters.texts) typed.push(await outcomeOf(() => type(text)));
      const large = {
        typed: await outcomeOf(() => type("x".repeat(10_000_000))),
        opened: await outcomeOf(() =>
          page.getByLabel("Or open the file").setInputFiles({
            name: "config.json",
            mimeType: "application/json",
            buffer: Buffer.alloc(10_000_000, "x"),
          }),
        ),
      };
      for (const kind of ["paste", "drop", "drop-file"]) {
        large[kind] = await outcomeOf(() => transfer(kind));
      }
      const last = await outcomeOf(() => type("13B"));
      await session.send("HeapProfiler.collectGarbage");
      const { metrics } = await session.send("Performance.getMetrics");
      const heapBytes = metrics.find(({ name }) => name === "JSHeapUsedSize").value;
      const isTouched = await page.evaluate(() => "touched" in globalThis);
      return { typed, large, last, heapBytes, isTouched, ...record };
    });
  },

  /** Launch files for every tool, each pasted back into a page that shows something else. */
  async launch_files() {
    return withPage(async (page, record) => {
      await page.goto(address(`#${parameters.link}`));
      await shown(page, parameters.link);
      await press(page.getByText("Launch configuration"));
      await press(page.getByText("Paste or drop"));
      const area = page.getByLabel("config.json, or a file");
      const outcomes = {};
      for (const tool of parameters.tools) {
        await page.getByLabel("Written for").selectOption(tool);
        await page.waitForFunction(
          (wanted) => document.querySelector(".tf-more").dataset.shown === wanted,
          `${tool} ${parameters.link}`,
        );
        const files = page.locator("[data-tf-file]");
        const [text] = await files.allTextContents();
        const notice = await page.locator(".tf-more .tf-notice").allTextContents();
        outcomes[tool] = { files: await files.count(), text: text ?? null, notice };
        if (text === undefined) continue;
        await press(page.getByRole("button", { name: "Reset" }));
        await shown(page, parameters.start);
        await area.fill("");
        await area.fill(text);
        await shown(page, parameters.link);
        outcomes[tool].reading = await page.locator(".tf-reading").innerText();
      }
      await press(page.getByRole("button", { name: "Reset" }));
      await shown(page, parameters.start);
      const later = await page.locator(".tf-reading").innerText();
      return { outcomes, later, ...record };
    });
  },

  /** The snippet for other pages, in another page. */
  async embedded() {
    return withPage(async (page, record, context) => {
      await allowClipboard(context);
      await page.goto(address(`#${parameters.link}`));
      await shown(page, parameters.link);
      await press(page.getByRole("button", { name: "Copy embed code" }));
      await page.getByText("HTML for your page copied").waitFor();
      const snippet = await page.evaluate(() => navigator.clipboard.readText());
      const host = await context.newPage();
      await host.route("**/host.html", (route) =>
        route.fulfill({ contentType: "text/html", body: `<!doctype html>${snippet}` }),
      );
      await host.goto(new URL("host.html", parameters.url).href);
      const frame = await (await host.waitForSelector("iframe")).contentFrame();
      await frame.waitForFunction(
        (wanted) => document.getElementById("tf-calculator")?.dataset.shown === wanted,
        parameters.link,
        { timeout: ANSWER_TIMEOUT_MS },
      );
      const seen = await frame.evaluate(() => ({
        text: document.body.innerText,
        openLink: document.querySelector(".tf-open").href,
        height: document.querySelector(".tf-open").getBoundingClientRect().bottom,
      }));
      return { snippet, ...seen, ...record };
    });
  },

  /** A whole estimate without a mouse. */
  async keyboard_only() {
    return withPage(async (page, record) => {
      await page.goto(address());
      const isOn = (selector) =>
        page.evaluate((wanted) => document.activeElement.matches(wanted), selector);
      await page.locator("#tf-model").waitFor();
      // The theme's own skip link, its header and tabs lie before it.
      for (let presses = 0; presses < 30 && !(await isOn(".tf-skip")); presses += 1)
        await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      if (!(await isOn("#tf-model"))) throw new Error("the settings were not skipped to");
      await page.keyboard.type(parameters.search);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab"); // the summary of "your own model"
      await page.keyboard.press("Tab");
      await page.keyboard.press("ArrowRight"); // from Full to LoRA
      await shown(page, parameters.changed);
      return { ...(await read(page)), ...record };
    });
  },

  /** Every stop of the Tab key in the calculator, in order, and whether one sees where one is. */
  async tab_stops() {
    return withPage(async (page, record) => {
      await page.goto(address());
      await page.locator("#tf-model").waitFor();
      await page.waitForFunction(
        () => document.getElementById("tf-calculator").dataset.shown !== undefined,
      );
      await press(page.getByText("Paste or drop"));
      await press(page.getByText("Launch configuration"));
      await page.locator("[data-tf-file]").first().waitFor({ timeout: ANSWER_TIMEOUT_MS });
      await page.evaluate(() => {
        const heading = document.getElementById("calculator");
        heading.tabIndex = -1;
        heading.focus();
      });
      const stops = [];
      for (let presses = 0; presses < 150; presses += 1) {
        await page.keyboard.press("Tab");
        const stop = await page.evaluate(() => {
          const node = document.activeElement;
          if (!node.closest("#tf-calculator")) return null;
          const boxes = [node, node.parentElement].map((each) => getComputedStyle(each));
          const { width, height } = node.getBoundingClientRect();
          return {
            name: node.id || node.getAttribute("aria-label") || node.innerText || node.name,
            isSeen: boxes.some((box) => box.outlineStyle !== "none" && box.outlineWidth !== "0px"),
            isLaidOut: width > 0 && height > 0,
          };
        });
        if (stop !== null) stops.push(stop);
        else if (stops.length > 0) break;
      }
      return { stops, ...record };
    });
  },

  /** Table, comparison, launch files in and out, links: all with the keyboard. */
  async keyboard_everywhere() {
    return withPage(async (page, record, context) => {
      await allowClipboard(context);
      await page.goto(address(`#${parameters.link}`));
      await shown(page, parameters.link);
      // By its name where it has one: what is drawn anew on the way is found all the same.
      const tabTo = async (selector, name = null) => {
        // Past the end of the page lies the browser itself, which need not lead back.
        const isBehind = await page.evaluate(
          ([wanted, text]) => {
            const target = [...document.querySelectorAll(wanted)].find(
              (each) => text === null || each.textContent === text,
            );
            const position = target && document.activeElement.compareDocumentPosition(target);
            return (position & Node.DOCUMENT_POSITION_PRECEDING) !== 0;
          },
          [selector, name],
        );
        const isThere = () =>
          page.evaluate(
            ([wanted, text]) =>
              document.activeElement.matches(wanted) &&
              (text === null || document.activeElement.textContent === text),
            [selector, name],
          );
        for (let presses = 0; presses < 150; presses += 1) {
          if (await isThere()) return;
          await page.keyboard.press(isBehind ? "Shift+Tab" : "Tab");
        }
        throw new Error(`Tab does not reach ${name ?? selector}`);
      };
      const button = async (name) => {
        await tabTo("#tf-calculator button", name);
        await page.keyboard.press("Enter");
      };
      const state = () =>
        page.evaluate(() => document.getElementById("tf-calculator").dataset.shown);

      await button("Keep this set-up to compare with");
      await tabTo(".tf-grid button[tabindex='0']");
      for (const key of ["ArrowDown", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
      const chosen = await page.evaluate(() => document.activeElement.title);
      await page.keyboard.press("Enter");
      await page.waitForFunction(
        (before) =>
          ![undefined, before].includes(document.getElementById("tf-calculator").dataset.shown),
        parameters.link,
      );
      const afterGrid = { ...(await read(page)), state: await state(), chosen };
      await button("Swap");
      await shown(page, parameters.link);
      await button("Stop comparing");
      const isBack = await page.evaluate(() => document.activeElement.textContent);

      await tabTo(".tf-more summary");
      await page.keyboard.press("Enter");
      await tabTo("#tf-export-tool");
      await page.keyboard.type("axo");
      await page.locator("[data-tf-file='axolotl.yaml']").waitFor();
      await button("Copy");
      await page.getByText("axolotl.yaml copied").waitFor();
      const file = await page.evaluate(() => navigator.clipboard.readText());

      await button("Reset");
      await shown(page, parameters.start);
      await tabTo(".tf-own summary");
      await page.keyboard.press("Enter");
      await tabTo("#tf-config");
      await page.keyboard.press("Control+V");
      await shown(page, parameters.link);
      await button("Copy link");
      await page.getByText("Link copied").waitFor();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      return { afterGrid, isBack, file, link, ...record };
    });
  },

  /** Accessibility rules, with answer, message and open list on the page, then in another page. */
  async accessibility() {
    return withPage(async (page) => {
      const found = {};
      const judge = async (what, options) => {
        for (const width of parameters.widths) {
          await page.setViewportSize({ width, height: 800 });
          found[`${what} ${width}`] = await brokenRules(page, options);
        }
      };
      // The other scheme changes colours, and these are the rules about them.
      const ofColours = { type: "rule", values: ["color-contrast", "link-in-text-block"] };
      for (const colorScheme of ["light", "dark"]) {
        const options = colorScheme === "light" ? {} : { runOnly: ofColours };
        await page.emulateMedia({ colorScheme });
        await page.goto("about:blank");
        await page.goto(address(`#${parameters.link}`));
        await shown(page, parameters.link);
        await press(page.getByLabel("LoRA", { exact: true }));
        await press(page.getByText("Paste or drop"));
        await page.getByLabel("config.json, or a file").fill("zero_optimization:\n  stage: 2\n");
        await page.getByText("Read as a DeepSpeed file").waitFor();
        await press(page.getByText("Launch configuration"));
        await page.locator("[data-tf-file]").first().waitFor();
        await press(page.getByRole("button", { name: "Keep this set-up" }));
        await page.getByRole("textbox", { name: "LoRA rank" }).fill("no number");
        await press(page.getByRole("combobox", { name: "Card" }));
        await page.locator("[role=option]").first().waitFor();
        await judge(`whole ${colorScheme}`, options);
        if (!(await page.locator("[role=option]").first().isVisible()))
          throw new Error("the list was closed before the rules were applied");
        await page.goto("about:blank");
        await page.goto(address(`?view=compact#${parameters.link}`));
        await shown(page, parameters.link);
        await judge(`compact ${colorScheme}`, options);
      }
      return found;
    });
  },

  /**
   * Of three visits: milliseconds to the first own answer, of the longest of our scripts on the way
   * to it, and from each of some changes to its painted answer.
   */
  async speed() {
    const link = "v=1&model=llama-3.1-8b&strategy=zero-3&num_gpus=8";
    const visit = async (page) => {
      await page.addInitScript(watchScripts);
      await page.waitForTimeout(WINDOW_MS);
      await page.goto(address(`#${link}`));
      await shown(page, link);
      const seen = await page.evaluate(() => ({
        answered: performance.now(),
        longestScript: globalThis.longestScript,
      }));
      await page.waitForTimeout(READ_MS);
      return { ...seen, changes: await page.evaluate(timeChanges, { number: 5, pause: 400 }) };
    };
    const visits = [];
    for (const _ of [1, 2, 3]) visits.push(await withPage(visit, { isOwn: true }));
    return { visits };
  },
};

report(await scenarios[parameters.scenario]());
