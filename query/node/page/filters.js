// Filters with the number of tables behind each choice: by folder, format, age, rows and types of columns. They are kept in the
// address, so that a filtered answer can be bookmarked; an age stays an age ("the last 7 days") whenever the address is opened.

import { address, data, el } from "./dom.js";
import { compact, counted, number } from "./format.js";
import { folderName, formatName } from "./names.js";

/** What a filter in the address says. */
const FILTERS = {
  prefix: (value) => `in ${value}`,
  format: (value) => formatName(value),
  column_type: (value) => `with a ${value} column`,
  min_rows: (value) => `at least ${rows(value)}`,
  max_rows: (value) => `at most ${rows(value)}`,
  since: (value) => age(value),
  modified_after: (value) => `changed from ${value}`,
  modified_before: (value) => `changed to ${value}`,
};
const TYPES = ["text", "integer", "float", "date", "timestamp", "boolean", "binary"];
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const rows = (value) => (/^\d+$/.test(value) ? counted(Number(value), "row") : `${value} rows`);
const AGES = { 1: "the last day", 7: "the last 7 days", 30: "the last 30 days", 365: "the last year" };
const age = (days) => `changed in ${AGES[days] ?? `the last ${days} days`}`;

/** The names of the filters. */
export const FILTER_NAMES = Object.keys(FILTERS);

/** The filters in an address: what each says, and the address without it, in which `kept` stays. */
export function filtersOf({ pathname, searchParams }, kept = {}) {
  return FILTER_NAMES.filter((name) => searchParams.get(name)).map((name) => {
    const rest = Object.fromEntries([...searchParams].filter(([other]) => other !== name));
    return { name, words: FILTERS[name](searchParams.get(name)), without: address(pathname, { ...kept, ...rest }) };
  });
}

/** The filters of an address as the node takes them. Days become moments: from the first day's beginning to the last day's end. */
export function asked(searchParams) {
  const { since, ...question } = Object.fromEntries(FILTER_NAMES.map((name) => [name, searchParams.get(name)]));
  question.modified_after = since ? daysAgo(since) : startOfDay(question.modified_after, 0);
  question.modified_before = startOfDay(question.modified_before, 1);
  return question;
}

// To the minute, so that the same question is the same a moment later.
function daysAgo(days) {
  const moment = Date.now() - Number(days) * DAY_MS;
  if (!Number.isFinite(moment)) return days;
  return new Date(Math.floor(moment / MINUTE_MS) * MINUTE_MS).toISOString().replace(".000Z", "Z");
}

function startOfDay(day, later) {
  if (!day || !/^\d{4}-\d{2}-\d{2}$/.test(day)) return day;
  const moment = new Date(`${day}T00:00:00Z`);
  moment.setUTCDate(moment.getUTCDate() + later);
  return moment.toISOString().replace(".000Z", "Z");
}

/** The filters in force, each with a way to take it away. */
export function chips(visited, kept = {}) {
  const active = filtersOf(visited, kept);
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
    active.length > 1 && el("li", { class: "all" }, el("a", { href: withoutFilters(visited, kept), class: "words" }, "Clear all")),
  );
}

function withoutFilters({ pathname, searchParams }, kept) {
  const rest = [...searchParams].filter(([name]) => !FILTER_NAMES.includes(name));
  return address(pathname, { ...kept, ...Object.fromEntries(rest) });
}

/** A row of choices. `change` gets what a choice sets in the address, null for what it takes away. */
export function filterRow(searchParams, facets, change, { types = false } = {}) {
  const value = (name) => searchParams.get(name) ?? "";
  const bounds = ({ min, max }) => `${min || ""}-${max ?? ""}`;
  const [least, most] = [value("min_rows"), value("max_rows")];
  return el(
    "div",
    { class: "filter-row", role: "group", "aria-label": "Filters" },
    choice("Folder", "prefix", value("prefix"), folders(value("prefix"), facets.folders), (chosen) => change({ prefix: chosen })),
    choice(
      "Format",
      "format",
      value("format"),
      facets.formats.map(({ value: format, count }) => [format, formatName(format), count]),
      (chosen) => change({ format: chosen }),
    ),
    choice(
      "Changed",
      "since",
      value("since"),
      facets.modified.map(({ days, count }) => [String(days), AGES[days] ?? `${days} days`, count]),
      (chosen) => change({ since: chosen, modified_after: null }),
    ),
    choice(
      "Rows",
      "rows",
      least || most ? `${least}-${most}` : "",
      facets.rows.map((one) => [bounds(one), rowsLabel(one), one.count]),
      (chosen) => {
        const [min, max] = (chosen || "-").split("-");
        change({ min_rows: min, max_rows: max });
      },
    ),
    types &&
      choice(
        "With a column of",
        "column_type",
        value("column_type"),
        TYPES.map((type) => [type, type, null]),
        (chosen) => change({ column_type: chosen }),
      ),
  );
}

const rowsLabel = ({ min, max }) =>
  max === null || max === undefined
    ? `${compact(min)} or more`
    : min === 0
      ? `fewer than ${compact(max + 1)}`
      : `${compact(min)} to ${compact(max + 1)}`;

// The folders below the one that is chosen, and itself.
function folders(chosen, counted) {
  const here = chosen && !counted.some(({ value }) => value === chosen) ? [[chosen, chosen, null]] : [];
  return [...here, ...counted.map(({ value, count }) => [value, chosen ? `… / ${folderName(value)}` : value, count])];
}

// A choice that nothing fits is left out, unless it is the one in force.
function choice(label, name, value, options, change) {
  const fitting = options.filter(([option, , count]) => count !== 0 || option === value);
  if (value && !fitting.some(([option]) => option === value)) fitting.unshift([value, value, null]);
  if (!fitting.length) return null;
  const select = el(
    "select",
    { name, change: (event) => change(event.target.value) },
    el("option", { value: "" }, "any"),
    fitting.map(([option, words, count]) =>
      el("option", { value: option }, count === null ? words : `${words} (${number(count)})`),
    ),
  );
  select.value = value;
  return el("label", { class: value ? "chosen" : null }, el("span", {}, label), select);
}
