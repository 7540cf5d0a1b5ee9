#!/usr/bin/env python3
"""Counts which questions that need judgement get a plan with semantic stages, and how many of these plans are right.

  semantic_plans.py --written FILE --limn BINARY --index example=INDEX spider=INDEX [--out RESULT]

FILE has what `cargo run -p limn-ask --example text_to_sql` wrote for `semantic_questions.jsonl`, whose `gold` is a statement
with semantic functions. A plan is *alike* where it has the same semantic operators over as many rows; it is *right* where
running it gives the rows of the gold statement, run with the same model; a text of rows counts where the rows that it
is of are those of the gold statement. Needs nothing but Python 3.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from measured import keep

HERE = pathlib.Path(__file__).parent


def ask(limn, index, arguments):
    done = subprocess.run([limn, "ask", "--index", index, "--json", "--budget-seconds", "5min", *arguments], capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else {"failed": done.stderr.strip()}


def run_plan(limn, index, plan):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        return ask(limn, index, ["--plan", file.name])


def operators(plan):
    return sorted(key for stage in plan["stages"] for key in stage if key.startswith("sem_"))


def judged_rows(answer):
    """How many rows each semantic stage read."""
    rows = {stage["stage"]: stage["row_count"] for stage in answer.get("stages", [])}
    stages = [(key, value) for stage in answer["plan"]["stages"] for key, value in stage.items() if key.startswith("sem_")]
    return sorted((key, rows.get(value["input"])) for key, value in stages)


def measure(line, gold, limn, index):
    judging = [it for it in line["candidates"] if isinstance(it["origin"], dict) and it["origin"]["prompt"]["style"] == "judging"]
    row = {"id": gold["id"], "question": gold["question"], "asked": bool(judging), "needs judgement": line["needs_judgement"]}
    row["written"] = judging[0]["statement"] if judging else None
    row["outcome"] = judging[0]["outcome"] if judging else None
    plan = line["plan"]
    row["semantic"] = bool(plan) and bool(operators(plan))
    wanted = ask(limn, index, ["--sql", gold["gold"]])
    answer = run_plan(limn, index, plan) if plan else {}
    row["failed"] = answer.get("failed") or wanted.get("failed")
    if plan and not row["failed"]:
        row["alike"] = row["semantic"] and judged_rows(answer) == judged_rows(wanted)
        is_text = "sem_agg" in operators(wanted["plan"])
        key = lambda it: json.dumps(it)
        same = sorted(answer["rows"], key=key) == sorted(wanted["rows"], key=key)
        row["right"] = row["alike"] if is_text else same
        row["rows"], row["gold rows"] = answer["rows"][:5], wanted["rows"][:5]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--written", required=True, nargs="+")
    parser.add_argument("--limn", required=True)
    parser.add_argument("--index", nargs="+", required=True)
    parser.add_argument("--note", nargs="*", default=[])
    parser.add_argument("--out")
    arguments = parser.parse_args()
    indexes = dict(it.split("=", 1) for it in arguments.index)
    golds = {it["id"]: it for it in map(json.loads, (HERE / "semantic_questions.jsonl").read_text().splitlines())}
    lines = [json.loads(line) for path in arguments.written for line in pathlib.Path(path).read_text().splitlines()]
    rows = [measure(line, golds[line["id"]], arguments.limn, indexes[golds[line["id"]]["lake"]]) for line in lines if line["id"] in golds]
    compiles = [it for it in rows if it["outcome"] and not isinstance(it["outcome"], str) and "planned" in it["outcome"]]
    result = {
        "notes": arguments.note,
        "questions": len(rows),
        "asked for a statement with functions": sum(it["asked"] for it in rows),
        "which compiles and has rows to read": len(compiles),
        "plans that are semantic": sum(it["semantic"] for it in rows),
        "with the gold plan's operators over as many rows": sum(bool(it.get("alike")) for it in rows),
        "right": sum(bool(it.get("right")) for it in rows),
        "each": rows,
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        keep(arguments.out, "plans with semantic stages written for questions", result)


if __name__ == "__main__":
    main()
