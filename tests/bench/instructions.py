#!/usr/bin/env python3
"""Instructions that a question takes, counted by callgrind (valgrind, Debian's package): the same on a busy machine.

  tests/bench/instructions.py --limn …/limn --index fetaqa+contexts.limn --questions …/questions.jsonl [--against results/FILE] [--out FILE]

`limn serve` runs under valgrind and is asked WARM questions and then COUNTED others. Counted is what the search does, ranking and the texts that
show why: not the embedding of the question and not HTTP. valgrind knows no AVX-512, so the kernels are those of AVX2. With `--against`, exits
with 1 where a question takes more than 5 % more than is kept there: run it when the search has been touched.
"""
import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

WARM, COUNTED = 40, 200
MORE = 1.05
SEARCH = "*Searcher*search_knowing*"


def counted(arguments, blocks):
    questions = list(dict.fromkeys(json.loads(line)["question"] for line in open(arguments.questions, encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={out}", f"--toggle-collect={SEARCH}", arguments.limn, "serve",
                   "--index", arguments.index, "--listen", "127.0.0.1:0", "--judge", "off", "--patience", "5m"]
        node = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        url = next(found[1] for line in node.stderr if (found := re.search(r" at (http://\S+)", line)))

        def ask(some):
            for question in some:
                body = json.dumps({"q": question, "k": 5, "blocks": blocks}).encode()
                urllib.request.urlopen(urllib.request.Request(f"{url}/v1/search", body, {"Content-Type": "application/json"})).read()
        try:
            ask(questions[:WARM])
            subprocess.run(["callgrind_control", "--zero", str(node.pid)], check=True, capture_output=True)
            ask(questions[WARM:WARM + COUNTED])
        finally:
            node.terminate()
            node.communicate()
        total = int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(errors="replace"), re.M)[1])
        annotated = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)], capture_output=True, text=True).stdout
    parts = {}
    for name in ("score_tables", "nearest", "rank_tables", "table_score", "evidence"):
        found = re.search(rf"^\s*([\d,]+) .*limn_retrieval::\w+::{name}(?:\W|$)", annotated, re.M)
        if found:
            parts[name] = round(int(found[1].replace(",", "")) / COUNTED)
    return {"instructions": round(total / COUNTED), "inclusive": parts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--against")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    result = {
        "date": datetime.date.today().isoformat(),
        "what": f"instructions of one question, k 5: mean of {COUNTED} after {WARM}",
        "with_texts": counted(arguments, 3),
        "ranking_alone": counted(arguments, 0),
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")
    if arguments.against:
        kept = json.loads(pathlib.Path(arguments.against).read_text())
        ratios = {name: result[name]["instructions"] / kept[name]["instructions"] for name in ("with_texts", "ranking_alone")}
        print(f"of what is kept in {arguments.against}: {ratios}")
        sys.exit(any(ratio > MORE for ratio in ratios.values()))


if __name__ == "__main__":
    main()
