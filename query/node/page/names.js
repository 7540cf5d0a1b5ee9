// Names of tables and folders as links into the page.

import { address, data, el } from "./dom.js";
import { counted, rowCount, time } from "./format.js";

/** Where a table's page is. `lake` distinguishes two tables of one name. */
export const tableAddress = ({ table, lake }) => address("/table", { table, lake });

/** Where a folder's page is. */
export const folderAddress = (prefix) => address("/browse", { prefix });

/** "sales/2024/orders" → ["sales/2024", "orders"]; a sheet or a member of an archive is called by what holds it, too:
    "lab/batches.xlsx//Sheet1" → ["lab", "batches › Sheet1"]. */
export function split(name) {
  const [outer, ...inner] = name.split("//");
  const cut = outer.lastIndexOf("/");
  const [folder, last] = cut < 0 ? ["", outer] : [outer.slice(0, cut), outer.slice(cut + 1)];
  if (!inner.length) return [folder, last];
  const holders = [last, ...inner.slice(0, -1)].map(stem);
  return [folder, [...holders, inner.at(-1)].join(" › ")];
}

/** What a table is called where people read it. */
export const titleOf = (name) => split(name)[1];

const stem = (file) => file.replace(/(?<=.)\.[^.]{1,10}$/, "");

// Every folder above something, the outermost first: a book or an archive is one, too.
function foldersAbove(path) {
  const cuts = [...path.matchAll(/\/+/g)].filter(({ index }) => index > 0);
  return path ? [...cuts.map(({ index }) => path.slice(0, index)), path] : [];
}

/** The last part of a folder's path. */
export const folderName = (path) => path.slice(path.lastIndexOf("/") + 1);

/** What a table lies in: "lab/batches.xlsx" of "lab/batches.xlsx//Sheet1". */
export const holderOf = (name) => name.replace(/\/*[^/]*$/, "");

/** The folders above something, each a link into the lake's tables, the lake itself first. */
export function trail(folder) {
  const links = foldersAbove(folder).map((path) => el("a", { href: folderAddress(path) }, data(folderName(path))));
  return el(
    "nav",
    { class: "trail", "aria-label": "Folders" },
    el(
      "ol",
      {},
      [el("a", { href: "/browse" }, "Lake"), ...links].map((link) => el("li", {}, link)),
    ),
  );
}

/** The folders of a result as quiet links: "hydrology / lakes /". */
export function folderLinks(folder) {
  return foldersAbove(folder).map((path, index) => [
    index > 0 && el("span", { class: "slash-sign", "aria-hidden": "true" }, " / "),
    el("a", { href: folderAddress(path) }, data(folderName(path))),
  ]);
}

/** The facts of a table in one line: format, rows, columns, freshness, each left out where it is not known. */
export function facts({ format, rows, rows_exact: exact, column_count: columns, modified, error }) {
  const changed = time(modified);
  const list = [
    formatName(format),
    rowCount(rows, exact),
    typeof columns === "number" && counted(columns, "column"),
    changed && ["modified ", changed],
    error && el("strong", { class: "bad" }, "unreadable at last look"),
  ].filter(Boolean);
  return el(
    "ul",
    { class: "facts" },
    list.map((fact) => el("li", {}, fact)),
  );
}

/** "jsonlines" → "JSON Lines" */
export function formatName(format) {
  const names = {
    csv: "CSV",
    tsv: "TSV",
    parquet: "Parquet",
    jsonlines: "JSON Lines",
    jsonl: "JSON Lines",
    arrow: "Arrow",
    avro: "Avro",
    orc: "ORC",
    dbf: "dBase",
    sheet: "spreadsheet",
    sqlite: "SQLite",
    text: "plain text",
    delta: "Delta",
    hudi: "Hudi",
    iceberg: "Iceberg",
  };
  return names[format] ?? format;
}

/** What a folder is, in a line: its README's first sentence, or what lies in it. */
export function folderLine({ path, description, first = [], tables }) {
  if (description) return description;
  const inside = (name) => name.slice(path.length).replace(/^\/+/, "");
  const names = [...new Set(first.map((name) => inside(name).split("/")[0] || folderName(name)))];
  return names.join(", ") + (tables > first.length ? ", …" : "");
}
