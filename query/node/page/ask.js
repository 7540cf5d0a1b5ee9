// The box for the question with its filters: one form for the whole page. What it asks is kept in the address, so that
// a question can be bookmarked, sent to a colleague and gone back to; the form shows whatever the address says.

import { address } from "./dom.js";
import { suggestions } from "./suggest.js";
import { folderAddress, tableAddress } from "./names.js";

/** The filters, with how a person reads each: name in the address and what it says. */
const FILTERS = {
  prefix: (value) => `in ${value}`,
  format: (value) => `format ${value}`,
  column_type: (value) => `with a ${value} column`,
  min_rows: (value) => `at least ${value} rows`,
  max_rows: (value) => `at most ${value} rows`,
  modified_after: (value) => `modified from ${value}`,
  modified_before: (value) => `modified to ${value}`,
};
// Not in the form, but kept where the address has them.
const PASSED_ON = ["alpha", "candidates", "judge"];

const form = document.getElementById("ask");
const input = document.getElementById("q");
const filters = document.getElementById("filters");

/** Starts the form. `go` leads the page to an address. */
export function start(go) {
  const { close } = suggestions(input, document.getElementById("suggestions"), (one) => {
    if (one.kind === "table") go(tableAddress({ table: one.table ?? one.text, lake: one.lake }));
    else if (one.kind === "folder") go(folderAddress(one.text));
    else {
      input.value = one.text;
      go(asked());
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    close();
    go(asked());
  });
  document.getElementById("clear-filters").addEventListener("click", () => {
    for (const field of filters.querySelectorAll("input, select")) field.value = "";
    go(asked());
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

/** Puts the cursor into the box. */
export function focusQuestion() {
  input.focus({ preventScroll: true });
}

/** Shows in the form what the address asks. Away from the search the box keeps nothing: it is for the next question. */
export function reflect({ pathname, searchParams }) {
  const searching = pathname === "/";
  input.value = searching ? (searchParams.get("q") ?? "") : "";
  for (const field of filters.querySelectorAll("input, select")) {
    const value = searching ? (searchParams.get(field.name) ?? "") : "";
    if (field.tagName === "SELECT" && value && ![...field.options].some((option) => option.value === value))
      field.add(new Option(value, value));
    field.value = value;
  }
  const count = searching ? filtersOf(searchParams).length : 0;
  document.getElementById("filter-count").textContent = count ? ` (${count})` : "";
  if (!searching) filters.open = false;
}

/** The filters in an address: what each says, and the address without it. */
export function filtersOf(searchParams) {
  return Object.keys(FILTERS)
    .filter((name) => searchParams.get(name))
    .map((name) => {
      const rest = Object.fromEntries([...searchParams].filter(([other]) => other !== name));
      return { name, words: FILTERS[name](searchParams.get(name)), without: address("/", rest) };
    });
}

/** What to ask the node for an address. Days become moments: from the first day's beginning to the last day's end. */
export function questionOf(searchParams) {
  const question = { q: searchParams.get("q")?.trim() };
  for (const name of ["k", ...Object.keys(FILTERS), ...PASSED_ON]) question[name] = searchParams.get(name);
  question.modified_after = startOfDay(question.modified_after, 0);
  question.modified_before = startOfDay(question.modified_before, 1);
  return question;
}

function startOfDay(day, later) {
  if (!day || !/^\d{4}-\d{2}-\d{2}$/.test(day)) return day;
  const moment = new Date(`${day}T00:00:00Z`);
  moment.setUTCDate(moment.getUTCDate() + later);
  return moment.toISOString().replace(".000Z", "Z");
}

function asked() {
  const parameters = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  const now = new URLSearchParams(location.search);
  if (location.pathname === "/") for (const name of PASSED_ON) parameters[name] = now.get(name);
  return address("/", parameters);
}
