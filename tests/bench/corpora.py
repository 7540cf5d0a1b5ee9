#!/usr/bin/env python3
"""Measures retrieval quality of limn on corpora: one default configuration for all of them, and
PNEUMA's plain hybrid (`limn eval --plain`) beside it.

  tests/bench/corpora.py --limn ~/.cache/limn/target/release/limn --corpora ../shared/corpora \
      --out tests/bench/results/corpora.json
  tests/bench/corpora.py --table tests/bench/results/corpora.json     # the table of docs/benchmarks.md

Needs nothing but Python 3. Every index is made anew under --work, so that no figure is an older limn's.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import time

from measured import keep

HERE = pathlib.Path(__file__).parent
# corpus, with contexts, aims for hit@1, hit@5, full@5 in per cent.
CASES = [
    ("spider", False, (84, 98.3, 90)),
    ("bird_schema", False, (81, 98, 79)),
    ("fetaqa", False, (47, 63, None)),
    ("fetaqa", True, (92, 96.5, None)),
    ("rdatasets", False, (None, None, None)),
    ("rdatasets", True, (None, None, None)),
    ("adventureworks", False, (None, None, None)),
    ("adventureworks", True, (None, None, None)),
]
# Corpora that come without questions.
QUESTIONS = {"adventureworks": HERE / "adventureworks_sets.jsonl"}


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
    return json.loads(done.stdout)


def size_of(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())


def table(path):
    with open(path) as file:
        result = json.load(file)
    print(f"hit@1 / hit@5 (/ full@5) in per cent, {result['date']}, {result['machine']}:\n")
    print("| corpus | limn | plain | aim |\n|---|---|---|---|")
    for row in result["rows"]:
        counts = row["tables"]
        tables = counts["added"] + counts["changed"] + counts["unchanged"]
        targets = row["targets"]
        full = targets[2] is not None
        scores = [" / ".join(f"{row[mode][k]:.1f}" for k in ("hit@1", "hit@5", "full@5")[: 3 if full else 2]) for mode in ("limn", "plain")]
        aim = " / ".join(f"{target:g}" for target in targets if target is not None) or "–"
        print(f"| {row['corpus'].replace('+', ' with ')}, {tables:,} tables | {scores[0]} | {scores[1]} | {aim} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", help="the binary to measure")
    parser.add_argument("--corpora", help="the folder of the corpora")
    parser.add_argument("--table", metavar="JSON", help="measure nothing: print kept results as a Markdown table")
    parser.add_argument("--work", default="/tmp/limn-bench")
    parser.add_argument("--only", help="comma-separated corpora")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.table:
        return table(arguments.table)
    if not arguments.limn or not arguments.corpora:
        parser.error("--limn and --corpora are needed, or --table")
    os.makedirs(arguments.work, exist_ok=True)
    rows = []
    for corpus, with_contexts, targets in CASES:
        name = corpus + ("+contexts" if with_contexts else "")
        if arguments.only and name not in arguments.only.split(","):
            continue
        folder = pathlib.Path(arguments.corpora) / corpus
        index = f"{arguments.work}/{name}.limn"
        shutil.rmtree(index, ignore_errors=True)
        command = [arguments.limn, "index", str(folder / "tables"), "--index", index, "--narrate", "off", "--json"]
        if with_contexts:
            command += ["--contexts", str(folder / "contexts.jsonl")]
        start = time.time()
        report = run(command)
        seconds = time.time() - start
        row = {
            "corpus": name,
            "tables": report["tables"],
            "index_seconds": round(seconds, 1),
            "embedded_blocks": report["model"]["embedded_blocks"],
            "embedded_tokens": report["model"]["embedded_tokens"],
            "index_bytes": size_of(index),
            "failures": len(report["failures"]),
        }
        questions = QUESTIONS.get(corpus, folder / "questions.jsonl")
        for mode, flags in (("limn", []), ("plain", ["--plain"])):
            result = run([arguments.limn, "eval", "--index", index, "--questions", str(questions), "-k", "1,5", "--judge", "off", "--json"] + flags)
            row[mode] = {
                "hit@1": round(100 * result["k"]["1"]["hit"], 1),
                "hit@5": round(100 * result["k"]["5"]["hit"], 1),
                "full@5": round(100 * result["k"]["5"]["full"], 1),
                "mrr": round(result["mrr"], 3),
                "questions_per_s": round(result["questions_per_s"]),
            }
        row["questions"] = result["questions"]
        got = (row["limn"]["hit@1"], row["limn"]["hit@5"], row["limn"]["full@5"])
        row["targets"] = [t for t in targets]
        row["met"] = all(t is None or g >= t for g, t in zip(got, targets))
        rows.append(row)
        print(f"{name:20} limn {got[0]:5.1f} {got[1]:5.1f} {got[2]:5.1f}   plain {row['plain']['hit@1']:5.1f} "
              f"{row['plain']['hit@5']:5.1f} {row['plain']['full@5']:5.1f}   target {targets}   "
              f"{row['index_bytes'] / 1e6:.1f} MB   {'ok' if row['met'] else 'MISSED'}", flush=True)
    if arguments.out:
        keep(arguments.out, "hit@1, hit@5, full@5 in per cent over all questions; limn's default and PNEUMA's plain hybrid (--plain)", rows)


if __name__ == "__main__":
    main()
