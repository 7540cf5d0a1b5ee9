// The steps of an answer as they come: the tables that were found, what a model will be asked, and each stage.

import { announce, data, el } from "./dom.js";
import { counted, number, took } from "./format.js";
import { tableAddress } from "./names.js";
import { operationOf } from "./plan.js";

/** A list of steps, and what adds to it. `written` says whether there is a plan already. */
export function stepList({ written }) {
  const list = el("ol", { class: "steps" });
  let last = null;
  const add = (...words) => {
    finish();
    last = el("li", { class: "going" }, words);
    list.append(last);
  };
  const finish = (...words) => {
    last?.classList.remove("going");
    last?.append(...words);
    last = null;
  };
  const on = {
    tables_found: ({ tables }) => {
      const links = tables.map((table, at) => [at > 0 && ", ", el("a", { href: tableAddress({ table }) }, data(table))]);
      finish();
      list.append(el("li", {}, tables.length ? ["Tables: ", links] : "No table was found."));
      add("Writing a plan");
      announce(`${counted(tables.length, "table")} found`);
    },
    told: ({ told: estimate }) => {
      if (estimate.calls + estimate.kept === 0) return;
      finish();
      list.append(el("li", {}, `A model is asked: ${expected(estimate)}`));
    },
    stage_started: ({ stage, operation, at, of }) => {
      add(`Stage ${number(at)} of ${number(of)}: `, data(stage, { class: "column-name" }), `, ${operationOf(operation)}`);
      announce(`Stage ${number(at)} of ${number(of)}`);
    },
    stage_finished: ({ rows, seconds }) => finish(el("span", { class: "faint" }, ` · ${counted(rows, "row")} · ${took(seconds * 1000)}`)),
  };
  add(written ? "Checking the plan" : "Looking for tables");
  // A step that this page does not know says nothing here.
  return { list, hear: (step) => on[step.event]?.(step) };
}

/** "12 questions, about 4,000 tokens; 3 more are kept from before" */
export function expected({ calls, kept, prompt_tokens: read, generated_tokens: written, guessed = [] }) {
  const kind = guessed.length ? "about " : "";
  const tokens = calls > 0 ? `, at most ${counted(read + written, "token")}` : "";
  return `${kind}${counted(calls, "question")}${tokens}${kept > 0 ? `; ${number(kept)} kept from before` : ""}`;
}
