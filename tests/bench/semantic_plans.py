#!/usr/bin/env python3
"""Counts which questions that need judgement get a plan with semantic stages, and how many of these plans are right.

  semantic_plans.py --written FILE --limn BINARY --index example=INDEX spider=INDEX [--out RESULT]

FILE has what `cargo run -p limn-ask --example text_to_sql` wrote for `semantic_questions.jsonl`, whose `gold` is a statement
with semantic functions. A plan is *right* where it has the operators of the gold statement's plan, a model reads the same
values (of the columns in the instruction, over the rows that the stages before leave), and as many columns come out; of a
ranking also as many rows. What a model then says of the values is measured elsewhere (decision 55): no model is asked
here. Whether the instruction says what the question does is for people to see. Needs nothing but Python 3.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

from measured import keep

HERE = pathlib.Path(__file__).parent


def ask(limn, index, arguments):
    done = subprocess.run([limn, "ask", "--index", index, "--json", "--no-model", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def with_plan(limn, index, plan, *more):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        return ask(limn, index, ["--plan", file.name, *more])


def operators(plan):
    return sorted(key for stage in plan["stages"] for key in stage if key.startswith("sem_"))


def read(limn, index, plan):
    """What a model reads in the first semantic stage, how many rows a ranking keeps, and how many columns come out."""
    place = next(at for at, stage in enumerate(plan["stages"]) if "sql" not in stage)
    stage = next(value for key, value in plan["stages"][place].items() if key.startswith("sem_"))
    before = {**plan, "stages": plan["stages"][:place], "answer": stage["input"]}
    answer = with_plan(limn, index, before)
    names = [it["name"].lower() for it in answer["columns"]]
    columns = [names.index(it.lower()) for it in re.findall(r"{(\w+)}", stage["instruction"])]
    values = sorted({json.dumps([row[at] for at in sorted(columns)]) for row in answer["rows"]})
    last = next(it for it in plan["stages"] if it["name"] == plan["answer"])
    return values, len(answer["rows"]), stage.get("k"), len(last["columns"])


def measure(line, gold, limn, index):
    judging = [it for it in line["candidates"] if isinstance(it["origin"], dict) and it["origin"]["prompt"]["style"] == "judging"]
    plan = line["plan"]
    row = {
        "id": gold["id"], "question": gold["question"], "held out": gold.get("held_out", False),
        "needs judgement": line["needs_judgement"],
        "written": judging[0]["statement"] if judging else None, "outcome": judging[0]["outcome"] if judging else None,
        "semantic": bool(plan) and bool(operators(plan)), "right": False,
    }
    wanted = ask(limn, index, ["--sql", gold["gold"], "--plan-only"])["plan"]
    if row["semantic"] and operators(plan) == operators(wanted):
        row["right"] = read(limn, index, plan) == read(limn, index, wanted)
    return row


def counts(rows):
    compiles = [it for it in rows if isinstance(it["outcome"], dict) and "planned" in it["outcome"]]
    return {
        "questions": len(rows),
        "seen to need judgement": sum(it["needs judgement"] for it in rows),
        "statements with functions": sum(it["outcome"] is not None and "no_statement" not in str(it["outcome"]) for it in rows),
        "that compile and have rows to read": len(compiles),
        "plans that are semantic": sum(it["semantic"] for it in rows),
        "right": sum(it["right"] for it in rows),
    }


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
    parts = {"in sight of the prompt": [it for it in rows if not it["held out"]], "held out": [it for it in rows if it["held out"]]}
    result = {"notes": arguments.note, **{name: counts(part) for name, part in parts.items() if part}, "each": rows}
    print(json.dumps(result, indent=1))
    if arguments.out:
        keep(arguments.out, "plans with semantic stages written for questions", result)


if __name__ == "__main__":
    main()
