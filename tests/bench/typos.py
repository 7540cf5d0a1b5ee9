"""What a typing error costs: each question once as it is, once with one random edit in one content word.

    python3 tests/bench/typos.py --limn BIN --index INDEX --questions FILE.jsonl [--seed N]

An edit is one letter missing, doubled, replaced or swapped with its neighbour, anywhere but at the first,
in a word of five letters or more that is no stop word; a question without such a word stays as it is.
Prints hit@1 and hit@5 in per cent of both, and how many questions were edited.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import tempfile

STOP = set("about after again among before being below between could does doing during every first from have "
           "having their there these they this those through under until what when where which while with would "
           "your many show list give find name names number total each all".split())
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def edited(word, chance):
    at = chance.randrange(1, len(word))
    kind = chance.choice(["missing", "doubled", "replaced", "swapped"])
    if kind == "missing":
        return word[:at] + word[at + 1 :]
    if kind == "doubled":
        return word[:at] + word[at] + word[at:]
    if kind == "swapped" and at + 1 < len(word) and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + chance.choice([it for it in LETTERS if it != word[at].lower()]) + word[at + 1 :]


def misspelt(question, chance):
    words = [it for it in re.finditer(r"[A-Za-z]{5,}", question) if it.group().lower() not in STOP]
    if not words:
        return question
    word = chance.choice(words)
    return question[: word.start()] + edited(word.group(), chance) + question[word.end() :]


def hits(args, questions):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "questions.jsonl"
        file.write_text("".join(json.dumps(it) + "\n" for it in questions))
        command = [args.limn, "eval", "--index", args.index, "--questions", str(file), "-k", "1,5", "--judge", "off"]
        found = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True).stdout)
        return {k: round(100 * it["hit"], 1) for k, it in found["k"].items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", default="limn")
    parser.add_argument("--index", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    questions = [json.loads(line) for line in open(args.questions)]
    changed = [{**it, "question": misspelt(it["question"], chance)} for it in questions]
    count = sum(a != b for a, b in zip(questions, changed))
    report = {"questions": len(questions), "edited": count, "as_written": hits(args, questions)}
    print(json.dumps({**report, "misspelt": hits(args, changed)}))


if __name__ == "__main__":
    main()
