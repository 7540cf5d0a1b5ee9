// A plan as a picture: its stages as cards, each after those that it reads, with what it does and the first of its rows.

import { data, el } from "./dom.js";
import { counted, number, share, took } from "./format.js";
import { tableAddress } from "./names.js";
import { columnsOf } from "./rows.js";
import { sampleTable } from "./sample.js";

const OPERATIONS = {
  sql: "SQL",
  sem_filter: "keeps rows of which this is true",
  sem_map: "adds a column",
  sem_extract: "adds columns",
  sem_topk: "keeps the first rows",
  sem_agg: "writes one text of many rows",
  sem_join: "pairs rows of which this is true",
  sem_fact: "adds what no row holds",
};

/** What an operation does, in words. */
export const operationOf = (operation) => OPERATIONS[operation] ?? operation;

/** A stage's operation, its name and what is said of it: `["sql", {…}]`. */
export function workOf(stage) {
  return Object.entries(stage).find(([name]) => name === "sql" || name.startsWith("sem_")) ?? ["", {}];
}

/** The stages, each after its inputs. A circle, which no plan that ran has, is cut somewhere. */
export function inOrder({ stages }) {
  const named = new Map(stages.map((stage) => [stage.name, stage]));
  const order = [];
  const seen = new Set();
  const visit = (stage) => {
    if (!stage || seen.has(stage.name)) return;
    seen.add(stage.name);
    for (const { stage: name } of inputsOf(stage)) if (name) visit(named.get(name));
    order.push(stage);
  };
  stages.forEach(visit);
  return order;
}

// What a stage reads: `{ table, lake }` or `{ stage }`, each with the name that the statement gives it.
function inputsOf(stage) {
  const [operation, work] = workOf(stage);
  if (operation === "sql") return Object.entries(work.inputs ?? {}).map(([as, source]) => ({ as, ...source }));
  return [work.input, work.left, work.right].filter(Boolean).map((name) => ({ as: name, stage: name }));
}

/** The cards of a plan. `ran` has what came out of its stages, as far as they ran; `judged` what a model decided. */
export function planPicture(plan, { ran = [], judged = [] }) {
  const stages = inOrder(plan);
  const place = new Map(stages.map(({ name }, at) => [name, at + 1]));
  const context = { place, answer: plan.answer, ran: new Map(ran.map((it) => [it.stage, it])), judged: Map.groupBy(judged, ({ stage }) => stage) };
  return el("ol", { class: "plan" }, stages.map((stage) => card(stage, context)));
}

function card(stage, { place, answer, ran, judged }) {
  const [operation, work] = workOf(stage);
  const said = judged.get(stage.name) ?? [];
  return el(
    "li",
    { class: stage.name === answer ? "stage last" : "stage", id: idOf(place.get(stage.name)) },
    el(
      "header",
      {},
      el("h3", {}, el("span", { class: "count" }, `${number(place.get(stage.name))} `), data(stage.name, { class: "column-name" })),
      el("span", { class: "faint" }, operationOf(operation)),
      asksModel(operation, work) && el("span", { class: "tag" }, "model-judged"),
      stage.name === answer && el("span", { class: "tag" }, "the answer"),
    ),
    inputs(inputsOf(stage), place),
    work.statement && el("pre", { class: "statement", tabindex: "0", dir: "auto" }, work.statement),
    work.instruction && el("p", { class: "instruction", dir: "auto" }, instruction(work.instruction)),
    details(operation, work).map((words) => el("p", { class: "faint" }, words)),
    said.map(sureness).map((facts) => facts.length > 0 && el("p", { class: "faint" }, "The model: ", facts)),
    rowsOf(ran.get(stage.name)),
  );
}

const idOf = (at) => `stage-${at}`;
const asksModel = (operation, { values }) => operation.startsWith("sem_") && !values;

function inputs(list, place) {
  if (!list.length) return null;
  return el(
    "ul",
    { class: "inputs", "aria-label": "Reads" },
    list.map(({ as, table, lake, stage }) =>
      el(
        "li",
        {},
        table
          ? el("a", { href: tableAddress({ table, lake }) }, data(table))
          : el("a", { href: `#${idOf(place.get(stage))}` }, `stage ${place.has(stage) ? number(place.get(stage)) : "?"}: `, data(stage)),
        as !== table && as !== stage && el("span", { class: "faint" }, " as ", data(as)),
      ),
    ),
  );
}

// Columns stand in braces; a brace that is none is written twice.
function instruction(text) {
  const pieces = [];
  let from = 0;
  for (const found of text.matchAll(/\{\{|\}\}|\{([^{}]+)\}/g)) {
    pieces.push(text.slice(from, found.index), found[1] ? data(found[1].trim(), { class: "column-name named" }) : found[0][0]);
    from = found.index + found[0].length;
  }
  return [...pieces, text.slice(from)];
}

// What else is said of a stage, a line each.
function details(operation, work) {
  const columns = [work.output, ...(work.outputs ?? [])].filter((it) => it?.name);
  const { threshold, cascade, k, group_by: groups = [], candidates, values } = work;
  return [
    columns.length > 0 && ["Writes ", columns.map(written)],
    typeof work.output === "string" && ["Writes ", data(work.output, { class: "column-name" })],
    typeof k === "number" && ["The first ", number(k), groups.length > 0 && " of each group"],
    groups.length > 0 && ["Groups by ", groups.map((name, at) => [at > 0 && ", ", data(name, { class: "column-name" })])],
    typeof threshold === "number" && `Keeps what the model is at least ${share(threshold)} sure of`,
    cascade && `A score decides the clear rows: ${share(cascade.recall)} recall, ${share(cascade.precision)} precision`,
    operation === "sem_join" && `${number(candidates ?? 20)} likeliest rows are judged for each row of the left`,
    values && ["Given: ", data(values.join(", "))],
  ].filter(Boolean);
}

function written({ name, type = "text", one_of: choices = [], pattern }, at) {
  return [
    at > 0 && "; ",
    data(name, { class: "column-name" }),
    ` (${type})`,
    choices.length > 0 && [", one of ", data(choices.join(", "))],
    pattern && [" like ", data(pattern, { class: "column-name" })],
  ];
}

/** What is known of a model's decisions in a stage: which column it wrote, how sure it was, and what failed. */
export function sureness({ column, sure, failed }) {
  const facts = [
    column && data(column, { class: "column-name" }),
    typeof sure === "number" && `${share(sure)} sure on average`,
    failed > 0 && `${counted(failed, "answer")} failed`,
  ].filter(Boolean);
  return facts.map((fact, at) => [at > 0 && " · ", fact]);
}

function rowsOf(ran) {
  if (!ran) return null;
  const { first_rows: rows, row_count: count, seconds } = ran;
  const words = `${counted(count, "row")} · ${took(seconds * 1000)}`;
  if (!rows.length) return el("p", { class: "faint" }, words);
  return el(
    "details",
    { class: "rows" },
    el("summary", {}, words),
    sampleTable(columnsOf(ran), rows, { label: `First rows of ${ran.stage}` }),
    count > rows.length && el("p", { class: "faint" }, `The first ${number(rows.length)}.`),
  );
}
