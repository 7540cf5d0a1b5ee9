// One table of an answer: what it is, what its columns mean, what made it match, how well, and whether it was right.

import { post } from "./api.js";
import { data, el, tell, unseen } from "./dom.js";
import { counted, number } from "./format.js";
import { facts, folderLinks, split, tableAddress } from "./names.js";
import { scorePicture } from "./picture.js";
import { excerpt, has, plain, rowsExcerpt } from "./words.js";

const KINDS = { schema: "Columns", rows: "Rows", context: "About it", cells: "Values" };
const NARRATED_SHOWN = 4;
const BLOCKS_SHOWN = 2;

/** A result as an article. `context` is { question, snapshot, manyLakes }. */
export function resultCard(result, context) {
  const [folder, name] = split(result.table);
  return el(
    "article",
    { class: "result" },
    el(
      "header",
      {},
      el(
        "p",
        { class: "path" },
        folderLinks(folder),
        context.manyLakes && el("span", { class: "faint" }, "in ", data(result.lake)),
      ),
      el("h2", {}, el("a", { href: tableAddress(result) }, data(name))),
      facts(result),
    ),
    scorePicture(result),
    el(
      "div",
      { class: "why" },
      columns(result),
      evidence(result.blocks ?? [], result.judged === false ? 0 : BLOCKS_SHOWN),
    ),
    feedback(result, context),
  );
}

// Narrated columns with their narration first, then the names of the others.
function columns({ columns: known = [], column_count: count }) {
  const narrated = known.filter(({ narration }) => narration);
  const told = narrated.slice(0, NARRATED_SHOWN);
  const others = known.filter((column) => !told.includes(column));
  const unnamed = Math.max(0, (count ?? known.length) - known.length);
  return [
    told.length > 0 &&
      el(
        "dl",
        { class: "narrated" },
        told.map((column) =>
          el(
            "div",
            {},
            el("dt", {}, data(column.name, { class: "column-name" })),
            el("dd", { dir: "auto" }, column.narration),
          ),
        ),
      ),
    others.length > 0 &&
      el(
        "ul",
        { class: "column-names", "aria-label": told.length ? "Other columns" : "Columns" },
        others.map((column) =>
          el(
            "li",
            {},
            data(column.name, {
              class: "column-name",
              title: column.narration ? `${column.data_type}: ${column.narration.slice(0, 300)}` : column.data_type,
            }),
          ),
        ),
        unnamed > 0 && el("li", { class: "faint" }, `and ${number(unnamed)} more`),
      ),
  ];
}

// The blocks with words of the question, `most` of them, or the best where none has any; the rest waits behind a disclosure.
function evidence(blocks, most) {
  if (!blocks.length) return null;
  const matching = blocks.filter(({ text, words }) => has(text, words));
  const ordered = [...matching, ...blocks.filter((block) => !matching.includes(block))];
  const shown = Math.min(most, Math.max(1, matching.length));
  const rest = ordered.slice(shown);
  return [
    shown > 0 && el("dl", { class: "evidence" }, ordered.slice(0, shown).map(passage)),
    rest.length > 0 &&
      el(
        "details",
        { class: "rest" },
        el("summary", {}, counted(rest.length, shown > 0 ? "more passage" : "passage")),
        el("dl", { class: "evidence" }, rest.map(passage)),
      ),
  ];
}

function passage({ kind, text, words }) {
  return el(
    "div",
    {},
    el("dt", {}, KINDS[kind] ?? kind),
    el("dd", {}, kind === "rows" ? rowsExcerpt(text, words) : excerpt(kind === "context" ? plain(text) : text, words)),
  );
}

// "Was this the right table?" People's answers calibrate the search; whoever thinks again presses the other one.
function feedback({ table, lake }, { question, snapshot }) {
  const said = el("span", { class: "faint" });
  let sending = false;
  const buttons = [
    ["right", "Right table"],
    ["wrong", "Wrong table"],
  ].map(([verdict, label]) =>
    el(
      "button",
      {
        type: "button",
        class: `quiet ${verdict}`,
        "aria-pressed": "false",
        click: (event) => send(verdict, event.currentTarget),
      },
      label,
      unseen(`: ${table.slice(0, 200)}`),
    ),
  );
  async function send(verdict, pressed) {
    if (sending || pressed.getAttribute("aria-pressed") === "true") return;
    sending = true;
    try {
      await post("/v1/feedback", { question, table, lake, verdict, snapshot });
      for (const button of buttons) button.setAttribute("aria-pressed", String(button === pressed));
      said.textContent = "Noted, thank you.";
    } catch (failure) {
      said.textContent = `Not noted: ${failure.message}`;
    }
    sending = false;
    tell(said.textContent);
  }
  return el("footer", { class: "feedback" }, buttons, said);
}
