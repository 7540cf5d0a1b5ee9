// The search: before a question, what the lake holds; after it, the tables found, best first, and why there are no more.

import { filtersOf, questionOf } from "./ask.js";
import { address, data, el } from "./dom.js";
import { counted, number, sentence, time, took } from "./format.js";
import { folderAddress } from "./names.js";
import { remark } from "./notice.js";
import { resultCard } from "./result.js";

const MOST_SHOWN = 100;

/** The view at "/". */
export async function search(visit) {
  return visit.address.searchParams.get("q")?.trim() ? found(visit) : home(visit);
}

async function home(visit) {
  const [status, tree] = await Promise.allSettled([visit.ask("/v1/status"), visit.ask("/v1/tree", { prefix: "" })]);
  // A refusal (no key, say) is told at once, not only after a question was typed.
  if (tree.status === "rejected") throw tree.reason;
  const { folders = [], count } = tree.value;
  const published = status.value && time(status.value.published);
  return {
    title: "",
    content: el(
      "div",
      { class: "home" },
      el(
        "p",
        { class: "holdings" },
        counted(count ?? status.value?.tables ?? 0, "table"),
        status.value && `, ${counted(status.value.columns, "column")}`,
        published && [", as of ", published],
      ),
      folders.length > 0 &&
        el(
          "nav",
          { "aria-label": "Folders of the lake" },
          el(
            "ul",
            { class: "folders" },
            folders.slice(0, 24).map(folderChip),
            folders.length > 24 && el("li", {}, el("a", { href: "/browse" }, `${number(folders.length - 24)} more`)),
          ),
        ),
    ),
  };
}

const folderChip = ({ name, path, tables }) =>
  el("li", {}, el("a", { href: folderAddress(path) }, data(name), " ", el("span", { class: "faint" }, number(tables))));

async function found(visit) {
  const parameters = visit.address.searchParams;
  const answer = await visit.ask("/v1/search", questionOf(parameters));
  const { results, notes = [] } = answer;
  const kept = results.filter(({ judged }) => judged !== false);
  const rejected = results.filter(({ judged }) => judged === false);
  const card = (result, index) =>
    resultCard(result, {
      question: answer.question,
      snapshot: answer.snapshot,
      manyLakes: new Set(results.map(({ lake }) => lake)).size > 1,
      index,
    });
  const summary = kept.length ? counted(kept.length, "table") : "Nothing relevant found";
  return {
    title: visit.address.searchParams.get("q").trim().slice(0, 80),
    told: summary,
    content: el(
      "div",
      { class: "found" },
      el("div", { class: "summary" }, el("h1", {}, summary), el("p", { class: "faint" }, circumstances(answer))),
      chips(parameters),
      !kept.length && nothingFound(parameters, notes, rejected.length),
      kept.length > 0 && notes.length > 0 && remark(noteList(notes)),
      kept.length > 0 &&
        el(
          "ol",
          { class: "results" },
          kept.map((result, index) => el("li", {}, card(result, index))),
        ),
      rejected.length > 0 && [
        el("h2", { class: "divider" }, kept.length ? "Judged irrelevant" : "The nearest, judged irrelevant"),
        el(
          "ol",
          { class: "results rejected", start: String(kept.length + 1) },
          rejected.map((result, index) => el("li", {}, card(result, kept.length + index))),
        ),
      ],
      more(parameters, results.length),
    ),
  };
}

// "of 27, by words and meaning, in 3.2 ms"
function circumstances({ tables_searched: searched, modes = {}, took_ms: milliseconds, snapshot }) {
  const ways = [modes.lexical && "words", modes.semantic && "meaning"].filter(Boolean).join(" and ");
  return [
    typeof searched === "number" && `of ${number(searched)}`,
    ways && `by ${ways}`,
    modes.judge && "judged by a model",
    typeof milliseconds === "number" && `in ${took(milliseconds)}`,
    snapshot !== undefined && `snapshot ${snapshot}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function chips(parameters) {
  const active = filtersOf(parameters);
  if (!active.length) return null;
  return el(
    "ul",
    { class: "chips", "aria-label": "Filters in force" },
    active.map(({ words, without }) =>
      el(
        "li",
        {},
        data(words),
        " ",
        el("a", { href: without, "aria-label": `Without the filter: ${words}`, title: "Remove this filter" }, "×"),
      ),
    ),
  );
}

function nothingFound(parameters, notes, rejected) {
  const withoutFilters = address("/", { q: parameters.get("q") });
  return el(
    "div",
    { class: "notice nothing" },
    rejected > 0 && el("p", {}, "The judge read the nearest tables and found none that answers the question."),
    noteList(notes),
    el(
      "ul",
      {},
      filtersOf(parameters).length > 0 && el("li", {}, el("a", { href: withoutFilters }, "Ask without the filters")),
      el("li", {}, "Say it in other words: what the rows are about, or a value that must occur."),
      el("li", {}, el("a", { href: "/browse" }, "Look through the lake")),
    ),
  );
}

function noteList(notes) {
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
