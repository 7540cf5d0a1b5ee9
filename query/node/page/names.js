// Names of tables and folders as links into the page.

import { address, data, el } from "./dom.js";
import { counted, rowCount, time } from "./format.js";

/** Where a table's page is. `lake` tells two tables of one name apart. */
export const tableAddress = ({ table, lake }) => address("/table", { table, lake });

/** Where a folder's page is. */
export const folderAddress = (prefix) => address("/browse", { prefix });

/** "sales/2024/orders" → ["sales/2024", "orders"] */
export function split(name) {
  const cut = name.lastIndexOf("/");
  return cut < 0 ? ["", name] : [name.slice(0, cut), name.slice(cut + 1)];
}

/** The folders above something, each a link into the tree, the lake itself first. */
export function trail(folder) {
  const parts = folder ? folder.split("/") : [];
  const links = parts.map((part, index) =>
    el("a", { href: folderAddress(parts.slice(0, index + 1).join("/")) }, data(part)),
  );
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
  const parts = folder ? folder.split("/") : [];
  return parts.map((part, index) => [
    el("a", { href: folderAddress(parts.slice(0, index + 1).join("/")) }, data(part)),
    el("span", { class: "slash-sign", "aria-hidden": "true" }, " / "),
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
    sheet: "spreadsheet",
    sqlite: "SQLite",
    text: "plain text",
    delta: "Delta",
    iceberg: "Iceberg",
  };
  return names[format] ?? format;
}
