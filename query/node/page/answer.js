// The answer to a question, from rows: its steps while it is made; then the answer in words, its rows and those behind it,
// the tables, the plan, and what it took. The plan can be changed and run again. All of it is the node's text: data.

import { follow } from "./api.js";
import { address, announce, data, el } from "./dom.js";
import { planEditor } from "./edit.js";
import { chips } from "./filters.js";
import { counted, number, sentence, took } from "./format.js";
import { tableAddress } from "./names.js";
import { failureNotice, remark } from "./notice.js";
import { planPicture, sureness } from "./plan.js";
import { copyButton } from "./query.js";
import { columnsOf } from "./rows.js";
import { sampleTable } from "./sample.js";
import { noteList } from "./search.js";
import { expected, stepList } from "./steps.js";

const VERSION_SHOWN = 12;

/** The view at "/" with `ask=1`. It is there at once; what it shows comes step by step. */
export function answer(visit) {
  const { searchParams } = visit.address;
  const [q, prefix] = [searchParams.get("q").trim(), searchParams.get("prefix")];
  const top = el("div", { class: "answered" });
  const below = el("div", { class: "answer" });
  const run = runner(visit, (got) => {
    top.replaceChildren();
    below.replaceChildren(...shown(got, further(visit, q), (plan, place) => run({ q, plan }, place)));
    announce(got.answer ?? "No answer");
  });
  run(prefix ? { q, prefix } : { q }, top, visit.returning);
  return {
    title: q.slice(0, 80),
    content: el(
      "div",
      { class: "answer-page" },
      el(
        "div",
        { class: "summary" },
        el("h1", { tabindex: "-1" }, "Answer"),
        el("a", { class: "mode", href: address("/", { q, prefix }) }, "Tables for this question"),
        chips(visit.address),
      ),
      top,
      below,
    ),
  };
}

// Runs what is asked, one at a time: its steps are shown in a place, and what goes wrong; `done` gets the answer.
function runner(visit, done) {
  let running = null;
  const run = async (body, place, remembered = false) => {
    running?.abort();
    const own = (running = new AbortController());
    const signal = AbortSignal.any([visit.signal, own.signal]);
    const { list, hear } = stepList({ written: Boolean(body.plan) });
    const stop = el("button", { type: "button", class: "small", click: () => own.abort() }, "Stop");
    place.replaceChildren(el("div", { class: "under-way" }, list, el("p", { class: "buttons" }, stop)));
    place.setAttribute("aria-busy", "true");
    announce("Looking for an answer…");
    let got = null;
    try {
      got = await follow("/v1/ask", body, { signal, remembered, on: hear });
    } catch (failure) {
      if (visit.signal.aborted) return;
      const again = () => run(body, place);
      // Another run has taken the place of this one, which may not paint over it.
      if (running === own) place.replaceChildren(own.signal.aborted ? stopped(list, again) : failureNotice(failure, again, "h2"));
    }
    if (running !== own) return;
    place.setAttribute("aria-busy", "false");
    const again = place.querySelector("button");
    if (!got) return again?.focus();
    const hadFocus = place.contains(document.activeElement) || body.plan;
    done(got);
    if (hadFocus) toTop();
  };
  return run;
}

// Whoever sent a plan from below is led to the answer, which is above.
function toTop() {
  const heading = document.querySelector(".answer-page h1");
  heading?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function stopped(steps, again) {
  announce("Stopped");
  return remark(
    el("p", {}, "Stopped. The node works on it no more."),
    steps,
    el("p", { class: "buttons" }, el("button", { type: "button", class: "main", click: again }, "Ask again")),
  );
}

// What is asked further is one question with what was asked: the address has all of it, and what did not change is kept.
function further({ address: { searchParams }, go }, q) {
  const input = el("input", { name: "further", maxlength: "1000", required: true, placeholder: "only those of 2024", "aria-label": "Ask further", autocomplete: "off", enterkeyhint: "go" });
  return el(
    "form",
    {
      class: "further",
      submit: (event) => {
        event.preventDefault();
        const more = input.value.trim();
        if (more) go(address("/", { q: `${q.replace(/[\s?.!]+$/, "")}, ${more}`, prefix: searchParams.get("prefix"), ask: "1" }));
      },
    },
    input,
    el("button", { type: "submit", class: "small" }, "Ask further"),
  );
}

function shown(got, onwards, rerun) {
  const { answer: words, plan, notes, tables, citations, stages, model_judged: judged, cost } = got;
  if (words === null || words === undefined) return unanswered(got);
  const parts = [
    el("p", { class: "said", dir: "auto" }, words),
    judged.length > 0 && judgement(judged),
    got.is_partial && el("p", { class: "bad" }, "Rows are missing: files could not be read."),
    answerRows(got),
    onwards,
    notes.length > 0 && remark(noteList(notes)),
    citations.length > 0 && section("The rows behind it", citations.map(cited)),
    tables.length > 0 && section("Tables", el("ul", { class: "partners" }, tables.map(table))),
    plan && section("Plan", planPicture(plan, { ran: stages, judged }), planEditor(plan, rerun)),
    spent(cost),
  ];
  return parts.filter(Boolean);
}

const section = (title, ...content) => el("section", {}, el("h2", {}, title), content);

// Where no statement could be written: why, and what was looked at, are among the notes.
function unanswered({ notes, cost }) {
  return [
    el("p", { class: "said" }, "No answer."),
    el("div", { class: "notice nothing" }, noteList(notes), el("p", {}, "Say it in other words, or look through the tables for this question.")),
    spent(cost),
  ];
}

function judgement(judged) {
  return el(
    "ul",
    { class: "judged" },
    judged.map((it) => {
      const facts = sureness(it);
      const stage = data(it.stage, { class: "column-name" });
      return el("li", {}, el("span", { class: "tag" }, "model-judged"), " stage ", stage, facts.length > 0 && ": ", facts);
    }),
  );
}

// One value is in the answer's words already.
function answerRows(got) {
  const { rows, columns, truncated } = got;
  if (!rows.length || (rows.length === 1 && columns.length === 1)) return null;
  const count = truncated ? `The first ${counted(rows.length, "row")}.` : `${counted(rows.length, "row")}.`;
  return el(
    "div",
    {},
    sampleTable(columnsOf(got), rows, { label: "Answer" }),
    el("p", { class: "pager" }, el("span", { class: "faint" }, count), copyButton(got)),
  );
}

// Rows that a model cites have numbers, as its text names them; those behind a count or a sum are the first of them.
function cited(citation) {
  const { stage, kind, rows, values } = citation;
  const isCited = kind === "cited";
  const columns = columnsOf(citation);
  return [
    el("p", { class: "faint" }, isCited ? "Rows of stage " : `The first ${counted(values.length, "row")} of which the rows of stage `, data(stage, { class: "column-name" }), isCited ? " that the model cites." : " are made."),
    isCited
      ? sampleTable([{ name: "row", data_type: "integer" }, ...columns], values.map((row, at) => [rows[at], ...row]), { label: "Cited rows" })
      : sampleTable(columns, values, { label: "Rows behind the answer" }),
  ];
}

function table({ table: name, lake, snapshot, version, files }) {
  return el(
    "li",
    {},
    el("a", { href: tableAddress({ table: name, lake }) }, data(name)),
    el("span", { class: "faint" }, ` · ${counted(files, "file")} · snapshot ${number(snapshot)} · version `, el("code", { title: version }, version.slice(0, VERSION_SHOWN))),
  );
}

// Time and tokens.
function spent({ told: estimate, spent: run, writing, seconds }) {
  const asked = ({ calls, kept, prompt_tokens: read, generated_tokens: written }) =>
    `${counted(calls, "question")} to a model, ${number(kept)} kept from before; ${counted(read, "token")} read, ${number(written)} written`;
  const lines = [
    ["Time", took(seconds * 1000)],
    ["To write the plan", asked(writing)],
    ["To run it", asked(run)],
    ["Expected to run it", sentence(expected(estimate))],
  ];
  return el(
    "details",
    { class: "spent" },
    el("summary", {}, `What it took: ${took(seconds * 1000)}`),
    el("dl", { class: "pairs" }, lines.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
  );
}
