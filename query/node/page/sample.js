// Rows as a table that scrolls by itself, its header always visible: sampled ones, those of a page,
// those of an answer. Long cells are cut, and open by a press.

import { data, el, visible } from "./dom.js";

const LONG_CELL = 160;
const LONG_NAME = 60;
const MOST = 20_000;
const COLUMNS_SHOWN = 200;

/** The rows, in the order of `columns`. `sorting` says of a column how it is sorted (`ascending`, `descending` or null), and sorts by it. */
export function sampleTable(columns, rows, { label = "Sample rows", sorting = null } = {}) {
  const shown = columns.slice(0, COLUMNS_SHOWN);
  return el(
    "div",
    { class: "scroll sample", tabindex: "0", role: "region", "aria-label": label },
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          shown.map(({ name, data_type: type }) =>
            el(
              "th",
              { scope: "col", class: isNumeric(type) ? "numeric" : "", "aria-sort": sorting?.of(name) ?? null },
              el(
                "div",
                { class: "cell" },
                sorting
                  ? el("button", { type: "button", class: "sort", click: () => sorting.by(name) }, cut(name, LONG_NAME))
                  : cell(name, LONG_NAME),
                el("span", { class: "type" }, type),
              ),
            ),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            shown.map(({ data_type: type }, index) =>
              el("td", { class: isNumeric(type) ? "numeric" : "" }, el("div", { class: "cell" }, content(row[index]))),
            ),
          ),
        ),
      ),
    ),
  );
}

const isNumeric = (type) => type === "integer" || type === "float" || type === "decimal";

const cut = (text, long) => data(text.length > long ? `${text.slice(0, long)}…` : text);

function content(value) {
  if (value === null || value === undefined) return el("span", { class: "nothing-there" }, "null");
  if (value === "") return el("span", { class: "nothing-there" }, "empty");
  return cell(typeof value === "object" ? JSON.stringify(value) : String(value));
}

function cell(text, long = LONG_CELL) {
  if (text.length <= long) return data(text);
  const body = data(`${text.slice(0, long)}… `);
  const open = () => {
    body.textContent = visible(text.length > MOST ? `${text.slice(0, MOST)}…` : text);
    more.remove();
    body.tabIndex = -1;
    body.focus();
  };
  const more = el(
    "button",
    { type: "button", class: "more", click: open },
    `all ${text.length.toLocaleString("en")} characters`,
  );
  return [body, more];
}
