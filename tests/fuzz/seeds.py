"""Writes the first inputs of the fuzz targets to seeds/TARGET/: `seeds.py SEGMENT LAKE` (needs pyarrow, fastavro, zstandard).

They are kept in the repository, so that nobody needs to run this but who adds a format. SEGMENT is the path of a segment
of a small index, LAKE that of a lake which the scripts in tests/lakehouse wrote.
"""

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import zstandard

SEEDS = Path(__file__).parent / "seeds"


def keep(target, name, content):
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


CSV = {
    "plain.csv": "id,name,born\n1,Ada,1815-12-10\n2,Bob,2001-02-03\n",
    "semicolons.csv": 'id;price;note\n1;"1.234,50 €";"a; ""b"""\n2;0,99;\n',
    "tabs.csv": "id\tname\n1\t\\N\n2\tNA\n",
    "titled.csv": "Orders of 2020\n\nid,amount\n1,\"1,200\"\n2,30%\nTotal,1230\nSource: us\n",
    "headless.csv": "1,2.5,x@y.org\n2,3.5,z@y.org\n",
    "ragged.csv": "a,b,c\n1,2\n1,2,3,4\n\"never closed,1\n",
}
for name, text in CSV.items():
    keep("delimited", name, text.encode())
TEXT = {
    "blanks.txt": '"mpg" "cyl"\n"Mazda RX4" 21 6\n"Datsun \\"710\\"" 22.8 4\n',
    "commented.txt": "# made by us\n# id name\n1 ada\n2 bob\n3 cyd\n",
    "widths.txt": "city         people  area\nNew York    8000000 783.8\nSt. Gallen    80000  39.4\nBern         130000  51.6\n",
    "ruled.txt": "city            people\n--------------- -------\nNew York        8000000\nBern             130000\n\n(2 rows affected)\n",
    "psql.txt": " id | name\n----+------\n  1 | ada\n  2 | bob\n(2 rows)\n",
    "boxed.txt": "┌────┬──────┐\n│ id │ name │\n╞════╪══════╡\n│ 1  ┆ ada  │\n│ 2  ┆ b\\|b │\n└────┴──────┘\n",
    "prose.txt": "Dear all,\n\nthe report is done, and has 4 parts.\n",
}
for name, text in TEXT.items():
    keep("delimited", name, text.encode())
keep("delimited", "utf-16.csv", "größe,Ω\n1,a\n2,b\n".encode("utf-16"))
keep("delimited", "latin.csv", "größe;straße\n1;Köln\n2;Düsseldorf\n".encode("cp1252"))

for name, text in {
    "lines.json": '{"id":1,"at":{"x":1.5,"y":null},"tags":["a","b"]}\n{"id":2,"more":true}\n',
    "lists.json": '{"id":1,"tags":["b",null,2],"items":[{"sku":"x","n":1,"at":[[1],[2.5,{}]]},{"sku":"y"}]}\n{"tags":[],"items":3,"items":[]}\n',
    "array.json": '[{"id":1,"v":"\\u00e9\\ud83d\\ude00"},{"id":2,"v":1e300}]',
    "wrapped.json": '{"meta": {"n": 2, "ids": [1]}, "result": {"rows": [{"id": 1}, {"id": 2, "t": [1]}]}}',
    "places.json": '{"type":"FeatureCollection","features":[{"type":"Feature","id":1,"properties":{"n":"x"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,2.5],[3,0],[0,0]]]}},{"type":"Feature","properties":null,"geometry":null}]}',
    "pretty.json": '{\n "a": [[1,2],[3]],\n "b": {"c": {"d": {}}}\n}\n{"a":[]}',
}.items():
    keep("json", name, text.encode())

# What pyshp and dbf wrote (make_dbf.py).
DATA = Path(__file__).parents[2] / "pipeline/formats/tests/data"
for name in ("places", "lines", "fox", "old"):
    keep("dbf", name, (DATA / f"{name}.dbf").read_bytes())
for name in ("places", "lines", "areas"):
    table, shapes = ((DATA / f"{name}{end}").read_bytes() for end in (".dbf", ".shp"))
    keep("shapefile", name, struct.pack("<H", len(table)) + table + shapes)

PLAIN = CSV["plain.csv"].encode() * 8
for kind, packed in enumerate(
    [gzip.compress(PLAIN, mtime=0), zstandard.compress(PLAIN), bz2.compress(PLAIN), lzma.compress(PLAIN)]
):
    keep("compressed", f"packed-{kind}", bytes([kind]) + packed)

keep("contexts", "orders.json", b'{"title": "Orders", "columns": {"id": "number of the order", "placed on": "when it came"}}')
keep("contexts", "rows.json", b'[{"id": 1}, {"id": 2}]')
keep("contexts", "readme.md", b"# Orders\n\n| column | description |\n|---|---|\n| id | number of the order |\n")
keep("contexts", "registered", b'{"table":"orders","context":"What was sold."}\n{"table":"v","context":"x"}\n')
FIXTURES = Path(__file__).parents[2] / "pipeline/lake/src/contexts/shared/fixtures"
for name in ("manifest.json", "catalog.json"):
    keep("manifests", name, (FIXTURES / name).read_bytes())
keep("manifests", "openlineage", b'{"eventType": "COMPLETE", "eventTime": "2024-05-01T10:53:00Z", "producer": "https://x.org", "job": {"name": "j"}, "inputs": [{"namespace": "s3://b", "name": "raw/a.csv"}], "outputs": [{"namespace": "s3://b", "name": "d/marts/orders.csv", "facets": {"documentation": {"description": "x"}, "schema": {"fields": [{"name": "id", "description": "y"}]}, "columnLineage": {"fields": {"id": {"inputFields": [{"name": "a", "field": "b"}]}}}}}]}')
keep("manifests", "datapackage", b'{"resources": [{"path": "marts/orders.csv", "schema": {"primaryKey": "id", "foreignKeys": [{"fields": "who", "reference": {"resource": "people", "fields": "id"}}], "fields": [{"name": "id", "constraints": {"required": true}}]}}]}')
keep("manifests", "readme", b"# Orders\n\n## marts/\n\n- `orders`: what was sold\n\n| people.csv | who |\n")

table = pa.table(
    {
        "id": pa.array([1, 2, None, 4], pa.int64()),
        "name": pa.array(["Ada", "Bob", None, "Ada"]).dictionary_encode(),
        "at": pa.array([0, 1, 2, 3], pa.timestamp("us", "UTC")),
        "price": pa.array([1, 2, 3, 4], pa.decimal128(9, 2)),
        "tags": pa.array([["a"], [], None, ["b", "c"]]),
        "where": pa.array([{"x": 1.5, "y": True}] * 4),
    }
)
flat = table.drop_columns(["where"]).cast(
    pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us", "UTC")),
               ("price", pa.decimal128(9, 2)), ("tags", pa.list_(pa.string()))])
)
for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
    out = io.BytesIO()
    pa.parquet.write_table(table, out, compression=codec, use_dictionary=codec != "gzip", write_page_index=codec == "zstd",
                           data_page_version="2.0" if codec == "brotli" else "1.0")
    keep("parquet", codec, out.getvalue())
for codec in [None, "lz4", "zstd"]:
    for writer, name in [(pa.ipc.new_file, "file"), (pa.ipc.new_stream, "stream")]:
        out = io.BytesIO()
        with writer(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as it:
            it.write_table(table, max_chunksize=2)
        keep("arrow", f"{name}-{codec}", out.getvalue())
for codec in ["uncompressed", "zlib", "snappy", "lz4", "zstd"]:
    out = io.BytesIO()
    pa.orc.write_table(flat, out, compression=codec)
    keep("orc", codec, out.getvalue())
keep("orc", "described", (SEEDS / "../../../pipeline/formats/tests/data/described.orc").read_bytes())
schema = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "kind", "type": {"type": "enum", "name": "k", "symbols": ["a", "b"]}},
        {"name": "at", "type": {"type": "map", "values": "double"}},
    ],
}
rows = [{"id": i, "name": None if i % 2 else "Ada", "day": i, "tags": ["x"] * i, "kind": "b", "at": {"x": 0.5}} for i in range(4)]
for codec in ["null", "deflate"]:
    out = io.BytesIO()
    fastavro.writer(out, schema, rows, codec=codec, sync_marker=bytes(16))
    keep("avro", codec, out.getvalue())

MEMBERS = {
    "a/plain.csv": PLAIN,
    "a/" + "long" * 30 + ".tsv": CSV["tabs.csv"].encode(),
    "lines.json": b'{"id":1}\n{"id":2}\n',
    "packed.csv.gz": gzip.compress(PLAIN, mtime=0),
    "../out.csv": b"a,b\n1,2\n",
    "notes.txt": b"no table",
}


def zipped(members, method, comment=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            member.compress_type = method
            archive.writestr(member, content)
        archive.comment = comment
    return out.getvalue()


def tarred(members, kind):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    # The padding of whole tapes says nothing.
    return out.getvalue().rstrip(b"\0") + bytes(1024)


# The first byte chooses zip, tar, compressed tar, or tar with its checksums mended.
keep("containers", "stored.zip", b"\0" + zipped(MEMBERS, zipfile.ZIP_STORED, b"a comment"))
keep("containers", "deflated.zip", b"\0" + zipped(MEMBERS, zipfile.ZIP_DEFLATED))
keep("containers", "bzip2.zip", b"\0" + zipped({"a.csv": PLAIN}, zipfile.ZIP_BZIP2))
for kind, name in [(tarfile.GNU_FORMAT, "gnu"), (tarfile.PAX_FORMAT, "pax"), (tarfile.USTAR_FORMAT, "ustar")]:
    some = {name: content for name, content in MEMBERS.items() if kind != tarfile.USTAR_FORMAT or len(name) < 100}
    keep("containers", f"{name}.tar", b"\1" + tarred(some, kind))
    keep("containers", f"{name}-mended.tar", b"\3" + tarred(some, kind))
archive = tarred(MEMBERS, tarfile.PAX_FORMAT)
for packed, name in [(gzip.compress(archive, mtime=0), "gz"), (zstandard.compress(archive), "zst"),
                     (bz2.compress(archive), "bz2"), (lzma.compress(archive), "xz")]:
    keep("containers", f"tar.{name}", b"\2" + packed)

NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CELLS = (
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>when</t></is></c></row>'
    '<row r="2"><c r="A2"><v>1.5</v></c><c r="B2" s="1"><v>43831</v></c><c r="XFD2" t="b"><v>1</v></c></row>'
    '<row r="1048576"><c r="A1048576" t="e"><v>#N/A</v></c><c r="B1048576" s="2"><f>1+1</f><v>0.5</v></c></row>'
)
SHEETS = {
    "xl/workbook.xml": f'<workbook xmlns="{NAMESPACE}" xmlns:r="{OFFICE}"><workbookPr date1904="0"/><sheets>'
    '<sheet name="one" sheetId="1" r:id="a"/><sheet name="two" sheetId="2" state="hidden" r:id="b"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": "".join(
        ['<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">']
        + [f'<Relationship Id="{id}" Type="{OFFICE}/{kind}" Target="{target}.xml"/>' for id, kind, target in [
            ("a", "worksheet", "worksheets/sheet1"), ("b", "worksheet", "worksheets/sheet2"),
            ("s", "sharedStrings", "sharedStrings"), ("t", "styles", "styles")]]
        + ["</Relationships>"]
    ),
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{NAMESPACE}"><dimension ref="A1:B3"/><sheetData>{CELLS}</sheetData>'
    '<mergeCells count="1"><mergeCell ref="A1:A2"/></mergeCells></worksheet>',
    "xl/sharedStrings.xml": f'<sst xmlns="{NAMESPACE}" count="1" uniqueCount="1"><si><r><t>id</t></r><r><t>s</t></r></si></sst>',
    "xl/styles.xml": f'<styleSheet xmlns="{NAMESPACE}"><numFmts count="1"><numFmt numFmtId="170" formatCode="yyyy\\-mm"/></numFmts>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="9"/><xf numFmtId="170"/></cellXfs></styleSheet>',
    "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{NAMESPACE}"><sheetData/></worksheet>',
}
WHOLE = {
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    **SHEETS,
}
# The first byte chooses the kind, and whether parts follow or a whole file.
keep("sheets", "parts.xlsx", b"\1" + b"\xff--\xff".join(part.encode() for part in SHEETS.values()))
keep("sheets", "deflated.xlsx", b"\0" + zipped(WHOLE, zipfile.ZIP_DEFLATED))
keep("sheets", "stored.xlsm", b"\2" + zipped(WHOLE, zipfile.ZIP_STORED))

# What another program wrote, and what the process that reads spreadsheets answers.
WRITTEN = Path(__file__).parents[2] / "pipeline" / "formats" / "tests" / "data"
keep("sheets", "sheetjs.xlsb", b"\4" + (WRITTEN / "sheetjs.xlsb").read_bytes())
said = zstandard.compress(b"sep=,\nid,name\n1,ada\n2,bob\n")
said_of = {"name": "a", "index": 0, "is_hidden": True, "text": {"Ok": {"start": 0, "end": len(said), "is_whole": True}}}
keep("sheets", "answer", b"\6" + json.dumps({"Ok": [said_of]}).encode() + b"\n" + said)

BASES = {
    "tables": """
        CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT NOT NULL, since DATE);
        CREATE TABLE person (id INT, name, city REFERENCES city (id), photo BLOB, PRIMARY KEY (id, name)) WITHOUT ROWID;
        INSERT INTO city VALUES (1, 'Oslo', '1048-01-01'), (2, 'Rome', NULL);
        INSERT INTO person VALUES (1, 'Ada', 1, x'00ff'), (2, 3.5, 2, NULL);
        CREATE INDEX by_name ON person (name);
        CREATE VIEW both AS SELECT person.name AS who, upper(city.name) AS town FROM person JOIN city ON city = city.id;""",
    "views": """
        CREATE TABLE t (a, b);
        INSERT INTO t VALUES (1, 2), (3, 'x');
        CREATE VIEW numbers AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20) SELECT i FROM n;
        CREATE VIEW sums AS SELECT a, sum(b) OVER (ORDER BY a) AS s FROM t;
        CREATE VIEW bad AS SELECT * FROM gone;
        CREATE TRIGGER never AFTER INSERT ON t BEGIN DELETE FROM t; END;""",
    "comments": """
        CREATE TABLE t ( -- all of it
          a INT, -- the number
          /* the name */ "b c" TEXT DEFAULT '-- none', [d] CHECK (d > 0) -- the rest
        );
        CREATE VIEW v (x -- the first
        ) AS SELECT a AS y /* the number */ FROM t;""",
}
for name, schema in BASES.items():
    base = sqlite3.connect(":memory:")
    base.execute("PRAGMA page_size = 512")
    base.executescript(schema)
    keep("sqlite", name, base.serialize())
INNER = {"b/t.sqlite": base.serialize(), "t.xlsx": zipped(WHOLE, zipfile.ZIP_DEFLATED), "t.db": b"none", "in.zip": b"PK"}
keep("containers", "inner.zip", b"\0" + zipped(INNER, zipfile.ZIP_DEFLATED))
keep("containers", "inner-mended.tar", b"\3" + tarred(INNER, tarfile.GNU_FORMAT))

def numbered(columns):
    """A Parquet file whose columns have these ids."""
    fields = [pa.field(name, values.type, metadata={"PARQUET:field_id": str(number)}) for name, number, values in columns]
    out = io.BytesIO()
    pa.parquet.write_table(pa.table([values for _, _, values in columns], pa.schema(fields)), out)
    return out.getvalue()


# The data file of which rows are deleted.
ids, texts = pa.array(range(5), pa.int64()), pa.array(["a", "b", None, "d", "e"])
(SEEDS / "deletes_data.parquet").write_bytes(numbered([("id", 1, ids), ("name", 2, texts)]))
# A Roaring bitmap of rows 0 and 3: one of 32 bits under the key 0.
rows = struct.pack("<IQIIIHHIHH", 1681511377, 1, 0, 12346, 1, 0, 1, 16, 0, 3)
keep("deletes", "inline", b"\0" + rows)
keep("deletes", "vector", b"\1" + struct.pack(">I", len(rows)) + rows + struct.pack(">I", zlib.crc32(rows)))
paths = pa.array(["data.parquet", "other.parquet", "data.parquet"])
keep("deletes", "positions", b"\2" + numbered([("file_path", 2147483546, paths), ("pos", 2147483545, pa.array([1, 2, 4], pa.int64()))]))
keep("deletes", "equal", b"\x0b" + numbered([("id", 1, pa.array([1, 3], pa.int64())), ("name", 2, pa.array(["b", None]))]))


def keep_log(target, name, log):
    """A table's log, and its data files by name alone."""
    files = {str(file.relative_to(log)): file.read_bytes() for file in sorted(log.rglob("*")) if file.is_file() and file.suffix != ".crc"}
    others = (file for file in sorted(log.parent.rglob("*")) if file.is_file() and log not in file.parents)
    files.update((f"/{file.relative_to(log.parent)}", b"x") for file in others)
    content = b"\xff--\xff".join(path.encode() + b"\n" + file for path, file in files.items())
    if len(content) <= 60 << 10:
        keep(target, name, content)


for lake in sys.argv[2:]:
    for target, root in [("delta", "_delta_log"), ("iceberg", "metadata"), ("hudi", ".hoodie")]:
        for log in Path(lake).rglob(root):
            if log.parent.parent.name != ".hoodie":
                keep_log(target, log.parent.name, log)

if len(sys.argv) > 1 and sys.argv[1]:
    segment = Path(sys.argv[1]).read_bytes()
    trailer = segment[-48:]
    footer_length, _, json_length = struct.unpack("<QQI", trailer[8:28])
    body = segment[: -48 - footer_length]
    contents = segment[len(body) :][:json_length]
    json.loads(contents)
    keep("segment", "small", struct.pack("<I", json_length) + contents + body)
