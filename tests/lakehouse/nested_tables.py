"""A Delta table with nested columns, by delta-rs, which maps no columns.

  python nested_tables.py LAKE SEED STEP

Makes `people`, and prints how many rows it has.
"""
import json
import os
import pathlib
import sys

import pyarrow as pa
from deltalake import write_deltalake

rows = pa.table({
    "id": pa.array([1, 2], pa.int64()),
    "contact": pa.array([
        {"street": "harbour 1", "geo": {"zone": "north", "secret": "forgotten 1"}, "secret": "forgotten 2"},
        {"street": "harbour 2", "geo": {"zone": "south", "secret": None}, "secret": None},
    ], pa.struct([("street", pa.string()), ("geo", pa.struct([("zone", pa.string()), ("secret", pa.string())])), ("secret", pa.string())])),
    "parts": pa.array([[{"code": "a", "count": 7}], []], pa.list_(pa.struct([("code", pa.string()), ("count", pa.int64())]))),
})
write_deltalake(str(pathlib.Path(sys.argv[1]) / "people"), rows)
print(json.dumps({"people": {"rows": len(rows)}}), flush=True)
os._exit(0)
