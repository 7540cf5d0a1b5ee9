// A small, safe part of Markdown, for the texts about a table: headings, paragraphs, lists, code, emphasis, links.
// Made of elements and text nodes; markup inside the text stays text, and only http(s) addresses become links.

import { el } from "./dom.js";
import { flowing } from "./words.js";

// Every part has an end to its length, so that a text that was made to be slow to read is not.
const INLINE =
  /(?<code>`[^`\n]{1,300}`)|(?<strong>\*\*[^*\n]{1,300}\*\*)|(?<em>(?<![\p{L}\p{N}_])_[^_\n]{1,300}_(?![\p{L}\p{N}_])|(?<![\p{L}\p{N}*])\*[^*\s][^*\n]{0,300}\*(?![\p{L}\p{N}*]))|\[(?<label>[^[\]\n]{0,300})\]\((?<href>[^)\s]{0,2000})\)|(?<bare>https?:\/\/[^\s<>"')]+)/gu;

// Beyond so many lines, and so many spans of a block, the text is shown as it is.
const MOST_LINES = 3000;
const MOST_SPANS = 500;

/** The text as elements. Headings begin below `level`, the heading that they stand under. */
export function markdown(text, level = 3) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const rest = lines.slice(MOST_LINES);
  return [
    ...blocksOf(lines.slice(0, MOST_LINES)).map((block) => render(block, level)),
    ...(rest.length ? [el("p", { dir: "auto" }, rest.join("\n"))] : []),
  ];
}

// Lines gathered into blocks: { kind, lines }.
function blocksOf(lines) {
  const blocks = [];
  let open = null;
  const start = (kind, line) => blocks.push((open = { kind, lines: [line] }));
  for (const line of lines) {
    if (open?.kind === "fence") {
      if (/^\s*```/.test(line)) open = null;
      else open.lines.push(line);
    } else if (/^\s*```/.test(line)) {
      start("fence", null);
    } else if (!line.trim()) {
      open = null;
    } else if (/^#{1,6}\s/.test(line)) {
      start("heading", line);
      open = null;
    } else if (/^\s*[-*+]\s+\S/.test(line)) {
      const item = line.replace(/^\s*[-*+]\s+/, "");
      if (open?.kind === "bullets") open.lines.push(item);
      else start("bullets", item);
    } else if (/^\s*\d{1,9}[.)]\s+\S/.test(line)) {
      const item = line.replace(/^\s*\d+[.)]\s+/, "");
      if (open?.kind === "numbers") open.lines.push(item);
      else start("numbers", item);
    } else if (/^\s*\|.*\|\s*$/.test(line)) {
      if (open?.kind === "drawn") open.lines.push(line);
      else start("drawn", line);
    } else if (open?.kind === "bullets" || open?.kind === "numbers") {
      open.lines[open.lines.length - 1] += ` ${line.trim()}`;
    } else if (open?.kind === "paragraph") {
      open.lines.push(line);
    } else {
      start("paragraph", line);
    }
  }
  return blocks;
}

function render({ kind, lines }, level) {
  if (kind === "fence" || kind === "drawn") {
    return el("pre", { dir: "auto", tabindex: "0" }, el("code", {}, lines.filter((line) => line !== null).join("\n")));
  }
  if (kind === "heading") {
    const signs = /^#{1,6}/.exec(lines[0])[0].length;
    return el(
      `h${Math.min(6, level + Math.min(signs, 3))}`,
      { dir: "auto" },
      inline(lines[0].slice(signs, 1000).trim()),
    );
  }
  if (kind === "bullets" || kind === "numbers") {
    return el(
      kind === "bullets" ? "ul" : "ol",
      {},
      lines.map((line) => el("li", { dir: "auto" }, inline(line))),
    );
  }
  return el("p", { dir: "auto" }, inline(flowing(lines.join("\n"))));
}

function inline(text) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(text.slice(from, match.index), span(match));
    from = match.index + match[0].length;
    if (nodes.length > MOST_SPANS) break;
  }
  nodes.push(text.slice(from));
  return nodes;
}

function span({ 0: all, groups }) {
  if (groups.code) return el("code", {}, all.slice(1, -1));
  if (groups.strong) return el("strong", {}, all.slice(2, -2));
  if (groups.em) return el("em", {}, all.slice(1, -1));
  if (groups.bare) return link(all, all);
  return link(groups.label, groups.href) ?? all;
}

// A link that the lake's text names leads away from this page: it says where to, and sends that
// place nothing.
function link(label, href) {
  if (!/^https?:\/\//i.test(href) || !URL.canParse(href)) return null;
  const { host } = new URL(href);
  const attributes = { href: new URL(href).href, rel: "noopener noreferrer nofollow", target: "_blank" };
  return [
    el("a", attributes, label || href),
    label && label !== href && el("span", { class: "faint" }, ` (${host})`),
  ].filter(Boolean);
}
