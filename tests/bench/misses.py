"""What the questions of fetaqa are made of that do not find their table first.

    misses.py LIMN INDEX QUESTIONS TABLES [--sample N] [--seed N]

LIMN is the binary, INDEX an index of the CSV files in TABLES, QUESTIONS a file as `limn eval` reads it.
Prints JSON: misses by how the words of the question that the needed table has compare with those of the table
that came first (`limn eval --explain`), by whether the names in the question (words with a capital, but for the
first) are in the file of the needed table, and by how many tables have its columns; and, with --sample, some of
them to read.
"""

import argparse
import collections
import csv
import functools
import json
import pathlib
import random
import re
import subprocess
import unicodedata


def plain(text):
    letters = unicodedata.normalize("NFKD", text)
    return "".join(it for it in letters if not unicodedata.combining(it)).lower()


@functools.cache
def rows(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return list(csv.reader(file))


@functools.cache
def words_of_file(path):
    return set(re.findall(r"\w+", plain(" ".join(" ".join(row) for row in rows(path)))))


@functools.cache
def columns(path):
    head = rows(path)[:1]
    return tuple(it.strip().lower() for it in head[0]) if head else ()


def names(question):
    tokens = re.findall(r"[\w'’-]+", question)[1:]
    words = [re.findall(r"\w+", plain(it)) for it in tokens if it[0].isupper()]
    return [word for token in words for word in token if len(word) > 1]


def words(explained):
    return {word for of_field in explained["words"].values() for word in of_field}


def by_words(needed, first):
    if not needed:
        return "the needed table has no word of the question"
    if needed == first:
        return "both have the same words"
    if needed < first:
        return "the first has all words of the needed one, and more"
    return "the needed one has more words" if needed > first else "each has words that the other lacks"


def by_names(question, path):
    wanted = names(question)
    held = [name in words_of_file(path) for name in wanted]
    if not wanted:
        return "the question has no name"
    if all(held):
        return "all names are in the needed table"
    return "some names are" if any(held) else "no name is"


def how_many(count):
    return next(text for most, text in ((1, "1"), (9, "2 to 9"), (99, "10 to 99"), (1e9, "100 and more")) if count <= most)


def place(rank):
    return "2 to 5" if rank and rank <= 5 else "6 to 50" if rank and rank <= 50 else "later or never"


def main():
    parser = argparse.ArgumentParser()
    for name in ("limn", "index", "questions", "tables"):
        parser.add_argument(name)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=33)
    args = parser.parse_args()
    command = [args.limn, "eval", "--index", args.index, "--questions", args.questions]
    command += ["-k", "1", "--judge", "off", "--explain", "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    folder = pathlib.Path(args.tables)
    path = lambda table: folder / f"{table}.csv"
    alike = collections.Counter(columns(it) for it in folder.glob("*.csv"))
    counts = collections.defaultdict(collections.Counter)
    kept, lost = [], 0
    for miss in report["explained"]:
        first = miss["first"]
        needed = min((it[0] for it in miss["missed"]), key=lambda it: it["rank"] or 10**9)
        file = path(needed["table"])
        kind = by_words(words(needed), words(first))
        counts["words"][kind] += 1
        counts[f"place where {kind}"][place(needed["rank"])] += 1
        counts["names"][by_names(miss["question"], file)] += 1
        counts["tables with the columns of the needed one"][how_many(alike[columns(file)])] += 1
        counts["first table has these columns"][columns(file) == columns(path(first["table"]))] += 1
        lost += any(plain(word) in words_of_file(file) for word in needed["lacks"])
        kept.append({"question": miss["question"], "needed": needed, "first": first, "kind": kind})
    asked = [json.loads(line) for line in open(args.questions, encoding="utf-8")]
    missed = {it["question"] for it in kept}
    for it in asked:
        if it["question"] not in missed:
            counts["names, of questions that find their table first"][by_names(it["question"], path(it["tables"][0]))] += 1
    counts = {name: {str(key): value for key, value in of.most_common()} for name, of in counts.items()}
    sample = random.Random(args.seed).sample(kept, min(args.sample, len(kept)))
    print(json.dumps({"questions": report["questions"], "misses": len(kept), **counts,
                      "a word of the question is in the file, and not in what the index has of it": lost,
                      "sample": sample}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
