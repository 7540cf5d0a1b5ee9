#!/usr/bin/env python3
"""Measures how answers are graded: the questions of corpora, asked of their own lake and of the others'.

  tests/bench/corpora.py --limn LIMN --corpora ../shared/corpora --work WORK      # makes the indexes
  tests/bench/grades.py --limn LIMN --corpora ../shared/corpora --work WORK --out tests/bench/results/DATE-grades.json

Of each corpus so many questions are drawn with a fixed seed. Needs nothing but Python 3.
"""
import argparse
import json
import pathlib
import random
import subprocess

from measured import keep

LAKES = {"spider": "spider", "bird_schema": "bird_schema", "fetaqa": "fetaqa", "fetaqa+contexts": "fetaqa", "rdatasets+contexts": "rdatasets"}


def questions(corpora, corpus, count):
    with open(corpora / corpus / "questions.jsonl") as file:
        lines = [json.loads(line) for line in file]
    return random.Random(7).sample(lines, min(count, len(lines)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True, help="the binary to measure")
    parser.add_argument("--corpora", required=True, type=pathlib.Path, help="the folder of the corpora")
    parser.add_argument("--work", default="/tmp/limn-bench", type=pathlib.Path, help="the folder of the indexes")
    parser.add_argument("--count", type=int, default=250, help="questions of each corpus")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    asked = {corpus: questions(arguments.corpora, corpus, arguments.count) for corpus in sorted(set(LAKES.values()))}
    rows = []
    for lake, own in LAKES.items():
        lines = asked[own] + [{"question": it["question"], "tables": []} for corpus in asked if corpus != own for it in asked[corpus]]
        path = arguments.work / "grades.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        command = [arguments.limn, "eval", "--index", str(arguments.work / f"{lake}.limn"), "--questions", str(path), "-k", "5", "--judge", "off", "--json"]
        result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        row = {"lake": lake, "hit@5": round(100 * result["k"]["5"]["hit"], 1), "fitted": result["grades"]["fitted"]}
        for kind in ("answerable", "unanswerable"):
            graded = result["grades"][kind]
            row[kind] = {name: graded[name] if name == "questions" else round(100 * graded[name], 1) for name in graded}
        if row["fitted"]:
            limits = arguments.work / "limits.json"
            limits.write_text(json.dumps(row["fitted"]))
            own_limits = json.loads(subprocess.run([*command, "--grades", str(limits)], capture_output=True, text=True, check=True).stdout)
            row["with its own limits"] = {kind: round(100 * own_limits["grades"][kind]["unlikely"], 1) for kind in ("answerable", "unanswerable")}
        rows.append(row)
        print(f"{lake:20} unlikely: {row['answerable']['unlikely']:5.1f} % of the answerable, {row['unanswerable']['unlikely']:5.1f} % of the unanswerable; "
              f"strong: {row['answerable']['strong']:5.1f} and {row['unanswerable']['strong']:5.1f} %; with its own limits unlikely {row.get('with its own limits')}", flush=True)
    if arguments.out:
        keep(arguments.out, "per cent of answers by the grade of their best table, k = 5; unanswerable are the other corpora's questions", rows)


if __name__ == "__main__":
    main()
