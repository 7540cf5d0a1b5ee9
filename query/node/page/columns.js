// The columns of a table: what each means, its type, how full it is, how many values it has and which are frequent.

import { data, el } from "./dom.js";
import { counted, number, share } from "./format.js";
import { emptiness } from "./notice.js";
import { shareBar } from "./picture.js";

const AT_ONCE = 100;
const BARS = 5;
const LONG_VALUE = 300;

/** The columns as a list; a very wide table shows a hundred at a time, and a field finds one by its name. */
export function columnList(columns, { previews = true } = {}) {
  if (!columns.length) return emptiness("It has no columns.");
  const list = el("ul", { class: "columns" });
  const more = el("p", {});
  let wanted = columns;
  const show = (from) => {
    const upTo = Math.min(wanted.length, from + AT_ONCE);
    if (from === 0) list.replaceChildren();
    list.append(...wanted.slice(from, upTo).map((column) => columnCard(column, previews)));
    more.replaceChildren(
      ...(upTo < wanted.length
        ? [el("button", { type: "button", click: () => show(upTo) }, `Show more of ${number(wanted.length)} columns`)]
        : []),
    );
  };
  const narrow = (event) => {
    const text = event.target.value.trim().toLowerCase();
    wanted = columns.filter(({ name, narration }) => `${name} ${narration ?? ""}`.toLowerCase().includes(text));
    show(0);
    if (!wanted.length) list.append(el("li", { class: "faint" }, "No column has this in its name or description."));
  };
  show(0);
  const finder =
    columns.length > 20 &&
    el("p", { class: "finder" }, el("label", {}, "Find a column ", el("input", { type: "search", input: narrow })));
  return [finder, list, more];
}

function columnCard(
  {
    name,
    data_type: type,
    null_share: empty,
    distinct,
    distinct_exact: exact,
    likely_key: isKey,
    patterns = [],
    min,
    max,
    frequent = [],
    profile_exact: profiled,
    narration,
    sensitive,
    withheld,
  },
  previews,
) {
  return el(
    "li",
    { class: "column" },
    el(
      "div",
      { class: "who" },
      el(
        "div",
        { class: "head" },
        el("h3", {}, data(name, { class: "column-name" })),
        el("span", { class: "type" }, isKey ? `${type}, likely key` : type),
      ),
      narration && el("p", { class: "narration", dir: "auto" }, narration),
    ),
    el(
      "dl",
      { class: "profile" },
      typeof empty === "number" &&
        el("div", {}, el("dt", {}, "Empty"), el("dd", {}, share(empty), empty > 0 && shareBar(empty))),
      typeof distinct === "number" &&
        el("div", {}, el("dt", {}, "Distinct"), el("dd", {}, exact ? number(distinct) : `about ${number(distinct)}`)),
      previews &&
        (min ?? max ?? null) !== null &&
        el(
          "div",
          {},
          el("dt", {}, "Range"),
          el("dd", { class: "range" }, min === max ? bound(min) : [bound(min), " to ", bound(max)]),
        ),
      previews &&
        patterns.length > 0 &&
        el("div", {}, el("dt", {}, "Looks like"), el("dd", { class: "range" }, data(patterns[0].pattern))),
      (sensitive || withheld) &&
        el(
          "div",
          {},
          el("dt", {}, "Privacy"),
          el("dd", {}, [sensitive && `sensitive (${sensitive})`, withheld && "values withheld"].filter(Boolean).join(", ")),
        ),
      profiled === false && el("div", {}, el("dt", {}, "Profile"), el("dd", {}, "of a part of the rows")),
    ),
    previews ? values(frequent, distinct) : null,
  );
}

const bound = (value) => (value === null || value === undefined ? "?" : valueText(value));

// Bars where some values are more frequent than others; where none is, a few examples.
function values(frequent, distinct) {
  if (!frequent.length) return el("div", { class: "values" });
  const most = Math.max(...frequent.map(({ count }) => count));
  if (most <= 1 && frequent.length > 1) {
    return el(
      "div",
      { class: "values" },
      el("p", { class: "faint" }, "For example"),
      el(
        "ul",
        { class: "examples" },
        frequent.slice(0, BARS).map(({ value }) => el("li", {}, valueText(value))),
      ),
    );
  }
  const bar = ({ value, count }) =>
    el(
      "li",
      {},
      el("span", { class: "value" }, valueText(value)),
      el("span", { class: "meter" }, shareBar(count / most)),
      el("span", { class: "numeric", title: counted(count, "row") }, number(count)),
    );
  const rest = frequent.slice(BARS);
  return el(
    "div",
    { class: "values" },
    el("ul", { class: "bars", "aria-label": "Most frequent values" }, frequent.slice(0, BARS).map(bar)),
    rest.length > 0 &&
      el(
        "details",
        {},
        el(
          "summary",
          {},
          `${number(rest.length)} more${typeof distinct === "number" && distinct > frequent.length ? ` of ${number(distinct)}` : ""}`,
        ),
        el("ul", { class: "bars" }, rest.map(bar)),
      ),
  );
}

function valueText(value) {
  if (value === "") return el("span", { class: "nothing-there" }, "empty text");
  return data(value.length > LONG_VALUE ? `${value.slice(0, LONG_VALUE)}…` : value, {
    title: value.length > 40 ? value.slice(0, 2000) : null,
  });
}
