// The lists of models and cards: sorted, filtered, and found again by their address.

import { parameters, report, withPage } from "./harness.mjs";

const address = (path) => new URL(path, parameters.url).href;

/** What a reader sees of the list. */
const look = (page) =>
  page.evaluate(() => {
    const table = document.querySelector(".tf-index .tf-wide > table");
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    return {
      ids: rows.map((row) => row.id),
      status: document.querySelector(".tf-filter [role=status]").textContent,
      sorted: [...table.tHead.rows[0].cells]
        .filter((head) => head.ariaSort)
        .map((head) => `${head.textContent} ${head.ariaSort}`),
      search: location.search,
    };
  });

const scenarios = {
  async models() {
    return withPage(async (page, record) => {
      await page.goto(address("models/"));
      await page.waitForSelector(".tf-filter:not([hidden])");
      const steps = { start: await look(page) };
      await page.getByRole("button", { name: "Parameters" }).click();
      steps.largest = await look(page);
      await page.getByRole("button", { name: "Parameters" }).click();
      steps.smallest = await look(page);
      await page.selectOption(".tf-filter [name=kind]", "MoE");
      await page.selectOption(".tf-filter [name=parameters]", "10000000000..40000000000");
      await page.fill(".tf-filter [name=words]", "qwen 30b");
      steps.filtered = await look(page);
      await page.reload();
      await page.waitForSelector(".tf-filter:not([hidden])");
      steps.again = await look(page);
      await page.click(".tf-filter button[type=reset]");
      await page.waitForFunction(() => location.search === "");
      steps.cleared = await look(page);
      await page.fill(".tf-filter [name=words]", "xyz");
      steps.none = await look(page);
      steps.none.isTableSeen = await page.locator(".tf-index .tf-wide > table").isVisible();
      return { steps, ...record };
    });
  },

  async cards() {
    return withPage(async (page, record) => {
      await page.goto(address("cards/?memory=80..&sort=usd-per-hour&unknown=1&maker=Nobody"));
      await page.waitForSelector(".tf-filter:not([hidden])");
      const byPrice = await look(page);
      const prices = await page.evaluate(() =>
        [...document.querySelectorAll(".tf-index tbody tr:not([hidden])")].map((row) => [
          row.dataset.price,
          row.cells[3].textContent,
        ]),
      );
      return { byPrice, prices, ...record };
    });
  },

  /** The list for a reader whose browser runs no scripts. */
  async plain() {
    return withPage(
      async (page) => {
        await page.goto(address(parameters.path));
        return {
          rows: await page.locator(".tf-index tbody tr").count(),
          areControlsSeen: await page.locator(".tf-filter").isVisible(),
        };
      },
      { context: { javaScriptEnabled: false } },
    );
  },
};

report(await scenarios[parameters.scenario]());
