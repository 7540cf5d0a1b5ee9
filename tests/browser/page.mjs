// A browser for a test, and a page of the node in it that is watched: an error on the console, a breach of the
// Content-Security-Policy, a dialog, a script that came out of the lake, or a request to anywhere else fails the test.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before } from "node:test";

const tools = createRequire(join(process.env.LIMN_BROWSER_TOOLS, "package.json"));
const { chromium } = tools("playwright-core");
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");

export const base = process.env.LIMN_PAGE_URL;
export const expected = JSON.parse(readFileSync(new URL("expectations.json", import.meta.url), "utf8"));

let browser;
before(async () => {
  // The sandbox of Chromium cannot start for root, as in most containers; it opens nothing but the node's own page.
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({
    executablePath: process.env.LIMN_CHROMIUM,
    args: [...sandbox, "--disable-gpu", "--disable-background-networking"],
  });
});
after(() => browser?.close());

/** Calls `test` with a watched page. `allowed` is a pattern of console errors that the test brings about itself. */
export async function withPage(options, test) {
  const { allowed, ...settings } = options;
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...settings });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const wrongs = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !allowed?.test(message.text())) wrongs.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrongs.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    wrongs.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${base}/`) && !request.url().startsWith("data:"))
      wrongs.push(`request elsewhere: ${request.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`breach of ${event.violatedDirective}: ${event.blockedURI}`),
    );
  });
  try {
    await test(page);
    assert.equal(await page.evaluate(() => typeof window.pwned), "undefined", "a script of the lake ran");
    assert.deepEqual(wrongs, []);
  } finally {
    await context.close();
  }
}

/** Opens an address of the page and waits until it shows what it has to show. */
export async function open(page, path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  await page.goto(`${base}${path}${query ? `?${query}` : ""}`);
  await settled(page);
}

/** Waits until nothing is being looked for. */
export async function settled(page) {
  await page.waitForFunction(
    () => document.querySelector("main").childElementCount > 0 && !document.querySelector('[aria-busy="true"]'),
  );
}

/** No serious or critical finding of axe-core. */
export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  const grave = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .slice(0, 3)
          .map(({ html }) => html.slice(0, 200))
          .join(" ")}`,
    );
  assert.deepEqual(grave, [], `findings at ${page.url()}`);
}

/** Nothing sticks out at the side. */
export async function fits(page) {
  const [content, window] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(content <= window, `${page.url()} is ${content} wide in a window of ${window}`);
}

/** Keeps a picture of the page. */
export async function picture(page, name, settings = { fullPage: true }) {
  await page.screenshot({ path: join(process.env.LIMN_PAGE_PICTURES, `${name}.png`), ...settings });
}

/** Answers in the node's place: what a test cannot wait for to happen by itself. */
export const refusal = (status, code, headers = {}) => ({
  status,
  headers,
  contentType: "application/json",
  body: JSON.stringify({
    error: { code, message: "refused by the test", remedy: "let the test go on" },
    request_id: "test",
  }),
});
