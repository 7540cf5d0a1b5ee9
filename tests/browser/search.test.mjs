// Searching: question, suggestions, keyboard, filters, nothing found, feedback, the way back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expected, open, settled, withPage } from "./page.mjs";

const { search, joined, suggestions, filtered, nothing, member, family } = expected;
const names = (page) => page.locator(".result h2 a").allTextContents();
const last = (table) => table.split("/").at(-1);

test("a question is answered, and kept in the address", () =>
  withPage({}, async (page) => {
    await open(page, "/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "q", "the box has the focus");
    await page.keyboard.type(search.question);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".result");
    assert.equal(new URL(page.url()).searchParams.get("q"), search.question);
    assert.match(await page.title(), /limn$/);
    assert.equal((await names(page))[0], last(search.first));
    const first = page.locator(".result").first();
    const marks = await first.locator("mark").allTextContents();
    assert.ok(
      marks.some((mark) => mark.toLowerCase() === search.marked),
      `marked: ${marks}`,
    );
    assert.equal(await first.locator("svg.scores").isVisible(), false, "scores wait behind Why");
    await first.locator("details.why > summary").click();
    assert.equal(await first.locator("svg.scores").isVisible(), true);
    assert.match(
      await first.locator("svg.scores").getAttribute("aria-label"),
      /words [\d.–]+, meaning [\d.–]+, name [\d.–]+, contexts [\d.–]+; .*(judge|judged)/,
    );
    assert.match(await first.locator(".sum").textContent(), /^Score [\d.]+ = [\d.]+ words \([\d.]+ × [\d.]+\) \+ [\d.]+ meaning .* contexts .*\.$/);
    assert.ok((await first.locator(".facts").textContent()).includes("rows"));
    await page.reload();
    await settled(page);
    assert.equal((await names(page))[0], last(search.first), "the address alone leads to the answer");
    assert.equal(await page.inputValue("#q"), search.question);
  }));

test("tables that join are a diagram, with a statement that a press runs", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: joined.question });
    await page.click(".summary >> text=Tables that join");
    await page.waitForSelector(".join-tree");
    assert.equal(new URL(page.url()).searchParams.get("mode"), "set");
    const cards = await page.locator(".join-card").evaluateAll((all) => all.map((card) => card.title));
    for (const table of joined.tables) assert.ok(cards.includes(table), `${cards}`);
    assert.ok((await page.locator(".join-edge").first().textContent()).includes(joined.on));
    await page.click(".joined button >> text=Run");
    await page.waitForSelector(".joined tbody tr");
    await page.click("text=Tables one by one");
    await page.waitForSelector(".join-tree", { state: "detached" });
    assert.equal(new URL(page.url()).searchParams.get("mode"), null);
    await open(page, "/table", { table: joined.tables[0] });
    await page.waitForSelector("#joins .later[aria-busy=false]");
    assert.equal(await page.locator("#joins .failure").count(), 0);
  }));

test("the way back leads to the answer, where it was left", () =>
  withPage({ viewport: { width: 1000, height: 500 } }, async (page) => {
    await open(page, "/", { q: search.question });
    const link = page.locator(".result h2 a").nth(2);
    await link.scrollIntoViewIfNeeded();
    await page.waitForTimeout(200);
    const place = await page.evaluate(() => window.scrollY);
    assert.ok(place > 0);
    await link.click();
    await page.waitForSelector(".table-page");
    assert.equal(await page.evaluate(() => window.scrollY), 0);
    await page.goBack();
    await page.waitForSelector(".result");
    assert.equal(await page.inputValue("#q"), search.question);
    assert.ok(Math.abs((await page.evaluate(() => window.scrollY)) - place) < 5, "the reader is where they were");
    await page.goForward();
    await page.waitForSelector(".table-page");
  }));

test("suggestions are walked by the arrow keys, closed by Escape, taken by Enter", () =>
  withPage({}, async (page) => {
    await open(page, "/browse");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "q", "/ leads to the box");
    await page.keyboard.type(suggestions.typed);
    const option = page.locator("#suggestions [role=option]", { hasText: suggestions.table }).first();
    await option.waitFor();
    assert.equal(await page.getAttribute("#q", "aria-expanded"), "true");
    assert.equal(await page.getAttribute("#q", "aria-activedescendant"), null, "nothing is chosen yet");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.getAttribute("#q", "aria-activedescendant"), "suggestion-0");
    assert.equal(await page.locator("#suggestion-0").getAttribute("aria-selected"), "true");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#suggestions").isVisible(), false);
    assert.equal(await page.inputValue("#q"), suggestions.typed, "Escape leaves the text");
    await page.keyboard.press("ArrowDown");
    await option.waitFor();
    const number = await page
      .locator("#suggestions [role=option]")
      .evaluateAll((all, name) => all.findIndex((one) => one.textContent.includes(name)), suggestions.table);
    for (let step = 0; step <= number; step += 1) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".table-page");
    assert.equal(new URL(page.url()).searchParams.get("table"), suggestions.table);
  }));

test("a result is reached and opened by the keyboard alone", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: search.question });
    await page.evaluate(() => document.activeElement.blur());
    for (let step = 0; step < 30; step += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.matches(".result h2 a"))) break;
    }
    assert.ok(await page.evaluate(() => document.activeElement.matches(".result h2 a")), "Tab leads to a result");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".table-page");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the new page has the focus");
  }));

test("three results are on a screen, each with its folder, one line of why and the columns that match", () =>
  withPage({ viewport: { width: 1280, height: 860 } }, async (page) => {
    await open(page, "/", { q: search.question });
    const results = await page.locator(".result").all();
    const whole = [];
    for (const result of results) {
      const { y, height } = await result.boundingBox();
      if (y + height <= 860) whole.push(result);
    }
    assert.ok(whole.length >= 3, `${whole.length} of ${results.length} results on the screen`);
    for (const result of whole) {
      assert.equal(await result.locator(".path a").count(), 1, "the folder");
      const line = result.locator(".reason");
      assert.equal(await line.count(), 1);
      assert.ok((await line.boundingBox()).height < 32, "the reason is one line");
      assert.ok((await result.locator(".mini thead th").count()) > 1);
      assert.ok((await result.locator(".mini tbody tr").count()) > 0);
    }
    assert.ok((await page.locator(".mini th.matches mark").count()) > 0, "a column's match is marked");
    assert.ok((await page.locator(".mini td mark").count()) > 0, "a value's match is marked");
  }));

test("a table in an archive is called by both", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: member.question });
    assert.equal((await names(page))[0], member.title);
    await page.locator(".result h2 a").first().click();
    await page.waitForSelector(".table-page");
    assert.equal(await page.textContent("h1:visible"), member.title);
    assert.deepEqual(await page.locator(".trail a").allTextContents(), ["Lake", "lab", "paint_batches.zip"]);
  }));

test("results of one family take the place of one", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: "viscosity of samples", prefix: family.folder });
    assert.equal(await page.locator(".result").count(), 1);
    assert.match(await page.textContent(".summary h1"), new RegExp(`^(First )?${family.tables.length} tables`));
    await page.locator(".sisters > summary").click();
    const shown = [...(await names(page)), ...(await page.locator(".sisters a").allTextContents())];
    assert.deepEqual(shown.sort(), family.tables);
  }));

test("what is behind a filter is counted, and found in this number", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: filtered.question, k: "50" });
    const choice = page.locator(`.filter-row [name=${filtered.name}] option[value=${filtered.value}]`);
    const counted = Number((await choice.textContent()).match(/\((\d+)\)/)[1]);
    await page.selectOption(`.filter-row [name=${filtered.name}]`, filtered.value);
    await page.waitForSelector(".chips");
    await settled(page);
    await open(page, "/browse", { [filtered.name]: filtered.value });
    assert.match(await page.textContent(".summary h2"), new RegExp(`^${counted} tables?$`));
  }));

test("filters are in the address, stay for the next question, and can be taken away one by one", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: filtered.question });
    await page.selectOption(`.filter-row [name=${filtered.name}]`, filtered.value);
    await page.waitForSelector(".chips");
    await settled(page);
    await page.fill("#q", search.question);
    await page.keyboard.press("Enter");
    await page.waitForFunction((q) => new URL(location.href).searchParams.get("q") === q, search.question);
    await settled(page);
    assert.equal(new URL(page.url()).searchParams.get(filtered.name), filtered.value);
    const facts = await page.locator(".result .facts").allTextContents();
    assert.ok(facts.length > 0 && facts.every((fact) => fact.includes(filtered.shown)), `facts: ${facts}`);
    await page.click(".chips a");
    await page.waitForSelector(".chips", { state: "detached" });
    assert.equal(new URL(page.url()).searchParams.get(filtered.name), null);
  }));

test("where nothing is found the page says so and what to do", () =>
  withPage({}, async (page) => {
    await open(page, "/", nothing);
    assert.equal(await page.textContent("h1:visible"), "Nothing relevant found");
    assert.ok(await page.locator(".nothing a", { hasText: "without the filters" }).isVisible());
    assert.ok(await page.locator(".nothing a", { hasText: "Look through the lake" }).isVisible());
  }));

test("feedback is sent and acknowledged", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: search.question });
    const sent = page.waitForRequest((request) => request.url().endsWith("/v1/feedback"));
    await page.locator(".feedback .right").first().click();
    const { question, table, verdict } = (await sent).postDataJSON();
    assert.deepEqual(
      { question, table, verdict },
      { question: search.question, table: search.first, verdict: "right" },
    );
    await page.locator(".feedback", { hasText: "Noted" }).first().waitFor();
    assert.equal(await page.locator(".feedback .right").first().getAttribute("aria-pressed"), "true");
  }));
