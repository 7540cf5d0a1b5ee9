"""Writes the first inputs of the fuzz targets to seeds/TARGET/: `seeds.py SEGMENT` (needs pyarrow, fastavro, zstandard).

They are kept in the repository, so that nobody needs to run this but who adds a format. SEGMENT is the path of a segment
of a small index.
"""

import bz2
import gzip
import io
import json
import lzma
import struct
import sys
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
keep("delimited", "utf-16.csv", "größe,Ω\n1,a\n2,b\n".encode("utf-16"))
keep("delimited", "latin.csv", "größe;straße\n1;Köln\n2;Düsseldorf\n".encode("cp1252"))

for name, text in {
    "lines.json": '{"id":1,"at":{"x":1.5,"y":null},"tags":["a","b"]}\n{"id":2,"more":true}\n',
    "array.json": '[{"id":1,"v":"\\u00e9\\ud83d\\ude00"},{"id":2,"v":1e300}]',
    "pretty.json": '{\n "a": [[1,2],[3]],\n "b": {"c": {"d": {}}}\n}\n{"a":[]}',
}.items():
    keep("json", name, text.encode())

PLAIN = CSV["plain.csv"].encode() * 8
for kind, packed in enumerate(
    [gzip.compress(PLAIN, mtime=0), zstandard.compress(PLAIN), bz2.compress(PLAIN), lzma.compress(PLAIN)]
):
    keep("compressed", f"packed-{kind}", bytes([kind]) + packed)

keep("contexts", "readme.md", b"# Orders\n\n| column | description |\n|---|---|\n| id | number of the order |\n")
keep("contexts", "registered", b'{"table":"orders","context":"What was sold."}\n{"table":"v","context":"x"}\n')

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

if len(sys.argv) > 1:
    segment = Path(sys.argv[1]).read_bytes()
    trailer = segment[-48:]
    footer_length, _, json_length = struct.unpack("<QQI", trailer[8:28])
    body = segment[: -48 - footer_length]
    contents = segment[len(body) :][:json_length]
    json.loads(contents)
    keep("segment", "small", struct.pack("<I", json_length) + contents + body)
