#!/usr/bin/env python3
"""Instructions that a question takes, counted by callgrind (valgrind, Debian's package): the same on a busy machine.

  tests/bench/instructions.py --limn …/limn --index fetaqa+contexts.limn --questions …/questions.jsonl [--against results/FILE] [--out FILE]

`limn eval` answers FEW and then MANY questions with one thread, their vectors given; the difference over the number of questions between
is what one takes, opening and embedding left out. valgrind knows no AVX-512, so the kernels are those of AVX2. With `--against`, exits with 1 where
a question takes more than 5 % more than is kept there: run it when the search has been touched.
"""
import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FEW, MANY = 100, 400
MORE = 1.05


def counted(arguments, limit):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", arguments.limn, "eval", "--index", arguments.index,
                   "--questions", arguments.questions, "-k", "5", "--limit", str(limit), "--threads", "1", "--judge", "off", "--vectors-given", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        total = int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(errors="replace"), re.M)[1])
        told = subprocess.run(["callgrind_annotate", "--inclusive=yes", str(out)], capture_output=True, text=True).stdout
    parts = {}
    for name in ("score_tables", "nearest", "table_score", "evidence", "rank_tables", "table_text"):
        found = re.search(rf"^\s*([\d,]+) .*limn_retrieval::\w+::{name}(?:\W|$)", told, re.M)
        if found:
            parts[name] = int(found[1].replace(",", ""))
    return total, parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--against")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    (few, few_parts), (many, many_parts) = counted(arguments, FEW), counted(arguments, MANY)
    each = lambda a, b: round((b - a) / (MANY - FEW))
    result = {
        "date": datetime.date.today().isoformat(),
        "what": f"instructions of one question, k 5, vectors given: {MANY} questions less {FEW}, over {MANY - FEW}",
        "instructions": each(few, many),
        "inclusive": {name: each(few_parts[name], many_parts[name]) for name in many_parts if name in few_parts},
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")
    if arguments.against:
        kept = json.loads(pathlib.Path(arguments.against).read_text())["instructions"]
        print(f"{result['instructions'] / kept:.3f} of what is kept in {arguments.against}")
        sys.exit(result["instructions"] > kept * MORE)


if __name__ == "__main__":
    main()
