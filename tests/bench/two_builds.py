#!/usr/bin/env python3
"""Seconds that a plain question takes by two builds, in turn, and the bytes of the indexes that each makes.

  tests/bench/two_builds.py --before …/limn --now …/limn --corpora ../shared/corpora \
      --out tests/bench/results/two-builds.json

Each build asks an index of its own, with one thread. The machine's speed changes from minute to
minute, so the ratio is the median of the ratios of neighbouring runs.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess

from measured import keep

CORPORA = [("spider", False), ("fetaqa", False), ("fetaqa", True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, help="the binary to measure against")
    parser.add_argument("--now", required=True)
    parser.add_argument("--corpora", required=True)
    parser.add_argument("--work", default="/tmp/limn-two-builds")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    builds, rows = {"before": arguments.before, "now": arguments.now}, []
    shutil.rmtree(arguments.work, ignore_errors=True)
    for corpus, has_contexts in CORPORA:
        folder = pathlib.Path(arguments.corpora) / corpus
        indexes = {build: f"{arguments.work}/{corpus}-{has_contexts}-{build}" for build in builds}
        for build, limn in builds.items():
            contexts = ["--contexts", f"{folder}/contexts.jsonl"] if has_contexts else []
            index = [limn, "index", f"{folder}/tables", "--index", indexes[build], "--narrate", "off", *contexts]
            subprocess.run(index, check=True, capture_output=True)

        def ask(build):
            done = subprocess.run([builds[build], "eval", "--index", indexes[build], "--questions", f"{folder}/questions.jsonl", "-k", "1,5",
                                   "--limit", str(arguments.limit), "--threads", "1", "--judge", "off", "--json"], check=True, capture_output=True)
            result = json.loads(done.stdout)
            return 1000 / result["questions_per_s"], result["latency_ms"]["p50"]

        runs = [{build: ask(build) for build in builds} for _ in range(arguments.rounds)]
        row = {"corpus": corpus, "contexts": has_contexts, "questions": arguments.limit, "rounds": arguments.rounds}
        for build in builds:
            row[f"{build}_ms"] = round(statistics.median(it[build][0] for it in runs), 3)
            row[f"{build}_p50_ms"] = round(statistics.median(it[build][1] for it in runs), 3)
        row["time_ratio"] = round(statistics.median(it["now"][0] / it["before"][0] for it in runs), 3)
        size = {build: sum(file.stat().st_size for file in pathlib.Path(index).rglob("*") if file.is_file()) for build, index in indexes.items()}
        row["index_bytes_ratio"] = round(size["now"] / size["before"], 4)
        row["load"] = round(os.getloadavg()[0], 1)
        rows.append(row)
        print(json.dumps(row), flush=True)
    if arguments.out:
        keep(arguments.out, "milliseconds a question of limn eval with one thread, by two builds in turn, each with an index that it made (--narrate off)", rows)


if __name__ == "__main__":
    main()
