// The other pages: a table, the tree of the lake, the status; and tables that were made to break them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, base, expected, open, settled, withPage } from "./page.mjs";

const { search, table, folder, family, readme, changed, described, script, text } = expected;

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
    const names = await page.locator(".column .toggle").allTextContents();
    for (const name of table.columns) assert.ok(names.includes(name), `columns: ${names}`);
    await page.locator(".column .toggle").first().click();
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
    for (const part of ["#history", "#joins", "#similar"]) assert.equal(await page.locator(`${part} .failure`).count(), 0);
    assert.ok((await page.locator("#history .history > li").count()) > 0);
    await page.click(`.trail a >> text=${table.name.split("/")[0]}`);
    await page.waitForSelector(".browse-page");
  }));

test("columns are a grid that opens one and is searched", () =>
  withPage({}, async (page) => {
    await open(page, "/table", { table: "music/concerts" });
    const lines = page.locator(".columns .column");
    const all = await lines.count();
    assert.ok(all >= 8);
    const { height } = await lines.first().boundingBox();
    assert.ok(height < 40, `a column takes ${height}`);
    assert.ok((await page.locator(".columns .spark").count()) > 0);
    const toggle = lines.first().locator(".toggle");
    await toggle.focus();
    await page.keyboard.press("Enter");
    assert.equal(await toggle.getAttribute("aria-expanded"), "true");
    assert.equal(await page.locator(".opened .values").count(), 1);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".opened").count(), 0);
    const name = await toggle.textContent();
    await page.fill("[name=column]", name);
    assert.ok((await lines.count()) < all);
    assert.ok((await page.locator(".columns .column .toggle").allTextContents()).includes(name));
    await page.fill("[name=column]", "no column is called this");
    assert.equal(await lines.count(), 0);
  }));

test("a table's rows are read when asked for, page by page, and sorted by their headings", () =>
  withPage({}, async (page) => {
    await open(page, "/table", { table: "music/concerts" });
    assert.equal(await page.locator("#rows table").count(), 0, "nothing is read before a press");
    const settle = () => page.waitForFunction(() => document.querySelector("#rows [aria-busy]")?.getAttribute("aria-busy") === "false");
    const first = () => page.locator("#rows tbody tr > td").first().textContent();
    await page.locator("#rows .read").focus();
    await page.keyboard.press("Enter");
    await settle();
    assert.equal(await page.locator("#rows tbody tr").count(), 50);
    assert.equal(await page.textContent("#rows thead th .type >> nth=0"), "integer");
    assert.ok((await page.locator("#rows tbody td.numeric").count()) > 0);
    assert.ok((await page.locator("#rows tbody .nothing-there").count()) > 0, "a null is not a text");
    assert.equal(await first(), "4100");
    await page.click("#rows .pager button >> text=Next");
    await page.waitForFunction(() => document.querySelector("#rows .pager .faint").textContent.startsWith("Rows 51 "));
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Next", "the button keeps the focus");
    await page.click("#rows .pager button >> text=Previous");
    await page.waitForFunction(() => document.querySelector("#rows .pager .faint").textContent.startsWith("Rows 1 "));
    const heading = page.locator("#rows th .sort").first();
    for (const order of ["ascending", "descending"]) {
      await heading.click();
      await page.waitForSelector(`#rows th[aria-sort="${order}"]`);
    }
    assert.ok(Number(await first()) > 4150);
    await accessible(page);
  }));

test("a statement of SQL is run by a key, and what is wrong with it is reported", () =>
  withPage({ allowed: /Failed to load resource/ }, async (page) => {
    await open(page, "/table", { table: "music/concerts" });
    const box = page.locator("#sql textarea");
    assert.equal(await box.inputValue(), 'SELECT * FROM "music/concerts" LIMIT 20');
    await box.focus();
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("#sql tbody tr");
    assert.equal(await page.locator("#sql tbody tr").count(), 20);
    await box.fill('SELECT count(*) AS "<b>n</b>", 9007199254740993 AS large, NULL AS nothing FROM "music/concerts"');
    await page.click("#sql button >> text=Run");
    await page.waitForFunction(() => document.querySelectorAll("#sql tbody tr").length === 1);
    const got = await page.textContent("#sql table");
    for (const text of ["<b>n</b>", "9007199254740993", "null"]) assert.ok(got.includes(text), got);
    await box.fill('SELECT "artst" FROM "music/concerts"');
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("#sql .failure");
    assert.match(await page.textContent("#sql .failure"), /artist/);
    await accessible(page);
  }));

test("the lake lists its tables: sorted, found, and families folded", () =>
  withPage({}, async (page) => {
    await open(page, "/browse");
    const first = () => page.locator(".tables tbody tr > th").first().textContent();
    const rows = async () =>
      (await page.locator(".tables tbody tr > td:nth-child(3)").allTextContents()).map((text) => Number(text.replace(/[~,]/g, "")));
    await page.locator(".sort", { hasText: "Rows" }).click();
    await page.waitForSelector('th[aria-sort="descending"]');
    const sorted = (await rows()).filter((value) => !Number.isNaN(value));
    assert.deepEqual(sorted, [...sorted].sort((one, other) => other - one));
    assert.equal(new URL(page.url()).searchParams.get("sort"), "-rows");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Rows", "the heading keeps the focus");
    await page.locator("[name=find]").pressSequentially(table.name.split("/").at(-1));
    await page.waitForFunction(() => document.querySelectorAll(".tables tbody tr").length === 1);
    assert.ok((await first()).startsWith(table.name.split("/").at(-1)));
    assert.match(await page.textContent(".tables td.what"), /disc/);

    await open(page, "/browse", { prefix: "lab" });
    const line = page.locator("tr.family");
    assert.ok((await line.textContent()).includes(`${family.name} ${family.tables.length} tables`));
    await line.locator(".toggle").focus();
    await page.keyboard.press("Enter");
    await page.locator("tr.member").first().waitFor();
    assert.deepEqual(await page.locator("tr.member th > a").allTextContents(), family.tables);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("tr.member").count(), 0);
  }));

test("a folder has its line, its tables, and questions of its own", () =>
  withPage({}, async (page) => {
    await open(page, "/browse");
    for (const more of await page.locator(".folder-list summary").all()) await more.click();
    const got = page.locator(".folder-list li", { hasText: readme.line });
    assert.equal(await got.locator("a").textContent(), readme.folder);
    await page.locator(".folder-list a", { hasText: folder.name }).click();
    await page.waitForFunction((name) => document.querySelector("h1 bdi")?.textContent === name, folder.name);
    await settled(page);
    assert.deepEqual(await page.locator(".tables tbody th > a").allTextContents(), folder.tables);
    await page.click("text=Ask about this folder only");
    await page.waitForSelector(".home .chips");
    await page.keyboard.type(search.question);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".result");
    assert.equal(new URL(page.url()).searchParams.get("prefix"), folder.name);
  }));

test("the number of tables is the same everywhere", () =>
  withPage({}, async (page) => {
    const number = async (selector, pattern) => Number((await page.textContent(selector)).match(pattern)[1]);
    await open(page, "/");
    const counts = [await number(".home", /(\d+) tables with/)];
    await open(page, "/browse");
    const ofFolders = await page.locator(".folder-list .when").allTextContents();
    counts.push(ofFolders.map((text) => Number.parseInt(text, 10)).reduce((sum, count) => sum + count, 0));
    counts.push(await number("h1 .count", /(\d+) tables/), await number(".summary h2", /(\d+) tables/));
    await open(page, "/status");
    counts.push(await number(".figures div:nth-child(2) dd", /^(\d+)/));
    await open(page, "/", { q: search.question });
    counts.push(await number(".summary", /of (\d+)/));
    assert.equal(new Set(counts).size, 1, `counts: ${counts}`);
    assert.match(await page.textContent(".summary"), /1 could not be read/);
  }));

test("home shows what changed lately, questions to try, and folders in a line", () =>
  withPage({}, async (page) => {
    await open(page, "/");
    assert.ok((await page.locator(".lately li").count()) > 0);
    assert.ok((await page.textContent(".folders")).includes(readme.line));
    const question = page.locator(".tries a").first();
    const asked = await question.textContent();
    await question.click();
    await page.waitForSelector(".result");
    assert.equal(await page.inputValue("#q"), asked);
  }));

test("the changes show what came, and lead to it", () =>
  withPage({}, async (page) => {
    await open(page, "/changes", { from: "1", to: "2" });
    assert.match(await page.textContent(".appeared h2"), /New 2/);
    assert.ok((await page.textContent(".appeared")).includes(changed.table));
    await open(page, "/changes");
    await page.locator(".timeline a").last().click();
    await page.waitForFunction(() => location.search.includes("from=0"));
    await settled(page);
    assert.match(await page.textContent("main"), /the first snapshot brought/);
    await page.locator(".periods a", { hasText: "7 days" }).click();
    await page.waitForFunction(() => location.search.includes("since=7d"));
    await settled(page);
    assert.equal(await page.locator("main .failure").count(), 0);
  }));

test("a description is added, changed and taken back", () =>
  withPage({}, async (page) => {
    page.setDefaultTimeout(120_000);
    await open(page, "/table", { table: described.table });
    await page.click(".describe");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".describing").count(), 0);
    await page.click(".describe");
    await accessible(page);
    await page.keyboard.type(described.text);
    await page.click(".describing [type=submit]");
    await page.locator(".lead", { hasText: described.text }).waitFor();
    await page.locator(".text button", { hasText: "Edit" }).click();
    assert.equal(await page.inputValue(".describing textarea"), described.text);
    await page.fill(".describing textarea", described.later);
    await page.click(".describing [type=submit]");
    await page.locator(".lead", { hasText: described.later }).waitFor();
    assert.equal(await page.locator("#texts article", { hasText: described.text }).count(), 0);
    await open(page, "/", { q: described.later });
    assert.equal(await page.locator(".result h2").first().textContent(), described.table.split("/").at(-1));
    await open(page, "/table", { table: described.table });
    await page.locator(".text button", { hasText: "Edit" }).click();
    await page.click("text=Remove it");
    await page.waitForFunction((text) => !document.querySelector("#texts").textContent.includes(text), described.later);
  }));

test("who may not describe is not offered to", () =>
  withPage({}, async (page) => {
    await page.route("**/v1/status*", async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, descriptions: false } });
    });
    await open(page, "/table", { table: table.name });
    assert.equal(await page.locator(".describe").count(), 0);
  }));

test("the status shows the snapshot, its size and the caller's rights", () =>
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
    assert.ok((await page.locator(".column .toggle").allTextContents()).includes(script.column));
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
