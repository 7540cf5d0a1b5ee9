// The words of a question, marked where a text has them, and the part of a long text that shows them.

import { data, el, nodes } from "./dom.js";

const SHOWN = 280;
const BEFORE = 70;
const LINE = 170;
const BEFORE_IN_LINE = 45;
const GLIMPSE = 30;
const BEFORE_IN_GLIMPSE = 8;
const ROWS_SHOWN = 2;
// A line of so many characters was broken to fit a width.
const WRAPPED = 55;
// Most that is ever put on the page of one text: a cell can hold a book.
const MOST = 20_000;
const MOST_MARKS = 1000;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** The text with its words marked: a list of texts and elements. */
export function marked(text, words) {
  const pattern = patternOf(words);
  if (!pattern) return [text];
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(from, match.index), el("mark", {}, match[0]));
    from = match.index + match[0].length;
    if (parts.length > MOST_MARKS) break;
  }
  parts.push(text.slice(from));
  return parts;
}

/** Whether a text has one of the words. */
export function has(text, words) {
  return patternOf(words)?.test(text) ?? false; // a new pattern each time: it keeps no place
}

/** The text around its first marked word, with a button that shows all of it. */
export function excerpt(text, words) {
  return openable(windowOf(text, words), text, words);
}

/** One line of a text, around its first marked word. */
export function line(text, words) {
  const flat = text.slice(0, MOST).replace(/\s*\n\s*/g, " · ");
  return windowOf(flat, words, LINE, BEFORE_IN_LINE);
}

/** What a cell shows: the text around its first marked word. */
export const glimpse = (text, words) => windowOf(text.slice(0, MOST), words, GLIMPSE, BEFORE_IN_GLIMPSE);

/** The rows that have a marked word, or the first, of a text with a row a line. */
export function rowsExcerpt(text, words) {
  const rows = text.split("\n");
  const matching = rows.filter((row) => has(row, words));
  const shown = (matching.length ? matching : rows.slice(0, 1)).slice(0, ROWS_SHOWN);
  const cut = shown.map((row) => windowOf(row, words)).join("\n");
  return openable(cut, text, words);
}

/** Lines that were broken to fit a width flow again; short lines, as of a list or a poem, stay lines. */
export function flowing(text) {
  const lines = text.split("\n");
  return lines.map((line, index) => line + joint(line, lines[index + 1])).join("");
}

const joint = (line, next) =>
  next === undefined
    ? ""
    : line.length >= WRAPPED && /^\S/.test(next) && !/^([-*+#|>]|\d{1,9}[.)])/.test(next)
      ? " "
      : "\n";

/** A text about a table for an excerpt: without the signs of headings and the gaps between paragraphs. */
export function plain(text) {
  return flowing(text.slice(0, MOST))
    .replace(/^#{1,6} +/gm, "")
    .replace(/\n{2,}/g, "\n");
}

function openable(part, text, words) {
  const body = data("", { class: "lines" });
  body.append(...nodes(marked(part, words)));
  if (part.length >= text.length) return [body];
  const more = el("button", { type: "button", class: "more" }, "Show all");
  more.addEventListener("click", () => {
    body.replaceChildren(...nodes([marked(text.slice(0, MOST), words), text.length > MOST && " …"]));
    more.remove();
    body.tabIndex = -1;
    body.focus();
  });
  return [body, " ", more];
}

// Whole words only, so that "is" is not marked in "this"; scripts that set no spaces between words have no such ends.
function patternOf(words) {
  const parts = [...new Set(words ?? [])]
    .filter((word) => typeof word === "string" && word.trim())
    .sort((one, other) => other.length - one.length)
    .slice(0, 200)
    .map((word) => {
      const plain = word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
      return UNSPACED.test(word) ? plain : `(?<![\\p{L}\\p{N}])${plain}(?![\\p{L}\\p{N}])`;
    });
  return parts.length ? new RegExp(parts.join("|"), "giu") : null;
}

// Starts a little before the first marked word, at a word's beginning where there is one near.
function windowOf(text, words, most = SHOWN, before = BEFORE) {
  if (text.length <= most) return text;
  const first = patternOf(words)?.exec(text)?.index ?? 0;
  let from = Math.max(0, Math.min(first - before, text.length - most));
  if (from > 0) {
    const gap = text.slice(from, from + 24).search(/\s/);
    if (gap >= 0) from += gap + 1;
  }
  let to = Math.min(text.length, from + most);
  if (to < text.length) {
    const gap = text.slice(to - 24, to).lastIndexOf(" ");
    if (gap >= 0) to -= 24 - gap;
  }
  const [start, end] = [wholeCharacter(text, from), wholeCharacter(text, to)];
  return `${start > 0 ? "… " : ""}${text.slice(start, end)}${end < text.length ? " …" : ""}`;
}

// A cut never parts the two halves of a character beyond the basic plane.
const wholeCharacter = (text, cut) => (/[\uDC00-\uDFFF]/.test(text.charAt(cut)) ? cut - 1 : cut);
