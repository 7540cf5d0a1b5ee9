// The box for the question: one form for the whole page. What it asks is kept in the address, so that a question can be
// bookmarked, sent to a colleague and gone back to; the box shows whatever the address says, and filters stay while one asks on.

import { address } from "./dom.js";
import { asked as filtersAsked, FILTER_NAMES } from "./filters.js";
import { suggestions } from "./suggest.js";
import { folderAddress, tableAddress } from "./names.js";

// Kept where the address has them, and set nowhere on the page.
const PASSED_ON = ["alpha", "candidates", "judge", "mode"];
const PREVIEW_ROWS = 3;

const form = document.getElementById("ask");
const input = document.getElementById("q");

/** Starts the form. `go` leads the page to an address. */
export function start(go) {
  const { close } = suggestions(input, document.getElementById("suggestions"), (one) => {
    if (one.kind === "table") go(tableAddress({ table: one.table ?? one.text, lake: one.lake }));
    else if (one.kind === "folder") go(folderAddress(one.text));
    else {
      input.value = one.text;
      go(asked());
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    close();
    go(asked());
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
}

/** What to ask the node for an address. */
export function questionOf(searchParams) {
  const question = { q: searchParams.get("q")?.trim(), preview_rows: PREVIEW_ROWS, ...filtersAsked(searchParams) };
  for (const name of ["k", ...PASSED_ON]) question[name] = searchParams.get(name);
  return question;
}

function asked() {
  const now = location.pathname === "/" ? new URLSearchParams(location.search) : new URLSearchParams();
  const kept = [...FILTER_NAMES, ...PASSED_ON].map((name) => [name, now.get(name)]);
  return address("/", { q: input.value.trim(), ...Object.fromEntries(kept) });
}
