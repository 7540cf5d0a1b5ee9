#!/usr/bin/env python3
"""The gold statements of a corpus of questions, by `limn sql` over the lake and by SQLite over the same CSV files.

  python tests/reference/gold.py --limn target/release/limn --corpus ../shared/corpora/spider --work /tmp/gold

What SQLite allows and standard SQL does not is written as the standard has it, and told: a text in double quotes that names no
column becomes one in single quotes. Tables of a question's database are put in by their names in the lake. Rows are compared as
multisets, numbers to nine digits. Every difference is printed with its statement; the summary says how many there are of each kind.
"""
import argparse
import collections
import csv
import json
import pathlib
import re
import sqlite3
import subprocess
import sys

QUOTED = re.compile(r'"([^"]*)"')
SOURCE = re.compile(r"\b(FROM|JOIN)\s+(\w+)(\s+AS\s+\w+)?", re.IGNORECASE)


def tables_of(folder):
    """Paths by database and table."""
    found = collections.defaultdict(dict)
    for path in sorted(folder.glob("*.csv")):
        database, _, table = path.stem.partition("__")
        found[database][table.lower()] = path
    return found


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def load(tables):
    """The tables of a database in SQLite, numbers where every value of a column is one."""
    base = sqlite3.connect(":memory:")
    base.text_factory = lambda raw: raw.decode("utf-8", "replace")
    columns = set()
    for table, path in tables.items():
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            header, *rows = list(csv.reader(file)) or [[]]
        rows = [(row + [""] * len(header))[: len(header)] for row in rows if row]
        columns.update(name.lower() for name in header)
        for at in range(len(header)):
            values = [row[at].strip() for row in rows]
            is_number = all(value == "" or number(value) is not None for value in values)
            for row, value in zip(rows, values):
                row[at] = None if value == "" else number(value) if is_number else value
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in header)
        base.execute(f'CREATE TABLE "{table}" ({names})')
        marks = ", ".join("?" * len(header))
        base.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
    return base, columns


def standard(sql, columns):
    """With texts in single quotes."""
    def text(found):
        inside = found.group(1)
        return found.group(0) if inside.lower() in columns else "'" + inside.replace("'", "''") + "'"
    return QUOTED.sub(text, sql)


def in_lake(sql, tables):
    def source(found):
        word, table, alias = found.groups()
        path = tables.get(table.lower())
        if path is None:
            return found.group(0)
        return f'{word} "{path.stem}"{alias or " AS " + table}'
    return SOURCE.sub(source, sql)


def cell(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{float(value):.9g}"
    return None if value is None else str(value).strip()


def rows_of(rows):
    return collections.Counter(tuple(cell(value) for value in row) for row in rows)


def asked(limn, index, sql):
    command = [limn, "sql", sql, "--index", index, "--json", "--max-rows", "1000000"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:]
    return json.loads(done.stdout)["rows"], []


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--limn", required=True)
    arguments.add_argument("--corpus", required=True, type=pathlib.Path)
    arguments.add_argument("--work", required=True, type=pathlib.Path)
    arguments.add_argument("--out", type=pathlib.Path)
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    index = str(given.work / "index")
    subprocess.run([given.limn, "index", str(given.corpus / "tables"), "--index", index], check=True, stderr=subprocess.DEVNULL)
    databases = tables_of(given.corpus / "tables")
    kept, counts, differing = {}, collections.Counter(), []
    for line in open(given.corpus / "questions.jsonl", encoding="utf-8"):
        question = json.loads(line)
        tables = databases[question["db"]]
        if question["db"] not in kept:
            kept[question["db"]] = load(tables)
        base, columns = kept[question["db"]]
        try:
            expected = base.execute(question["sql"]).fetchall()
        except sqlite3.Error as error:
            counts["refused by SQLite"] += 1
            differing.append((question["id"], "sqlite", str(error), question["sql"]))
            continue
        sql = standard(question["sql"], columns)
        if sql != question["sql"]:
            counts["with texts in double quotes"] += 1
        got, error = asked(given.limn, index, in_lake(sql, tables))
        if got is None:
            counts["refused by limn"] += 1
            differing.append((question["id"], "limn", " ".join(error), sql))
        elif rows_of(got) != rows_of(expected):
            counts["other rows"] += 1
            missing, more = rows_of(expected) - rows_of(got), rows_of(got) - rows_of(expected)
            told = f"missing {list(missing)[:3]} more {list(more)[:3]}"
            differing.append((question["id"], "rows", told, sql))
        else:
            counts["the same rows"] += 1
    asked_of = counts["the same rows"] + counts["other rows"] + counts["refused by limn"]
    for one in differing:
        print("\t".join(one))
    summary = {"statements": asked_of, **counts, "share": round(counts["the same rows"] / asked_of, 4)}
    print(json.dumps(summary))
    if given.out:
        given.out.write_text(json.dumps(summary, indent=1) + "\n")
    sys.exit(0 if summary["share"] >= 0.97 else 1)


if __name__ == "__main__":
    main()
