#!/usr/bin/env python3
"""What words that a question has and its table lacks could gain: abbreviations, units, dates, compounds, aliases (docs/decisions/065).

  tests/bench/missing_words.py LIMN INDEX QUESTIONS.jsonl TABLES_FOLDER [CONTEXTS.jsonl]

Asks `limn eval --explain` for the questions whose first table is not needed, and counts those where a needed table lacks a word that is
(a) a column's name, cut short or without vowels, (b) a unit whose short form is in a column's name, (c) a year within a column's range,
or "last year" and the like where there are dates, (d) with the next word a column's name, the second whole or cut short ("bodywt"),
(e) in what CONTEXTS.jsonl say of columns of the same name in two other tables. An upper bound of what knowing them can gain at hit@1.
"""
import collections
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
# What a context says of a column: "name: text;" or, as R writes it, the name on a line and its text below.
OF_COLUMN = re.compile(r"(?:^|; |: )([A-Za-z_.0-9]{2,40}): ([^;]+)|^([A-Za-z_.0-9]{2,40})\n[ \t]*\n(.+)$", re.M)
# Of such a text, the words that may be another name of the column.
ALIAS_WORDS = 4
COMMON = set("a an and are as at by code column data date factor for foreign from if in indicating integer is it key measured name number numeric of on or per "
             "primary rate records reference row surrogate table that the this time to type unique used value variable was when which with year".split())


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


def aliases(contexts):
    """By a column's name, each word that a table's context has of it, with these tables."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for it in map(json.loads, open(contexts)):
        for match in OF_COLUMN.finditer(it["context"]):
            name, text = match[1] or match[3], match[2] or match[4]
            words = [word for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in COMMON]
            for word in words[:ALIAS_WORDS]:
                found[name.lower()][word.removesuffix("s")].add(it["table"])
    return found


def is_compound(name, first, second):
    """Whether a name is two words written as one, of which the second may be cut short or lack vowels."""
    rest = name.removeprefix(first)
    return len(rest) > 1 and rest != name and (rest == second or is_short(rest, second))


def kinds(question, missed, unknown, folder, of_columns):
    for standing, _ in missed:
        lacks = {word.split(" ")[0].lower() for word in standing["lacks"]} | unknown
        names, signs, years = read(folder, standing["table"])
        single = {word.removesuffix("s") for word in lacks if word.isalpha()}
        if any(is_short(name, word) or is_short(word, name) for word in single for name in names if word != name):
            yield "abbreviations"
        if any(short in signs for word in lacks for short in SHORT.get(word.removesuffix("s"), "").split()):
            yield "units"
        whole = {re.sub(r"[^a-z]", "", name) for name in names}
        words = re.findall(r"[a-z]+", question.lower())
        pairs = [(first, second) for first, second in zip(words, words[1:]) if len(first) > 2 and {first, second} & lacks]
        if any(is_compound(name, *pair) for name in whole for pair in pairs):
            yield "compounds"
        if any(len(of_columns.get(name, {}).get(word, set()) - {standing["table"]}) > 1 for name in names for word in single):
            yield "aliases"
        period = PERIOD.search(question)
        if period and years and (not period[1] or period[1] in lacks and years[0] <= int(period[1]) <= years[1]):
            yield "dates"


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    limn, index, questions, folder = sys.argv[1:5]
    of_columns = aliases(sys.argv[5]) if len(sys.argv) > 5 else {}
    asked = [json.loads(line) for line in open(questions)]
    needed = {it["question"]: set(it["tables"]) for it in asked}
    command = [limn, "eval", "--index", index, "--questions", questions, "-k", "1", "--judge", "off", "--explain", "--json"]
    explained = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["explained"]
    counts = {"questions": len(asked), "first_wrong": 0, "abbreviations": 0, "units": 0, "dates": 0, "compounds": 0, "aliases": 0}
    for it in explained:
        if it["first"] and it["first"]["table"] in needed[it["question"]]:
            continue
        counts["first_wrong"] += 1
        unknown = {word.lower() for word in it["unknown"]}
        for kind in set(kinds(it["question"], it["missed"], unknown, pathlib.Path(folder), of_columns)):
            counts[kind] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
