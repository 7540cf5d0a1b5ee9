"""Writes spreadsheets of one content, with which the tests compare what limn reads of each format.

Run with xlwt 1.3 and odfpy 1.4: python make_sheets.py. Those that SheetJS writes are made by make_sheets.js.
"""

import datetime

import xlwt
from odf.office import Annotation
from odf.opendocument import OpenDocumentSpreadsheet
from odf.style import Style, TableProperties
from odf.table import CoveredTableCell, Table, TableCell, TableRow
from odf.text import P, S, Span

ROWS = [
    (i, f"name {i}, \u00fcn\u00ef" if i % 2 else "\u540d\u524d", datetime.date(2024, 1, i), datetime.datetime(2024, 2, i, 12, 30, i), i / 4, i % 2 == 0)
    for i in range(1, 9)
]
NAMES = ["id", "name", "day", "at", "share", "ok"]
# Texts that need many records, with letters of one byte and of two.
LONG = [("\u0416" if i % 3 == 0 else "x") * (700 + i) for i in range(40)]

book = xlwt.Workbook()
sheet = book.add_sheet("Sales")
sheet.write_merge(0, 0, 0, 5, "Sales of 2024")
kinds = [None, None, "yyyy-mm-dd", "DD.MM.YY hh:mm:ss", "0%", None]
styles = [xlwt.easyxf(num_format_str=kind) if kind else xlwt.Style.default_style for kind in kinds]
for column, name in enumerate(NAMES):
    sheet.write(2, column, name)
for at, row in enumerate(ROWS):
    for column, value in enumerate(row):
        sheet.write(3 + at, column, value, styles[column])
hidden = book.add_sheet("Secret")
hidden.visibility = 1
hidden.write(0, 0, "a")
hidden.write(0, 1, "b")
hidden.write(1, 0, 1)
hidden.write(1, 1, xlwt.Formula("A2/0"))
book.add_sheet("Nothing")
long = book.add_sheet("Long")
long.write(0, 0, "id")
long.write(0, 1, "text")
for at, text in enumerate(LONG):
    long.write(at + 1, 0, at)
    long.write(at + 1, 1, text)
book.save("xlwt.xls")

document = OpenDocumentSpreadsheet()
unseen = Style(name="unseen", family="table")
unseen.addElement(TableProperties(display="false"))
document.automaticstyles.addElement(unseen)


def cell(value, **more):
    shown = str(value)
    match value:
        case bool():
            made = TableCell(valuetype="boolean", booleanvalue=str(value).lower(), **more)
        case float() | int():
            made = TableCell(valuetype="percentage" if isinstance(value, float) else "float", value=value, **more)
        case datetime.date():
            made = TableCell(valuetype="date", datevalue=value.isoformat(), **more)
        case str():
            made = TableCell(valuetype="string", **more)
    made.addElement(P(text=shown))
    return made


def row(*cells, **more):
    made = TableRow(**more)
    for one in cells:
        made.addElement(one)
    return made


table = Table(name="Sales")
title = cell("Sales of 2024", numbercolumnsspanned=6, numberrowsspanned=1)
remark = Annotation()
remark.addElement(P(text="a remark"))
title.addElement(remark)
table.addElement(row(title, CoveredTableCell(numbercolumnsrepeated=5)))
table.addElement(row(TableCell(numbercolumnsrepeated=16384)))
table.addElement(row(*[cell(name) for name in NAMES]))
for values in ROWS:
    table.addElement(row(*[cell(value) for value in values], TableCell(numbercolumnsrepeated=16378)))
table.addElement(row(TableCell(numbercolumnsrepeated=16384), numberrowsrepeated=1048000))
document.spreadsheet.addElement(table)
table = Table(name="Secret", stylename=unseen)
table.addElement(row(cell("a"), cell("b")))
table.addElement(row(cell(1), cell(2)))
document.spreadsheet.addElement(table)
document.spreadsheet.addElement(Table(name="Nothing"))
table = Table(name="Spans")
table.addElement(row(cell("id"), cell("text")))
text = TableCell(valuetype="string")
first = P(text="two ")
first.addElement(Span(text="words"))
first.addElement(S(c=3))
first.addText("apart")
text.addElement(first)
text.addElement(P(text="below"))
table.addElement(row(cell(1), text))
table.addElement(row(cell(2, numbercolumnsrepeated=2), numberrowsrepeated=3))
document.spreadsheet.addElement(table)
document.save("odfpy.ods")
