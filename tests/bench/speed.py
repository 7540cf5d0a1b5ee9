#!/usr/bin/env python3
"""Questions per second on one index, limn and the Python hybrid in turn, A B A B …, in one run.

  tests/bench/speed.py --limn …/limn --index fetaqa+contexts.limn --questions …/questions.jsonl \
      --python …/venv/bin/python --hybrid-out DIR [--model MODEL.onnx] --out results/speed.json

The Python side is tests/bench/python_hybrid (see its README). Both answer one question at a time,
end to end and with the question vectors given; limn additionally with as many threads as cores, that
is, several questions at once. What both find (hit@1, hit@5) is recorded beside.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess

HYBRID = pathlib.Path(__file__).parent / "python_hybrid" / "hybrid.py"


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--hybrid-out", required=True)
    parser.add_argument("--model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--out")
    arguments = parser.parse_args()

    def count(threads):
        return "1 thread" if threads == 1 else f"{threads} threads ({threads} questions at once)"

    def limn(threads, given):
        command = [arguments.limn, "eval", "--index", arguments.index, "--questions", arguments.questions,
                   "-k", "1,5", "--limit", str(arguments.limit), "--threads", str(threads), "--judge", "off", "--json"]
        result = run(command + (["--vectors-given"] if given else []))
        hits["limn"] = {f"hit@{k}": round(result["k"][k]["hit"], 4) for k in ("1", "5")}
        return result["questions_per_s"], result["latency_ms"]["p50"], result["latency_ms"]["p99"]

    def python():
        command = [arguments.python, str(HYBRID), "query", "--out", arguments.hybrid_out, "--questions",
                   arguments.questions, "-k", "5", "--limit", str(arguments.limit), "--json"]
        return run(command + (["--model", arguments.model] if arguments.model else []))

    rows, hits, model = {}, {}, None
    for _ in range(arguments.rounds):
        for given in (False, True):
            for threads in (1, os.cpu_count()):
                rows.setdefault(f"limn, {count(threads)}, {'vectors given' if given else 'end to end'}", []).append(limn(threads, given))
        result = python()
        model = result["model"]
        hits["python"] = {k: result[k] for k in ("hit@1", "hit@5")}
        for key, name in (("end_to_end", "end to end"), ("vectors_given", "vectors given")):
            part = result[key]
            rows.setdefault(f"python, {name}", []).append((part["questions_per_s"], part["p50_ms"], part["p99_ms"]))
    table = {name: {"questions_per_s": round(statistics.median(r[0] for r in runs), 1),
                    "p50_ms": round(statistics.median(r[1] for r in runs), 3),
                    "p99_ms": round(statistics.median(r[2] for r in runs), 3)} for name, runs in rows.items()}
    for name, row in table.items():
        base = table["python, " + name.split(", ")[-1]]["questions_per_s"]
        row["ratio_to_python"] = round(row["questions_per_s"] / base, 2)
        print(f"{name:40} {row['questions_per_s']:8.1f}/s   p50 {row['p50_ms']:7.2f} ms   p99 {row['p99_ms']:7.2f} ms   {row['ratio_to_python']:.2f}×")
    for side, found in hits.items():
        print(f"{side:8} {found}")
    print(f"Python's model: {model}")
    if arguments.out:
        with open(arguments.out, "w") as out:
            json.dump({"date": datetime.date.today().isoformat(), "machine": f"{platform.machine()}, {os.cpu_count()} cores",
                       "what": f"median of {arguments.rounds} alternating rounds, {arguments.limit} questions, k 5", "python_model": model, "hits": hits, "rows": table}, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
