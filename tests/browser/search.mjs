// The site's search: the addresses of the first results of each query, best first.

import { parameters, report, withPage } from "./harness.mjs";

report(
  await withPage(async (page, record) => {
    await page.goto(parameters.url, { waitUntil: "networkidle" });
    await page.keyboard.press("/");
    const box = page.getByRole("textbox", { name: "Search" });
    const found = {};
    for (const query of parameters.queries) {
      await box.fill("");
      await box.press("End"); // the theme looks at keys
      await page.locator(".md-search-result__item").first().waitFor({ state: "detached" });
      await box.fill(query);
      await box.press("End");
      const results = page.locator(".md-search-result__item > a");
      await results.first().waitFor();
      const links = await results.evaluateAll((all) => all.map((link) => link.href));
      found[query] = links.slice(0, 5).map((link) => link.replace(/\?.*/, ""));
    }
    return { found, ...record };
  }),
);
