// One table's page: its facts, columns, sampled rows, its rows page by page, a box for SQL, the texts about it, its files,
// what it joins with, its history, and tables like it.

import { about } from "./about.js";
import { columnGrid } from "./columns.js";
import { data, el } from "./dom.js";
import { counted, number, rowCount, score, share, size, time } from "./format.js";
import { partners } from "./joined.js";
import { facts, formatName, holderOf, split, tableAddress, trail } from "./names.js";
import { emptiness, failureNotice, remark } from "./notice.js";
import { shareBar } from "./picture.js";
import { firstRows, queryBox } from "./query.js";
import { rowPages } from "./rows.js";
import { sampleTable } from "./sample.js";

/** The view at "/table?table=…&lake=…". */
export async function table(visit) {
  const which = { table: visit.address.searchParams.get("table") ?? "", lake: visit.address.searchParams.get("lake") };
  const [answer, status] = await Promise.all([visit.ask("/v1/table", which), visit.ask("/v1/status")]);
  const [, name] = split(answer.table);
  const sections = [
    section("columns", "Columns", answer.columns.length, columnGrid(answer.columns, answer)),
    section("sample", "Sample rows", null, sample(answer)),
    ...(status.sql ? [section("rows", "Rows", null, rowPages(visit, answer)), section("sql", "SQL", null, queryBox(visit, { ...answer, sql: firstRows(answer) }))] : []),
    section("texts", "About it", answer.contexts.length, about(visit, answer, status)),
    section("files", "Files", answer.file_count, files(answer)),
    section("joins", "Joins", null, later(visit, "/v1/joins", which, partners)),
    section("history", "History", null, later(visit, "/v1/table/history", which, history)),
    section("similar", "Similar tables", null, later(visit, "/v1/table/similar", which, similar)),
  ];
  return {
    title: answer.table.slice(0, 120),
    announcement: `Table ${name.slice(0, 200)}`,
    content: el(
      "div",
      { class: "table-page" },
      trail(holderOf(answer.table)),
      el("h1", {}, data(name)),
      answer.description && el("p", { class: "lead", dir: "auto" }, answer.description, /[.!?…]$/.test(answer.description) ? "" : "."),
      facts({ ...answer, column_count: answer.columns.length }),
      location(answer),
      answer.error &&
        el(
          "div",
          { class: "notice failure" },
          el("p", { dir: "auto" }, el("strong", {}, "Its newest version could not be read: "), answer.error),
          el(
            "p",
            {},
            answer.columns.length
              ? "What is shown is its last good version."
              : "No version of it could be read yet: nothing but its name is known, and no question finds it.",
          ),
        ),
      answer.awaits_narration &&
        remark(
          el("p", {}, "Its columns are not put into words yet; until then it is found by its names, types and values."),
        ),
      el(
        "nav",
        { class: "sections", "aria-label": "On this page" },
        el(
          "ul",
          {},
          sections.map(({ id, heading }) => el("li", {}, el("a", { href: `#${id}` }, heading))),
        ),
      ),
      sections.map(({ node }) => node),
    ),
  };
}

function section(id, heading, count, content) {
  const node = el(
    "section",
    { id, "aria-labelledby": `${id}-heading`, tabindex: "-1" },
    el(
      "h2",
      { id: `${id}-heading` },
      heading,
      typeof count === "number" && el("span", { class: "count" }, ` ${number(count)}`),
    ),
    content,
  );
  return { id, heading, node };
}

function location({ location: place, indexed, snapshot }) {
  const said = el("span", { class: "faint", role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(place);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The browser did not allow it; mark the text instead.";
    }
  };
  const read = time(indexed);
  return el(
    "p",
    { class: "location" },
    el("code", { dir: "auto" }, place),
    " ",
    el("button", { type: "button", class: "quiet small", click: copy }, "Copy"),
    said,
    read && el("span", { class: "faint" }, " described ", read, snapshot !== undefined && `, snapshot ${snapshot}`),
  );
}

function sample({ columns, sample: rows, previews, rows: all, rows_exact: exact }) {
  if (previews === false)
    return remark(
      el(
        "p",
        {},
        "Row values are not shown: this node withholds them, or your key does not allow them. Columns, types and counts are complete.",
      ),
    );
  if (!rows.length) return emptiness("No rows were sampled.");
  return [
    sampleTable(columns, rows),
    el(
      "p",
      { class: "faint" },
      `${typeof all === "number" ? `${number(rows.length)} of ${rowCount(all, exact)}` : counted(rows.length, "row")}, drawn at random.`,
    ),
  ];
}

function files({ files: list, file_count: count }) {
  if (!list.length) return emptiness("No files.");
  const row = ({ path, size: bytes, rows, modified, error }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, data(path), error && el("p", { class: "bad", dir: "auto" }, error)),
      el("td", { class: "numeric" }, size(bytes)),
      el("td", { class: "numeric" }, typeof rows === "number" ? number(rows) : "–"),
      el("td", {}, time(modified) ?? "–"),
    );
  return [
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Files" },
      el(
        "table",
        { class: "plain" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["File", "Size", "Rows", "Modified"].map((heading, index) =>
              el("th", { scope: "col", class: index === 1 || index === 2 ? "numeric" : "" }, heading),
            ),
          ),
        ),
        el("tbody", {}, list.map(row)),
      ),
    ),
    count > list.length && el("p", { class: "faint" }, `and ${number(count - list.length)} more`),
  ];
}

const CHANGES = { appeared: "Appeared", renamed: "Renamed", changed: "Changed", described_anew: "Described anew", vanished: "Vanished" };

function history({ history: steps }) {
  if (!steps.length) return emptiness("The snapshots that are kept have no change of it.");
  return el(
    "ol",
    { class: "history" },
    steps.map(({ change, detail = [], published, snapshot }) =>
      el(
        "li",
        { class: change in CHANGES ? change : "" },
        el(
          "p",
          {},
          el("strong", {}, CHANGES[change] ?? change),
          " ",
          time(published),
          el("span", { class: "faint" }, ` snapshot ${snapshot}`),
        ),
        detail.length > 0 &&
          el(
            "ul",
            {},
            detail.map((line) => el("li", { dir: "auto" }, line.replaceAll(" -> ", " → "))),
          ),
      ),
    ),
  );
}

function similar({ results }) {
  if (!results.length) return emptiness("No table is like it.");
  return el(
    "ul",
    { class: "similar" },
    results.map((other) => {
      const [folder, name] = split(other.table);
      return el(
        "li",
        {},
        el(
          "p",
          {},
          folder && el("span", { class: "faint" }, data(folder), " / "),
          el("a", { href: tableAddress(other) }, data(name)),
        ),
        el(
          "p",
          { class: "faint" },
          [
            formatName(other.format),
            rowCount(other.rows, other.rows_exact ?? true),
            counted(other.column_count, "column"),
          ].join(" · "),
        ),
        el(
          "p",
          { class: "likeness", title: `similarity ${score(other.similarity)}` },
          el("span", { class: "meter" }, shareBar(other.similarity)),
          el("span", {}, other.copy ? "a copy" : `${share(other.similarity)} alike`),
        ),
      );
    }),
  );
}

// A part that is asked for by itself: the page does not wait for it, and its failure costs itself only.
function later(visit, path, which, show) {
  const place = el("div", { class: "later", "aria-busy": "true" }, emptiness("Looking…"));
  const fill = async () => {
    try {
      place.replaceChildren(...[show(await visit.ask(path, which))].flat());
    } catch (failure) {
      if (visit.signal.aborted) return;
      place.replaceChildren(failureNotice(failure, fill, "h3"));
    }
    place.setAttribute("aria-busy", "false");
  };
  fill();
  return place;
}
