// What changed in the lake: between the snapshot that is served and an older one, by what became of the tables.

import { address, data, el } from "./dom.js";
import { Failure } from "./api.js";
import { counted, number, time } from "./format.js";
import { folderLinks, split, tableAddress } from "./names.js";
import { emptiness, remark } from "./notice.js";

const PERIODS = [
  ["", "The last change"],
  ["1d", "24 hours"],
  ["7d", "7 days"],
  ["30d", "30 days"],
];
const LISTED = 200;
const SNAPSHOTS = 20;

/** The view at "/changes?since=7d" or "/changes?from=3&to=4". */
export async function changes(visit) {
  const { searchParams } = visit.address;
  const asked = { from: searchParams.get("from"), to: searchParams.get("to"), since: searchParams.get("since"), limit: LISTED };
  const [diff, { snapshots }] = await Promise.all([difference(visit, asked), visit.ask("/v1/snapshots")]);
  const published = (wanted) => time(snapshots.find(({ snapshot }) => snapshot === wanted)?.published);
  return {
    title: "Changes",
    announcement: diff ? `Changes: ${counted(total(diff.counts), "table")}` : "Changes",
    content: el(
      "div",
      { class: "changes-page" },
      el("h1", {}, "Changes"),
      periods(searchParams),
      diff
        ? [
            el(
              "p",
              { class: "faint" },
              diff.from === 0 ? "All that the first snapshot brought" : ["Since snapshot ", number(diff.from), published(diff.from) && [", ", published(diff.from)]],
              ", until ",
              published(diff.to) ?? `snapshot ${diff.to}`,
              ".",
            ),
            lists(diff),
          ]
        : remark(el("p", {}, "No older snapshot is kept to compare with. Snapshots are kept as long as limn gc leaves them.")),
      el("section", {}, el("h2", {}, "Snapshots"), timeline(snapshots, diff)),
    ),
  };
}

// A young index has nothing older: then all of it is new.
async function difference(visit, asked) {
  try {
    return await visit.ask("/v1/diff", asked);
  } catch (failure) {
    if (!(failure instanceof Failure) || failure.code !== "bad_request" || asked.from) throw failure;
    return null;
  }
}

const total = (counts) => counts.appeared + counts.renamed + counts.changed + counts.vanished;

function periods(searchParams) {
  const chosen = searchParams.get("from") ? null : (searchParams.get("since") ?? "");
  return el(
    "nav",
    { class: "periods", "aria-label": "Period" },
    el(
      "ul",
      {},
      PERIODS.map(([since, words]) =>
        el("li", {}, el("a", { href: address("/changes", { since }), "aria-current": chosen === since ? "true" : null }, words)),
      ),
    ),
  );
}

function lists({ counts, appeared, renamed, changed, vanished }) {
  if (!total(counts)) return emptiness("No table came, went or changed.");
  return [
    part("New", "appeared", counts.appeared, appeared.map((one) => item(one, replaced(one), rowsOf(one.rows_after)))),
    part("Changed", "changed", counts.changed, changed.map((one) => item(one, whatChanged(one)))),
    part(
      "Renamed",
      "renamed",
      counts.renamed,
      renamed.map(({ from, to, lake }) => item({ table: to, lake }, ["was ", data(from)])),
    ),
    part("Gone", "vanished", counts.vanished, vanished.map((one) => item(one, null, rowsOf(one.rows_before), true))),
  ];
}

function part(words, kind, count, items) {
  if (!count) return null;
  return el(
    "section",
    { class: `changes ${kind}` },
    el("h2", {}, words, el("span", { class: "count" }, ` ${number(count)}`)),
    el("ul", { class: "entries" }, items),
    count > items.length && el("p", { class: "faint" }, `and ${number(count - items.length)} more`),
  );
}

function item({ table, lake }, said, rows = "", removed = false) {
  const [folder, name] = split(table);
  return el(
    "li",
    {},
    removed ? data(name, { class: "strong" }) : el("a", { href: tableAddress({ table, lake }) }, data(name)),
    el("span", { class: "where" }, folderLinks(folder)),
    el("span", { class: "when" }, rows),
    said && el("span", { class: "what", dir: "auto" }, said),
  );
}

const rowsOf = (rows) => (typeof rows === "number" ? counted(rows, "row") : "");

// "in place of 42 tables: orders/data, …"
function replaced({ replaces = [] }) {
  const shown = replaces.slice(0, 3).join(", ");
  return replaces.length && `in place of ${counted(replaces.length, "table")}: ${shown}${replaces.length > 3 ? ", …" : ""}`;
}

// "rows 120 → 180, column price added"
function whatChanged(one) {
  const { rows_before: before, rows_after: after, columns = [], contexts_added: added, contexts_removed: removed, unreadable } = one;
  const known = (value) => (typeof value === "number" ? number(value) : "?");
  const words = columns.map(({ column, change, before: was, after: is }) =>
    change === "renamed" ? `column ${was} is now ${is}` : change === "retyped" ? `column ${column}: ${was} → ${is}` : `column ${column} ${change}`,
  );
  if (before !== after) words.unshift(`rows ${known(before)} → ${known(after)}`);
  else if (typeof after === "number") words.push("its files changed, the number of rows did not");
  if (added || removed) words.push(`descriptions: ${number(added)} new, ${number(removed)} removed`);
  if (unreadable === "") words.push("can be read again");
  else if (unreadable) words.push(`its newest version cannot be read: ${unreadable}`);
  if (replaced(one)) words.push(replaced(one));
  return words.join(" · ");
}

function timeline(snapshots, diff) {
  const line = ({ snapshot, published }) =>
    el(
      "li",
      { class: diff?.to === snapshot ? "current" : null },
      el("a", { href: address("/changes", { from: String(snapshot - 1), to: snapshot }) }, `Snapshot ${number(snapshot)}`),
      el("span", { class: "when" }, time(published) ?? ""),
    );
  const rest = snapshots.slice(SNAPSHOTS);
  return [
    el("ul", { class: "entries timeline" }, snapshots.slice(0, SNAPSHOTS).map(line)),
    rest.length > 0 &&
      el("details", {}, el("summary", {}, counted(rest.length, "older snapshot")), el("ul", { class: "entries timeline" }, rest.map(line))),
  ];
}
