// The search: before a question, what the lake holds and what changed lately; after it, the tables found, best first, and why there
// are no more.

import { questionOf } from "./ask.js";
import { address, data, el } from "./dom.js";
import { asked, chips, filterRow, filtersOf } from "./filters.js";
import { counted, number, sentence, time, took } from "./format.js";
import { joinPlan, modeLink, setSummary } from "./joined.js";
import { folderAddress, folderLine, split, tableAddress } from "./names.js";
import { emptiness, remark } from "./notice.js";
import { resultCard } from "./result.js";

const MOST_SHOWN = 100;
const RECENT = 6;
const FOLDERS = 12;

/** The view at "/". */
export async function search(visit) {
  return visit.address.searchParams.get("q")?.trim() ? found(visit) : home(visit);
}

async function home(visit) {
  const parts = await Promise.allSettled([
    visit.ask("/v1/status"),
    visit.ask("/v1/tree", { prefix: "" }),
    visit.ask("/v1/tables", { sort: "modified", descending: true, fold: true, limit: RECENT }),
    visit.ask("/v1/examples"),
  ]);
  // A refusal (no key, say) is shown at once, not only after a question was typed.
  for (const { status, reason } of parts) if (status === "rejected") throw reason;
  const [status, tree, recent, examples] = parts.map(({ value }) => value);
  return {
    title: "",
    content: el(
      "div",
      { class: "home" },
      chips(visit.address),
      examples.questions.length > 0 && tries(examples.questions),
      el(
        "div",
        { class: "home-parts" },
        el("section", { class: "lately" }, el("h2", {}, "Changed lately"), lately(recent.tables)),
        el("section", {}, el("h2", {}, "In the lake"), holdings(status), folders(tree)),
      ),
    ),
  };
}

const tries = (questions) =>
  el(
    "nav",
    { class: "tries", "aria-label": "Questions to try" },
    el(
      "ul",
      {},
      el("li", { class: "faint" }, "Try"),
      questions.map((question) => el("li", {}, el("a", { href: address("/", { q: question }) }, data(question)))),
    ),
  );

function holdings({ tables, columns, published, failure_count: failures }) {
  return el(
    "p",
    { class: "faint" },
    el("a", { href: "/browse" }, counted(tables, "table")),
    ` with ${counted(columns, "column")}`,
    failures > 0 && [", ", el("a", { href: "/status" }, `${number(failures)} unreadable`)],
    time(published) && [", as of ", time(published)],
    ".",
  );
}

function lately(tables) {
  if (!tables.length) return emptiness("Nothing is here yet.");
  return [
    el(
      "ol",
      { class: "entries" },
      tables.map((table) => {
        const [folder, name] = split(table.table);
        const { family } = table;
        return el(
          "li",
          {},
          family
            ? el("a", { href: address("/browse", { family: family.id, prefix: folder }) }, data(family.name))
            : el("a", { href: tableAddress(table) }, data(name)),
          el("span", { class: "where" }, folder && data(folder), family && ` · ${counted(family.count, "table")}`),
          el("span", { class: "when" }, time(family?.modified ?? table.modified) ?? ""),
          el("span", { class: "what", dir: "auto" }, table.description ?? table.columns.join(", ")),
        );
      }),
    ),
    el("p", {}, el("a", { href: "/changes" }, "All changes")),
  ];
}

function folders({ folders: list = [] }) {
  if (!list.length) return null;
  return [
    el(
      "ul",
      { class: "entries folders" },
      list.slice(0, FOLDERS).map((folder) =>
        el(
          "li",
          {},
          el("a", { href: folderAddress(folder.path) }, data(folder.name)),
          el("span", { class: "when" }, counted(folder.tables, "table")),
          el("span", { class: "what", dir: "auto" }, folderLine(folder)),
        ),
      ),
    ),
    list.length > FOLDERS && el("p", {}, el("a", { href: "/browse" }, `${number(list.length - FOLDERS)} more folders`)),
  ];
}

async function found(visit) {
  const { searchParams } = visit.address;
  const [answer, listing, status] = await Promise.all([
    visit.ask("/v1/search", questionOf(searchParams)),
    visit.ask("/v1/tables", { ...asked(searchParams), limit: 1, facets: true }),
    searchParams.get("mode") === "set" ? visit.ask("/v1/status") : null,
  ]);
  const { results, notes = [] } = answer;
  const kept = results.filter(({ judged }) => judged !== false);
  const rejected = results.filter(({ judged }) => judged === false);
  const further = answer.plan ? null : more(searchParams, results.length);
  const count = answer.plan ? setSummary(kept.length) : counted(kept.length, "table");
  const summary = kept.length ? (further ? `First ${count}` : count) : "Nothing relevant found";
  const context = {
    question: answer.question,
    snapshot: answer.snapshot,
    manyLakes: new Set(results.map(({ lake }) => lake)).size > 1,
  };
  const change = (values) => visit.go(address("/", { ...Object.fromEntries(searchParams), ...values }));
  return {
    title: searchParams.get("q").trim().slice(0, 80),
    announcement: summary,
    content: el(
      "div",
      { class: "found" },
      filterRow(searchParams, listing.facets, change, { types: true }),
      el(
        "div",
        { class: "summary" },
        el("h1", {}, summary),
        circumstances(answer, listing.count),
        modeLink(searchParams),
        chips(visit.address),
      ),
      !kept.length && nothingFound(visit.address, notes, rejected.length),
      kept.length > 0 && notes.length > 0 && remark(noteList(notes)),
      kept.length > 0 && answer.plan && joinPlan(visit, answer, status?.sql),
      kept.length > 0 && el("ol", { class: "results" }, cards(kept, context)),
      rejected.length > 0 && [
        el("h2", { class: "divider" }, kept.length ? "Judged irrelevant" : "The nearest, judged irrelevant"),
        el("ol", { class: "results rejected", start: String(kept.length + 1) }, cards(rejected, context)),
      ],
      further,
    ),
  };
}

// A family is shown by the first of its tables that was found; the others wait behind it.
function cards(results, context) {
  const families = Map.groupBy(results, ({ family, table, lake }) => family ?? `${lake}\n${table}`);
  return [...families.values()].map(([first, ...sisters]) => el("li", {}, resultCard(first, context, sisters)));
}

// "of 27 · by words and meaning · in 3.2 ms"
function circumstances({ tables, tables_searched: searched, modes = {}, took_ms: milliseconds }, fitting) {
  const ways = [modes.lexical && "words", modes.semantic && "meaning"].filter(Boolean).join(" and ");
  const unread = fitting === tables ? tables - searched : 0;
  return el(
    "p",
    { class: "faint" },
    `of ${number(fitting)}`,
    unread > 0 && [" (", el("a", { href: "/status" }, `${number(unread)} could not be read`), ")"],
    ways && ` · by ${ways}`,
    modes.judge && " · judged by a model",
    typeof milliseconds === "number" && ` · in ${took(milliseconds)}`,
  );
}

function nothingFound(visited, notes, rejected) {
  const withoutFilters = address("/", { q: visited.searchParams.get("q") });
  return el(
    "div",
    { class: "notice nothing" },
    rejected > 0 && el("p", {}, "The judge read the nearest tables and found none that answers the question."),
    noteList(notes),
    el(
      "ul",
      {},
      filtersOf(visited).length > 0 && el("li", {}, el("a", { href: withoutFilters }, "Ask without the filters")),
      el("li", {}, "Say it in other words: what the rows are about, or a value that must occur."),
      el("li", {}, el("a", { href: "/browse" }, "Look through the lake")),
    ),
  );
}

/** Notes of an answer, one a line. */
export function noteList(notes) {
  return (
    notes.length > 0 &&
    el(
      "ul",
      { class: "notes" },
      notes.map((note) => el("li", { dir: "auto" }, sentence(note))),
    )
  );
}

// As many tables came as were asked for: there may be more.
function more(parameters, count) {
  const wanted = Number.parseInt(parameters.get("k") ?? "5", 10) || 5;
  if (count < wanted || count >= MOST_SHOWN) return null;
  const next = address("/", {
    ...Object.fromEntries(parameters),
    k: Math.min(MOST_SHOWN, wanted < 10 ? 10 : wanted * 2),
  });
  return el("p", { class: "more-results" }, el("a", { class: "button", href: next }, "More tables"));
}
