// What this node serves: the snapshot, its size, what the last run could not read, and what the caller may do.

import { data, el } from "./dom.js";
import { counted, duration, number, size, time } from "./format.js";
import { emptiness } from "./notice.js";

const RIGHTS = {
  search: "search, and see names, types and texts",
  rows: "see row values",
  ask: "have questions answered from rows",
  describe: "write descriptions of tables",
  admin: "administer the node",
};

/** The view at "/status". */
export async function status(visit) {
  const answer = await visit.ask("/v1/status");
  const failures = answer.failures ?? [];
  return {
    title: "Status",
    announcement: "Status",
    content: el(
      "div",
      { class: "status-page" },
      el("h1", {}, "Status"),
      figures(answer),
      el(
        "section",
        {},
        el(
          "h2",
          {},
          "Could not be read ",
          el("span", { class: "count" }, number(answer.failure_count ?? failures.length)),
        ),
        failureList(failures, answer.failure_count),
      ),
      el("section", {}, el("h2", {}, "Your rights"), rights(answer)),
      el("section", {}, el("h2", {}, "This node"), node(answer)),
    ),
  };
}

function figures({ snapshot, published, tables, columns, segments, index_bytes: bytes }) {
  const figure = (name, value, detail) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value, detail && el("span", { class: "faint" }, detail)));
  return el(
    "dl",
    { class: "figures" },
    figure("Snapshot", number(snapshot), time(published) && ["published ", time(published)]),
    figure("Tables", number(tables)),
    figure("Columns", number(columns)),
    figure("Index", size(bytes), counted(segments, "segment")),
  );
}

function failureList(failures, count) {
  if (!failures.length) return el("p", { class: "good" }, "Every table was read.");
  const failure = ({ table, object, error, remedy }) =>
    el(
      "li",
      {},
      el(
        "p",
        {},
        data(table || object, { class: "strong" }),
        table && object && object !== table && el("span", { class: "faint" }, " ", data(object)),
      ),
      el("p", { class: "bad", dir: "auto" }, error),
      remedy && el("p", { dir: "auto" }, el("span", { class: "faint" }, "What to do: "), data(remedy)),
    );
  return [
    el("ul", { class: "failures" }, failures.map(failure)),
    count > failures.length && el("p", { class: "faint" }, `and ${counted(count - failures.length, "more failure")}`),
  ];
}

function rights({ rights: given = [], prefixes }) {
  return [
    given.length
      ? el(
          "ul",
          {},
          given.map((right) => el("li", {}, el("strong", {}, right), RIGHTS[right] ? `: ${RIGHTS[right]}` : "")),
        )
      : emptiness("None: enter a key."),
    prefixes === null || prefixes === undefined
      ? el("p", { class: "faint" }, "In the whole lake.")
      : el(
          "p",
          {},
          "Only in ",
          prefixes.map((prefix, index) => [index > 0 && ", ", el("code", {}, data(prefix))]),
        ),
  ];
}

function node({ version, uptime_s: uptime, opened, embedder, judge }) {
  const rows = [
    ["Version", version],
    ["Running for", typeof uptime === "number" ? duration(uptime) : null],
    ["Snapshot opened", time(opened)],
    ["Embedder", embedder && el("code", {}, embedder)],
    ["Judge", judge ? el("code", {}, judge.model) : "none"],
  ].filter(([, value]) => value);
  return el(
    "dl",
    { class: "pairs" },
    rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}
