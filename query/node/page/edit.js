// A plan that is changed and run again: the statements and sentences of its stages one by one, or all of it as JSON. The
// node keeps what a model has answered: only what changed is asked again.

import { el, data } from "./dom.js";
import { inOrder, operationOf, workOf } from "./plan.js";

const MOST = 32_768;
const MOST_PLAN = 1_000_000;
const LINES = 14;

/** The forms. `run` is given the plan and the place for its steps, and for what goes wrong. */
export function planEditor(plan, run) {
  return el(
    "details",
    { class: "edit" },
    el("summary", {}, "Change the plan and run it again"),
    stageForm(plan, run),
    el("details", {}, el("summary", {}, "The plan as JSON"), jsonForm(plan, run)),
  );
}

function stageForm(plan, run) {
  const place = el("div", { class: "answered" });
  const edited = inOrder(plan).flatMap((stage) => {
    const [operation, work] = workOf(stage);
    const part = ["statement", "instruction"].find((name) => typeof work[name] === "string");
    return part ? [{ stage, operation, part, box: box(`stage ${stage.name}`, work[part], MOST) }] : [];
  });
  const changed = () => {
    const stages = new Map(plan.stages.map((stage) => [stage.name, stage]));
    for (const { stage, operation, part, box } of edited) {
      stages.set(stage.name, { ...stage, [operation]: { ...stage[operation], [part]: box.value } });
    }
    return withoutColumns({ ...plan, stages: [...stages.values()] });
  };
  const labels = edited.map(({ stage, operation, box }) =>
    el("label", {}, el("span", {}, data(stage.name, { class: "column-name" }), `, ${operationOf(operation)}`), box),
  );
  return [form(labels, "Run again", () => run(changed(), place)), place];
}

function jsonForm(plan, run) {
  const place = el("div", { class: "answered" });
  const input = box("plan", JSON.stringify(withoutColumns(plan), null, 2), MOST_PLAN);
  const send = () => {
    let changed;
    try {
      changed = JSON.parse(input.value);
    } catch (error) {
      place.replaceChildren(el("p", { class: "bad", role: "alert", dir: "auto" }, `This is no JSON: ${error.message}.`));
      input.focus();
      return;
    }
    run(changed, place);
  };
  return [form([el("label", {}, el("span", {}, "Its form is that of limn ask --plan."), input)], "Run this plan", send), place];
}

// The columns that came out are those of the plan as it was: another statement may have others.
function withoutColumns(plan) {
  return { ...plan, stages: plan.stages.map(({ columns, ...stage }) => stage) };
}

function box(name, text, most) {
  const rows = Math.min(LINES, text.split("\n").length + 1);
  const input = el("textarea", { name, rows, maxlength: String(most), spellcheck: "false", autocapitalize: "none", autocomplete: "off", required: true });
  input.value = text;
  return input;
}

// Ctrl and Enter send it from any of its boxes.
function form(fields, words, send) {
  return el(
    "form",
    {
      class: "query",
      submit: (event) => {
        event.preventDefault();
        send();
      },
      keydown: (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (event.currentTarget.reportValidity()) send();
      },
    },
    fields,
    el("p", { class: "buttons" }, el("button", { type: "submit", class: "main" }, words), el("span", { class: "faint" }, "or Ctrl+Enter")),
  );
}
