#!/usr/bin/env python3
"""`limn serve` under load by wrk (Debian's package), and the Python hybrid, in turn, in one run.

  tests/bench/load.py --limn …/limn --index fetaqa+contexts.limn --questions …/questions.jsonl \
      --python …/venv/bin/python --hybrid-out DIR [--model MODEL.onnx] --out results/load.json

Distinct questions over loopback, k 5, no judge, at 1, 8 and 64 connections that ask again as soon as they are answered:
with no vector remembered (`--no-question-cache`: each question is embedded each time), and with all vectors known
(each question was asked once before the clock starts): with the texts that show why, and the ranking alone, which is what
the Python hybrid gives. wrk itself runs on the same cores. Python (tests/bench/python_hybrid)
answers one question at a time in its own process, without a network between.
"""
import argparse
import contextlib
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import urllib.request

from measured import machine, memory

HERE = pathlib.Path(__file__).parent
CONNECTIONS = (1, 8, 64)
# What a node remembers, and how many texts are asked for.
MODES = (("end to end", ["--no-question-cache"], 3), ("vectors known", [], 3), ("ranking alone", [], 0))
# The part of the Python hybrid that each is held against.
AGAINST = {"ranking alone": "vectors known"}


@contextlib.contextmanager
def served(arguments, more):
    """A node's address, and its process."""
    command = [arguments.limn, "serve", "--index", arguments.index, "--listen", "127.0.0.1:0", "--judge", "off", *more]
    node = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for line in node.stderr:
            if found := re.search(r" at (http://\S+)", line):
                break
        else:
            raise SystemExit("the node ended")
        yield found[1], node.pid
    finally:
        node.terminate()
        node.wait()


def loaded(url, bodies, connections, seconds):
    command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "30s",
               "-s", str(HERE / "load.lua"), url, "--", bodies]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    if found["failed"]:
        raise SystemExit(f"{found['failed']} requests failed: {found}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--python", help="without it, limn alone is measured")
    parser.add_argument("--hybrid-out")
    parser.add_argument("--model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--out")
    arguments = parser.parse_args()

    questions = [json.loads(line)["question"] for line in open(arguments.questions, encoding="utf-8")]
    questions = list(dict.fromkeys(questions))
    runs, used = {}, {}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for number in range(arguments.rounds):
            for name, more, blocks in MODES:
                bodies = [json.dumps({"q": question, "k": 5, "blocks": blocks}) for question in questions]
                file.seek(0)
                file.truncate()
                file.write("\n".join(bodies) + "\n")
                file.flush()
                with served(arguments, more) as (url, pid):
                    for body in bodies:
                        head = {"Content-Type": "application/json"}
                        asked = urllib.request.Request(f"{url}/v1/search", body.encode(), head)
                        urllib.request.urlopen(asked).read()
                    for connections in CONNECTIONS:
                        found = loaded(url, file.name, connections, arguments.seconds)
                        runs.setdefault(("limn serve", name, connections), []).append(found)
                    used[name] = memory(pid)
            if arguments.python:
                command = [arguments.python, str(HERE / "python_hybrid" / "hybrid.py"), "query", "--out", arguments.hybrid_out,
                           "--questions", arguments.questions, "-k", "5", "--limit", "600", "--json"]
                done = subprocess.run(command + (["--model", arguments.model] if arguments.model else []),
                                      capture_output=True, text=True, check=True)
                result = json.loads(done.stdout)
                for key, name in (("end_to_end", "end to end"), ("vectors_given", "vectors known")):
                    part = result[key]
                    runs.setdefault(("python", name, 1), []).append(
                        {"requests": part["questions_per_s"], "seconds": 1, "p50_ms": part["p50_ms"], "p99_ms": part["p99_ms"]})
    rows = {}
    for (side, name, connections), found in runs.items():
        middle = lambda of: statistics.median(of(run) for run in found)
        row = rows[f"{side}, {name}, {connections} at a time"] = {
            "questions_per_s": round(middle(lambda run: run["requests"] / run["seconds"]), 1),
            "p50_ms": round(middle(lambda run: run["p50_ms"]), 3),
            "p99_ms": round(middle(lambda run: run["p99_ms"]), 3),
        }
        if arguments.python:
            base = statistics.median(run["requests"] for run in runs[("python", AGAINST.get(name, name), 1)])
            row["ratio_to_python"] = round(row["questions_per_s"] / base, 2)
    for name, row in rows.items():
        ratio = f"   {row['ratio_to_python']:.2f}×" if "ratio_to_python" in row else ""
        print(f"{name:42} {row['questions_per_s']:8.1f}/s   p50 {row['p50_ms']:7.2f} ms   p99 {row['p99_ms']:7.2f} ms{ratio}")
    print(f"memory of the node: {used}")
    if arguments.out:
        with open(arguments.out, "w") as out:
            json.dump({"date": datetime.date.today().isoformat(), "machine": f"{machine()}; wrk on the same",
                       "what": f"median of {arguments.rounds} rounds of {arguments.seconds} s, {len(questions)} questions, k 5",
                       "rows": rows, "memory": used}, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
