#!/usr/bin/env python3
"""Measures how many references of small columns to large keys the join graph finds, in a made-up lake: keys of 1,000 to
1,000,000 values, each with columns of 20 to 5,000 of its values under other names, and as many columns of which
three of ten values are the key's. With what is looked up in the segments, and by sketches alone.

  cargo build --release -p limn -p limn-pipeline --bin limn --example joins
  tests/bench/large_keys.py --limn target/release/limn --joins target/release/examples/joins --out large_keys.json

Needs nothing but Python 3. The columns are drawn with a fixed seed.
"""
import argparse
import json
import pathlib
import random
import string
import subprocess
import tempfile
import time

from measured import keep

KEYS = (1_000, 10_000, 100_000, 300_000, 1_000_000)
COLUMNS = (20, 50, 120, 400, 1_000, 5_000)
EACH = 5


def code(letter, at):
    """Codes in no order, so that no two lie together."""
    return f"{letter}{at * 7_919 % 9_999_991:07}"


def fill(lake, drawn):
    """Writes the tables; gives the references by size of key and of column, and the columns that have a part of a key."""
    references, partly = {}, []
    for place, size in enumerate(KEYS):
        letter = "ABCDE"[place]
        key = f"{letter.lower() * 4}key"
        rows = "".join(f"{code(letter, at)},{at % 7}\n" for at in range(size))
        (lake / f"{key}.csv").write_text(f"code,grade_{letter}\n{rows}")
        for count in (it for it in COLUMNS if it <= size):
            for number in range(EACH):
                for kind in ("refers", "partly"):
                    # Of names and columns of their own, so that no two files are one table.
                    name, line = ("".join(drawn.choices(string.ascii_lowercase, k=9)) for _ in range(2))
                    chosen = drawn.sample(range(size), count)
                    values = [code(letter, at) for at in chosen]
                    if kind == "partly":
                        strange = [f"{letter}{drawn.randrange(10**7, 10**8)}" for _ in values]
                        values = [own if drawn.random() < 0.3 else other for own, other in zip(values, strange)]
                    rows = "".join(f"{name}-{at},{values[at % count]}\n" for at in range(2 * count))
                    (lake / f"{name}.csv").write_text(f"{line},buyer\n{rows}")
                    column = {"table": name, "column": "buyer", "ref_table": key, "ref_column": "code"}
                    if kind == "refers":
                        references.setdefault((size, count), []).append(column)
                    else:
                        partly.append(column)
    return references, partly


def recall(joins, index, references, *more):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(it) + "\n" for it in references)
        file.flush()
        done = subprocess.run([joins, index, file.name, "1", *more], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--joins", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        lake, index = pathlib.Path(work) / "lake", pathlib.Path(work) / "index"
        lake.mkdir()
        references, partly = fill(lake, random.Random(31))
        started = time.time()
        command = [options.limn, "index", lake, "--index", index, "--embedder", "hashed-words", "--narrate", "names"]
        subprocess.run(command, check=True, capture_output=True)
        rows = [{"indexing_seconds": round(time.time() - started, 1)}]
        everything = [it for of_size in references.values() for it in of_size]
        for name, more in (("looked up", []), ("sketches alone", ["--sketches-alone"])):
            whole = recall(options.joins, index, everything, *more)
            found, right = whole["pairs_of_tables"]["of_lake"], whole["pairs_of_tables"]["right"]
            row = {"joins": name, "references": len(everything), "right": right, "found": found, "seconds": whole["seconds"]}
            row["wrong"] = recall(options.joins, index, partly, *more)["pairs_of_tables"]["right"]
            row["right_by_sizes"] = {
                f"{size} / {count}": recall(options.joins, index, of_size, *more)["pairs_of_tables"]["right"] / EACH
                for (size, count), of_size in references.items()
            }
            rows.append(row)
            print(json.dumps(row, indent=1))
    keep(options.out, "references to keys: share found, by values of the key / of the column", rows)


if __name__ == "__main__":
    main()
