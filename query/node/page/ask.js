// The box for the question: one form for the whole page. What it asks is kept in the address, so that a question can be
// bookmarked, sent to a colleague and gone back to; the box shows whatever the address says, and filters stay while one asks on.
// There are two ways: tables are found, or, where the node lets whoever asks, the question is answered from their rows (`ask=1`).
// Enter goes the way that the address says, Ctrl and Enter lead to an answer.

import { ask } from "./api.js";
import { address } from "./dom.js";
import { asked as filtersAsked, FILTER_NAMES } from "./filters.js";
import { suggestions } from "./suggest.js";
import { folderAddress, tableAddress } from "./names.js";

// Kept where the address has them, and set nowhere on the page.
const PASSED_ON = ["alpha", "candidates", "judge", "mode"];
const PREVIEW_ROWS = 3;

const form = document.getElementById("ask");
const input = document.getElementById("q");
const searches = document.getElementById("search");
const answers = document.getElementById("answer");
// Whether the way to an answer is open: not known before the node has said so.
let mayAsk = null;
let keys = 0;
let answering = false;

/** Starts the form. `go` leads the page to an address. */
export function start(go) {
  const { close } = suggestions(input, document.getElementById("suggestions"), (one) => {
    if (one.kind === "table") go(tableAddress({ table: one.table ?? one.text, lake: one.lake }));
    else if (one.kind === "folder") go(folderAddress(one.text));
    else {
      input.value = one.text;
      go(asked(answering));
    }
  });
  const leave = (answered) => {
    close();
    go(asked(answered));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    leave(answering);
  });
  // The button of the other way is none that submits: Enter takes the one that does.
  for (const [button, answered] of [
    [searches, false],
    [answers, true],
  ])
    button.addEventListener("click", (event) => {
      if (button.type !== "button") return;
      // It becomes the one that submits, before this press is over.
      event.preventDefault();
      leave(answered);
    });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || answers.hidden) return;
    event.preventDefault();
    leave(true);
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

/** Puts the cursor into the box. */
export function focusQuestion() {
  input.focus({ preventScroll: true });
}

/** Shows in the box what the address asks. Away from the search the box keeps nothing: it is for the next question. */
export function reflect({ pathname, searchParams }) {
  input.value = pathname === "/" ? (searchParams.get("q") ?? "") : "";
  answering = pathname === "/" && asksForAnswer(searchParams);
  for (const [button, leads] of [
    [searches, !answering],
    [answers, answering],
  ]) {
    button.type = leads ? "submit" : "button";
    button.classList.toggle("main", leads);
  }
  offer();
}

/** Whether an address asks for an answer, and not for tables. */
export const asksForAnswer = (searchParams) => searchParams.get("ask") === "1";

/** Finds out whether the node answers questions of whoever asks, and shows the way then. */
export async function learn() {
  if (mayAsk !== null) return;
  const key = keys;
  const status = await ask("/v1/status", {}, { remembered: true }).catch(() => null);
  // Without an answer it is asked again with the next view, which says itself what is wrong.
  if (!status || key !== keys) return;
  mayAsk = status.ask === true;
  offer();
}

/** Forgets it: another key may be allowed something else. */
export function forgetRights() {
  mayAsk = null;
  keys += 1;
  offer();
}

function offer() {
  answers.hidden = !mayAsk && !answering;
}

/** What to ask the node for an address. */
export function questionOf(searchParams) {
  const question = { q: searchParams.get("q")?.trim(), preview_rows: PREVIEW_ROWS, ...filtersAsked(searchParams) };
  for (const name of ["k", ...PASSED_ON]) question[name] = searchParams.get(name);
  return question;
}

function asked(answered) {
  const now = location.pathname === "/" ? new URLSearchParams(location.search) : new URLSearchParams();
  if (answered) return address("/", { q: input.value.trim(), ask: 1, prefix: now.get("prefix") });
  const kept = [...FILTER_NAMES, ...PASSED_ON].map((name) => [name, now.get(name)]);
  return address("/", { q: input.value.trim(), ...Object.fromEntries(kept) });
}
