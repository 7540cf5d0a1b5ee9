// One table of an answer, in little room: what it is called and where it lies, why it was found in one line, and a small table of
// the columns and rows that match. Scores, passages and the judge wait behind "Why".

import { post } from "./api.js";
import { announce, data, el, unseen } from "./dom.js";
import { counted, number, score } from "./format.js";
import { facts, folderLinks, split, tableAddress, titleOf } from "./names.js";
import { scorePicture } from "./picture.js";
import { excerpt, glimpse, has, line, marked, plain, rowsExcerpt } from "./words.js";

const KINDS = { schema: "Columns", rows: "Rows", context: "About it", cells: "Values" };
const NARRATED_SHOWN = 6;
const CELL = 60;

/** A result as an article. `context` is { question, snapshot, manyLakes }; `sisters` are other results of its family. */
export function resultCard(result, context, sisters = []) {
  const [folder, name] = split(result.table);
  const words = wordsOf(result);
  return el(
    "article",
    { class: "result" },
    el(
      "header",
      {},
      el("h2", {}, el("a", { href: tableAddress(result) }, data(name))),
      el(
        "p",
        { class: "path" },
        folderLinks(folder),
        context.manyLakes && el("span", { class: "faint" }, " in ", data(result.lake)),
      ),
      facts(result),
      grade(result),
    ),
    joinedBy(result),
    reason(result, words),
    miniTable(result, words),
    el(
      "footer",
      {},
      details(result, words),
      feedback(result, context),
      sisters.length > 0 && family(sisters),
      copies(result),
    ),
  );
}

const GRADES = {
  strong: "It has what was asked for, in words or in meaning.",
  weak: "It has a part of what was asked for.",
  unlikely: "It is among the nearest, no more.",
};

const grade = ({ grade: name }) => name && el("p", { class: `grade ${name}`, title: GRADES[name] }, name);

const wordsOf = ({ blocks = [] }) => [...new Set(blocks.flatMap(({ words = [] }) => words))];

// Why it was found, in a line: from a text about it, if one has a word of the question; else from where one stands; else what it is.
function reason({ blocks = [], description, exact = [] }, words) {
  const named = exact.length > 0 && [el("strong", {}, data(exact.join(", "))), " · "];
  const matching = blocks.filter(({ text, words: own }) => has(text, own));
  const context = matching.find(({ kind }) => kind === "context");
  if (context) return sentenceOf(named, line(plain(context.text), context.words), context.words);
  if (description) return sentenceOf(named, description, words);
  const best = matching.find(({ kind }) => kind === "cells") ?? matching[0] ?? blocks[0];
  const label = best && el("span", { class: "faint" }, `${KINDS[best.kind] ?? best.kind}: `);
  return best ? sentenceOf([named, label], line(best.text, best.words), best.words) : null;
}

const sentenceOf = (before, text, words) =>
  el("p", { class: "reason", dir: "auto" }, before, el("bdi", {}, marked(text, words)));

// The columns that match, in their order, with the rows that do; where there are no rows to show, the columns alone.
function miniTable({ preview, columns = [], column_count: count, table }, words) {
  const shown = preview?.columns ?? columns.slice(0, 6).map((column) => ({ ...column, matches: has(column.name, words) }));
  if (!shown.length) return null;
  const rows = preview?.rows ?? [];
  const others = Math.max(0, (count ?? shown.length) - shown.length);
  const numeric = (type) => (type === "integer" || type === "float" ? "numeric" : null);
  const head = ({ name, data_type: type, matches }) =>
    el(
      "th",
      { scope: "col", class: [numeric(type), matches && "matches"].filter(Boolean).join(" ") || null, title: type },
      el("bdi", {}, marked(name.slice(0, CELL), words)),
    );
  const cell = (value, { data_type: type }) =>
    el(
      "td",
      { class: numeric(type), title: value && value.length > 24 ? value : null },
      value === null || value === undefined || value === ""
        ? el("span", { class: "nothing-there" }, value === "" ? "empty" : "null")
        : el("bdi", {}, marked(glimpse(value, words), words)),
    );
  return el(
    "div",
    { class: "mini", tabindex: "0", role: "region", "aria-label": `Matching columns of ${titleOf(table)}` },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, shown.map(head), others > 0 && el("th", { class: "others" }, `+ ${number(others)}`, unseen(" more columns")))),
      rows.length > 0 &&
        el(
          "tbody",
          {},
          rows.map((row) => el("tr", {}, shown.map((column, index) => cell(row[index], column)), others > 0 && el("td", { class: "others" }))),
        ),
    ),
  );
}

function details(result, words) {
  const blocks = result.blocks ?? [];
  return el(
    "details",
    { class: "why" },
    el("summary", {}, "Why", unseen(` ${titleOf(result.table)} was found`)),
    el(
      "div",
      {},
      scorePicture(result),
      el(
        "div",
        { class: "evidence-side" },
        scoreSum(result),
        blocks.length > 0 && el("dl", { class: "evidence" }, blocks.map(passage)),
        narrated(result, words),
      ),
    ),
  );
}

const SHARES = {
  formula_words: "words",
  formula_meaning: "meaning",
  meaning: "meaning again",
  covered: "words covered",
  name: "name",
  contexts: "contexts",
};

// The score as the sum of its shares, each a value times its weight; what its place counts more where it joins a table.
function scoreSum({ score: sum, shares = [], joined }) {
  if (!shares.length) return null;
  // Less is 0.000 as it is shown.
  const counting = shares.filter(({ contribution }) => contribution >= 0.0005);
  const terms = counting.map(({ name, value, weight, contribution }) =>
    name === "named" ? `${contribution.toFixed(3)} (the question names it)` : `${contribution.toFixed(3)} ${SHARES[name] ?? name} (${score(value)} × ${weight.toFixed(3)})`,
  );
  const place = joined ? `; for its place ${score(joined.bonus)} more, as it joins a table` : "";
  return el("p", { class: "faint sum" }, `Score ${sum.toFixed(3)} = ${terms.join(" + ") || "nothing"}${place}.`);
}

// What is said of its columns, those first that have a word of the question.
function narrated({ columns: known = [] }, words) {
  const described = known.filter(({ narration }) => narration);
  const matching = described.filter(({ name, narration }) => has(`${name} ${narration}`, words));
  const shown = [...matching, ...described.filter((column) => !matching.includes(column))].slice(0, NARRATED_SHOWN);
  if (!shown.length) return null;
  return el(
    "dl",
    { class: "narrated" },
    shown.map((column) =>
      el(
        "div",
        {},
        el("dt", {}, data(column.name, { class: "column-name" })),
        el("dd", { dir: "auto" }, marked(column.narration, words)),
      ),
    ),
  );
}

function passage({ kind, text, words }) {
  return el(
    "div",
    {},
    el("dt", {}, KINDS[kind] ?? kind),
    el("dd", {}, kind === "rows" ? rowsExcerpt(text, words) : excerpt(kind === "context" ? plain(text) : text, words)),
  );
}

// Other results with the same columns in the same folder take a line each.
function family(sisters) {
  return el(
    "details",
    { class: "sisters" },
    el("summary", {}, `${counted(sisters.length, "more table")} like it here`),
    el(
      "ul",
      {},
      sisters.map((sister) => el("li", {}, el("a", { href: tableAddress(sister) }, data(titleOf(sister.table))), facts(sister))),
    ),
  );
}

// Why a table stands right behind the first: it joins one before it.
function joinedBy({ joined, lake }) {
  if (!joined) return null;
  const pairs = joined.columns.map((name, at) => `${name} = ${joined.partner_columns[at]}`);
  return el(
    "p",
    { class: "reason" },
    "joins ",
    el("a", { href: tableAddress({ table: joined.partner, lake }) }, data(joined.partner)),
    ": ",
    data(pairs.join(", ")),
  );
}

// Tables of equal content, for which this one stands.
function copies({ copies: names = [], lake }) {
  if (!names.length) return null;
  return el(
    "details",
    { class: "sisters" },
    el("summary", {}, counted(names.length, "copy", "copies")),
    el("ul", {}, names.map((name) => el("li", {}, el("a", { href: tableAddress({ table: name, lake }) }, data(name))))),
  );
}

// "Was this the right table?" People's answers calibrate the search; whoever thinks again presses the other one.
function feedback({ table, lake }, { question, snapshot }) {
  const said = el("span", { class: "faint" });
  let sending = false;
  const buttons = [
    ["right", "Right table"],
    ["wrong", "Wrong table"],
  ].map(([verdict, label]) =>
    el(
      "button",
      {
        type: "button",
        class: `quiet ${verdict}`,
        "aria-pressed": "false",
        click: (event) => send(verdict, event.currentTarget),
      },
      label,
      unseen(`: ${table.slice(0, 200)}`),
    ),
  );
  async function send(verdict, pressed) {
    if (sending || pressed.getAttribute("aria-pressed") === "true") return;
    sending = true;
    try {
      await post("/v1/feedback", { question, table, lake, verdict, snapshot });
      for (const button of buttons) button.setAttribute("aria-pressed", String(button === pressed));
      said.textContent = "Noted, thank you.";
    } catch (failure) {
      said.textContent = `Not noted: ${failure.message}`;
    }
    sending = false;
    announce(said.textContent);
  }
  return el("div", { class: "feedback" }, buttons, said);
}
