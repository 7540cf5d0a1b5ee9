// The lake's tables as a list: with what each is, its rows, columns and age; filtered, in any order, families folded. What is
// chosen is kept in the address, and the list changes in its place: whoever types into a filter keeps typing.

import { address, announce, data, el } from "./dom.js";
import { asked, chips, filterRow } from "./filters.js";
import { compact, counted, number, rowCount, time } from "./format.js";
import { folderAddress, folderLine, folderName, formatName, holderOf, split, tableAddress, trail } from "./names.js";
import { emptiness, failureNotice } from "./notice.js";

const PAUSE_MS = 150;
const FOLDERS_SHOWN = 6;
const AT_ONCE = 100;
const COLUMNS_NAMED = 5;
// Heading, what the node sorts by, and whether the first press sorts the largest first.
const HEADINGS = [
  ["Table", "name", false],
  ["What it is", null, false],
  ["Rows", "rows", true],
  ["Columns", "columns", true],
  ["Changed", "modified", true],
];

/** The view at "/browse?prefix=…". */
export async function browse(visit) {
  const prefix = (visit.address.searchParams.get("prefix") ?? "").replace(/^\/+|\/+$/g, "");
  const [tree, listing] = await Promise.all([visit.ask("/v1/tree", { prefix }), list(visit, visit.address.searchParams)]);
  const name = folderName(prefix);
  const listed = el("div", { class: "listed" });
  const state = { searchParams: new URLSearchParams(visit.address.searchParams) };
  const shown = shower(visit, state, listed, prefix);
  shown.fill(listing);
  return {
    title: prefix ? prefix.slice(0, 120) : "The lake",
    announcement: `${prefix ? `Folder ${name.slice(0, 200)}` : "The lake"}: ${counted(tree.count, "table")}`,
    content: el(
      "div",
      { class: "browse-page" },
      prefix && trail(holderOf(prefix)),
      el("h1", {}, prefix ? data(name) : "The lake", el("span", { class: "count" }, ` ${counted(tree.count, "table")}`)),
      prefix && el("p", {}, el("a", { href: address("/", { prefix }) }, "Ask about this folder only")),
      folders(tree.folders),
      el(
        "label",
        { class: "find" },
        el("span", {}, "Find"),
        el("input", {
          type: "search",
          name: "find",
          placeholder: "a name, a column, a word of a description",
          value: state.searchParams.get("find") ?? "",
          maxlength: "200",
          spellcheck: "false",
          input: shown.typed,
        }),
      ),
      listed,
    ),
  };
}

function list(visit, searchParams, more = {}) {
  const sort = searchParams.get("sort") ?? "";
  return visit.ask("/v1/tables", {
    ...asked(searchParams),
    q: searchParams.get("find"),
    family: searchParams.get("family"),
    sort: sort.replace(/^-/, "") || null,
    descending: sort.startsWith("-") || null,
    fold: true,
    facets: true,
    limit: AT_ONCE,
    ...more,
  });
}

// What shows a listing in `place`, and asks for another when something else is chosen.
function shower(visit, state, place, prefix) {
  let timer = 0;
  let latest = 0;
  const fill = (listing) => place.replaceChildren(...view(listing));
  const change = async (values) => {
    for (const [name, value] of Object.entries(values)) {
      if (value) state.searchParams.set(name, value);
      else state.searchParams.delete(name);
    }
    // Another folder is another page.
    if ("prefix" in values) return visit.go(address("/browse", Object.fromEntries(state.searchParams)));
    visit.replace(here());
    const own = ++latest;
    try {
      const listing = await list(visit, state.searchParams);
      if (own !== latest) return;
      const focused = document.activeElement?.closest?.(".listed [name], .listed [data-sort]");
      const again = focused && (focused.name ? `.listed [name="${focused.name}"]` : `.listed [data-sort="${focused.dataset.sort}"]`);
      fill(listing);
      if (again) document.querySelector(again)?.focus();
      announce(counted(listing.count, "table"));
    } catch (failure) {
      if (!visit.signal.aborted && own === latest) place.replaceChildren(failureNotice(failure, () => change({}), "h2"));
    }
  };
  const here = () => address("/browse", Object.fromEntries(state.searchParams));
  const typed = (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => change({ find: event.target.value.trim() }), PAUSE_MS);
  };
  const view = (listing) => {
    // The folder is the page's own, and no filter of it.
    const filters = new URLSearchParams(state.searchParams);
    filters.delete("prefix");
    const visited = { pathname: "/browse", searchParams: filters };
    return [
      filterRow(state.searchParams, listing.facets, change),
      el("div", { class: "summary" }, el("h2", {}, counted(listing.count, "table")), chips(visited, { prefix }), familyChip(state.searchParams)),
      listing.count > 0 ? tableOf(visit, state, listing, change, prefix) : emptiness("No table fits these filters."),
    ].filter(Boolean);
  };
  return { fill, typed };
}

function familyChip(searchParams) {
  if (!searchParams.get("family")) return null;
  const { family, ...rest } = Object.fromEntries(searchParams);
  return el(
    "ul",
    { class: "chips" },
    el("li", {}, "one family", " ", el("a", { href: address("/browse", rest), "aria-label": "Without the filter: one family" }, "×")),
  );
}

// Folders, a line each: the first few, and the others on demand.
function folders(list) {
  if (!list.length) return null;
  const line = (folder) =>
    el(
      "li",
      {},
      el("a", { href: folderAddress(folder.path) }, data(folder.name)),
      el("span", { class: "when" }, counted(folder.tables, "table")),
      el("span", { class: "what", dir: "auto" }, folderLine(folder)),
    );
  const rest = list.slice(FOLDERS_SHOWN);
  return el(
    "nav",
    { class: "folder-list", "aria-label": "Folders" },
    el("ul", { class: "entries folders" }, list.slice(0, FOLDERS_SHOWN).map(line)),
    rest.length > 0 &&
      el(
        "details",
        {},
        el("summary", {}, `${counted(rest.length, "more folder")}`),
        el("ul", { class: "entries folders" }, rest.map(line)),
      ),
  );
}

function tableOf(visit, state, listing, change, prefix) {
  const sort = state.searchParams.get("sort") || "name";
  const body = el("tbody", {}, listing.tables.map((one) => line(visit, state, one, prefix)));
  const more = el("p", { class: "more-results" });
  const further = ({ next }) => {
    const press = async (event) => {
      event.target.disabled = true;
      try {
        const listed = await list(visit, state.searchParams, { after: next, facets: null });
        const rows = listed.tables.map((one) => line(visit, state, one, prefix));
        body.append(...rows);
        further(listed);
        rows[0]?.querySelector("a, button")?.focus();
      } catch (failure) {
        if (!visit.signal.aborted) more.replaceChildren(failureNotice(failure, () => further({ next }), "h2"));
      }
    };
    more.replaceChildren(...(next ? [el("button", { type: "button", click: press }, "Show more")] : []));
  };
  further(listing);
  const heading = ([words, by, largest]) => {
    if (!by) return el("th", { scope: "col" }, words);
    const isBy = sort.replace(/^-/, "") === by;
    const isDown = sort.startsWith("-");
    const next = isBy ? (isDown ? by : `-${by}`) : largest ? `-${by}` : by;
    return el(
      "th",
      {
        scope: "col",
        class: by === "rows" || by === "columns" ? "numeric" : null,
        "aria-sort": isBy ? (isDown ? "descending" : "ascending") : null,
      },
      el("button", { type: "button", class: "sort", "data-sort": by, click: () => change({ sort: next === "name" ? null : next }) }, words),
    );
  };
  return el(
    "div",
    {},
    el("table", { class: "tables" }, el("thead", {}, el("tr", {}, HEADINGS.map(heading))), body),
    more,
  );
}

function line(visit, state, one, prefix) {
  return one.family ? familyLine(visit, state, one, prefix) : tableLine(one, prefix);
}

function tableLine(one, prefix, member = false) {
  const [folder, name] = split(one.table);
  return row(
    {
      name: [
        el("a", { href: tableAddress(one) }, data(name)),
        one.error && el("strong", { class: "bad" }, " unreadable"),
        where(folder, prefix, formatName(one.format)),
      ],
      what: member ? "" : what(one),
      rows: one.rows,
      exact: one.rows_exact,
      columns: one.column_count,
      modified: one.modified,
    },
    member ? "member" : null,
  );
}

// The folder, as far as it isn't the one that is looked at.
const where = (folder, prefix, format) =>
  el(
    "span",
    { class: "where" },
    folder && folder !== prefix && [el("a", { href: folderAddress(folder) }, data(folder)), " · "],
    format,
  );

// Its description, or else the names of its columns.
function what({ description, columns = [], column_count: count }) {
  if (description) return el("span", { class: "said", dir: "auto", title: description }, description);
  if (!columns.length) return "";
  const names = columns.slice(0, COLUMNS_NAMED);
  return el("span", { class: "names" }, names.map((name, index) => [index > 0 && ", ", data(name)]), count > names.length && ", …");
}

// A family takes one line, which opens: its tables are asked for then.
function familyLine(visit, state, one, prefix) {
  const { family } = one;
  const [folder] = split(one.table);
  let members = [];
  const toggle = el(
    "button",
    { type: "button", class: "toggle", "aria-expanded": "false", click: () => open() },
    data(family.name),
    el("span", { class: "faint" }, ` ${counted(family.count, "table")}`),
  );
  const open = async (wanted = toggle.getAttribute("aria-expanded") === "false") => {
    toggle.setAttribute("aria-expanded", String(wanted));
    for (const member of members) member.remove();
    members = [];
    if (!wanted) return;
    try {
      const listed = await list(visit, state.searchParams, { family: family.id, facets: null, limit: 1000 });
      if (toggle.getAttribute("aria-expanded") === "false") return;
      members = listed.tables.map((member) => tableLine(member, folder, true));
    } catch (failure) {
      if (visit.signal.aborted) return;
      members = [el("tr", { class: "member" }, el("td", { colspan: "5" }, failureNotice(failure, () => open(true), "h3")))];
    }
    first.after(...members);
  };
  const first = row(
    {
      name: [toggle, where(folder, prefix, `${formatName(one.format)}, the same columns each`)],
      what: what(one),
      rows: family.rows,
      exact: family.rows_exact,
      columns: one.column_count,
      modified: family.modified,
    },
    "family",
  );
  return first;
}

function row({ name, what: said, rows, exact, columns, modified }, kind) {
  return el(
    "tr",
    { class: kind },
    el("th", { scope: "row" }, name),
    el("td", { class: "what" }, said),
    el("td", { class: "numeric", title: rowCount(rows, exact) }, typeof rows === "number" ? `${exact ? "" : "~"}${rows < 100_000 ? number(rows) : compact(rows)}` : "–"),
    el("td", { class: "numeric" }, typeof columns === "number" ? number(columns) : "–"),
    el("td", { class: "when" }, time(modified) ?? "–"),
  );
}
