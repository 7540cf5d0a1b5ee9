// What goes wrong on the way: each failure says what to do, and what comes late never covers what is newer. The test
// answers in the node's place where a failure is wanted.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, base, expected, fits, open, picture, refusal, settled, withPage } from "./page.mjs";

const { search, table } = expected;
const refused = /Failed to load resource/;

for (const [status, code, title] of [
  [429, "too_many_requests", "Too many questions at once"],
  [503, "busy", "The node is busy"],
  [504, "timeout", "That took too long"],
  [403, "forbidden", "Your key does not allow this"],
  [500, "internal", "Something went wrong"],
]) {
  test(`status ${status} is reported, with a way on`, () =>
    withPage({ allowed: refused }, async (page) => {
      let failing = true;
      await page.route("**/v1/search?*", (route) =>
        failing ? route.fulfill(refusal(status, code, { "Retry-After": "7" })) : route.fallback(),
      );
      await open(page, "/", { q: search.question });
      assert.equal(await page.textContent("h1:visible"), title);
      const notice = await page.textContent("main .notice");
      for (const words of ["Refused by the test.", "Let the test go on.", "7 seconds"])
        assert.ok(notice.includes(words), notice);
      await accessible(page);
      failing = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await page.waitForSelector(".result");
    }));
}

test("a node that cannot be reached is reported, with a way on", () =>
  withPage({ allowed: refused }, async (page) => {
    await open(page, "/");
    await page.route("**/v1/search?*", (route) => route.abort());
    await page.fill("#q", search.question);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".notice.failure");
    assert.equal(await page.textContent("h1:visible"), "No answer");
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.waitForFunction(() => document.querySelector("main h1")?.textContent === "You are offline");
    await page.context().setOffline(false);
    await page.unroute("**/v1/search?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.waitForSelector(".result");
  }));

test("an answer that is no JSON is a failure in words", () =>
  withPage({}, async (page) => {
    await page.route("**/v1/search?*", (route) => route.fulfill({ contentType: "text/html", body: "<h1>Proxy</h1>" }));
    await open(page, "/", { q: search.question });
    assert.match(await page.textContent(".notice.failure"), /could not be read/);
  }));

test("an older answer never covers a newer one", () =>
  withPage({}, async (page) => {
    await open(page, "/");
    await page.route("**/v1/search?*", async (route) => {
      if (new URL(route.request().url()).searchParams.get("q") === search.other)
        await new Promise((resolve) => setTimeout(resolve, 1200));
      await route.continue().catch(() => {});
    });
    await page.fill("#q", search.other);
    await page.keyboard.press("Enter");
    await page.fill("#q", search.question);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".result");
    const shown = await page.textContent("main");
    await page.waitForTimeout(1800);
    assert.equal(await page.textContent("main"), shown);
    assert.equal(await page.inputValue("#q"), search.question);
  }));

test("a key is asked for, kept for this tab alone, and sent as a bearer", () =>
  withPage({ allowed: refused }, async (page) => {
    const seen = new Set();
    await page.route("**/v1/**", async (route) => {
      const { authorization, ...headers } = route.request().headers();
      seen.add(authorization ?? "none");
      if (authorization !== "Bearer sesame-1") return route.fulfill(refusal(401, "unauthorized"));
      return route.fulfill({ response: await route.fetch({ headers }) });
    });
    await open(page, "/", { q: search.question });
    assert.equal(await page.textContent("h1:visible"), "This node asks for a key");
    await page.getByRole("button", { name: "Enter a key" }).click();
    await page.waitForSelector("dialog[open]");
    await accessible(page);
    await picture(page, "key");
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.getElementById("key").textContent === "Key");
    await page.getByRole("button", { name: "Enter a key" }).click();
    await page.keyboard.type("sesame-1");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".result");
    assert.ok(seen.has("Bearer wrong") && seen.has("Bearer sesame-1"));
    assert.equal(await page.textContent("#key"), "Key in use");
    await page.setViewportSize({ width: 360, height: 740 });
    await picture(page, "key-in-use-360");
    await fits(page);
    assert.ok(!page.url().includes("sesame"));
    assert.deepEqual(await page.context().cookies(), []);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    assert.deepEqual(await page.evaluate(() => Object.values(sessionStorage)), ["sesame-1"]);
    await page.click("#key");
    await page.getByRole("button", { name: "Forget the key" }).click();
    await page.waitForSelector("text=This node asks for a key");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  }));

test("withheld row values are shown as such", () =>
  withPage({}, async (page) => {
    await page.route("**/v1/table?*", async (route) => {
      const answer = await (await route.fetch()).json();
      const columns = answer.columns.map((column) => ({ ...column, min: null, max: null, frequent: [] }));
      await route.fulfill({ json: { ...answer, columns, sample: [], previews: false } });
    });
    await open(page, "/table", { table: table.name });
    assert.match(await page.textContent("#sample"), /not shown/);
    assert.equal(await page.locator(".sample table").count(), 0);
  }));

test("a table that does not exist is reported as such", () =>
  withPage({ allowed: refused }, async (page) => {
    await open(page, "/table", { table: "no/such/table" });
    assert.equal(await page.textContent("h1:visible"), "Not found");
    await page.goto(`${base}/browse`);
    await settled(page);
  }));
