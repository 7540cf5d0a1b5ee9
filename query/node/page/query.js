// A box for one statement of SQL, with the table filled in, and its answer below.

import { query } from "./api.js";
import { announce, el } from "./dom.js";
import { counted, sentence } from "./format.js";
import { emptiness, failureNotice } from "./notice.js";
import { columnsOf } from "./rows.js";
import { sampleTable } from "./sample.js";

const MOST = 32_768;
const ROWS = 1000;

/** The box with a statement in it; Ctrl and Enter run it. */
export function queryBox(visit, { lake, sql: statement }) {
  const place = el("div", { class: "answered" });
  const input = el("textarea", { name: "sql", rows: "4", maxlength: String(MOST), spellcheck: "false", autocapitalize: "none", autocomplete: "off", required: true });
  input.value = statement;
  const button = el("button", { type: "submit", class: "main" }, "Run");
  let running = null;
  const run = async () => {
    const sql = input.value.trim();
    if (!sql) return;
    running?.abort();
    const own = new AbortController();
    running = own;
    const signal = AbortSignal.any([visit.signal, own.signal]);
    place.setAttribute("aria-busy", "true");
    announce("Running…");
    try {
      const answer = await query("/v1/sql", { sql, lake, max_rows: ROWS }, { signal });
      place.replaceChildren(...shown(answer));
      announce(counted(answer.rows.length, "row"));
    } catch (failure) {
      if (signal.aborted) return;
      place.replaceChildren(failureNotice(failure, run, "h3"));
    }
    if (running === own) place.setAttribute("aria-busy", "false");
  };
  const form = el(
    "form",
    {
      class: "query",
      submit: (event) => {
        event.preventDefault();
        run();
      },
      keydown: (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        run();
      },
    },
    el("label", {}, el("span", {}, "One statement that reads. Names go in double quotes, texts in single quotes; other tables can be joined."), input),
    el("p", { class: "buttons" }, button, el("span", { class: "faint" }, "or Ctrl+Enter")),
  );
  return [form, place];
}

/** The first rows of a table, as SQL. */
export const firstRows = ({ table }) => `SELECT * FROM "${table.replaceAll('"', '""')}" LIMIT 20`;

function shown(answer) {
  const { rows, notes, error } = answer;
  return [
    error && el("p", { class: "bad", role: "alert", dir: "auto" }, `The rows end before their end: ${sentence(error.message)} ${sentence(error.remedy ?? "")}`),
    rows.length > 0 ? sampleTable(columnsOf(answer), rows, { label: "Answer" }) : emptiness("No rows."),
    el("p", { class: "pager" }, el("span", { class: "faint" }, `${counted(rows.length, "row")}.`), rows.length > 0 && copyButton(answer)),
    ...notes.map((note) => el("p", { class: "faint", dir: "auto" }, sentence(note))),
  ].filter(Boolean);
}

/** A button that copies an answer's rows. */
export function copyButton(answer) {
  const said = el("span", { class: "faint", role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(csv(answer));
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The browser did not allow it.";
    }
  };
  return [el("button", { type: "button", class: "quiet small", click: copy }, "Copy as CSV"), said];
}

function csv({ columns, rows }) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    // An empty text is not the same as nothing.
    return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(({ name }) => name), ...rows];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}
