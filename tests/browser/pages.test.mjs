// The other pages: a table, the tree of the lake, the status; and tables that were made to break them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, expected, open, settled, withPage } from "./page.mjs";

const { table, folder, script, text } = expected;

// Opens everything that is cut short.
async function openAll(page) {
  await page.evaluate(() =>
    document.querySelectorAll("main details").forEach((details) => {
      details.open = true;
    }),
  );
  const more = page.locator("main .more:visible");
  while ((await more.count()) > 0) await more.first().click();
}

test("a table's page shows its columns, rows, texts, files, history and likes", () =>
  withPage({}, async (page) => {
    await open(page, "/table", { table: table.name });
    assert.equal(await page.textContent("h1:visible"), table.name.split("/").at(-1));
    const names = await page.locator(".column h3").allTextContents();
    for (const name of table.columns) assert.ok(names.includes(name), `columns: ${names}`);
    assert.ok((await page.textContent("#columns .bars >> nth=0")).length > 0);
    assert.ok((await page.textContent("#columns")).includes(table.value));
    assert.ok((await page.locator(".sample tbody tr").count()) > 0);
    assert.equal(
      await page
        .locator(".sample thead th")
        .first()
        .evaluate((cell) => getComputedStyle(cell).position),
      "sticky",
    );
    assert.ok((await page.textContent("#texts")).includes(table.text));
    assert.ok((await page.textContent("#files")).includes(table.file));
    for (const part of ["#history", "#similar"]) assert.equal(await page.locator(`${part} .failure`).count(), 0);
    assert.ok((await page.locator("#history .history > li").count()) > 0);
    await page.click(`.trail a >> text=${table.name.split("/")[0]}`);
    await page.waitForSelector(".browse-page");
  }));

test("the tree opens by the keyboard and leads to tables", () =>
  withPage({}, async (page) => {
    await open(page, "/browse");
    await page.locator(".tree .folder a", { hasText: folder.name }).first().focus();
    await page.keyboard.press("ArrowRight");
    const inside = page
      .locator(".tree li", { has: page.locator(".row.folder a", { hasText: folder.name }) })
      .first()
      .locator(".inside .table a");
    await inside.first().waitFor();
    assert.deepEqual(await inside.allTextContents(), folder.tables);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), folder.tables[0]);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), folder.name);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await inside.first().isVisible(), false);
    await page.keyboard.press("Enter");
    await page.waitForFunction((name) => document.querySelector("h1 bdi")?.textContent === name, folder.name);
    assert.equal(new URL(page.url()).searchParams.get("prefix"), folder.name);
    assert.deepEqual(await page.locator(".tree .table a").allTextContents(), folder.tables);
    assert.match(await page.textContent("h1 .count"), new RegExp(`${folder.tables.length} table`));
  }));

test("the status tells the snapshot, its size and the caller's rights", () =>
  withPage({}, async (page) => {
    await open(page, "/status");
    const figures = await page.textContent(".figures");
    for (const name of ["Snapshot", "Tables", "Columns", "Index", "segment", "published"])
      assert.ok(figures.includes(name), figures);
    const words = await page.textContent("main");
    for (const part of ["Could not be read", "Your rights", "search", "Embedder"])
      assert.ok(words.includes(part), part);
  }));

test("scripts in names and cells are shown as text, and never run", () =>
  withPage({}, async (page) => {
    await open(page, "/", { q: script.question, prefix: script.prefix });
    assert.ok((await page.textContent("main")).includes(script.column));
    await openAll(page);
    await open(page, "/table", { table: script.table });
    assert.ok((await page.locator(".column h3").allTextContents()).includes(script.column));
    assert.ok((await page.textContent(".sample")).includes("onerror="));
    assert.equal(await page.locator("main script, main img, main iframe, main [onerror]").count(), 0);
    assert.equal(await page.locator('main a[href^="javascript" i]').count(), 0);
    await open(page, "/browse", { prefix: script.prefix });
    await open(page, "/", { q: "<img src=x onerror=window.pwned=1>\"'><script>window.pwned=1</script>" });
    await open(page, "/", { q: "lakes", prefix: "<script>window.pwned=1</script>" });
    await page.waitForTimeout(200);
  }));

test("an address made to break the page does not", () =>
  withPage({ allowed: /Failed to load resource/ }, async (page) => {
    for (const address of [
      "/table?table=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E",
      "/browse?prefix=%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E",
      "/table",
      "/?q=lakes&k=%3Cscript%3E",
    ]) {
      await page.goto(base + address);
      await settled(page);
      assert.equal(await page.locator("main script, main img").count(), 0);
    }
  }));

test("long, right-to-left and invisible text stays in its place", () =>
  withPage({ viewport: { width: 360, height: 740 } }, async (page) => {
    await open(page, "/table", { table: text.table });
    assert.ok((await page.locator(".column").count()) > 0);
    await openAll(page);
    const [content, window] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ]);
    assert.ok(content <= window, `${content} wide in a window of ${window}`);
    assert.equal(
      await page.evaluate(() => /[\u202a-\u202e\u2066-\u2069]/.test(document.querySelector("main").innerText)),
      false,
      "no text turns the text around it",
    );
  }));

test("the node's policy forbids scripts that are not its own", () =>
  withPage({ allowed: /script|breach|policy/i }, async (page) => {
    const response = await page.goto(`${base}/`);
    const policy = response.headers()["content-security-policy"] ?? "";
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
      assert.ok(policy.includes(rule), policy);
    assert.ok(!policy.includes("unsafe"), policy);
  }));
