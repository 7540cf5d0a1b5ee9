"""Iceberg tables with data files and deletes in Parquet, ORC and Avro, and nested columns whose fields are renamed, dropped and added.

  echo STEP | python mixed_tables.py LAKE SEED

As iceberg_tables.py. Step 100 deletes rows by equality, which pyiceberg does not read: what it read before, without these rows, is
printed.
"""
import datetime
import decimal
import uuid

import mixed_files
import pyarrow as pa
from delta_tables import checksum
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestWriterV2, write_manifest_list
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (DateType, DecimalType, DoubleType, IntegerType, ListType, LongType, MapType, NestedField, StringType, StructType,
                             TimestampType, TimestamptzType, TimeType)
from steps import take_steps


def field(number, name, kind, required=False):
    return NestedField(number, name, kind, required=required)


SCHEMA = Schema(
    field(1, "id", LongType()), field(2, "name", StringType()), field(3, "amount", DecimalType(12, 2)), field(4, "rate", DoubleType()),
    field(5, "day", DateType()), field(6, "at", TimestamptzType()), field(7, "region", StringType()), field(8, "secret", StringType()),
    field(9, "opens", TimeType()), field(10, "local", TimestampType()), field(11, "small", IntegerType()),
    field(12, "contact", StructType(field(20, "street", StringType()), field(21, "geo", StructType(field(22, "zone", StringType()), field(23, "level", IntegerType()))))),
    field(13, "parts", ListType(24, StructType(field(25, "code", StringType()), field(26, "count", LongType())), element_required=False)),
    field(14, "notes", MapType(27, StringType(), 28, StructType(field(29, "text", StringType()), field(30, "by", StringType())), value_required=False)),
)
PARTED = PartitionSpec(PartitionField(7, 1000, IdentityTransform(), "region"))
TABLES = {"shop.mixed": "mixed", "shop.parted": "sales/mixed"}
FORMATS = ["parquet", "orc", "avro"]
POSITIONS = Schema(field(2147483546, "file_path", StringType(), True), field(2147483545, "pos", LongType(), True))


def value(chance, kind):
    """A value of a type, or none."""
    if chance.random() < 0.15:
        return None
    match kind:
        case StructType():
            # pyarrow writes other values to ORC than those of a struct within a struct that is null.
            return {it.name: value(chance, it.field_type) or ({} if isinstance(it.field_type, StructType) else None) for it in kind.fields}
        case ListType():
            return [value(chance, kind.element_type) or {} for _ in range(chance.randrange(3))]
        case MapType():
            return [(f"key{at}", value(chance, kind.value_type) or {}) for at in range(chance.randrange(3))]
        case IntegerType() | LongType():
            return chance.randrange(1000)
        case DecimalType():
            return decimal.Decimal(chance.randrange(100_000)).scaleb(-2)
        case DoubleType():
            return chance.random()
        case DateType():
            return datetime.date(2024, 1, 1) + datetime.timedelta(chance.randrange(300))
        case TimestamptzType():
            return datetime.datetime(2024, 1, 1, 12, chance.randrange(60), tzinfo=datetime.timezone.utc)
        case TimestampType():
            return datetime.datetime(2024, 1, 1, 12, chance.randrange(60))
        case TimeType():
            return datetime.time(chance.randrange(24), chance.randrange(60), chance.randrange(60))
        case StringType():
            return f"word {chance.randrange(40)}"


def rows_of(table, chance, first, count):
    """Rows with the names that the table's columns have now, however deep."""
    columns = {it.name: [value(chance, it.field_type) for _ in range(count)] for it in table.schema().fields}
    ids = list(range(first, first + count))
    columns["id"] = ids
    columns["secret"] = [f"doomed{i:06}" if i % 7 == 3 else f"kept{i:06}" for i in ids]
    columns["region"] = [chance.choice(["north", "süd west", None]) for _ in ids]
    return pa.table(columns, schema=schema_to_pyarrow(table.schema(), include_field_ids=False))


def in_format(table, kind):
    with table.transaction() as transaction:
        transaction.set_properties({"write.format.default": kind})
    return table


def rename(update, table, chance, number):
    nested = [name for name in table.schema().column_names if "." in name]
    names = [name for name in nested if not name.endswith((".element", ".key", ".value"))]
    path = chance.choice(names)
    # A name that another field had is one that a reader by names mistakes.
    update.rename_column(path, chance.choice([f"called_{number}", "street", "code", "text"]) if chance.random() < 0.5 else f"now_{number}")


def evolve(table, chance, number):
    paths = ["contact", "parts.element", "notes.value"]
    for _ in range(10):
        try:
            with table.update_schema() as update:
                match chance.choice(["rename", "drop", "add", "column"]):
                    case "rename":
                        rename(update, table, chance, number)
                    case "drop":
                        path = chance.choice(paths)
                        parts = [name for name in table.schema().column_names if name.rpartition(".")[0] == path]
                        if len(parts) > 1:
                            update.delete_column(chance.choice(parts))
                    case "add":
                        update.add_column((*chance.choice(paths).split("."), f"added_{number}"), StringType())
                    case "column":
                        old = table.schema().find_column_name(2)
                        update.rename_column(old, f"name_{number}")
                        if isinstance(table.schema().find_type(11), IntegerType):
                            update.update_column(table.schema().find_column_name(11), LongType())
            return
        except ValueError:
            # That name is taken.
            continue


class Deletes(ManifestWriterV2):
    """A manifest of files of deletes."""

    def content(self):
        return ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


def commit_deletes(table, files):
    """Commits files of deletes, all of one partition specification."""
    metadata, io, parent = table.metadata, table.io, table.current_snapshot()
    snapshot, folder = uuid.uuid4().int >> 66, f"{metadata.location}/metadata"
    place = io.new_output(f"{folder}/{uuid.uuid4()}-m0.avro")
    with Deletes(metadata.specs()[files[0].spec_id], table.schema(), place, snapshot, "gzip") as manifest:
        for file in files:
            manifest.add_entry(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file))
    sequence = metadata.last_sequence_number + 1
    listed = f"{folder}/snap-{snapshot}-0-{uuid.uuid4()}.avro"
    with write_manifest_list(2, io.new_output(listed), snapshot, parent.snapshot_id, sequence, "gzip") as all_of_it:
        all_of_it.add_manifests([manifest.to_manifest_file(), *parent.manifests(io)])
    added = Snapshot(snapshot_id=snapshot, parent_snapshot_id=parent.snapshot_id, sequence_number=sequence, manifest_list=listed,
                     summary=Summary(operation=Operation.DELETE), schema_id=metadata.current_schema_id)
    reference = SetSnapshotRefUpdate(snapshot_id=snapshot, parent_snapshot_id=parent.snapshot_id, ref_name="main", type="branch")
    with table.transaction() as transaction:
        transaction._apply((AddSnapshotUpdate(snapshot=added), reference))


def file_of_deletes(table, schema, rows, content, kind, like, ids=None):
    """Writes a file of deletes of the partition of a data file, in a format."""
    ids_of_fields = {it.name: str(it.field_id) for it in schema.fields}
    own = [pa.field(it.name, it.type, it.nullable, {b"PARQUET:field_id": ids_of_fields[it.name], b"iceberg.id": ids_of_fields[it.name]})
           for it in schema_to_pyarrow(schema, include_field_ids=False)]
    path = f"{table.metadata.location}/data/{uuid.uuid4()}-deletes.{kind}"
    rows = pa.table(rows, schema=pa.schema(own))
    size = mixed_files.write_rows(path, schema, rows)
    mixed_files.write_rows(str(mixed_files.twin(path)), schema, rows)
    file = DataFile.from_args(content=content, file_path=path, file_format=FileFormat(kind.upper()), partition=like.partition,
                              record_count=len(rows), file_size_in_bytes=size, equality_ids=ids)
    file.spec_id = like.spec_id
    return file


def delete_positions(table, chance, kind):
    """Deletes rows of two data files by their numbers, in a file of deletes each."""
    files = sorted((task.file for task in table.scan().plan_files()), key=lambda it: it.file_path)
    spec = chance.choice(files).spec_id
    files = [it for it in files if it.spec_id == spec]
    made = []
    for file in chance.sample(files, min(2, len(files))):
        numbers = sorted(chance.sample(range(file.record_count), (file.record_count + 3) // 4))
        rows = {"file_path": [file.file_path] * len(numbers), "pos": numbers}
        made.append(file_of_deletes(table, POSITIONS, rows, DataFileContent.POSITION_DELETES, kind, file))
    commit_deletes(table, made)


def delete_equal(table, chance, kind):
    """Deletes rows by their values in two columns; the rows that are left."""
    rows = table.scan().to_arrow()
    some = chance.sample(range(len(rows)), len(rows) // 3)
    ids, times = rows["id"].take(some).to_pylist(), rows["at"].take(some).to_pylist()
    # These are of no row.
    ids, times = ids + [7, None], times + [datetime.datetime(1999, 1, 1, tzinfo=datetime.timezone.utc), None]
    schema = Schema(table.schema().find_field(1), table.schema().find_field(6))
    like = next(iter(table.scan().plan_files())).file
    commit_deletes(table, [file_of_deletes(table, schema, {"id": ids, "at": times}, DataFileContent.EQUALITY_DELETES, kind, like, [1, 6])])
    deleted = set(zip(ids, times))
    return rows.filter(pa.array([pair not in deleted for pair in zip(rows["id"].to_pylist(), rows["at"].to_pylist())]))


def make(catalog, lake, chance):
    for name, place in TABLES.items():
        spec = {"partition_spec": PARTED} if name == "shop.parted" else {}
        table = catalog.create_table(name, SCHEMA, location=str(lake / place), **spec)
        for number, kind in enumerate(FORMATS):
            append(in_format(table, kind), chance, 100 * number, 40)


def step(catalog, chance, number):
    for name in TABLES:
        kind = chance.choice(FORMATS)
        table = in_format(catalog.load_table(name), kind)
        match chance.choice(["append", "delete", "overwrite", "evolve", "evolve", "positions"]):
            case "append":
                append(table, chance, 1000 * number, 20)
            case "delete":
                table.delete("secret LIKE 'doomed%'")
            case "overwrite":
                table.overwrite(rows_of(table, chance, 1000 * number, 10), overwrite_filter=f"id < {chance.randrange(60)}")
            case "evolve":
                evolve(table, chance, number)
                append(table, chance, 1000 * number, 10)
            case "positions":
                delete_positions(table, chance, kind)


def append(table, chance, first, count):
    table.append(rows_of(table, chance, first, count))


def check(column):
    """As of other tables; of nested values all of them."""
    if not pa.types.is_nested(column.type):
        return checksum(column)
    values = [value for value in column.to_pylist() if value is not None]
    of_map = pa.types.is_map(column.type)
    return ["nested", len(values), [without_nulls(dict(value) if of_map else value) for value in values]]


def without_nulls(value):
    """A value as limn writes it: fields of null are left out."""
    match value:
        case dict():
            return {name: without_nulls(it) for name, it in value.items() if it is not None}
        case list():
            return [without_nulls(it) for it in value]
        case _:
            return value


def described(name, rows):
    live = set(rows["secret"].to_pylist())
    every = {f"doomed{i:06}" for i in range(3, 240, 7) if i % 100 < 40}
    return {"rows": len(rows), "columns": {column: check(rows[column]) for column in rows.column_names}, "deleted": sorted(every - live)}


def taken(lake, chance, number):
    mixed_files.TWINS = lake.parent / "twins"
    mixed_files.TWINS.mkdir(exist_ok=True)
    catalog = SqlCatalog("test", uri=f"sqlite:///{lake.parent}/catalog.sqlite", warehouse=str(lake))
    if number == 0:
        catalog.create_namespace("shop")
        make(catalog, lake, chance)
    elif number < 100:
        step(catalog, chance, number)
    left = {}
    if number == 100:
        left = {"shop.mixed": delete_equal(catalog.load_table("shop.mixed"), chance, chance.choice(FORMATS))}
    tables = {place: described(name, left[name] if name in left else catalog.load_table(name).scan().to_arrow()) for name, place in TABLES.items()}
    return dict(sorted(tables.items()))


if __name__ == "__main__":
    take_steps(taken)
