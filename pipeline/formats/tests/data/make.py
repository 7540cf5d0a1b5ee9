"""Writes the files beside it, with which the tests compare what limn reads of each format.

Run with pyarrow 26, fastavro 1.13 (with backports.zstd) and pyorc 0.12: python make.py [rows]
"""

import datetime
import decimal
import random
import sys

import fastavro
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pyorc

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
random.seed(7)


def some(value, every=7):
    """The value, or sometimes none."""
    return None if random.randrange(every) == 0 else value


def column(of):
    return [of(i) for i in range(ROWS)]


def moment(i):
    return datetime.datetime(1960, 1, 1) + datetime.timedelta(seconds=random.randrange(4 * 10**9), microseconds=random.randrange(10**6))


# What Parquet, Arrow and ORC hold.
table = pa.table({
    "id": pa.array(column(lambda i: i), pa.int64()),
    "same": pa.array(column(lambda i: 42 + i // 250), pa.int32()),
    "spread": pa.array(column(lambda i: some(random.randrange(-10**9, 10**9) if i % 50 == 0 else random.randrange(100))), pa.int64()),
    "wide": pa.array(column(lambda i: random.choice([-2**63, 2**63 - 1, i])), pa.int64()),
    "falling": pa.array(column(lambda i: 10**6 - i * i), pa.int32()),
    "tiny": pa.array(column(lambda i: some(i % 256 - 128)), pa.int8()),
    "short": pa.array(column(lambda i: some(random.randrange(-2**15, 2**15))), pa.int16()),
    "flag": pa.array(column(lambda i: some(i % 3 == 0)), pa.bool_()),
    "weight": pa.array(column(lambda i: some(random.random() * 10 ** random.randrange(-5, 9))), pa.float64()),
    "share": pa.array(column(lambda i: random.random()), pa.float32()),
    "word": pa.array(column(lambda i: some(random.choice(["red", "green", "blue", "gr\u00fcn"]))), pa.string()),
    "text": pa.array(column(lambda i: some(f"{random.getrandbits(64):016x}" * (i % 4))), pa.string()),
    "day": pa.array(column(lambda i: some(datetime.date(1900, 1, 1) + datetime.timedelta(days=random.randrange(80000)))), pa.date32()),
    "at": pa.array(column(lambda i: some(moment(i))), pa.timestamp("ns")),
    "instant": pa.array(column(lambda i: some(moment(i))), pa.timestamp("us", "UTC")),
    "price": pa.array(column(lambda i: some(decimal.Decimal(random.randrange(-10**6, 10**6)).scaleb(-2))), pa.decimal128(10, 2)),
    "amount": pa.array(column(lambda i: decimal.Decimal(random.getrandbits(100)).scaleb(-10)), pa.decimal128(38, 10)),
    "list": pa.array(column(lambda i: some([some(random.randrange(1000)) for _ in range(i % 4)])), pa.list_(pa.int32())),
    "struct": pa.array(column(lambda i: some({"a": some(i), "b": some("x" * (i % 3)), "c": some([i])})),
                       pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.list_(pa.int64()))])),
    "map": pa.array(column(lambda i: some([(f"k{n}", some(n)) for n in range(i % 3)])), pa.map_(pa.string(), pa.int32())),
    "raw": pa.array(column(lambda i: some(bytes([i % 256, 0]))), pa.binary()),
})
pa.parquet.write_table(table, "table.parquet")
for codec in ["uncompressed", "snappy", "zlib", "lz4", "zstd"]:
    pa.orc.write_table(table, f"table_{codec}.orc", compression=codec, stripe_size=64 << 10, batch_size=200,
                       dictionary_key_size_threshold=0.5 if codec in ("zlib", "zstd") else 0)
pa.orc.write_table(table, "table_first.orc", file_version="0.11", compression="zlib", dictionary_key_size_threshold=0.5)
for codec in ["lz4", "zstd"]:
    pa.feather.write_feather(table, f"table_{codec}.feather", compression=codec, chunksize=128)
with pa.ipc.new_stream("table.arrows", table.schema) as stream:
    stream.write_table(table, max_chunksize=128)
pa.feather.write_feather(table.select(["flag"]), "first.feather", version=1)

# What only ORC has.
with open("kinds.orc", "wb") as out, pyorc.Writer(
        out, "struct<t:tinyint,c:char(5),v:varchar(9),u:uniontype<int,string>,l:array<uniontype<int,string>>,n:timestamp>",
        compression=pyorc.CompressionKind.ZLIB) as writer:
    writer.write((1, "abc", "varchar", 7, [1, "x", None], datetime.datetime(2024, 2, 29, 12, 34, 56, 500000)))
    writer.write((None, None, None, "seven", [], None))
    writer.write((-128, "", "", None, None, datetime.datetime(1960, 1, 1, 0, 0, 0, 250000)))

# What ORC says of itself.
described = pyorc.TypeDescription.from_string("struct<id:int,name:string,plain:string>")
described["id"].set_attributes({"comment": "The\nnumber", "iceberg.id": "1"})
described["name"].set_attributes({"Description": "Who it is"})
described["plain"].set_attributes({"comment": " "})
with open("described.orc", "wb") as out, pyorc.Writer(out, described, compression=pyorc.CompressionKind.ZSTD) as writer:
    writer.set_user_metadata(description="What was sold".encode(), writer="make.py".encode())
    writer.write((1, "ada", "x"))
    writer.write((2, "bob", "y"))

# What Avro and Parquet hold.
avro = table.select(["id", "spread", "flag", "weight", "share", "word", "text", "day", "price", "list", "struct", "map", "raw", "instant"])
optional = lambda kind: ["null", kind]
schema = {"type": "record", "name": "row", "namespace": "limn.test", "doc": "a row", "fields": [
    {"name": "id", "type": "long", "doc": "its number"},
    {"name": "spread", "type": optional("long")},
    {"name": "flag", "type": optional("boolean")},
    {"name": "weight", "type": optional("double")},
    {"name": "share", "type": "float"},
    {"name": "word", "type": ["string", "null"]},
    {"name": "text", "type": optional("string")},
    {"name": "day", "type": optional({"type": "int", "logicalType": "date"})},
    {"name": "price", "type": optional({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2})},
    {"name": "list", "type": optional({"type": "array", "items": optional("int")})},
    {"name": "struct", "type": optional({"type": "record", "name": "part", "fields": [
        {"name": "a", "type": optional("int"), "default": None},
        {"name": "b", "type": optional("string"), "default": None},
        {"name": "c", "type": optional({"type": "array", "items": "long"}), "default": None}]})},
    {"name": "map", "type": optional({"type": "map", "values": optional("int")})},
    {"name": "raw", "type": optional("bytes")},
    {"name": "instant", "type": optional({"type": "long", "logicalType": "timestamp-micros"})},
]}
rows = [{**row, "map": None if row["map"] is None else dict(row["map"])} for row in avro.to_pylist()]
for codec in ["null", "deflate", "snappy", "zstandard"]:
    with open(f"table_{codec}.avro", "wb") as out:
        fastavro.writer(out, schema, rows, codec=codec, sync_interval=8000)
kinds = {"type": "record", "name": "kinds", "fields": [
    {"name": "e", "type": {"type": "enum", "name": "colour", "symbols": ["red", "green"]}},
    {"name": "again", "type": ["null", "colour"]},
    {"name": "u", "type": ["null", "int", "string", "double"]},
    {"name": "f", "type": {"type": "fixed", "name": "two", "size": 2}},
    {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "t", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "nothing", "type": "null"},
]}
with open("kinds.avro", "wb") as out:
    fastavro.writer(out, kinds, [
        {"e": "red", "again": None, "u": 7, "f": b"\x00\x01", "id": "0000-no-identifier", "t": datetime.time(1, 2, 3), "nothing": None},
        {"e": "green", "again": "red", "u": "seven", "f": b"ab", "id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "t": datetime.time(0), "nothing": None},
        {"e": "red", "again": "green", "u": None, "f": b"ab", "id": "", "t": datetime.time(23, 59, 59, 999000), "nothing": None},
    ])
