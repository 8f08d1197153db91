// The box that decodes an out-of-memory message.

import { parameters, report, withPage } from "./harness.mjs";

const HEAVY = /assets\/(pyodide|core)\/|models\.json/;

report(
  await withPage(async (page, record) => {
    await page.goto(new URL("explain/out-of-memory/", parameters.url).href, {
      waitUntil: "networkidle",
    });
    const before = record.requests.filter((address) => HEAVY.test(address));
    const ask = async ({ message, fields }) => {
      await page.fill(".tf-oom [name=message]", message);
      for (const [name, value] of Object.entries(fields)) {
        const field = page.locator(`.tf-oom [name=${name}]`);
        if ((await field.evaluate((each) => each.tagName)) === "SELECT") {
          await field.selectOption(value);
        } else {
          // Not `fill`: in Firefox, it writes a number twice.
          await field.press("Control+A");
          await field.pressSequentially(value);
        }
      }
      await page.evaluate(() => document.querySelector(".tf-oom-answer").replaceChildren());
      await page.click(".tf-oom button");
      await page.waitForFunction(
        () => {
          const text = document.querySelector(".tf-oom-answer").textContent;
          return text && !text.startsWith("Loading");
        },
        null,
        { timeout: 90_000 },
      );
      return {
        text: await page.innerText(".tf-oom-answer"),
        links: await page.locator(".tf-oom-answer a").evaluateAll((all) => all.map((a) => a.href)),
      };
    };
    const answers = [];
    for (const question of parameters.questions) answers.push(await ask(question));
    const models = await page.locator("#tf-oom-models option").count();
    return { before, answers, models, ...record };
  }),
);
