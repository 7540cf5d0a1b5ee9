#!/usr/bin/env python3
"""Measures sets of tables that join (`limn eval --join`) beside the plain ranking, on the questions of corpora that
need several tables: over Spider's 80 development tables with and without the databases' names, over all of Spider,
and over BIRD's headers; by limn's own reading of the questions, and by the decompositions that a GPT-3.5 made.

  tests/bench/sets.py --limn ~/.cache/limn/target/release/limn --corpora ../shared/corpora \
      --out tests/bench/results/sets.json

What was fitted was fitted to the questions at even places (`fitted`); `others` are those at odd places.
Needs nothing but Python 3.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess

from measured import keep

SIZES = (2, 5, 10)
# What JAR (ACL 2024, table 1) reports of its 443 and 1,095 questions: F1 at 2, 5 and 10.
PUBLISHED = {
    "spider": {"DTR": [78.9, 57.1, 34.9], "JAR-F (DTR)": [84.5, 58.3, 35.0], "JAR-G (DTR, gold keys)": [89.6, 59.1, 35.1]},
    "bird": {"DTR": [61.3, 50.9, 34.8], "JAR-F (DTR)": [72.0, 55.1, 35.3], "JAR-G (DTR, gold keys)": [73.8, 56.0, 35.8]},
}


def run(arguments):
    done = subprocess.run([str(it) for it in arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{arguments}\n{done.stderr}")
    return done.stdout


def read(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]


def write(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)


def lakes(corpora, work):
    """Of each case its lake, its questions and the corpus that it is of."""
    spider, bird = corpora / "spider", corpora / "bird_schema"
    questions = read(spider / "questions.jsonl")
    first = [line.strip().removesuffix(".csv") for line in open(spider / "dev20_tables.txt") if line.strip()]
    names, times = {}, {}
    for lake in ("prefixed", "bare"):
        shutil.rmtree(work / lake, ignore_errors=True)
        os.makedirs(work / lake)
    for name in first:
        bare = name.split("__", 1)[1]
        times[bare.lower()] = times.get(bare.lower(), 0) + 1
        names[name] = bare if times[bare.lower()] == 1 else f"{bare}_{times[bare.lower()]}"
        shutil.copy(spider / "tables" / f"{name}.csv", work / "prefixed" / f"{name}.csv")
        shutil.copy(spider / "tables" / f"{name}.csv", work / "bare" / f"{names[name]}.csv")
    dev = [it for it in questions if set(it["tables"]) <= set(first)]
    bare = [{**it, "tables": [names[table] for table in it["tables"]]} for it in dev]
    yield "spider, 80 tables", work / "prefixed", dev, spider
    yield "spider, 80 tables without prefixes", work / "bare", bare, spider
    yield "spider, 845 tables", spider / "tables", questions, spider
    yield "bird_schema, 75 tables", bird / "tables", read(bird / "questions.jsonl"), bird


def shares(questions, found):
    """As `limn eval --join` measures, of rankings cut at k: precision, recall, F1 and full in per cent."""
    sums = [0.0] * 4
    for question, tables in zip(questions, found):
        gold, tables = set(question["tables"]), tables
        right = len(gold & set(tables))
        precision, recall = right / max(1, len(tables)), right / len(gold)
        both = precision + recall
        values = (precision, recall, 2 * precision * recall / both if both else 0.0, float(right == len(gold)))
        sums = [a + b for a, b in zip(sums, values)]
    return dict(zip(("precision", "recall", "f1", "full"), (round(100 * it / len(questions), 1) for it in sums)))


def plain(limn, index, file, questions, work):
    rows = {}
    for k in SIZES:
        run([limn, "eval", "--index", index, "--questions", file, "-k", k, "--judge", "off", "--save", work / "saved.jsonl"])
        rows[str(k)] = shares(questions, [line["ranked"] for line in read(work / "saved.jsonl")])
    return rows


def sets(limn, index, file, *flags):
    sizes = ",".join(map(str, SIZES)) + ",auto"
    result = json.loads(run([limn, "eval", "--index", index, "--questions", file, "--join", "-k", sizes, "--json", *flags]))
    percent = lambda name, value: round(value if name == "tables" else 100 * value, 1)
    return {k: {name: percent(name, value) for name, value in row.items()} for k, row in result["k"].items()}


def latency(limn, index, file):
    """Milliseconds of a question, at the median: plain at 5, and sets."""
    rows = {}
    for name, flags in (("plain", ["-k", "5", "--threads", "1"]), ("set of 2", ["--join", "-k", "2"]),
                        ("set of 5", ["--join", "-k", "5"]), ("set of 10", ["--join", "-k", "10"]), ("auto", ["--join", "-k", "auto"])):
        result = json.loads(run([limn, "eval", "--index", index, "--questions", file, "--judge", "off", "--json", *flags]))
        rows[name] = {share: round(ms, 2) for share, ms in result["latency_ms"].items()}
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True, type=pathlib.Path)
    parser.add_argument("--corpora", required=True, type=pathlib.Path)
    parser.add_argument("--work", default=pathlib.Path("/tmp/limn-bench-sets"), type=pathlib.Path)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    limn, work = arguments.limn.expanduser(), arguments.work
    os.makedirs(work, exist_ok=True)
    rows = []
    for name, lake, questions, corpus in lakes(arguments.corpora, work):
        index, file = work / "index.limn", work / "questions.jsonl"
        shutil.rmtree(index, ignore_errors=True)
        run([limn, "index", lake, "--index", index, "--json"])
        several = [it for it in questions if len(set(it["tables"])) > 1]
        single = [it for it in questions if len(set(it["tables"])) == 1]
        write(file, several)
        given = ["--decompositions", corpus / "decompositions.jsonl"]
        row = {"case": name, "questions": len(several), "plain": plain(limn, index, file, several, work),
               "sets": sets(limn, index, file), "sets, parts given": sets(limn, index, file, *given), "latency_ms": latency(limn, index, file)}
        for half, at in (("fitted", 0), ("others", 1)):
            write(file, several[at::2])
            row[half] = sets(limn, index, file)
        if single:
            write(file, single)
            row["single"] = {"questions": len(single), "plain": plain(limn, index, file, single, work), "sets": sets(limn, index, file)}
            write(file, questions)
            row["all"] = {"plain": plain(limn, index, file, questions, work), "sets": sets(limn, index, file), "sets, parts given": sets(limn, index, file, *given)}
        rows.append(row)
        for kind in ("plain", "sets", "sets, parts given", "others"):
            cells = [f"@{k} F1 {it['f1']:5.1f} full {it['full']:5.1f}" for k, it in row[kind].items()]
            print(f"{name:36} {kind:18} {'  '.join(cells)}", flush=True)
        print(f"{'':36} {row['latency_ms']}", flush=True)
    rows.append({"case": "published", **PUBLISHED})
    if arguments.out:
        keep(arguments.out, "sets of tables that join, in per cent: precision, recall, F1 (mean of the questions') and full, beside the plain ranking", rows)


if __name__ == "__main__":
    main()
