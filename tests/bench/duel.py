#!/usr/bin/env python3
"""Two builds of `limn serve` under the same load, in turn: which answers more questions a second, and what one costs.

  tests/bench/duel.py OLD NEW --index fetaqa+contexts.limn --questions …/questions.jsonl --out results/duel.json

Both nodes run all the time; wrk (Debian's package) asks one of them for a second, then the other, and so on. What a machine
that others share does to one second it does to the next one, too: the ratios are of neighbouring seconds.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import tempfile

from load import MODES, loaded, served
from measured import machine

TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")


def cpu_us(pid):
    """Processor time of a process so far, in microseconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK_US


def asked(url, pid, bodies, connections):
    before = cpu_us(pid)
    found = loaded(url, bodies, connections, 1)
    found["cpu_us"] = (cpu_us(pid) - before) / found["requests"]
    return found


def duel(arguments, name, more, connections, bodies):
    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(served(argparse.Namespace(limn=build, index=arguments.index), more))
                 for build in (arguments.old, arguments.new)]
        for url, _ in nodes:
            loaded(url, bodies, connections, arguments.warm)
        runs = ([], [])
        for number in range(arguments.rounds):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                runs[side].append(asked(*nodes[side], bodies, connections))
    middle = lambda side, what: statistics.median(run[what] for run in runs[side])
    ratio = lambda what: statistics.median(new[what] / old[what] for old, new in zip(*runs))
    row = {"old_questions_per_s": middle(0, "requests"), "new_questions_per_s": middle(1, "requests"),
           "old_p50_ms": middle(0, "p50_ms"), "new_p50_ms": middle(1, "p50_ms"),
           "ratio_of_questions": round(ratio("requests"), 3), "ratio_of_cpu_a_question": round(ratio("cpu_us"), 3)}
    print(f"{name}, {connections} at a time: {row}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--index", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warm", type=int, default=12, help="seconds that each is asked before the first round")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    questions = [json.loads(line)["question"] for line in open(arguments.questions, encoding="utf-8")]
    rows = {}
    for name, more, blocks in MODES:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            for question in dict.fromkeys(questions):
                file.write(json.dumps({"q": question, "k": 5, "blocks": blocks}) + "\n")
            file.flush()
            for connections in (1, 8):
                rows[f"{name}, {connections} at a time"] = duel(arguments, name, more, connections, file.name)
    if arguments.out:
        with open(arguments.out, "w") as out:
            json.dump({"date": datetime.date.today().isoformat(), "machine": f"{machine()}; wrk on the same",
                       "what": f"medians of {arguments.rounds} rounds of a second each", "rows": rows}, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
