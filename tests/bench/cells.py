#!/usr/bin/env python3
"""Measures `limn cells` on the questions of Spider that come with SQL, their tables given: which of the columns that the
SQL needs are given, which of its string literals, and how much there is to read; beside the schema alone, and the
schema with three random rows. And how long it takes over a table of 10 million rows, the first time and the second.

  tests/bench/cells.py --limn ~/.cache/limn/target/release/limn --corpora ../shared/corpora \
      --out tests/bench/results/cells.json

What was fitted was fitted to the questions at even places (`fitted`); `others` are those at odd places. Tokens are
characters / 4 wherever ways are compared. Needs nothing but Python 3, and 0.6 GB for the large table.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import time
import unicodedata

from measured import keep

LITERAL = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"")
WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)?")
ALIAS = re.compile(r"(?:from|join|,)\s+([A-Za-z_][A-Za-z_0-9]*)\s+as\s+([A-Za-z_][A-Za-z_0-9]*)", re.I)
ROWS = 10_000_000


def run(arguments):
    done = subprocess.run([str(it) for it in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}\n{done.stderr}")
    return done.stdout


def folded(text):
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.sub(r"\s+", " ", text.strip()).lower()


def needed(question, heads):
    """The columns that the SQL names, as (table, column), and its string literals."""
    sql = question["sql"]
    literals = [(a or b) for a, b in LITERAL.findall(sql)]
    bare = LITERAL.sub(" ", sql)
    tables = {name.split("__", 1)[1].lower(): name for name in question["tables"]}
    aliases = {alias.lower(): table.lower() for table, alias in ALIAS.findall(bare)}
    columns = set()
    for word in WORD.findall(bare):
        table, _, column = word.lower().rpartition(".")
        for short, name in tables.items():
            if table and aliases.get(table, table) != short:
                continue
            columns.update((name, it) for it in heads[name] if it.lower() == column)
    return columns, literals


def has(literal, values):
    """Whether values have a literal, as it is; and but for case, accents and spaces around it, or its part of a LIKE."""
    part = folded(literal.strip("%"))
    is_like = "%" in literal
    found = [folded(it) == part or is_like and part in folded(it) for it in values]
    return literal in values, any(found)


class Sums:
    def __init__(self):
        self.rows = []

    def add(self, gold, given, literals, cells, shown, text, tokens=None):
        exact, fold, anywhere = (
            sum(has(it, cells)[0] for it in literals), sum(has(it, cells)[1] for it in literals), sum(has(it, shown)[1] for it in literals))
        wanted = {folded(it.strip("%")) for it in literals}
        right = sum(folded(it) in wanted for it in cells)
        self.rows.append((len(gold), len(gold & given), len(given), len(literals), exact, fold, anywhere, right, len(cells), len(text) / 4, tokens or 0))

    def shares(self, keep=lambda at: True):
        rows = [row for at, row in enumerate(self.rows) if keep(at)]
        total = [sum(column) for column in zip(*rows)]
        share = lambda a, b: round(100 * total[a] / max(1, total[b]), 1)
        every = sum(row[0] == row[1] for row in rows)
        return {
            "columns recall": share(1, 0), "columns precision": share(1, 2), "all columns": round(100 * every / len(rows), 1),
            "literals verbatim, in cells": share(4, 3), "literals, in cells": share(5, 3), "literals, anywhere": share(6, 3),
            "cells precision": share(7, 8), "cells": round(total[8] / len(rows), 1), "tokens (characters / 4)": round(total[9] / len(rows)),
            "tokens of the embedder": round(total[10] / len(rows)),
        }


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def spider(limn, corpora, work, ks):
    folder = corpora / "spider"
    index = work / "spider.limn"
    shutil.rmtree(index, ignore_errors=True)
    run([limn, "index", folder / "tables", "--index", index, "--json"])
    tables = {path.stem: read_rows(path) for path in (folder / "tables").glob("*.csv")}
    heads = {name: head for name, (head, _) in tables.items()}
    questions = [json.loads(line) for line in open(folder / "questions.jsonl", encoding="utf-8")]
    questions = [it for it in questions if it.get("sql")]
    cases = {"questions": len(questions)}
    chance = random.Random(7)
    plain, sampled = Sums(), Sums()
    missed = []
    by_k = {k: Sums() for k in ks}
    took = []
    for question in questions:
        gold, literals = needed(question, heads)
        every = {(name, it) for name in question["tables"] for it in heads[name]}
        schema = "".join(f'"{name}"\n' + "".join(f'  "{it}"\n' for it in heads[name]) for name in question["tables"])
        plain.add(gold, every, literals, [], [], schema)
        some = {name: chance.sample(tables[name][1], min(3, len(tables[name][1]))) for name in question["tables"]}
        cells = [cell for rows in some.values() for row in rows for cell in row]
        sampled.add(gold, every, literals, cells, cells, schema + "".join(",".join(row) + "\n" for rows in some.values() for row in rows))
        for k, sums in by_k.items():
            named = [it for name in question["tables"] for it in ("--table", name)]
            begun = time.perf_counter()
            answer = json.loads(run([limn, "cells", question["question"], *named, "--index", index, "-k", k, "--json"]))
            took.append(time.perf_counter() - begun)
            given = {(table["table"], column["name"]) for table in answer["tables"] for column in table["columns"]}
            cells = [cell["value"] for table in answer["tables"] for cell in table["cells"]]
            frequent = [it for table in answer["tables"] for column in table["columns"] for it in column.get("frequent", [])]
            sums.add(gold, given, literals, cells, cells + frequent, answer["text"], answer["tokens"]["text"])
            if k == 5:
                lost = [it for it in literals if not has(it, cells)[1]]
                if lost or gold - given:
                    missed.append({"question": question["question"], "literals": lost, "columns": sorted(map(list, gold - given))})
    rows = {"schema": plain, "schema and 3 random rows": sampled, **{f"limn, K = {k}": sums for k, sums in by_k.items()}}
    places = list(range(len(questions)))
    for name, sums in rows.items():
        cases[name] = {"all": sums.shares(), "fitted": sums.shares(lambda at: at % 2 == 0), "others": sums.shares(lambda at: at % 2 == 1)}
    with_literals = [at for at in places if plain.rows[at][3]]
    cases["questions with literals"], cases["literals"] = len(with_literals), sum(row[3] for row in plain.rows)
    took.sort()
    cases["seconds of a command"] = {"p50": round(took[len(took) // 2], 3), "p99": round(took[int(len(took) * 0.99)], 3)}
    return cases, missed


def large(limn, work):
    """Seconds of a command over 10 million rows of CSV and of Parquet: the first time and the second."""
    lake = work / "large"
    source = lake / "csv" / "orders.csv"
    if not source.exists():
        os.makedirs(source.parent, exist_ok=True)
        chance = random.Random(7).random
        days = [str(datetime.date(2020, 1, 1) + datetime.timedelta(days=it)) for it in range(1500)]
        with open(source, "w") as out:
            out.write("id,town,customer,state,code,amount,day\n")
            for at in range(ROWS):
                customer = int(300_000 * chance() ** 4)
                state = ("open", "paid", "late", "void")[int(chance() * 4)]
                out.write(f"{at},Town {int(chance() * 500):03d},Customer {customer:06d} Ltd,{state},ORD-{at},{chance() * 500:.2f},{days[int(chance() * 1500)]}\n")
    rows = {}
    for kind in ("csv", "parquet"):
        folder, index = lake / kind, work / f"large-{kind}.limn"
        if kind == "parquet" and not folder.exists():
            os.makedirs(folder)
            run([limn, "sql", "FROM orders", "--index", work / "large-csv.limn", "--output", folder / "orders.parquet", "--timeout", "10m"])
        shutil.rmtree(index, ignore_errors=True)
        run([limn, "index", folder, "--index", index, "--json"])
        for case, question in (("of few values", "how many orders of town 123 are late?"), ("with a probe", "what did order ORD-1234567 of 'customer 299990 ltd' cost?")):
            shutil.rmtree(index / "cache" / "cells", ignore_errors=True)
            times, found = [], []
            for _ in range(2):
                begun = time.perf_counter()
                answer = json.loads(run([limn, "cells", question, "--table", "orders", "--index", index, "--json", "--timeout", "5m"]))
                times.append(round(time.perf_counter() - begun, 2))
                found.append([(cell["column"], cell["value"], cell["match"]) for cell in answer["tables"][0]["cells"] if cell["match"] in ("exact", "normalised")])
            kept = sum(path.stat().st_size for path in (index / "cache" / "cells").glob("*"))
            rows[f"{kind}, {case}"] = {"first": times[0], "second": times[1], "same cells": found[0] == found[1], "cells": found[1][:5], "bytes kept": kept}
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True, type=pathlib.Path)
    parser.add_argument("--corpora", required=True, type=pathlib.Path)
    parser.add_argument("--work", default=pathlib.Path("/tmp/limn-bench-cells"), type=pathlib.Path)
    parser.add_argument("--ks", default="5", help="the K that are measured, with commas")
    parser.add_argument("--only", choices=("spider", "large"))
    parser.add_argument("--missed", help="a file for what K = 5 misses")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    limn, work = arguments.limn.expanduser(), arguments.work
    os.makedirs(work, exist_ok=True)
    result = {}
    if arguments.only != "large":
        result["spider"], missed = spider(limn, arguments.corpora, work, [int(it) for it in arguments.ks.split(",")])
        if arguments.missed:
            pathlib.Path(arguments.missed).write_text("".join(json.dumps(it) + "\n" for it in missed))
    if arguments.only != "spider":
        result["10 million rows, seconds"] = large(limn, work)
    print(json.dumps(result, indent=1))
    if arguments.out:
        keep(arguments.out, "columns and cells that SQL needs", result)


if __name__ == "__main__":
    main()
