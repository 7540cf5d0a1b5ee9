// How tables join: those of a set as a small diagram with the statement that joins them, and the partners of one table.

import { address, data, el, unseen } from "./dom.js";
import { counted, sentence, share } from "./format.js";
import { tableAddress, titleOf } from "./names.js";
import { emptiness, remark } from "./notice.js";
import { queryBox } from "./query.js";

/** The plan of an answer's set: its tables as cards, columns on the edges between them, and SQL, run by a press where
    the node reads rows. */
export function joinPlan(visit, { plan, results }, runs) {
  const { joins, sql, warnings, disconnected } = plan;
  const tables = new Map(results.map(({ table, lake }) => [keyOf({ table, lake }), { table, lake }]));
  const [first] = results;
  return el(
    "section",
    { class: "joined", "aria-labelledby": "joined-heading" },
    el("h2", { id: "joined-heading" }, joins.length ? "How they join" : "One table by itself"),
    el(
      "div",
      { class: "joined-parts" },
      el("ul", { class: "join-tree" }, first && branch(keyOf(first), null, joins, tables, new Set())),
      el("div", {}, runs ? queryBox(visit, { lake: first?.lake, sql }) : el("pre", { class: "statement", tabindex: "0" }, sql)),
    ),
    disconnected.length > 0 && el("p", { class: "faint" }, "Nothing connects ", disconnected.map((name, at) => [at > 0 && ", ", data(name)]), "."),
    warnings.length > 0 && remark(el("ul", { class: "notes" }, warnings.map((warning) => el("li", { dir: "auto" }, sentence(warning))))),
  );
}

const keyOf = ({ table, lake }) => `${lake}\n${table}`;

// A table with those that are joined to it, each below the columns that join it. A plan is a tree; what is on the way
// already is not visited again all the same.
function branch(key, edge, joins, tables, seen) {
  seen.add(key);
  const { table, lake } = tables.get(key) ?? { table: key.split("\n")[1], lake: key.split("\n")[0] };
  const next = joins.flatMap((join) => {
    const [left, right] = [keyOf(join.left), keyOf(join.right)];
    const other = left === key ? right : right === key ? left : null;
    return other === null || seen.has(other) ? [] : [[other, join, left === key]];
  });
  return el(
    "li",
    {},
    edge,
    el("a", { class: "join-card", href: tableAddress({ table, lake }), title: table }, data(titleOf(table))),
    next.length > 0 && el("ul", {}, next.map(([other, join, forward]) => branch(other, edgeOf(join, forward), joins, tables, seen))),
  );
}

// The columns of an edge, those of the table above first.
function edgeOf({ left, right, more = [], cardinality, evidence }, forward) {
  const pairs = [[left.column, right.column], ...more].map((pair) => (forward ? pair : [...pair].reverse()));
  const rows = forward ? cardinality : [...cardinality].reverse().join("");
  return el(
    "p",
    { class: "join-edge", title: evidence },
    pairs.map(([here, there], at) => [at > 0 && ", ", data(here), " = ", data(there)]),
    cardinality !== "unknown" && [" ", el("span", { class: "faint" }, rows, unseen(" rows"))],
  );
}

/** The link between both ways of answering a question: tables one by one, and tables that join. */
export function modeLink(searchParams) {
  const isSet = searchParams.get("mode") === "set";
  const { k, mode, ...kept } = Object.fromEntries(searchParams);
  const href = address("/", isSet ? kept : { ...kept, mode: "set" });
  return el("a", { class: "mode", href }, isSet ? "Tables one by one" : "Tables that join");
}

const RELATIONS = {
  join: { refers_to: "refers to", referred_by: "referred to by", neither: "joins" },
  copy: { neither: "a copy of" },
  subset: { refers_to: "a part of", referred_by: "holds", neither: "a part of" },
  union: { neither: "goes on in" },
};

/** What a table joins with, its copies, parts and unions. */
export function partners({ partners: all, lake, notes }) {
  const said = notes.map((note) => el("p", { class: "faint", dir: "auto" }, sentence(note)));
  if (!all.length) return [emptiness("Nothing is known to join it."), ...said];
  return [
    el(
      "ul",
      { class: "partners" },
      all.map((it) =>
        el(
          "li",
          {},
          el("span", { class: "faint" }, RELATIONS[it.kind]?.[it.direction] ?? it.kind, " "),
          el("a", { href: tableAddress({ table: it.partner, lake }) }, data(it.partner)),
          it.columns.length > 0 && [" on ", it.columns.map((column, at) => [at > 0 && ", ", data(column), " = ", data(it.partner_columns[at] ?? "")])],
          el("span", { class: "faint" }, [it.cardinality && ` · ${it.cardinality}`, held(it), ` · ${it.evidence}`].filter(Boolean).join("")),
        ),
      ),
    ),
    ...said,
  ];
}

const held = ({ kind, containment }) => (kind === "join" && containment > 0 ? ` · ${share(containment)} of its values are there` : null);

/** "3 tables that join", or the table alone. */
export const setSummary = (count) => (count > 1 ? `${counted(count, "table")}, together` : counted(count, "table"));
