"""How the company's tables are written: a file's extension decides, options add what people add.

Options: `plant` (cells that some rows get, for the questions that ask for them), `title` (lines above the header),
`units` (a row below it), `foot` (lines below the rows), `header` (False: none), `delimiter`, `encoding`, `sheet`, `wide`
(so many columns of registers). Files are the same bytes whenever they are written.
"""
import csv
import gzip
import io
import json
import sqlite3
import tempfile
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

from . import values

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:  # Then what would be Parquet is JSON, of the same names.
    pyarrow = None

LONG_AGO = (2024, 6, 30, 6, 0, 0)


def table(seed, path, count, text, options):
    """A table's column names and rows."""
    rng = values.generator(seed, path)
    if "wide" in options:
        names = ["ts"] + [f"reg_{30001 + column}" for column in range(options["wide"])]
        return names, [[f"2024-05-{1 + row % 28:02d}"] + [rng.randrange(-400, 4000) for _ in names[1:]] for row in range(count)]
    names = [name for name, _, _ in values.columns(text)]
    rows = values.rows(text, count, rng)
    for at, cells in enumerate(options.get("plant", [])):
        row = rows[(len(rows) // 2 + 7 * at) % len(rows)]
        for name, cell in cells.items():
            row[names.index(name)] = cell
    return names, rows


def encoded(path, names, rows, options):
    """The bytes of a file of one table."""
    name = path.removesuffix(".gz")
    writers = {".jsonl": _json_lines, ".json": _json_array, ".parquet": _parquet, ".xlsx": _lone_sheet}
    data = writers.get(Path(name).suffix, _delimited)(name, names, rows, options)
    return gzip.compress(data, mtime=0) if path.endswith(".gz") else data


def placed(path):
    """Where a file is written: Parquet only where it can be."""
    return path.removesuffix(".parquet") + ".jsonl" if path.endswith(".parquet") and pyarrow is None else path


def _delimited(path, names, rows, options):
    delimiter = options.get("delimiter", "\t" if path.endswith(".tsv") else ",")
    out = io.StringIO()
    for line in options.get("title", []):
        out.write(line + "\n")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    if options.get("title"):
        out.write("\n")
    if options.get("header", True):
        writer.writerow(names)
    if "units" in options:
        writer.writerow(options["units"])
    writer.writerows(rows)
    for line in options.get("foot", []):
        out.write(line.replace(";", delimiter) + "\n")
    return out.getvalue().encode(options.get("encoding", "utf-8"), "replace")


def records(names, rows):
    return [{name: cell for name, cell in zip(names, row) if cell != ""} for row in rows]


def _json_lines(path, names, rows, options):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records(names, rows)).encode()


def _json_array(path, names, rows, options):
    return json.dumps(records(names, rows), ensure_ascii=False, indent=1).encode()


def _parquet(path, names, rows, options):
    if pyarrow is None:
        return _json_lines(path, names, rows, options)
    columns = {}
    for at, name in enumerate(names):
        cells = [None if row[at] == "" else row[at] for row in rows]
        kinds = {type(cell) for cell in cells if cell is not None}
        columns[name] = pyarrow.array([str(cell) if cell is not None and len(kinds) > 1 else cell for cell in cells])
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out, compression="snappy", row_group_size=2000)
    return out.getvalue()


def _lone_sheet(path, names, rows, options):
    lines = [[line] for line in options.get("title", [])] + ([[]] if options.get("title") else [])
    return book({options.get("sheet", "Sheet1"): lines + [names] + rows})


def _cell(column, row, cell):
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    place = f"{letters}{row}"
    if isinstance(cell, (int, float)):
        return f'<c r="{place}"><v>{cell}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>' if cell != "" else ""


def book(sheets):
    """An .xlsx of sheets, each a list of rows."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packages = "http://schemas.openxmlformats.org/package/2006"
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    numbers = range(1, len(sheets) + 1)
    office = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    types = "".join(f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{office}.worksheet+xml"/>' for n in numbers)
    listed = "".join(f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, sheets))
    linked = "".join(f'<Relationship Id="r{n}" Type="{relations}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers)
    members = {
        "[Content_Types].xml": f'<Types xmlns="{packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{office}.sheet.main+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{packages}/relationships">{linked}</Relationships>',
    }
    for n, rows in zip(numbers, sheets.values()):
        lines = ("".join(_cell(column, at, cell) for column, cell in enumerate(row)) for at, row in enumerate(rows, 1))
        body = "".join(f'<row r="{at}">{line}</row>' for at, line in enumerate(lines, 1))
        members[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'
    return zipped({name: (head + text).encode() for name, text in members.items()})


def zipped(members):
    """A zip of names and bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def database(tables):
    """An SQLite database of names and (column names, rows)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.sqlite"
        with sqlite3.connect(path) as connection:
            for name, (names, rows) in tables.items():
                listed = ", ".join(f'"{column}"' for column in names)
                connection.execute(f'CREATE TABLE "{name}" ({listed})')
                connection.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" for _ in names)})', rows)
        connection.close()
        return path.read_bytes()
