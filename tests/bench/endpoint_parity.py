#!/usr/bin/env python3
"""Compares what two models answered: SQL that `cargo run -p limn-ask --example text_to_sql` wrote with each, and the rows of
`--example operators_bench -- truth … --rows FILE`.

  tests/bench/endpoint_parity.py --written OURS THEIRS --rows OURS THEIRS --figures OURS THEIRS --out RESULT

Needs nothing but Python 3.
"""
import argparse
import collections
import json
import pathlib

from measured import keep


def lines(path):
    texts = pathlib.Path(path).read_text().splitlines()
    return {it["id"]: it for it in map(json.loads, texts)}


def style(candidate):
    origin = candidate["origin"]
    return origin if isinstance(origin, str) else origin["prompt"]["style"] if "prompt" in origin else "repair"


def first(question):
    """What each prompt wrote."""
    return {style(it): it["statement"] for it in question["candidates"] if style(it) not in ("repair", "template")}


def chosen(question):
    return None if question["chosen"] is None else question["candidates"][question["chosen"]]


def of_questions(ours, theirs):
    common = [it for it in ours if it in theirs]
    counts = collections.Counter(questions=len(common))
    differing = []
    for name in common:
        a, b = ours[name], theirs[name]
        one, other = chosen(a), chosen(b)
        prompts = first(a).keys() & first(b).keys()
        counts["prompts"] += len(prompts)
        counts["prompts with the same statement"] += sum(first(a)[it] == first(b)[it] for it in prompts)
        same = (one or {}).get("statement") == (other or {}).get("statement")
        counts["same plan"] += same
        counts["same answer"] += (one or {}).get("digest") == (other or {}).get("digest")
        counts["right, embedded"] += a["right"] is True
        counts["right, endpoint"] += b["right"] is True
        if not same:
            statements = [it and it["statement"] for it in (one, other)]
            differing.append({"id": name, "embedded": statements[0], "endpoint": statements[1],
                              "same rows": (one or {}).get("digest") == (other or {}).get("digest"),
                              "right": [a["right"], b["right"]]})
    return {**counts, "different plans": differing}


def of_rows(ours, theirs):
    result = {}
    for stage in ours.keys() & theirs.keys():
        a, b = (collections.Counter(map(json.dumps, it[stage])) for it in (ours, theirs))
        # A row by its first cells, what a model wrote last.
        written = {json.dumps(it[:-1]): it[-1] for it in theirs[stage]}
        other = [[*it[:-1], it[-1], written.get(json.dumps(it[:-1]))] for it in ours[stage]
                 if len(it) > 1 and written.get(json.dumps(it[:-1])) != it[-1]]
        result[stage] = {"rows": [len(ours[stage]), len(theirs[stage])], "same": (a & b).total(),
                         "same order": ours[stage] == theirs[stage], "different": other[:8]}
    return dict(sorted(result.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--written", nargs=2, required=True)
    parser.add_argument("--rows", nargs=2, required=True)
    parser.add_argument("--figures", nargs=2, required=True)
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    read = lambda path: json.loads(pathlib.Path(path).read_text())
    figures = [read(it)["truth"] for it in options.figures]
    of_stage = lambda it: {name: value for name, value in it.items() if isinstance(value, (int, float))}
    figures = {name: {"embedded": of_stage(it), "endpoint": of_stage(figures[1][name])}
               for name, it in figures[0].items() if name in figures[1]}
    rows = {
        "notes": options.note,
        "text to SQL": of_questions(*map(lines, options.written)),
        "operators": {"rows": of_rows(*map(read, options.rows)), "figures": figures},
    }
    keep(options.out, "the same model embedded and behind an endpoint", rows)


if __name__ == "__main__":
    main()
