// Answers from rows: the question, the steps, the answer with its plan and proof, by keyboard and at two widths; plans that
// are changed and run again; and what goes wrong. A model is played by the test that starts the node (tests/tests/page.rs).

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, expected, fits, open, picture, refusal, settled, withPage } from "./page.mjs";

const { search, answered, judged, script } = expected;
const refused = /Failed to load resource/;
const ask = (page, q = answered.question) => open(page, "/", { q, ask: "1" });
const focused = (page) => page.evaluate(() => document.activeElement.textContent);

// The plan of the answer, opened to be changed.
async function openEditor(page) {
  await page.locator(".edit > summary").click();
  await page.locator(".edit details > summary").click();
  return JSON.parse(await page.inputValue(".edit [name=plan]"));
}

// Sends a plan in the place of that of the answer.
async function send(page, plan) {
  await page.fill(".edit [name=plan]", typeof plan === "string" ? plan : JSON.stringify(plan));
  await page.locator(".edit [name=plan]").press("Control+Enter");
}

const rowsOf = (name, source, statement) => ({ name, sql: { inputs: source, statement } });

// Rows that a model judges, counted.
function judgedPlan(plan, instruction) {
  const source = Object.values(plan.stages[0].sql.inputs)[0];
  const { column } = judged;
  return {
    ...plan,
    stages: [
      rowsOf("counted", { e: source, k: { stage: "kept" } }, `SELECT count(*) AS n FROM e JOIN k ON k.${column} = e.${column}`),
      { name: "kept", sem_filter: { input: "places", instruction } },
      rowsOf("places", { e: source }, `SELECT DISTINCT ${column} FROM e`),
    ],
    answer: "counted",
  };
}

test("a question is answered from rows by a key, kept in the address, and announced", () =>
  withPage({}, async (page) => {
    const asked = [];
    page.on("request", (request) => request.url().endsWith("/v1/ask") && asked.push(request.postDataJSON()));
    await open(page, "/");
    await page.waitForSelector("#answer:visible");
    await page.keyboard.type(answered.question);
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".said");
    await settled(page);
    const address = new URL(page.url()).searchParams;
    assert.deepEqual([address.get("q"), address.get("ask")], [answered.question, "1"]);
    assert.match(await page.textContent(".said"), new RegExp(`rows of ${answered.column}`));
    assert.equal(await page.textContent("#announcement"), await page.textContent(".said"));
    assert.match(await page.textContent(".answer [aria-label=Answer]"), new RegExp(answered.value));
    assert.ok((await page.locator('[aria-label="Rows behind the answer"] tbody tr').count()) > 1);
    assert.match(await page.textContent(".answer .partners"), new RegExp(`${answered.table}.*1 file · snapshot \\d · version [0-9a-f]{12}$`));
    assert.match(await page.textContent(".stage .statement"), new RegExp(answered.statement));
    assert.match(await page.textContent(".spent"), /Time.*To write the plan\d+ questions? to a model.*To run it0 questions to a model/);
    // What is asked further is one question with it.
    await page.fill("[name=further]", "highest first");
    await page.press("[name=further]", "Enter");
    await page.waitForFunction((q) => new URL(location.href).searchParams.get("q") !== q, answered.question);
    await page.waitForSelector(".said");
    await settled(page);
    assert.equal(asked.at(-1).q, `${answered.question.replace(/\?$/, "")}, highest first`);
    assert.equal(await page.inputValue("#q"), asked.at(-1).q);
    await page.goBack();
    await page.waitForSelector(".said");
    assert.equal(await page.inputValue("#q"), answered.question);
    // Enter goes the way of the address, and Tab leads to the other one.
    await page.focus("#q");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(new URL(page.url()).searchParams.get("ask"), "1");
    await page.waitForSelector(".said");
    const before = asked.length;
    await page.focus("#q");
    await page.keyboard.press("Tab");
    assert.equal(await focused(page), "Search");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".result");
    assert.equal(new URL(page.url()).searchParams.get("ask"), null);
    await page.goBack();
    await page.waitForSelector(".said");
    assert.equal(asked.length, before, "the way back asks nothing anew");
    await page.click("text=Tables for this question");
    await page.waitForSelector(".result");
    await page.focus("#answer");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".said");
    assert.equal(asked.length, before + 1, "one press asks once");
  }));

for (const width of [360, 1280]) {
  test(`a plan is changed and run again, and only what changed asks the model, ${width} wide`, () =>
    withPage({ viewport: { width, height: 860 }, allowed: refused }, async (page) => {
      await ask(page);
      const plan = await openEditor(page);
      await send(page, judgedPlan(plan, judged.instruction));
      await page.waitForSelector(".judged");
      assert.match(await page.textContent(".said"), /^n: \d+$/);
      assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1", "the answer is led to");
      assert.deepEqual(await page.locator(".stage h3 bdi").allTextContents(), ["places", "kept", "counted"]);
      assert.equal(await page.locator(".stage .tag", { hasText: "model-judged" }).count(), 1);
      assert.equal(await page.textContent(".instruction .named"), judged.column);
      await page.locator(".inputs a", { hasText: "places" }).press("Enter");
      assert.match(page.url(), /#stage-1$/);
      for (const closed of await page.locator(".stage summary, .spent summary, .edit > summary").all()) await closed.press("Enter");
      assert.deepEqual(await page.locator("#stage-2 tbody td").allTextContents(), [judged.kept]);
      await picture(page, `answer-judged-${width}`);
      await fits(page);
      await accessible(page);
      // A statement behind the model is changed: what the model said is kept.
      const box = page.locator('.edit [name="stage counted"]');
      await box.fill((await box.inputValue()).replace("AS n", "AS people"));
      await box.press("Control+Enter");
      await page.waitForFunction(() => document.querySelector(".said")?.textContent.startsWith("people: "));
      assert.match(await page.textContent(".spent"), /To run it0 questions to a model, 3 kept/);
      // What is wrong is said beside the box, and the answer stays.
      await page.locator(".edit > summary").press("Enter");
      await page.locator('.edit [name="stage places"]').fill("SELECT town FROM e");
      await page.locator('.edit [name="stage places"]').press("Control+Enter");
      await page.waitForSelector(".edit .failure");
      assert.match(await page.textContent(".edit .failure"), /Stage 'places'.*no column 'town'/);
      assert.match(await page.textContent(".said"), /^people: /);
      await fits(page);
    }));
}

test("cells, names and notes that are made to be markup stay text", () =>
  withPage({}, async (page) => {
    await ask(page);
    const plan = await openEditor(page);
    await send(page, "{ no plan");
    assert.match(await page.textContent(".edit [role=alert]"), /This is no JSON/);
    const statement = `SELECT s.*, '{{x}} "<b>' AS "<b>bold</b>" FROM s`;
    await send(page, { ...plan, stages: [rowsOf("nasty", { s: { table: script.table } }, statement)], answer: "nasty" });
    await page.waitForFunction((name) => document.querySelector(".stage h3")?.textContent.includes(name), "nasty");
    const shown = await page.textContent(".answer");
    for (const text of [script.column, "<b>bold</b>"]) assert.ok(shown.includes(text), shown.slice(0, 500));
    // What no node says, either.
    const hostile = '<img src=x onerror="window.pwned=1">\u202e';
    const stage = { name: hostile, sem_map: { input: hostile, instruction: `${hostile} {${hostile}} }} {`, output: { name: hostile, type: hostile } } };
    const answer = {
      question: hostile,
      answer: hostile,
      columns: [{ name: hostile, type: hostile }],
      rows: [[hostile], [null]],
      truncated: true,
      plan: { version: 1, stages: [stage], answer: hostile },
      tables: [{ table: hostile, lake: "javascript:1", snapshot: 1, version: hostile, files: 1 }],
      citations: [{ stage: hostile, rows: [1], columns: [{ name: hostile, type: "text" }], values: [[hostile]], kind: "cited" }],
      model_judged: [{ stage: hostile, operation: "sem_map", column: hostile, sure: 0.75, failed: 2 }],
      stages: [{ stage: hostile, operation: "sem_map", columns: [], row_count: 1, first_rows: [[]], seconds: 0.1 }],
      cost: { told: { calls: 1, kept: 0, prompt_tokens: 5, generated_tokens: 5, guessed: [] }, spent: {}, writing: {}, seconds: 1 },
      is_partial: true,
      notes: [hostile],
    };
    const steps = [{ event: "tables_found", tables: [hostile] }, { event: "never heard of" }, { event: "stage_started", stage: hostile, operation: hostile, at: 1, of: 1 }, { event: "answer", answer }];
    const body = [": alive\n\n", ...steps.map((step) => `event: ${step.event}\r\ndata: ${JSON.stringify(step)}\r\n\r\n`)].join("");
    await page.route("**/v1/ask", (route) => route.fulfill({ contentType: "text/event-stream", body }));
    await ask(page);
    await page.waitForSelector(".judged");
    assert.equal(await page.locator("main img").count(), 0);
    assert.ok((await page.textContent(".said")).startsWith("<img"));
    assert.match(await page.textContent(".judged"), /75 % sure on average · 2 answers failed/);
    await fits(page);
  }));

test("an answer that is being made can be stopped, and asked for again", () =>
  withPage({}, async (page) => {
    await ask(page);
    await send(page, judgedPlan(await openEditor(page), judged.slow));
    await page.locator(".edit .steps", { hasText: "3 questions" }).waitFor();
    await page.locator(".edit .steps .going", { hasText: "kept" }).waitFor();
    await picture(page, "answer-steps");
    await accessible(page);
    await page.locator(".edit .under-way button").press("Enter");
    await page.locator(".edit .notice", { hasText: "Stopped." }).waitFor();
    assert.equal(await page.textContent("#announcement"), "Stopped");
    assert.equal(await focused(page), "Ask again");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".edit .under-way");
    // A new question leaves it, and paints over it.
    await page.fill("#q", answered.question);
    await page.focus("#q");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".said");
    await settled(page);
    assert.equal(await page.locator(".under-way").count(), 0);
  }));

test("what cannot be answered says why and what was looked at", () =>
  withPage({}, async (page) => {
    await ask(page, answered.unanswerable);
    await page.waitForSelector(".said");
    assert.equal(await page.textContent(".said"), "No answer.");
    const notes = await page.locator(".nothing li").allTextContents();
    assert.deepEqual(notes, ["Cannot be answered from this lake: no table was found for the question."]);
  }));

test("whoever may not ask is shown no way to it, and its refusal has a way on", () =>
  withPage({ allowed: refused }, async (page) => {
    let mayNot = true;
    await page.route("**/v1/status?", async (route) => {
      const status = await (await route.fetch()).json();
      assert.equal(status.ask, true);
      await route.fulfill({ json: { ...status, ask: !mayNot } });
    });
    await page.route("**/v1/ask", (route) => (mayNot ? route.fulfill(refusal(403, "forbidden")) : route.fallback()));
    await open(page, "/", { q: search.question });
    assert.equal(await page.locator("#answer").isVisible(), false);
    await ask(page);
    await page.waitForSelector(".failure");
    assert.equal(await page.textContent("h2:visible"), "Your key does not allow this");
    assert.match(await page.textContent(".failure"), /Refused by the test/);
    await accessible(page);
    mayNot = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.waitForSelector(".said");
    for (const [body, title] of [
      ["event: tables_found\ndata: {\"event\":\"tables_found\",\"tables\":[]}\n\n", /could not be read/],
      ["data: {\"event\":\"problem\",\"problem\":{\"code\":\"timeout\",\"message\":\"stopped: it took long\",\"remedy\":\"ask for less\"}}\n\n", /That took too long.*Stopped: it took long.*Ask for less/],
    ]) {
      await page.route("**/v1/ask", (route) => route.fulfill({ contentType: "text/event-stream", body }));
      await ask(page);
      await page.waitForSelector(".failure");
      assert.match(await page.textContent(".failure"), title);
    }
  }));
