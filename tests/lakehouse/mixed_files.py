"""Iceberg data files in ORC and Avro for pyiceberg, which writes Parquet alone, reads no Avro, and no times in ORC.

Importing it registers writers for both. Beside each file, outside of the lake, a Parquet twin has the same rows: pyiceberg reads it in
their place. `write_rows` writes one file, as of deletes.
"""
import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
from pyiceberg.avro import file as avro
from pyiceberg.io import pyarrow as icebergs
from pyiceberg.io.fileformat import FileFormatFactory, FileFormatWriter
from pyiceberg.io.pyarrow import ParquetFormatModel, PyArrowFileIO
from pyiceberg.manifest import FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import ListType, MapType, StructType

TWINS = pathlib.Path()
EPOCH = datetime.date(1970, 1, 1)


def twin(path):
    """Where a file's twin is."""
    return TWINS / f"{pathlib.Path(path).name}.parquet"


def stored(value, kind):
    """A value as pyiceberg's Avro writer takes it."""
    match value:
        case None | decimal.Decimal() | bool():
            return value
        case dict() if isinstance(kind, StructType):
            return Record(*(stored(value.get(field.name), field.field_type) for field in kind.fields))
        case dict() | list() if isinstance(kind, MapType):
            pairs = value.items() if isinstance(value, dict) else value
            return {stored(key, kind.key_type): stored(it, kind.value_type) for key, it in pairs}
        case list() if isinstance(kind, ListType):
            return [stored(it, kind.element_type) for it in value]
        case datetime.datetime():
            zone = datetime.timezone.utc if value.tzinfo else None
            since = value - datetime.datetime(1970, 1, 1, tzinfo=zone)
            return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
        case datetime.date():
            return (value - EPOCH).days
        case datetime.time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case _:
            return value


def as_orc(table):
    """A table in types that ORC has, as Iceberg's own writers store them: times as whole numbers, marked."""
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns):
        if pa.types.is_time(field.type):
            field = pa.field(field.name, pa.int64(), field.nullable, {**(field.metadata or {}), b"iceberg.long-type": b"TIME"})
            column = column.cast(pa.int64())
        fields.append(field)
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


def write_rows(path, schema, table):
    """Writes a file in the format of its name; its bytes."""
    path = path.removeprefix("file://")
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    match pathlib.Path(path).suffix:
        case ".orc":
            pa.orc.write_table(as_orc(table), path, stripe_size=4096)
        case ".avro":
            rows = [Record(*(stored(row[field.name], field.field_type) for field in schema.fields)) for row in table.to_pylist()]
            with avro.AvroOutputFile(PyArrowFileIO().new_output(path), schema, "table") as file:
                for at in range(0, len(rows), 7):
                    file.write_block(rows[at:at + 7])
        case _:
            pq.write_table(table, path)
    return pathlib.Path(path).stat().st_size


class Writer(FileFormatWriter):
    """Writes a file, and its twin."""

    def __init__(self, file, schema, properties):
        self.file, self.schema = file, schema
        self.twin = ParquetFormatModel().create_writer(PyArrowFileIO().new_output(str(twin(file.location))), schema, properties)

    def write(self, table):
        # The twin's ids are Parquet's.
        names = [field.with_metadata({b"PARQUET:field_id": field.metadata[b"iceberg.id"]}) for field in named(table.schema)]
        self.twin.write(pa.table(table.columns, names=table.column_names).cast(pa.schema(names)))
        write_rows(self.file.location, self.schema, table)

    def close(self):
        return self.twin.close()


def named(fields):
    """Fields with Parquet's ids for ORC's, however deep."""
    def kind(it):
        if pa.types.is_struct(it):
            return pa.struct([field(part) for part in it])
        if pa.types.is_list(it) or pa.types.is_large_list(it):
            return pa.large_list(field(it.value_field))
        if pa.types.is_map(it):
            return pa.map_(field(it.key_field), field(it.item_field))
        return it

    def field(it):
        ids = {b"PARQUET:field_id": it.metadata[b"iceberg.id"], b"iceberg.id": it.metadata[b"iceberg.id"]}
        return pa.field(it.name, kind(it.type), it.nullable, ids)

    return [field(it) for it in fields]


class Model(ParquetFormatModel):
    """Files of another format than Parquet."""

    def __init__(self, kind):
        self.kind = kind

    @property
    def format(self):
        return self.kind

    def file_extension(self):
        return self.kind.value.lower()

    def create_writer(self, output_file, file_schema, properties):
        return Writer(output_file, file_schema, properties)

    def add_field_metadata(self, field, metadata, include_field_ids):
        metadata[b"iceberg.id"] = str(field.field_id).encode()
        metadata[b"iceberg.required"] = str(field.required).lower().encode()


class Schemas(avro.AvroSchemaConversion):
    """Avro's schemas with a name for every record, which Avro asks for."""

    def iceberg_to_avro(self, schema, schema_name=None):
        made, records = super().iceberg_to_avro(schema, schema_name=schema_name), 0
        waiting = [made]
        while waiting:
            match waiting.pop():
                case {"type": "record", "fields": fields} as record:
                    records += 1
                    record.setdefault("name", f"record{records}")
                    waiting += [field["type"] for field in fields]
                case {"type": "array", "items": below} | {"type": "map", "values": below}:
                    waiting.append(below)
                case list() as branches:
                    waiting += branches
        return made


class Twin:
    """A data file whose rows are read of its twin."""

    def __init__(self, file):
        self.file = file
        self.file_path, self.file_format = str(twin(file.file_path)), FileFormat.PARQUET

    def __getattr__(self, name):
        return getattr(self.file, name)


class Task:
    def __init__(self, task):
        self.task, self.file = task, Twin(task.file)

    def __getattr__(self, name):
        return getattr(self.task, name)


def batches_of(io, task, *arguments, own=icebergs._task_to_record_batches, **more):
    return own(io, task if task.file.file_format == FileFormat.PARQUET else Task(task), *arguments, **more)


def deletes_of(io, file, own=icebergs._read_deletes):
    return own(io, file if file.file_format == FileFormat.PARQUET else Twin(file))


icebergs._task_to_record_batches, icebergs._read_deletes = batches_of, deletes_of
avro.AvroSchemaConversion = Schemas
FileFormatFactory.register(Model(FileFormat.ORC))
FileFormatFactory.register(Model(FileFormat.AVRO))
