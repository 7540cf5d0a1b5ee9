#!/usr/bin/env python3
"""What words that a question has and its table lacks could gain: abbreviations, units, dates (docs/decisions/065).

  tests/bench/missing_words.py LIMN INDEX QUESTIONS.jsonl TABLES_FOLDER

Asks `limn eval --explain` for the questions whose first table is not needed, and counts those where a needed table lacks a word that is
(a) a column's name, cut short or without vowels, (b) a unit whose short form is in a column's name, (c) a year within a column's range,
or "last year" and the like where there are dates. An upper bound of what knowing them can gain at hit@1.
"""
import csv
import json
import pathlib
import re
import subprocess
import sys

SHORT = {
    "euro": "eur €", "dollar": "usd $", "kilometer": "km", "kilometre": "km", "mile": "mi", "meter": "m", "metre": "m", "feet": "ft",
    "foot": "ft", "inch": "in", "inche": "in", "kilogram": "kg", "pound": "lb lbs", "ton": "t", "percent": "pct %", "percentage": "pct %",
    "hour": "hr hrs h", "minute": "min mins", "second": "sec s", "liter": "l", "litre": "l", "gallon": "gal",
}
PERIOD = re.compile(r"\b(?:last|this|next|previous|past)\s+(?:year|quarter|month|week|decade|century)s?\b|\b(1[5-9]\d\d|20\d\d)\b", re.I)
YEAR = re.compile(r"(1[5-9]\d\d|20\d\d)(?:\b|-)")
ROWS = 3000


def is_short(short, word):
    """Whether one is the other cut short, or what is left of it without some letters, vowels among them."""
    if not 2 <= len(short) < len(word) - 1 or short[0] != word[0] or word.startswith(short) and len(short) < 3:
        return False
    letters = iter(word)
    is_within = all(letter in letters for letter in short)
    return is_within and (word.startswith(short) or not any(vowel in short[1:] for vowel in "aeiou"))


def read(folder, table):
    """The words of a table's header, its words with signs, and the first and last year of its values."""
    found = next(iter(sorted(folder.glob(f"{table}.*"))), None)
    if not found:
        return set(), set(), None
    with found.open(errors="replace", newline="") as lines:
        rows = [row for row, _ in zip(csv.reader(lines), range(ROWS))]
    header = rows[0] if rows else []
    parted = [re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower() for name in header]
    names = {word for name in parted for word in re.split(r"[^a-z]+", name) if word}
    signs = {word for name in parted for word in re.split(r"[^a-z%€$]+", name) if word}
    years = [int(year[1]) for row in rows[1:] for value in row if (year := YEAR.match(value))]
    return names, signs, (min(years), max(years)) if years else None


def kinds(question, missed, unknown, folder):
    for standing, _ in missed:
        lacks = {word.split(" ")[0].lower() for word in standing["lacks"]} | unknown
        names, signs, years = read(folder, standing["table"])
        single = {word.removesuffix("s") for word in lacks if word.isalpha()}
        if any(is_short(name, word) or is_short(word, name) for word in single for name in names if word != name):
            yield "abbreviations"
        if any(short in signs for word in lacks for short in SHORT.get(word.removesuffix("s"), "").split()):
            yield "units"
        period = PERIOD.search(question)
        if period and years and (not period[1] or period[1] in lacks and years[0] <= int(period[1]) <= years[1]):
            yield "dates"


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    limn, index, questions, folder = sys.argv[1:]
    asked = [json.loads(line) for line in open(questions)]
    needed = {it["question"]: set(it["tables"]) for it in asked}
    command = [limn, "eval", "--index", index, "--questions", questions, "-k", "1", "--judge", "off", "--explain", "--json"]
    explained = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["explained"]
    counts = {"questions": len(asked), "first_wrong": 0, "abbreviations": 0, "units": 0, "dates": 0}
    for it in explained:
        if it["first"] and it["first"]["table"] in needed[it["question"]]:
            continue
        counts["first_wrong"] += 1
        unknown = {word.lower() for word in it["unknown"]}
        for kind in set(kinds(it["question"], it["missed"], unknown, pathlib.Path(folder))):
            counts[kind] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
