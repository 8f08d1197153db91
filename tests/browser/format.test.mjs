/* Numbers as people read them, under Node: no page needed. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";

import {
  count,
  gb,
  gbNumber,
  money,
  parameters,
  percent,
  rough,
} from "../../docs/assets/calculator/format.js";

const SCRIPTS = new URL("../../docs/assets/calculator/", import.meta.url);

test("a number has commas between thousands, and all of its digits", () => {
  const written = [0, 7, 999, 1000, 65536, 1234567, 1e15, -1234567, 2.5, 1234.56789, 0.001];

  assert.deepEqual(written.map(count), [
    "0",
    "7",
    "999",
    "1,000",
    "65,536",
    "1,234,567",
    "1,000,000,000,000,000",
    "-1,234,567",
    "2.5",
    "1,234.56789",
    "0.001",
  ]);
});

test("whole numbers are written as the browser's own formatter does", () => {
  const own = new Intl.NumberFormat("en");
  for (let number = 1; number < Number.MAX_SAFE_INTEGER; number = number * 3 + 1)
    assert.equal(count(number), own.format(number));
});

test("gigabytes have two decimals below 10 and one above, and are never nothing by rounding", () => {
  const bytes = [0, 1, 4_999_999, 5_000_000, 9_990_000_000, 12_345_678_901, 1_234_567_890_123];

  assert.deepEqual(bytes.map(gbNumber), [
    "0.00",
    "<0.01",
    "<0.01",
    "0.01",
    "9.99",
    "12.3",
    "1,234.6",
  ]);
  assert.equal(gb(-1_500_000_000), "-1.50 GB");
});

test("an estimate has two significant digits, however small", () => {
  const values = [0, 0.0000001, 0.00099, 0.00123, 0.0567, 3.14159, 42.5, 987.6, 123456];

  assert.deepEqual(values.map(rough), [
    "0",
    "<0.001",
    "<0.001",
    "0.0012",
    "0.057",
    "3.1",
    "43",
    "990",
    "120,000",
  ]);
});

test("money has cents below ten dollars, and is never nothing by rounding", () => {
  const dollars = [0, 0.0001, 0.005, 1.5, 9.999, 12.3, 45678];

  assert.deepEqual(dollars.map(money), [
    "0.00",
    "<0.01",
    "0.01",
    "1.50",
    "10.00",
    "12",
    "46,000",
  ]);
});

test("counts of parameters and shares of cards", () => {
  assert.deepEqual([8.03e9, 1.5e12, 22.5e6, 999].map(parameters), [
    "8.03 billion",
    "1.50 trillion",
    "22.5 million",
    "999",
  ]);
  assert.deepEqual([0.5, 0.949, 0.952, 1.004, 1.5, 12].map(percent), [
    "50 %",
    "95 %",
    "95.2 %",
    "100.4 %",
    "150 %",
    "12 ×",
  ]);
});

// The first of the browser's formatters reads its data: 15 ms of each visit's start, in one piece.
test("no script of the calculator needs the browser's formatters", () => {
  const names = readdirSync(SCRIPTS).filter((name) => name.endsWith(".js"));
  const using = names.filter((name) =>
    /\bIntl\.|\.(?:toLocale\w*String|localeCompare)\(/.test(
      readFileSync(new URL(name, SCRIPTS), "utf8"),
    ),
  );

  assert.ok(names.length > 10);
  assert.deepEqual(using, []);
});
