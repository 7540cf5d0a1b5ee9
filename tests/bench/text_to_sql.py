#!/usr/bin/env python3
"""Counts what `cargo run -p limn-ask --example text_to_sql` wrote for Spider's questions: how many plans have the rows of
the question's own SQL, run by limn's engine, beside one prompt alone, and a prompt without values; tokens and seconds;
why the others are wrong; and how many questions about nothing in the lake are refused.

  tests/bench/text_to_sql.py --written FILE [--without-model FILE] [--foreign FILE] [--answerable FILE] --out RESULT

`--foreign` are what comes of questions about nothing that the lake has (`foreign_questions.jsonl`), `--answerable` of Spider's,
both with `--model none --tables found`.
Needs nothing but Python 3.
"""
import argparse
import collections
import json
import pathlib
import re

from measured import keep

LITERAL = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"|\b\d+(?:\.\d+)?\b")
# The prompts that a question has; a file may have others besides.
KEPT = ("twice", "values", "names")
CLAUSES = ("group by", "order by", "limit", "distinct", "except", "intersect", "union", "having", "not in", "count(", "sum(", "avg(", "min(", "max(")


def lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def style(candidate):
    origin = candidate["origin"]
    return origin if isinstance(origin, str) else origin["prompt"]["style"]


def says(candidate):
    return isinstance(candidate["outcome"], dict) and "rows" in candidate["outcome"]


def voted(question, styles):
    """Whether the candidates of these styles choose one that is right."""
    ran = [it for name in styles for it in question["candidates"] if style(it) == name and "digest" in it]
    chosen = [it for it in ran if says(it)] or ran
    votes = [sum(it["digest"] == other["digest"] for other in chosen) for it in chosen]
    if not votes or (chosen is ran and max(votes) < min(2, len(styles))):
        return False  # Nothing ran, or nothing has rows and no two agree on it.
    return chosen[votes.index(max(votes))].get("right", False)


def literals(sql):
    return {(it.group(1) or it.group(2) or it.group(0)).strip("%").lower() for it in LITERAL.finditer(sql)}


def tables(sql):
    return collections.Counter(it.lower().strip('"') for it in re.findall(r"(?:from|join)\s+\"?([A-Za-z_][\w]*)", sql, re.I))


def why(question):
    """Why a question's plan is wrong: the first of these that differs from its own SQL."""
    if question["chosen"] is None:
        empty = question["gold_rows"] == 0 or question["unwritten"] == "all_empty"
        return "refused: no rows" if empty else f"refused: {question['unwritten']}"
    sql, gold = question["candidates"][question["chosen"]]["statement"].lower(), question["gold"].lower()
    flat = lambda text: re.sub(r"\s+", " ", text)
    if set(tables(sql)) != set(tables(gold)):
        return "other tables, or a join left out"
    if literals(sql) - {"1"} != literals(gold) - {"1"}:
        return "other values"
    select = lambda text: flat(text).split(" from ")[0].count(",")
    if select(sql) != select(gold):
        return "other number of columns"
    if [it in flat(sql) for it in CLAUSES] != [it in flat(gold) for it in CLAUSES]:
        return "other clauses or functions"
    return "the same clauses and values, other columns or conditions"


def written(path):
    questions = lines(path)
    share = lambda right, of=questions: f"{right} of {len(of)}, {100 * right / max(1, len(of)):.1f} %"
    own = [it for it in questions if it["gold_rows"]]
    mean = lambda number: round(sum(map(number, questions)) / len(questions), 1)
    styles = list(dict.fromkeys(style(it) for question in questions for it in question["candidates"]))
    prompts = [it for it in styles if it != "template"]
    refused = [it for question in questions for it in question["candidates"] if isinstance(it["outcome"], dict) and "refused" in it["outcome"]]
    rows = {
        "questions": len(questions),
        "right": share(sum(it["right"] is True for it in questions)),
        "right, of those whose own SQL has rows": share(sum(it["right"] is True for it in own), own),
        "one prompt alone": {it: share(sum(voted(question, [it]) for question in questions)) for it in prompts},
        "all prompts, without rules": share(sum(voted(question, prompts) for question in questions)),
        "the prompts that are kept, recounted": share(sum(voted(question, [*KEPT, "template"]) for question in questions)),
        "any candidate": share(sum(any(it.get("right") for it in question["candidates"]) for question in questions)),
        "rules alone": f"{sum(voted(it, ['template']) for it in questions)} right of {sum(any(style(c) == 'template' for c in it['candidates']) for it in questions)} that they write",
        "mends": sum(it["mends"] for question in questions for it in question["candidates"]),
        "candidates refused by the engine at the end": len(refused),
        "a question": {
            "prompts": mean(lambda it: it["spent"]["prompts"]), "prompt tokens": mean(lambda it: it["spent"]["prompt_tokens"]),
            "tokens written": mean(lambda it: it["spent"]["generated_tokens"]),
        },
        "wrong, by cause": dict(collections.Counter(why(it) for it in questions if not it["right"]).most_common()),
    }
    return rows


def refusals(path):
    questions = lines(path)
    reasons = ("nothing_fits", "no_tables")
    refused = sum(it["unwritten"] in reasons for it in questions)
    unlikely = sum(not it["grade"] or it["grade"][0] == "unlikely" for it in questions)
    either = sum(it["unwritten"] in reasons or not it["grade"] or it["grade"][0] == "unlikely" for it in questions)
    return {"questions": len(questions), "refused before a model is asked": refused, "the first table's grade is unlikely, or none is found": unlikely, "either": either}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--written", required=True)
    parser.add_argument("--without-model")
    parser.add_argument("--foreign", nargs="*", default=[])
    parser.add_argument("--answerable")
    parser.add_argument("--note", nargs="*", default=[])
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows = {"notes": arguments.note, "gold tables given": written(arguments.written)}
    if arguments.without_model:
        questions = lines(arguments.without_model)
        plans = [it for it in questions if it["plan"]]
        rows["rules, without a model"] = {"questions": len(questions), "written": len(plans), "right": sum(it["right"] is True for it in plans)}
    for path in arguments.foreign:
        rows[f"about nothing in the lake, {pathlib.Path(path).stem}"] = refusals(path)
    if arguments.answerable:
        rows["about tables of the lake"] = refusals(arguments.answerable)
    print(json.dumps(rows, indent=1))
    if arguments.out:
        keep(arguments.out, "SQL written for questions", rows)


if __name__ == "__main__":
    main()
