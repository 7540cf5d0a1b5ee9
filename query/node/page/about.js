// Texts about a table: those that lie beside it, and descriptions that are registered. Whoever may
// can add, change and take back the latter here; the node describes the table anew, which takes
// some seconds.

import { forgetAnswers, put } from "./api.js";
import { announce, data, el } from "./dom.js";
import { sentence } from "./format.js";
import { markdown } from "./markdown.js";
import { emptiness } from "./notice.js";

const REGISTERED = "registered";
const LONG_TEXT = 1500;
const MOST_TEXT = 100_000;
const MOST_WRITTEN = 8000;

/** The texts about a table, with the way to add one where the caller may. */
export function about(visit, { table, lake, contexts }, { descriptions: may = false }) {
  const which = { table, lake };
  const add = el("p", {}, el("button", { type: "button", class: "describe", click: () => write(visit, which, null, add) }, "Describe this table"));
  return [
    !contexts.length && emptiness("Nobody has written about this table yet. A NAME.md beside it is read without being asked."),
    contexts.map((context) => article(visit, which, context, may)),
    may && add,
  ].flat();
}

function article(visit, which, { source, text }, may) {
  const isOurs = may && source === REGISTERED;
  const whole = el(
    "article",
    { class: "text" },
    el(
      "p",
      { class: "source" },
      source === REGISTERED ? "Written by people here" : data(source),
      isOurs && el("button", { type: "button", class: "quiet small", click: () => write(visit, which, text, whole) }, "Edit"),
    ),
    longText(text),
  );
  return whole;
}

// A form in the place of `place`; `old` is the text that is changed, or null for a new one.
function write(visit, which, old, place) {
  const input = el("textarea", { name: "description", rows: "6", maxlength: String(MOST_WRITTEN), dir: "auto", required: true });
  input.value = old ?? "";
  const said = el("p", { class: "faint", role: "status" });
  const close = () => {
    form.replaceWith(place);
    place.querySelector("button")?.focus();
  };
  const send = async (text) => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    said.className = "faint";
    said.textContent = "Written into the index: this takes some seconds…";
    try {
      await put("/v1/table/description", { ...which, text, replaces: old });
      forgetAnswers();
      if (visit.signal.aborted) return;
      announce(text ? "The description is saved." : "The description is removed.");
      visit.again();
    } catch (failure) {
      for (const button of form.querySelectorAll("button")) button.disabled = false;
      said.className = "bad";
      said.textContent = `Not saved: ${sentence(failure.message)} ${sentence(failure.remedy ?? "")}`;
    }
  };
  const form = el(
    "form",
    {
      class: "describing",
      submit: (event) => {
        event.preventDefault();
        const text = input.value.trim();
        if (text && text !== old) send(text);
        else close();
      },
      keydown: (event) => {
        // What was written is not thrown away by one key.
        if (event.key === "Escape" && input.value.trim() === (old ?? "")) close();
      },
    },
    el(
      "label",
      {},
      el("span", {}, "What is this table for? A line such as ", el("code", {}, "price: in euros, without tax"), " describes a column."),
      input,
    ),
    el(
      "p",
      { class: "buttons" },
      el("button", { type: "submit", class: "main" }, "Save"),
      old !== null && el("button", { type: "button", click: () => send("") }, "Remove it"),
      el("button", { type: "button", class: "quiet", click: close }, "Cancel"),
    ),
    said,
  );
  place.replaceWith(form);
  input.focus();
}

// A long text is cut by height, never by content: the button opens all of it.
function longText(text) {
  const body = el(
    "div",
    { class: "prose" },
    markdown(text.slice(0, MOST_TEXT)),
    text.length > MOST_TEXT && el("p", { class: "faint" }, "The rest is not shown."),
  );
  if (text.length <= LONG_TEXT) return body;
  body.classList.add("cut");
  const open = () => {
    body.classList.remove("cut");
    more.remove();
    body.tabIndex = -1;
    body.focus();
  };
  const more = el("button", { type: "button", class: "more", click: open }, "Show all of this text");
  return [body, more];
}
