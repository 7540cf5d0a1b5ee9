// The lake as a tree of folders with the number of tables in each. A folder opens in place or, by its name, as a page
// of its own. The arrow keys walk as in any tree: down, up, right to open, left to close or to go to the folder above.

import { address, data, el, tell, unseen } from "./dom.js";
import { compact, counted, number, rowCount, time } from "./format.js";
import { folderAddress, formatName, split, tableAddress, trail } from "./names.js";
import { emptiness, failureNotice } from "./notice.js";

/** The view at "/browse?prefix=…". */
export async function browse(visit) {
  const prefix = (visit.address.searchParams.get("prefix") ?? "").replace(/^\/+|\/+$/g, "");
  const answer = await visit.ask("/v1/tree", { prefix });
  const [above, name] = split(prefix);
  return {
    title: prefix ? prefix.slice(0, 120) : "The lake",
    told: `${prefix ? `Folder ${name.slice(0, 200)}` : "The lake"}: ${counted(answer.count, "table")}`,
    content: el(
      "div",
      { class: "browse-page" },
      prefix && trail(above),
      el(
        "h1",
        {},
        prefix ? data(name) : "The lake",
        el("span", { class: "count" }, ` ${counted(answer.count, "table")}`),
      ),
      prefix &&
        el("p", {}, el("a", { href: address("/", { q: "", prefix }), click: askHere }, "Ask about this folder only")),
      el("div", { class: "tree", keydown: walk }, level(visit, prefix, answer)),
    ),
  };
}

// The box gets the folder as its filter; the question is still to be typed.
function askHere(event) {
  event.preventDefault();
  const prefix = new URL(event.currentTarget.href).searchParams.get("prefix");
  document.querySelector("#filters").open = true;
  document.querySelector("#filters [name=prefix]").value = prefix;
  document.getElementById("q").focus();
  tell(`Your question will be asked of ${prefix}`);
}

function level(visit, prefix, { folders = [], tables = [], next }) {
  if (!folders.length && !tables.length) return emptiness("Nothing is here.");
  return [
    el(
      "ul",
      {},
      folders.map((folder) => folderItem(visit, folder)),
      tables.map(tableItem),
    ),
    next && further(visit, prefix, next),
  ];
}

// A button in whose place comes what is after it.
function further(visit, prefix, after) {
  const place = el("div", { class: "further" });
  const button = el("button", { type: "button", class: "quiet", click: () => more() }, "Show more");
  const more = async () => {
    button.disabled = true;
    try {
      const answer = await visit.ask("/v1/tree", { prefix, after });
      place.replaceChildren(...level(visit, prefix, answer).filter(Boolean));
      place.querySelector(".row a")?.focus();
    } catch (failure) {
      if (!visit.signal.aborted) place.replaceChildren(failureNotice(failure, more, "h2"));
    }
  };
  place.append(button);
  return place;
}

function folderItem(visit, { name, path, tables }) {
  const inside = el("div", { class: "inside", hidden: true });
  const toggle = el(
    "button",
    { type: "button", class: "toggle", "aria-expanded": "false", click: () => open() },
    unseen("Open "),
    unseen(name),
  );
  let asked = false;
  const open = async (wanted = toggle.getAttribute("aria-expanded") === "false") => {
    toggle.setAttribute("aria-expanded", String(wanted));
    inside.hidden = !wanted;
    if (!wanted || asked) return;
    asked = true;
    inside.replaceChildren(emptiness("Looking…"));
    try {
      inside.replaceChildren(...[level(visit, path, await visit.ask("/v1/tree", { prefix: path }))].flat().filter(Boolean));
    } catch (failure) {
      asked = false;
      if (!visit.signal.aborted) inside.replaceChildren(failureNotice(failure, () => open(true), "h2"));
    }
  };
  return el(
    "li",
    {},
    el(
      "div",
      { class: "row folder" },
      toggle,
      el("a", { href: folderAddress(path) }, data(name)),
      el("span", { class: "count" }, number(tables), unseen(tables === 1 ? " table" : " tables")),
    ),
    inside,
  );
}

function tableItem({ table, lake, format, rows, rows_exact: exact, column_count: columns, modified, error }) {
  const [, name] = split(table);
  return el(
    "li",
    {},
    el(
      "div",
      { class: "row table" },
      el("a", { href: tableAddress({ table, lake }) }, data(name)),
      error && el("strong", { class: "bad" }, "unreadable"),
      el(
        "span",
        { class: "faint" },
        el("span", {}, formatName(format)),
        el(
          "span",
          { title: rowCount(rows, exact) },
          typeof rows === "number" ? `${compact(rows)} ${rows === 1 ? "row" : "rows"}` : "",
        ),
        el("span", {}, typeof columns === "number" ? counted(columns, "column") : ""),
        el("span", {}, time(modified) ?? ""),
      ),
    ),
  );
}

function walk(event) {
  const row = event.target.closest(".row");
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...event.currentTarget.querySelectorAll(".row")].filter((other) => other.offsetParent !== null);
  const toggle = row.querySelector(".toggle");
  const isOpen = toggle?.getAttribute("aria-expanded") === "true";
  const at = rows.indexOf(row);
  const focus = (other) => other?.querySelector("a").focus();
  if (event.key === "ArrowDown") focus(rows[at + 1]);
  else if (event.key === "ArrowUp") focus(rows[at - 1]);
  else if (event.key === "Home") focus(rows[0]);
  else if (event.key === "End") focus(rows.at(-1));
  else if (event.key === "ArrowRight" && toggle && !isOpen) toggle.click();
  else if (event.key === "ArrowRight" && isOpen) focus(rows[at + 1]);
  else if (event.key === "ArrowLeft" && isOpen) toggle.click();
  else if (event.key === "ArrowLeft") focus(row.closest("li").parentElement.closest("li")?.querySelector(".row"));
  else return;
  event.preventDefault();
}
