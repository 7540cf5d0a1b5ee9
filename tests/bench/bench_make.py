#!/usr/bin/env python3
"""Makes questions about corpora by `limn bench make` and asks them: how many statements become
questions and why the others do not, how long it takes, and how often the questions find their tables.

  tests/bench/bench_make.py --limn ~/.cache/limn/target/release/limn --corpora ../shared/corpora \
      --out tests/bench/results/bench-make.json

The tables of every question are audited by another engine: SQLite executes the statement on every
CSV that has the columns. Needs nothing but Python 3. Every index is made anew under --work, unless
--go-on: a model takes long, and the questions of an earlier run are kept.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess

from measured import keep

CORPORA = ["adventureworks", "public_bi"]
# PNEUMA's content questions, put in English by a model: hit@1 in per cent (its table 2).
PAPER = {"adventureworks": 81.4, "public_bi": 71.1}
# The exit code of a limn that was interrupted.
STOPPED = 130


def run(arguments, codes=(0, 1)):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode not in codes or not done.stdout:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
    return json.loads(done.stdout)


def run_to_its_report(arguments):
    """As run. An interrupt is for limn, which then ends with its report: this process waits for it."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return run(arguments, (0, 1, STOPPED))
    finally:
        signal.signal(signal.SIGINT, before)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def load(folder, tables):
    """Tables of limn as tables of SQLite, and their columns in small letters. `NAME_*` is made of all
    files of such names that are no tables of their own."""
    base, columns, alone = sqlite3.connect(":memory:"), {}, set(tables)
    for table in tables:
        files = [path for path in sorted(folder.glob(f"{table}.csv")) if path.stem == table or path.stem not in alone]
        read = []
        for path in files:
            with open(path, newline="", encoding="utf-8", errors="replace") as file:
                read.append(list(csv.reader(file)))
        heads = [[name.strip() for name in rows[0]] if rows else [] for rows in read]
        # SQLite has no names that differ by case alone.
        names = list({name.lower(): name for head in heads for name in head}.values())
        if not names or any(len({name.lower() for name in head}) < len(head) for head in heads):
            continue
        base.execute(f"CREATE TABLE {quoted(table)} ({', '.join(quoted(name) + ' NUMERIC' for name in names)})")
        for head, rows in zip(heads, read):
            into, places = ", ".join(map(quoted, head)), ", ".join("?" * len(head))
            whole = ([cell if cell != "" else None for cell in row] for row in rows[1:] if len(row) == len(head))
            base.executemany(f"INSERT INTO {quoted(table)} ({into}) VALUES ({places})", whole)
        columns[table] = {name.lower() for name in names}
    return base, columns


def answers(base, sql):
    try:
        return any(None not in row for row in base.execute(sql))
    except sqlite3.Error:
        return False


def audit(folder, tables, questions):
    """How many questions have the tables that SQLite finds, and some that do not."""
    base, columns = load(folder, tables)
    same, missing, extra, examples, golds = 0, 0, 0, [], 0
    for question in questions:
        of = f" FROM {quoted(question['table'])}"
        before, behind = question["sql"].split(of, 1)
        named = {name.replace('""', '"').lower() for name in re.findall(r'"((?:[^"]|"")*)"', re.sub(r"'(?:[^']|'')*'", "", before + behind))}
        found = {table for table, has in columns.items() if named <= has and answers(base, f"{before} FROM {quoted(table)}{behind}")}
        gold = set(question["tables"])
        golds += len(gold)
        same += found == gold
        missing += len(found - gold)
        extra += len(gold - found)
        if found != gold and len(examples) < 5:
            examples.append({"sql": question["sql"], "only_sqlite": sorted(found - gold)[:3], "only_limn": sorted(gold - found)[:3]})
    return {"questions": len(questions), "same_tables": same, "tables": golds, "not_in_sqlite": len(tables) - len(columns), "only_sqlite": missing, "only_limn": extra, "examples": examples}


def measure(limn, corpus, folder, work, count, flags, goes_on):
    index, made = f"{work}/{corpus}.limn", f"{work}/{corpus}.jsonl"
    if not goes_on:
        shutil.rmtree(index, ignore_errors=True)
        pathlib.Path(made).unlink(missing_ok=True)
    run([limn, "index", str(folder), "--index", index, "--narrate", "off", "--json"])
    make = [limn, "bench", "make", "--index", index, "-n", str(count), "--seed", "1", "--out", made, "--json"] + flags
    with open(f"{work}/{corpus}.runs.jsonl", "a" if goes_on else "w") as runs:
        ended = run_to_its_report(make)
        runs.write(json.dumps(ended) + "\n")
    if ended["ended"] == "stopped":
        raise SystemExit(f"{corpus}: interrupted with {ended['questions']} questions; --go-on goes on")
    report = [json.loads(line) for line in open(f"{work}/{corpus}.runs.jsonl")]
    questions = [json.loads(line) for line in open(made)]
    tables = [it["table"] for it in run([limn, "tables", "--index", index, "--json"])]
    row = {"corpus": corpus, "tables": len(tables), "command": " ".join(make[1:]), "made": report}
    row["gold_tables_a_question"] = round(sum(len(it["tables"]) for it in questions) / len(questions), 2)
    row["tables_asked_about"] = len({it["table"] for it in questions})
    templates = [it["template"].split("-")[0] for it in questions]
    row["shapes"] = {shape: templates.count(shape) for shape in sorted(set(templates))}
    row["audit"] = audit(folder, tables, questions)
    for mode, flags in (("limn", []), ("plain", ["--plain"])):
        result = run([limn, "eval", "--index", index, "--questions", made, "-k", "1,5", "--judge", "off", "--json"] + flags)
        row[mode] = {f"hit@{k}": round(100 * shares["hit"], 1) for k, shares in result["k"].items()}
        row[mode]["mrr"] = round(result["mrr"], 3)
        by_shape = {}
        misses = {miss["question"] for miss in result["misses"]}
        for it, shape in zip(questions, templates):
            by_shape.setdefault(shape, []).append(it["question"] not in misses)
        row[mode]["hit@5 by shape"] = {shape: round(100 * sum(hits) / len(hits), 1) for shape, hits in sorted(by_shape.items())}
    row["paper_hit@1_of_model_questions"] = PAPER.get(corpus)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True, help="the binary to measure")
    parser.add_argument("--corpora", required=True, help="the folder of the corpora")
    parser.add_argument("--work", default="/tmp/limn-bench-make")
    parser.add_argument("--only", help="comma-separated corpora")
    parser.add_argument("-n", type=int, default=500)
    parser.add_argument("--model", metavar="TIME", help="questions by the default model, for so long at most: 2h")
    parser.add_argument("--go-on", action="store_true", help="keep the index and the questions of an earlier run")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    flags = ["--mode", "model", "--kinds", "content", "--max-time", arguments.model] if arguments.model else []
    rows = []
    for corpus in arguments.only.split(",") if arguments.only else CORPORA:
        folder = pathlib.Path(arguments.corpora) / corpus / "tables"
        row = measure(arguments.limn, corpus, folder, arguments.work, arguments.n, flags, arguments.go_on)
        rows.append(row)
        print(json.dumps(row, indent=1), flush=True)
    if arguments.out:
        keep(arguments.out, f"limn bench make, {'model' if flags else 'template'} mode: yield, seconds, causes of rejection, tables audited by SQLite; hit in per cent of limn eval and limn eval --plain", rows)


if __name__ == "__main__":
    main()
