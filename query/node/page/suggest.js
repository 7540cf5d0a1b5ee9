// Suggestions while somebody types: a combobox with a list (ARIA 1.2). The arrow keys walk through it, Enter takes what
// is chosen, Escape closes it and leaves the text. Typing goes on unhindered: nothing is chosen until an arrow is pressed.

import { ask } from "./api.js";
import { announce, el } from "./dom.js";
import { counted } from "./format.js";

const PAUSE_MS = 90;
const LONGEST = 80;

/** Gives `input` its suggestions in `list`. `take` is called with the one that was chosen. */
export function suggestions(input, list, take) {
  let shown = [];
  let chosen = -1;
  let timer = 0;
  let question = new AbortController();

  const close = () => {
    clearTimeout(timer);
    question.abort();
    shown = [];
    chosen = -1;
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const open = (found) => {
    shown = found;
    chosen = -1;
    list.replaceChildren(...found.map((one, index) => option(one, index, input.value)));
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    input.removeAttribute("aria-activedescendant");
    if (found.length) announce(`${counted(found.length, "suggestion")}, arrow keys to choose`);
  };

  const choose = (index) => {
    // Whoever walks the list keeps it: what is asked for now comes too late.
    clearTimeout(timer);
    question.abort();
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = index;
    const option = list.children[chosen];
    if (!option) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  };

  const look = async () => {
    const text = input.value.trim();
    question.abort();
    question = new AbortController();
    if (!text || text.length > LONGEST) {
      close();
      return;
    }
    try {
      const { suggestions: found } = await ask("/v1/suggest", { q: text, limit: 8 }, { signal: question.signal });
      if (document.activeElement === input) open(found);
    } catch {
      // Suggestions are a help: where they fail, the question itself will say why.
      if (!question.signal.aborted) close();
    }
  };

  const takeChosen = (index) => {
    const one = shown[index];
    close();
    if (one) take(one);
  };

  input.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(look, PAUSE_MS);
  });
  input.addEventListener("compositionend", () => {
    timer = setTimeout(look, PAUSE_MS);
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const last = shown.length - 1;
    if (event.key === "ArrowDown" && shown.length) choose(chosen === last ? -1 : chosen + 1);
    else if (event.key === "ArrowUp" && shown.length) choose(chosen === -1 ? last : chosen - 1);
    else if (event.key === "ArrowDown" && input.value.trim()) look();
    else if (event.key === "Escape" && !list.hidden) close();
    else if (event.key === "Enter" && chosen >= 0) takeChosen(chosen);
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
  // The press would move the focus, and so close the list before the click is there.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) takeChosen([...list.children].indexOf(option));
  });
  return { close };
}

function option(one, index, typed) {
  const kinds = ["table", "folder", "column"];
  return el(
    "li",
    { role: "option", id: `suggestion-${index}`, "aria-selected": "false" },
    el("span", { class: "kind" }, kinds.includes(one.kind) ? one.kind : "text"),
    el("bdi", { class: "text" }, withTyped(one.text, typed.trim().split(/\s+/).at(-1))),
    one.kind !== "table" &&
      typeof one.tables === "number" &&
      el("span", { class: "faint" }, counted(one.tables, "table")),
  );
}

// What was typed stands out in the suggestion.
function withTyped(text, typed) {
  const at = text.toLowerCase().indexOf(typed.toLowerCase());
  if (at < 0 || !typed) return text;
  const end = at + typed.length;
  return [text.slice(0, at), el("b", {}, text.slice(at, end)), text.slice(end)];
}
