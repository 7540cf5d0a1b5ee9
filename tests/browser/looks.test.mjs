// How the pages look: dark and light, on a phone and on a desk, each with a picture that is kept, nothing sticking out
// at the side, and no serious finding of axe-core; and on paper.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, expected, fits, open, picture, settled, withPage } from "./page.mjs";

const { search, joined, answered, suggestions, nothing, table, folder, script, text } = expected;

const PAGES = {
  home: ["/", {}],
  search: ["/", { q: search.question }],
  joined: ["/", { q: joined.question, mode: "set" }],
  answer: ["/", { q: answered.question, ask: "1" }],
  unanswered: ["/", { q: answered.unanswerable, ask: "1" }],
  filtered: ["/", { q: search.question, format: "csv" }],
  nothing: ["/", nothing],
  table: ["/table", { table: table.name }],
  script: ["/table", { table: script.table }],
  text: ["/table", { table: text.table }],
  "found-script": ["/", { q: script.question, prefix: script.prefix }],
  "found-text": ["/", { q: text.question, prefix: text.prefix }],
  browse: ["/browse", {}],
  folder: ["/browse", { prefix: folder.name }],
  family: ["/browse", { prefix: "lab" }],
  changes: ["/changes", { from: "1", to: "2" }],
  status: ["/status", {}],
};

for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 1280]) {
    test(`${colorScheme}, ${width} wide`, () =>
      withPage({ colorScheme, viewport: { width, height: width < 600 ? 740 : 860 } }, async (page) => {
        for (const [name, [path, parameters]] of Object.entries(PAGES)) {
          await open(page, path, parameters);
          await picture(page, `${name}-${width}-${colorScheme}`);
          await fits(page);
          await accessible(page);
        }
        await open(page, "/");
        await page.fill("#q", suggestions.typed);
        await page.locator("#suggestions [role=option]").first().waitFor();
        await page.keyboard.press("ArrowDown");
        await picture(page, `suggestions-${width}-${colorScheme}`, {});
        await fits(page);
        await accessible(page);
      }));
  }
}

test("what is opened: why a table was found, a family, a column", () =>
  withPage({ viewport: { width: 360, height: 740 } }, async (page) => {
    for (const [name, path, parameters, press] of [
      ["why", "/", { q: search.question }, "details.why > summary"],
      ["family", "/browse", { prefix: "lab" }, "tr.family .toggle"],
      ["column", "/table", { table: table.name }, ".column .toggle"],
    ]) {
      await open(page, path, parameters);
      for (const closed of (await page.locator(press).all()).slice(0, 3)) await closed.click();
      await settled(page);
      await picture(page, `${name}-open-360`);
      await fits(page);
      await accessible(page);
    }
  }));

test("nothing moves for those who want no motion", () =>
  withPage({ reducedMotion: "reduce" }, async (page) => {
    await open(page, "/", { q: search.question });
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  }));

test("a table's page on paper has its content and no buttons", () =>
  withPage({}, async (page) => {
    await open(page, "/table", { table: table.name });
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("header nav").isVisible(), false);
    assert.equal(await page.locator(".ask").isVisible(), false);
    assert.equal(await page.locator("main .sample").isVisible(), true);
    await picture(page, "paper");
  }));
