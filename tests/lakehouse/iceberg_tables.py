"""Iceberg tables by their reference writer (pyiceberg), as the tests of limn want them: random histories, and what is in them then.

  echo STEP | python iceberg_tables.py LAKE SEED

As delta_tables.py. The catalog is a file beside the lake, or at the address CATALOG_URI: then tables are called by their names there.
"""
import datetime
import decimal
import os
import uuid

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import DateType, DecimalType, DoubleType, LongType, NestedField, StringType, TimestamptzType

from delta_tables import batch, checksum
from steps import take_steps

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False, doc="What the row is called"),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "amount", DecimalType(12, 2), required=False),
    NestedField(4, "rate", DoubleType(), required=False),
    NestedField(5, "day", DateType(), required=False),
    NestedField(6, "at", TimestamptzType(), required=False),
    NestedField(7, "region", StringType(), required=False),
    NestedField(8, "secret", StringType(), required=False),
)
PARTED = PartitionSpec(PartitionField(7, 1000, IdentityTransform(), "region"), PartitionField(6, 1001, DayTransform(), "at_day"))
URI = os.environ.get("CATALOG_URI")
TABLES = {"shop.plain": "plain", "shop.parted": "sales/parted", "shop.empty": "empty"}


def make(catalog, lake, chance):
    for name, place in TABLES.items():
        spec = {"partition_spec": PARTED} if name == "shop.parted" else {}
        properties = {"comment": f"The {name} table of the test"}
        table = catalog.create_table(name, SCHEMA, location=str(lake / place), properties=properties, **spec)
        if name != "shop.empty":
            table.append(batch(chance, 0, 60))


def step(catalog, chance, number):
    for name in ("shop.plain", "shop.parted"):
        table = catalog.load_table(name)
        first = 1000 * number
        match chance.choice(["append", "delete", "overwrite", "evolve", "rename", "partition", "replace"]):
            case "append":
                append(table, chance, first, 30)
            case "delete":
                table.delete("secret LIKE 'doomed%'" if "secret" in table.schema().column_names else "id < 20")
            case "overwrite":
                table.overwrite(rows_of(table, chance, first, 10), overwrite_filter=f"id < {chance.randrange(40)}")
            case "evolve":
                with table.update_schema() as update:
                    update.add_column(f"more_{number}", StringType(), doc="Came later")
                append(table, chance, first, 10)
            case "rename":
                with table.update_schema() as update:
                    update.rename_column("name" if "name" in table.schema().column_names else "called", "called" if "name" in table.schema().column_names else "name")
            case "partition" if name == "shop.parted":
                with table.update_spec() as update:
                    fields = [field.name for field in table.spec().fields]
                    update.remove_field("region") if "region" in fields else update.add_identity("region")
                append(table, chance, first, 10)
            case "replace":
                table.overwrite(rows_of(table, chance, first, 25))


def rows_of(table, chance, first, count):
    """Rows with the names that the table's columns have now."""
    rows = batch(chance, first, count)
    names = {1: "id", 2: "name", 3: "amount", 4: "rate", 5: "day", 6: "at", 7: "region", 8: "secret"}
    now = {field.field_id: field.name for field in table.schema().fields}
    columns = {now[field]: rows[name] for field, name in names.items() if field in now}
    for field in table.schema().fields:
        if field.field_id not in names:
            columns[field.name] = pa.array([chance.choice(["web", "shop", None]) for _ in range(count)], pa.string())
    order = [field.name for field in table.schema().fields]
    return pa.table({name: columns[name] for name in order})


def append(table, chance, first, count):
    table.append(rows_of(table, chance, first, count))


def described(catalog):
    tables = {}
    for name, place in TABLES.items():
        rows = catalog.load_table(name).scan().to_arrow()
        live = set(rows["secret"].to_pylist())
        every = {f"doomed{i:06}" for i in range(3, 60, 7)}
        tables[name.replace(".", "/") if URI else place] = {
            "rows": len(rows),
            "columns": {column: checksum(rows[column]) for column in rows.column_names},
            "deleted": sorted(every - live) if live else [],
        }
    return dict(sorted(tables.items()))


def taken(lake, chance, number):
    if URI:
        catalog = RestCatalog("tests", uri=URI, warehouse="tests")
    else:
        catalog = SqlCatalog("test", uri=f"sqlite:///{lake.parent}/catalog.sqlite", warehouse=str(lake))
    if number == 0:
        catalog.create_namespace("shop")
        make(catalog, lake, chance)
    else:
        step(catalog, chance, number)
    return described(catalog)


if __name__ == "__main__":
    take_steps(taken)
