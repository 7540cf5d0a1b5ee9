#!/usr/bin/env python3
"""Every column of three corpora as `limn sql` yields it, held against what DuckDB reads of the same file.

  python tests/reference/scan.py --limn target/release/limn --corpora ../shared/corpora --work /tmp/scan

DuckDB is told what limn found of dialect and types (the corpora's README promises commas, quotes, a header; limn's types are those of
the answer), and the spellings of nulls. Of every column rows, nulls and a checksum are compared: sums of numbers, days and
truth values, hashes of texts without outer blanks. Columns that differ are printed; the share of those that agree is told by corpus.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import duckdb
import pyarrow.parquet

NULLS = ["", "NA", "\\N", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "<NA>"]
CORPORA = ("adventureworks", "rdatasets", "public_bi")


def kind_of(field):
    name = str(field.type)
    if name.startswith("int") or name.startswith("decimal"):
        return "HUGEINT" if name.startswith("decimal") else "BIGINT"
    if name in ("double", "float"):
        return "DOUBLE"
    return {"bool": "BOOLEAN", "date32[day]": "DATE"}.get(name, "TIMESTAMP" if name.startswith("timestamp") else "VARCHAR")


def checksum(kind, column):
    """An expression that is the same for the same multiset of values."""
    match kind:
        case "BIGINT" | "HUGEINT":
            return f"coalesce(sum({column}::HUGEINT)::VARCHAR, '')"
        case "DOUBLE":
            return f"coalesce(format('{{:.9e}}', fsum(CASE WHEN isfinite({column}) THEN {column} END)), '')"
        case "BOOLEAN":
            return f"count(*) FILTER ({column})::VARCHAR"
        case "DATE" | "TIMESTAMP":
            return f"coalesce(sum(epoch_us({column}::TIMESTAMP)::HUGEINT)::VARCHAR, '')"
    return f"coalesce(sum(hash({column})::HUGEINT)::VARCHAR, '')"


def figures(connection, source, columns):
    told = ", ".join(f"count({column}), {checksum(kind, column)}" for kind, column in columns)
    rows, *rest = connection.execute(f"SELECT count(*), {told} FROM {source}").fetchone()
    return rows, list(zip(rest[::2], rest[1::2]))


def compare(connection, csv_path, parquet_path):
    """Of each column whether the two agree, and what they say where they do not."""
    fields = list(pyarrow.parquet.read_schema(parquet_path))
    kinds = [kind_of(field) for field in fields]
    ours = [(kind, '"c%d"' % at) for at, kind in enumerate(kinds)]
    names = ", ".join('"c%d"' % at for at in range(len(kinds)))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE ours AS SELECT * FROM read_parquet($path) AS t({names})", {"path": str(parquet_path)})
    options = "header = false, skip = 1, delim = ',', quote = '\"', escape = '\"', all_varchar = true, null_padding = true, strict_mode = false"
    columns = json.dumps({f"c{at}": "VARCHAR" for at in range(len(kinds))}).replace('"', "'")
    text = f"SELECT {', '.join(f'trim(c{at}, chr(32) || chr(9) || chr(10) || chr(13) || chr(12)) AS c{at}' for at in range(len(kinds)))} FROM read_csv($path, {options}, columns = {columns})"
    nulls = ", ".join("'" + null.replace("'", "''") + "'" for null in NULLS)
    cast = ", ".join(
        f"CASE WHEN c{at} IN ({nulls}) THEN NULL ELSE " + (f"TRY_CAST(c{at} AS {kind})" if kind != "VARCHAR" else f"c{at}") + f" END AS c{at}"
        for at, kind in enumerate(kinds)
    )
    connection.execute(f"CREATE OR REPLACE TEMP TABLE theirs AS SELECT {cast} FROM ({text})", {"path": str(csv_path)})
    (rows, mine), (their_rows, theirs) = figures(connection, "ours", ours), figures(connection, "theirs", ours)
    told = [(field.name, kind, (rows, *a), (their_rows, *b)) for field, kind, a, b in zip(fields, kinds, mine, theirs)]
    return [(name, kind, a, b, a == b) for name, kind, a, b in told]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--limn", required=True)
    arguments.add_argument("--corpora", required=True, type=pathlib.Path)
    arguments.add_argument("--work", required=True, type=pathlib.Path)
    arguments.add_argument("--only", nargs="*", default=CORPORA)
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect()
    shares = {}
    for corpus in given.only:
        index = str(given.work / f"{corpus}.index")
        lake = given.corpora / corpus / "tables"
        subprocess.run([given.limn, "index", str(lake), "--index", index], check=True, stderr=subprocess.DEVNULL)
        listed = subprocess.run([given.limn, "tables", "--index", index, "--json"], check=True, capture_output=True, text=True)
        tables = json.loads(listed.stdout)
        tables = tables["tables"] if isinstance(tables, dict) else tables
        agreed = all_columns = 0
        for table in tables:
            name = table["table"]
            path = lake / f"{name}.csv"
            if not path.exists():
                print(f"{corpus}/{name}\tno file of its name: not compared")
                continue
            out = given.work / "rows.parquet"
            quoted = name.replace('"', '""')
            done = subprocess.run([given.limn, "sql", f'SELECT * FROM "{quoted}"', "--index", index, "--output", str(out)], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{corpus}/{name}\t{done.stderr.strip().splitlines()[-1:]}")
                continue
            try:
                told = compare(connection, path, out)
            except (duckdb.Error, TypeError) as error:
                print(f"{corpus}/{name}\tDuckDB: {str(error).splitlines()[0]}")
                continue
            for column, kind, mine, theirs, same in told:
                all_columns += 1
                agreed += same
                if not same:
                    print(f"{corpus}/{name}\t{column}\t{kind}\t{mine}\t{theirs}")
        shares[corpus] = {"columns": all_columns, "share": round(agreed / max(all_columns, 1), 4)}
    print(json.dumps(shares))
    sys.exit(0 if all(it["share"] >= 0.99 for it in shares.values()) else 1)


if __name__ == "__main__":
    main()
