// The rows of a table, read from the lake when somebody asks for them: fifty at a time, sorted by a press on a heading.

import { ask } from "./api.js";
import { announce, el } from "./dom.js";
import { number } from "./format.js";
import { emptiness, failureNotice } from "./notice.js";
import { sampleTable } from "./sample.js";

const PAGE = 50;

/** The columns of an answer, as tables of the page have them. */
export const columnsOf = ({ columns }) => columns.map(({ name, type }) => ({ name, data_type: type }));

/** Rows with the ways to go on and back. Nothing is read before a press. */
export function rowPages(visit, { table, lake }) {
  const place = el("div", {});
  const state = { offset: 0, sort: null, descending: false };
  const read = async (change = {}, focus = null) => {
    const wanted = { ...state, ...change };
    place.setAttribute("aria-busy", "true");
    try {
      const { offset, sort, descending } = wanted;
      const asked = { table, lake, sort, descending: sort && descending ? "true" : null, offset: offset || null, limit: PAGE };
      const answer = await ask("/v1/table/rows", asked, { signal: visit.signal });
      Object.assign(state, wanted);
      place.replaceChildren(...shown(answer, state, read));
      announce(spanOf(answer, state));
      find(place, focus)?.focus();
    } catch (failure) {
      if (visit.signal.aborted) return;
      place.replaceChildren(failureNotice(failure, () => read(change, focus), "h3"));
    }
    place.setAttribute("aria-busy", "false");
  };
  place.append(
    el("p", {}, el("button", { type: "button", class: "read", click: () => read({}, ".scroll") }, "Read the first rows")),
    emptiness("They are read from the table's files."),
  );
  return place;
}

function shown(answer, state, read) {
  const { rows, truncated, notes, error } = answer;
  const { offset, sort, descending } = state;
  const sorting = {
    of: (name) => (name === sort ? (descending ? "descending" : "ascending") : null),
    by: (name) => read(next(state, name), `sort ${name}`),
  };
  const go = (words, to, isThere) =>
    el("button", { type: "button", disabled: !isThere, click: () => read({ offset: to }, words) }, words);
  return [
    sampleTable(columnsOf(answer), rows, { label: "Rows", sorting }),
    el(
      "p",
      { class: "pager" },
      go("Previous", Math.max(0, offset - PAGE), offset > 0),
      go("Next", offset + PAGE, truncated),
      el("span", { class: "faint" }, spanOf(answer, state)),
    ),
    error && el("p", { class: "bad", dir: "auto" }, error.message),
    ...notes.map((note) => el("p", { class: "faint", dir: "auto" }, note)),
  ].filter(Boolean);
}

// A heading that is pressed again turns the order round, and then takes it back.
function next({ sort, descending }, name) {
  if (sort !== name) return { sort: name, descending: false, offset: 0 };
  return descending ? { sort: null, descending: false, offset: 0 } : { descending: true, offset: 0 };
}

function spanOf({ rows }, { offset }) {
  if (!rows.length) return offset ? "No rows here." : "It has no rows.";
  return `Rows ${number(offset + 1)} to ${number(offset + rows.length)}.`;
}

// What had the focus before the rows were put in place of others.
function find(place, focus) {
  if (focus === null) return null;
  if (focus === ".scroll") return place.querySelector(focus);
  const buttons = [...place.querySelectorAll("button")];
  if (focus.startsWith("sort ")) {
    const headings = [...place.querySelectorAll("th")];
    const sorted = headings.find((heading) => heading.hasAttribute("aria-sort"));
    return (sorted ?? place).querySelector(".sort");
  }
  const pressed = buttons.find((button) => button.textContent === focus);
  return pressed?.disabled ? place.querySelector(".scroll") : pressed;
}
