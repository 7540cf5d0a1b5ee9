// The parts that stand between the lake's text and the page, by themselves: they are imported in the browser, under the
// node's policy, and given what a lake may hold.

import assert from "node:assert/strict";
import { test } from "node:test";
import { open, withPage } from "./page.mjs";

test("an element refuses scripts, styles and addresses of other schemes", () =>
  withPage({}, async (page) => {
    await open(page, "/status");
    const refused = await page.evaluate(async () => {
      const { el } = await import("/assets/dom.js");
      const tries = [
        ["a", { href: "javascript:1" }],
        ["a", { href: " javascript:1" }],
        ["a", { href: "data:text/html,x" }],
        ["a", { href: "//elsewhere" }],
        ["p", { onclick: "1" }],
        ["p", { style: "color:red" }],
        ["img", { src: "x" }],
      ];
      return tries.map(([tag, attributes]) => {
        try {
          el(tag, attributes);
          return false;
        } catch {
          return true;
        }
      });
    });
    assert.ok(refused.every(Boolean), String(refused));
  }));

test("Markdown becomes elements, and markup in it stays text", () =>
  withPage({}, async (page) => {
    await open(page, "/status");
    const made = await page.evaluate(async () => {
      const { markdown } = await import("/assets/markdown.js");
      const show = (text) => {
        const box = document.createElement("div");
        box.append(...markdown(text));
        return { html: box.innerHTML, text: box.textContent };
      };
      return {
        plain: show("# A *b*\n\nOne `two` **three** _four_\n\n- five\n- six\n\n1. seven\n\n```\n<eight>\n```").html,
        hostile: show(
          "<script>window.pwned=1</script> [a](javascript:window.pwned=1) [b](data:text/html,x) <img src=x onerror=window.pwned=1>\n# <b>x</b>",
        ).html,
        link: show("[the site](https://example.org/a?b=c)").html,
        names: show("snake_case_name and 2*3*4").text,
        odd: ["#", "# ", "```", "- ", "[](", "****", "__", "\u0000", "\ud800", "| a |"].map(
          (text) => show(text).text.length >= 0,
        ),
      };
    });
    assert.equal(
      made.plain,
      '<h4 dir="auto">A <em>b</em></h4><p dir="auto">One <code>two</code> <strong>three</strong> <em>four</em></p><ul><li dir="auto">five</li><li dir="auto">six</li></ul><ol><li dir="auto">seven</li></ol><pre dir="auto" tabindex="0"><code>&lt;eight&gt;</code></pre>',
    );
    assert.doesNotMatch(made.hostile, /<(script|img|b|a)\b/);
    assert.match(
      made.link,
      /<a href="https:\/\/example.org\/a\?b=c" rel="noopener noreferrer nofollow" target="_blank">the site<\/a>.*\(example.org\)/,
    );
    assert.equal(made.names, "snake_case_name and 2*3*4");
  }));

test("whole words are marked, whatever signs they are made of", () =>
  withPage({}, async (page) => {
    await open(page, "/status");
    const marks = await page.evaluate(async () => {
      const { marked } = await import("/assets/words.js");
      const found = (text, words) =>
        marked(text, words)
          .filter((part) => part.nodeType)
          .map((part) => part.textContent);
      return [
        found("this is it, Is it?", ["is"]),
        found("c++ and a.b (x)", ["c++", "a.b", "(x)"]),
        found("東京都の人口", ["人口"]),
        found("Secchi-Tiefe", ["secchi", ""]),
        found("x", null),
      ];
    });
    assert.deepEqual(marks, [["is", "Is"], ["c++", "a.b", "(x)"], ["人口"], ["Secchi"], []]);
  }));

test("figures read as they are meant", () =>
  withPage({}, async (page) => {
    await open(page, "/status");
    const words = await page.evaluate(async () => {
      const { duration, rowCount, score, share, size, time, took } = await import("/assets/format.js");
      const now = Date.now();
      const ago = (seconds) => time(new Date(now - seconds * 1000).toISOString()).textContent;
      return [
        share(0),
        share(0.00001),
        share(0.083),
        share(0.99999),
        share(1),
        size(0),
        size(10896),
        size(5e9),
        rowCount(1),
        rowCount(1200, false),
        rowCount(null),
        score(0.7345),
        score(null),
        took(3.21),
        took(1400),
        duration(98765),
        ago(5),
        ago(7200),
        ago(2 * 86400),
        String(time(null)),
        String(time("nonsense")),
      ];
    });
    assert.deepEqual(words, [
      "0 %",
      "< 0.1 %",
      "8.3 %",
      "> 99.9 %",
      "100 %",
      "0 bytes",
      "11 KiB",
      "4.7 GiB",
      "1 row",
      "about 1,200 rows",
      "rows not counted",
      "0.73",
      "–",
      "3.2 ms",
      "1.4 s",
      "1 day",
      "just now",
      "2 hours ago",
      "2 days ago",
      "null",
      "null",
    ]);
  }));

test("a text that was made to be slow to read is not", () =>
  withPage({}, async (page) => {
    await open(page, "/status");
    await page.evaluate(async () => {
      const { markdown } = await import("/assets/markdown.js");
      const { excerpt, plain, rowsExcerpt } = await import("/assets/words.js");
      const { visible } = await import("/assets/dom.js");
      const long = 100_000;
      const texts = [
        "[",
        "*",
        "**a",
        "_",
        "`",
        "# ",
        "#",
        " ",
        "\t",
        "- ",
        "1. ",
        "|",
        "| ",
        "[a](",
        "http://",
        "a",
        "a\n",
        "\n",
        "\u202e",
        "x".repeat(60) + "\n",
      ].flatMap((part) => {
        const text = part.repeat(Math.ceil(long / part.length)).slice(0, long);
        return [text, `# ${text}x`, `${text}x`];
      });
      for (const text of texts) {
        const from = performance.now();
        markdown(text);
        excerpt(plain(text), ["a", "*", "#"]);
        rowsExcerpt(text, ["a", "#"]);
        visible(text);
        const took = performance.now() - from;
        if (took > 1500) throw new Error(`${JSON.stringify(text.slice(0, 12))}… took ${took.toFixed(0)} ms`);
      }
    });
  }));
