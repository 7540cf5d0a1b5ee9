// Writes the content of make_sheets.py in other formats with SheetJS 0.18: TZ=UTC node make_sheets.js
// SheetJS 0.16 wrote sheetjs.xlsb (bookType xlsb): later ones write short cells, which calamine does not know.
const xlsx = require("xlsx");

const rows = [["Sales of 2024"], [], ["id", "name", "day", "at", "share", "ok"]];
for (let i = 1; i <= 8; i++) {
  const name = i % 2 ? `name ${i}, \u00fcn\u00ef` : "other";
  const day = { t: "d", v: new Date(Date.UTC(2024, 0, i)), z: "yyyy-mm-dd" };
  const at = { t: "d", v: new Date(Date.UTC(2024, 1, i, 12, 30, i)), z: "dd.mm.yy hh:mm:ss" };
  rows.push([i, name, day, at, { t: "n", v: i / 4, z: "0%" }, i % 2 === 0]);
}
const book = xlsx.utils.book_new();
xlsx.utils.book_append_sheet(book, xlsx.utils.aoa_to_sheet(rows), "Sales");
xlsx.utils.book_append_sheet(book, xlsx.utils.aoa_to_sheet([["a", "b"], [1, { t: "n", v: 3, f: "A2+2" }]]), "Secret");
book.Workbook = { Sheets: [{}, { Hidden: 1 }] };
for (const [kind, name] of [["biff8", "sheetjs.xls"], ["biff5", "sheetjs95.xls"], ["ods", "sheetjs.ods"], ["fods", "sheetjs.fods"], ["biff4", "sheetjs4.xls"], ["xlsx", "sheetjs.xlsx"]]) {
  xlsx.writeFile(book, name, { bookType: kind, compression: true });
}
