// The small pictures: a result's scores and verdict, and the bar of a share. Each has its meaning in words besides.

import { svg } from "./dom.js";
import { score } from "./format.js";

const LABEL = 58;
const BAR = 84;
const ROW = 17;
const SPARKS = 10;

/** What makes the score as bars and the judge's verdict as a sign: one picture with a text alternative. */
export function scorePicture({ score: combined, lexical, semantic, name_match: name, context_match: contexts, judged }) {
  const verdict = verdictOf(judged);
  const sides = `words ${score(lexical)}, meaning ${score(semantic)}, name ${score(name)}, contexts ${score(contexts)}`;
  const words = `Score ${score(combined)}: ${sides}; ${verdict.text}.`;
  return svg(
    "svg",
    { class: "scores", viewBox: `0 0 ${LABEL + BAR + 38} ${ROW * 5 + 2}`, role: "img", "aria-label": words },
    bar(0, "words", lexical, "lexical"),
    bar(1, "meaning", semantic, "semantic"),
    bar(2, "name", name, "semantic"),
    bar(3, "contexts", contexts, "semantic"),
    svg(
      "g",
      { class: `verdict ${verdict.name}`, transform: `translate(0 ${ROW * 4})` },
      label("judge"),
      verdict.sign(),
      svg("text", { x: LABEL + 20, y: 13 }, verdict.short),
    ),
  );
}

/** A bar that is `part` of its length filled; what it says is beside it in words. */
export function shareBar(part) {
  const filled = `${(Math.max(0, Math.min(1, part || 0)) * 100).toFixed(2)}%`;
  return svg(
    "svg",
    { class: "share", "aria-hidden": "true", width: "100%", height: "6", preserveAspectRatio: "none" },
    svg("rect", { class: "track", width: "100%", height: "6", rx: "3" }),
    part > 0 && svg("rect", { class: "fill", width: filled, height: "6", rx: "3" }),
  );
}

/** How often the most frequent values occur, as small bars beside each other; the values are beside it in words. */
export function sparkline(counts) {
  const shown = counts.slice(0, SPARKS);
  const most = Math.max(...shown, 1);
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${SPARKS * 5} 14`, width: SPARKS * 5, height: 14, "aria-hidden": "true" },
    shown.map((count, index) => {
      const height = Math.max(1.5, (count / most) * 14);
      return svg("rect", { x: index * 5, y: (14 - height).toFixed(1), width: 4, height: height.toFixed(1) });
    }),
  );
}

function bar(row, name, value, kind) {
  const length = Math.max(0, Math.min(1, value ?? 0)) * BAR;
  return svg(
    "g",
    { transform: `translate(0 ${ROW * row})` },
    label(name),
    svg("rect", { class: "track", x: LABEL, y: 5, width: BAR, height: 8, rx: 4 }),
    length > 0 && svg("rect", { class: kind, x: LABEL, y: 5, width: Math.max(length, 3).toFixed(1), height: 8, rx: 4 }),
    svg("text", { class: "value", x: LABEL + BAR + 34, y: 13, "text-anchor": "end" }, score(value)),
  );
}

const label = (text) => svg("text", { class: "label", x: 0, y: 13 }, text);

function verdictOf(judged) {
  const circle = (name) => svg("circle", { class: name, cx: LABEL + 7, cy: 9, r: 6.5 });
  const stroke = (d) => svg("path", { class: "stroke", d });
  if (judged === true) {
    return {
      name: "yes",
      text: "the judge found it relevant",
      short: "relevant",
      sign: () => [circle("disc"), stroke(`M${LABEL + 4} 9.2l2.2 2.3 4-4.6`)],
    };
  }
  if (judged === false) {
    return {
      name: "no",
      text: "the judge found it irrelevant",
      short: "irrelevant",
      sign: () => [circle("disc"), stroke(`M${LABEL + 4.6} 6.6l4.8 4.8m0-4.8l-4.8 4.8`)],
    };
  }
  return { name: "none", text: "not judged", short: "not asked", sign: () => [circle("ring")] };
}
