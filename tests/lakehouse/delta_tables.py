"""Delta tables by their reference writer (delta-rs), as the tests of limn want them: random histories, and what is in them then.

  echo STEP | python delta_tables.py LAKE SEED

Takes the tables of a lake one step further in a history that the seed decides, for each line (steps.py), and prints as JSON what this writer
itself reads of each now: {table: {"rows", "columns": {name: [kind, values, checksum]}, "deleted"}}; deleted are words of deleted rows. Step 0
makes them.
"""
import datetime
import decimal

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from steps import take_steps

REGIONS = ["north", "süd west", "a/b=c%20d", None]


def batch(chance, first, count, extra=False):
    """Rows with ids from `first` on; those that will be deleted carry a word that nothing else has."""
    ids = list(range(first, first + count))
    columns = {
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([None if chance.random() < 0.1 else f"name {chance.randrange(50)}" for _ in ids], pa.string()),
        "amount": pa.array([decimal.Decimal(chance.randrange(100_000)).scaleb(-2) for _ in ids], pa.decimal128(12, 2)),
        "rate": pa.array([None if chance.random() < 0.2 else chance.random() for _ in ids], pa.float64()),
        "day": pa.array([datetime.date(2024, 1, 1) + datetime.timedelta(chance.randrange(3)) for _ in ids], pa.date32()),
        "at": pa.array([datetime.datetime(2024, 1, 1, 12, chance.randrange(60), tzinfo=datetime.timezone.utc) for _ in ids], pa.timestamp("us", "UTC")),
        "region": pa.array([chance.choice(REGIONS) for _ in ids], pa.string()),
        "secret": pa.array([f"doomed{i:06}" if i % 7 == 3 else f"kept{i:06}" for i in ids], pa.string()),
    }
    if extra:
        columns["channel"] = pa.array([chance.choice(["web", "shop"]) for _ in ids], pa.string())
    return pa.table(columns)


def make(lake, chance):
    for name, partitions in (("plain", None), ("sales/parted", ["region", "day"])):
        write_deltalake(str(lake / name), batch(chance, 0, 60), partition_by=partitions, description=f"The {name} table of the test",
                        configuration={"delta.logRetentionDuration": "interval 0 days"})
    schema = Schema([Field("id", PrimitiveType("long"), metadata={"comment": "What the row is called"}), Field("note", PrimitiveType("string"))])
    DeltaTable.create(str(lake / "empty"), schema, name="nothing", description="A table without rows")


def step(lake, chance, number):
    for name in ("plain", "sales/parted"):
        table = DeltaTable(str(lake / name))
        first = 1000 * number
        match chance.choice(["append", "delete", "update", "merge", "overwrite", "evolve", "compact", "checkpoint"]) if number < 100 else "vacuum":
            case "append":
                write_deltalake(table, batch(chance, first, 30), mode="append", schema_mode="merge")
            case "delete":
                table.delete("secret LIKE 'doomed%'")
            case "update":
                table.update(updates={"name": "'updated'"}, predicate=f"id % 5 = {chance.randrange(5)}")
            case "merge":
                rows = batch(chance, 10, 20)
                merge = table.merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
                merge.when_matched_update(updates={"rate": "s.rate"}).when_not_matched_insert_all().execute()
            case "overwrite":
                write_deltalake(table, batch(chance, first, 40), mode="overwrite", schema_mode="merge")
            case "evolve":
                write_deltalake(table, batch(chance, first, 10, extra=True), mode="append", schema_mode="merge")
            case "compact":
                table.optimize.compact()
            case "checkpoint":
                table.create_checkpoint()
            case "vacuum":
                table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


def checksum(column):
    """What kind of values a column has, how many, and a number or text that depends on all of them."""
    kind = column.type
    values = [value for value in column.to_pylist() if value is not None]
    if pa.types.is_timestamp(kind):
        return ["time", len(values), str(sum(int(value.timestamp()) for value in values))]
    if pa.types.is_date(kind):
        return ["time", len(values), str(sum((value - datetime.date(1970, 1, 1)).days * 86400 for value in values))]
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return ["number", len(values), str(sum(values))]
    texts = sorted(str(value) for value in values)
    return ["text", len(values), f"{texts[0]}..{texts[-1]}" if texts else ""]


def described(lake):
    tables = {}
    for log in sorted(lake.rglob("_delta_log")):
        table = DeltaTable(str(log.parent))
        rows = pa.table(table.to_pyarrow_table())
        live = set(rows["secret"].to_pylist()) if "secret" in rows.column_names else set()
        every = {f"doomed{i:06}" for i in range(3, 60, 7)}
        tables[str(log.parent.relative_to(lake))] = {
            "rows": len(rows),
            "columns": {name: checksum(rows[name]) for name in rows.column_names},
            "deleted": sorted(every - live) if live else [],
        }
    return tables


def taken(lake, chance, number):
    if number == 0:
        make(lake, chance)
    else:
        step(lake, chance, number)
    return described(lake)


if __name__ == "__main__":
    take_steps(taken)
