"""Tables of an Iceberg REST catalog, by pyiceberg's own REST client.

    catalog_tables.py ADDRESS COMMANDS

COMMANDS is JSON, a list of: ["namespace", NAME], ["make", NAME, ROWS], ["append", NAME, FIRST, ROWS], ["delete", NAME, WHERE],
["drop", NAME], ["rename", NAME, NAME], ["register", NAME, NAME of a table with the same metadata]. Rows have an `id`, a `name`
and an `amount`. Environment: CATALOG_CLIENT is JSON of settings of the client.
"""

import json
import os
import sys

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog

settings = json.loads(os.environ.get("CATALOG_CLIENT", "{}"))
catalog = RestCatalog("tests", uri=sys.argv[1], **{"warehouse": "tests"} | settings)


def rows(first, count):
    ids = range(first, first + count)
    return pa.table({"id": list(ids), "name": [f"row{i:05}" for i in ids], "amount": [i / 4 for i in ids]})


def split(name):
    return tuple(name.split("."))


for command in json.loads(sys.argv[2]):
    match command:
        case ["namespace", name]:
            catalog.create_namespace(split(name))
        case ["make", name, count]:
            table = catalog.create_table(split(name), rows(0, 1).schema)
            table.append(rows(0, count))
        case ["append", name, first, count]:
            catalog.load_table(split(name)).append(rows(first, count))
        case ["delete", name, where]:
            catalog.load_table(split(name)).delete(where)
        case ["drop", name]:
            catalog.drop_table(split(name))
        case ["rename", name, other]:
            catalog.rename_table(split(name), split(other))
        case ["register", name, other]:
            catalog.register_table(split(other), catalog.load_table(split(name)).metadata_location)
print(json.dumps(sorted(".".join(it) for space in catalog.list_namespaces() for it in catalog.list_tables(space))), flush=True)
os._exit(0)
