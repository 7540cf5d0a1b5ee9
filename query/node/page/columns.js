// The columns of a table as a dense grid: a line each with name, type, meaning, empty and distinct values, range, and how often the
// frequent values occur. A press opens a column with all that is known of it; a field finds columns.

import { announce, data, el, unseen } from "./dom.js";
import { compact, counted, number, share } from "./format.js";
import { emptiness } from "./notice.js";
import { shareBar, sparkline } from "./picture.js";

const AT_ONCE = 100;
const SEARCHED_FROM = 8;
const LONG_VALUE = 300;
const HEADINGS = ["Column", "Type", "What it is", "Empty", "Distinct", "Range", "Top values"];

/** The columns as a grid; a very wide table shows a hundred at a time. */
export function columnGrid(columns, { previews = true } = {}) {
  if (!columns.length) return emptiness("It has no columns.");
  const body = el("tbody");
  const more = el("p", { class: "more-results" });
  let wanted = columns;
  const show = (from) => {
    const upTo = Math.min(wanted.length, from + AT_ONCE);
    if (from === 0) body.replaceChildren();
    body.append(...wanted.slice(from, upTo).map((column) => line(column, previews)));
    more.replaceChildren(
      ...(upTo < wanted.length
        ? [el("button", { type: "button", click: () => show(upTo) }, `Show more of ${number(wanted.length)} columns`)]
        : []),
    );
  };
  const narrow = (event) => {
    const words = event.target.value.trim().toLowerCase().split(/\s+/);
    wanted = columns.filter((column) => words.every((word) => textOf(column).includes(word)));
    show(0);
    if (!wanted.length) body.append(el("tr", {}, el("td", { class: "faint", colspan: String(HEADINGS.length) }, "No column has this in its name, type, description or values.")));
    announce(counted(wanted.length, "column"));
  };
  show(0);
  const finder =
    columns.length >= SEARCHED_FROM &&
    el(
      "label",
      { class: "find" },
      el("span", {}, "Find a column"),
      el("input", { type: "search", name: "column", spellcheck: "false", placeholder: "a name, a type, a value", input: narrow }),
    );
  return [
    finder,
    el(
      "div",
      { class: "grid-scroll", tabindex: "0", role: "region", "aria-label": "Columns" },
      el(
        "table",
        { class: "columns" },
        el("thead", {}, el("tr", {}, HEADINGS.map((words, index) => el("th", { scope: "col", class: index === 3 || index === 4 ? "numeric" : null }, words)))),
        body,
      ),
    ),
    more,
  ];
}

const textOf = ({ name, data_type: type, narration, description, frequent = [] }) =>
  [name, type, narration ?? "", description ?? "", ...frequent.map(({ value }) => value.slice(0, LONG_VALUE))].join("\n").toLowerCase();

function line(column, previews) {
  const { name, data_type: type, null_share: empty, distinct, distinct_exact: exact, likely_key: isKey, narration, description } = column;
  let opened = null;
  const toggle = el(
    "button",
    { type: "button", class: "toggle", "aria-expanded": "false", click: () => open() },
    data(name, { class: "column-name" }),
  );
  const open = () => {
    const wanted = opened === null;
    toggle.setAttribute("aria-expanded", String(wanted));
    if (wanted) {
      opened = el("tr", { class: "opened" }, el("td", { colspan: String(HEADINGS.length) }, whole(column, previews)));
      first.after(opened);
    } else {
      opened.remove();
      opened = null;
    }
  };
  const said = description ?? narration;
  const first = el(
    "tr",
    { class: "column" },
    el(
      "th",
      { scope: "row" },
      toggle,
      isKey && el("span", { class: "tag", title: "likely a key: another value in every row" }, "key"),
      privacyTag(column),
    ),
    el("td", { class: "type" }, type),
    el("td", { class: "what", dir: "auto", title: said && said.length > 60 ? said.slice(0, 600) : null }, said),
    el("td", { class: "numeric" }, typeof empty === "number" ? share(empty) : "–"),
    el("td", { class: "numeric", title: typeof distinct === "number" ? number(distinct) : null }, typeof distinct === "number" ? `${exact ? "" : "~"}${distinct < 100_000 ? number(distinct) : compact(distinct)}` : "–"),
    el("td", { class: "range" }, previews ? range(column) : null),
    el("td", { class: "tops" }, previews ? top(column) : null),
  );
  return first;
}

const privacyTag = ({ sensitive, withheld }) =>
  (sensitive || withheld) && el("span", { class: "tag private" }, sensitive || "withheld");

function range({ min, max }) {
  if ((min ?? max ?? null) === null) return null;
  return min === max ? bound(min) : [bound(min), unseen(" to "), el("span", { class: "faint", "aria-hidden": "true" }, " – "), bound(max)];
}

const bound = (value) => (value === null || value === undefined ? "?" : valueText(value));

// How often the frequent values occur as a small picture, and the first of them in words.
function top({ frequent = [] }) {
  if (!frequent.length) return null;
  return [sparkline(frequent.map(({ count }) => count)), valueText(frequent[0].value), frequent.length > 1 && el("span", { class: "faint" }, `, ${frequent[1].value.slice(0, 24)}${frequent.length > 2 ? ", …" : ""}`)];
}

// All that is known of a column.
function whole(column, previews) {
  const { narration, description, patterns = [], uniqueness, notation, in_files: inFiles, sensitive, withheld, profile_exact: profiled, frequent = [], distinct } = column;
  const facts = [
    ["Described as", description],
    ["In words", narration !== description ? narration : null],
    ["Written as", notation],
    ["Where", inFiles],
    ["Unique", typeof uniqueness === "number" ? `${share(uniqueness)} of its values` : null],
    ["Privacy", [sensitive && `sensitive (${sensitive})`, withheld && "values withheld"].filter(Boolean).join(", ")],
    ["Profile", profiled === false ? "of a part of the rows" : null],
  ].filter(([, value]) => value);
  return el(
    "div",
    { class: "opened-column" },
    el(
      "dl",
      { class: "profile" },
      previews && (column.min ?? column.max ?? null) !== null && el("div", {}, el("dt", {}, "Range"), el("dd", {}, range(column))),
      facts.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", { dir: "auto" }, value))),
      previews &&
        patterns.length > 0 &&
        el(
          "div",
          {},
          el("dt", {}, "Looks like"),
          el("dd", {}, patterns.map(({ pattern, share: part }, index) => [index > 0 && ", ", data(pattern), el("span", { class: "faint" }, ` ${share(part)}`)])),
        ),
    ),
    previews && frequent.length > 0 ? values(frequent, distinct) : el("p", { class: "faint" }, previews ? "No frequent values are known." : "Values are not shown."),
  );
}

// Bars where some values are more frequent than others; where none is, a list of examples.
function values(frequent, distinct) {
  const most = Math.max(...frequent.map(({ count }) => count));
  const isFlat = most <= 1 && frequent.length > 1;
  const bar = ({ value, count }) =>
    el(
      "li",
      {},
      el("span", { class: "value" }, valueText(value)),
      !isFlat && el("span", { class: "meter" }, shareBar(count / most)),
      !isFlat && el("span", { class: "numeric", title: counted(count, "row") }, number(count)),
    );
  return el(
    "div",
    { class: "values" },
    el("p", { class: "faint" }, isFlat ? "For example" : `Most frequent${typeof distinct === "number" && distinct > frequent.length ? ` of ${number(distinct)}` : ""}`),
    el("ul", { class: isFlat ? "examples" : "bars" }, frequent.map(bar)),
  );
}

function valueText(value) {
  if (value === "") return el("span", { class: "nothing-there" }, "empty text");
  return data(value.length > LONG_VALUE ? `${value.slice(0, LONG_VALUE)}…` : value, {
    title: value.length > 24 ? value.slice(0, 2000) : null,
  });
}
