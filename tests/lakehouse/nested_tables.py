"""A Delta table with nested columns, by delta-rs, which maps no columns.

  echo 0 | python nested_tables.py LAKE SEED

Makes `people`, and prints how many rows it has.
"""
import pyarrow as pa
from deltalake import write_deltalake

from steps import take_steps

rows = pa.table({
    "id": pa.array([1, 2], pa.int64()),
    "contact": pa.array([
        {"street": "harbour 1", "geo": {"zone": "north", "secret": "forgotten 1"}, "secret": "forgotten 2"},
        {"street": "harbour 2", "geo": {"zone": "south", "secret": None}, "secret": None},
    ], pa.struct([("street", pa.string()), ("geo", pa.struct([("zone", pa.string()), ("secret", pa.string())])), ("secret", pa.string())])),
    "parts": pa.array([[{"code": "a", "count": 7}], []], pa.list_(pa.struct([("code", pa.string()), ("count", pa.int64())]))),
})


def taken(lake, _chance, _number):
    write_deltalake(str(lake / "people"), rows)
    return {"people": {"rows": len(rows)}}


if __name__ == "__main__":
    take_steps(taken)
