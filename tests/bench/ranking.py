"""Learns what features of a table count beside the formula, and measures it on corpora it never saw.

    python3 tests/bench/ranking.py --limn BIN --corpora FOLDER --indexes FOLDER [--out FILE.json]

Needs numpy. FOLDER of indexes holds NAME.limn for each corpus below, made with `--narrate off`
(and `--contexts` for those whose name ends in _contexts); missing ones are made.

The score of a table is (s + sum of w*f) / (1 + sum of w): s the formula's score, f features from 0 to 1.
Weights are searched on a grid, one after the other, as long as one helps. What is maximised over the
training corpora is the mean of what hit@1, hit@5 and full@5 gain, of which a corpus can give two points
each, less five times what any of them loses, less one point for each whole unit of weight. So a weight
has to help several corpora and may harm none. The first thousand questions of a corpus count.

Every corpus is reported by weights that were learned without it: fetaqa and rdatasets count as one with
and without contexts. The weights that limn has are learned from all of them.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np

FEATURES = ["meaning", "covered", "name", "contexts"]
GRID = [0.0, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3]
MOST, CAP, LOSS, COST, LEAST, ROUNDS = 1000, 2.0, 5.0, 1.0, 0.02, 4
CANDIDATES = 50
# Name, folder, with contexts, group: corpora of one group are held out together.
CORPORA = [
    ("spider", "spider", False, "spider"),
    ("bird", "bird_schema", False, "bird"),
    ("rdatasets", "rdatasets", False, "rdatasets"),
    ("rdatasets_contexts", "rdatasets", True, "rdatasets"),
    ("fetaqa", "fetaqa", False, "fetaqa"),
    ("fetaqa_contexts", "fetaqa", True, "fetaqa"),
]


def features_of(args, name, folder, with_contexts):
    """The candidates of a corpus' questions, by `limn eval --features`."""
    index = pathlib.Path(args.indexes) / f"{name}.limn"
    corpus = pathlib.Path(args.corpora) / folder
    if not index.exists():
        contexts = ["--contexts", str(corpus / "contexts.jsonl")] if with_contexts else []
        command = [args.limn, "index", str(corpus / "tables"), "--index", str(index), "--narrate", "off", *contexts]
        subprocess.run(command, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as folder_of_file:
        file = pathlib.Path(folder_of_file) / "features.jsonl"
        questions = str(corpus / "questions.jsonl")
        command = [args.limn, "eval", "--index", str(index), "--questions", questions, "--judge", "off", "-k", "10"]
        subprocess.run([*command, "--features", str(file)], check=True, capture_output=True)
        return [json.loads(line) for line in file.open()]


class Corpus:
    """A corpus' candidates as arrays: questions, candidates, features (the formula's score first)."""

    def __init__(self, questions):
        shape = (len(questions), CANDIDATES)
        self.features = np.zeros((*shape, 1 + len(FEATURES)), np.float32)
        # Which of the needed tables a candidate is, a bit each: several may be one by name.
        self.gold = np.zeros(shape, np.int64)
        # Named ones come first, places without a candidate last.
        self.place = np.full(shape, -1e9, np.float32)
        self.needed = np.array([(1 << len(set(it["gold"]))) - 1 for it in questions], np.int64)
        for at, question in enumerate(questions):
            gold = sorted(set(question["gold"]))
            for to, table in enumerate(question["candidates"][:CANDIDATES]):
                self.features[at, to] = [table["score"], *(table[it] for it in FEATURES)]
                self.gold[at, to] = sum(1 << gold.index(it) for it in set(table["needed"]))
                self.place[at, to] = 100.0 if table["is_named"] else 0.0

    def measure(self, weights, most=None):
        """hit@1, hit@5 and full@5 in per cent."""
        part = slice(0, most)
        scores = self.features[part] @ np.array([1.0, *weights], np.float32) + self.place[part]
        first = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        right = np.take_along_axis(self.gold[part], first, 1)
        found = np.bitwise_or.reduce(right, axis=1)
        shares = (right[:, 0] > 0).mean(), (found > 0).mean(), (found == self.needed[part]).mean()
        return 100 * np.array(shares)


def worth(weights, corpora, before):
    gains = [it.measure(weights, MOST) - base for it, base in zip(corpora, before)]
    worths = [np.minimum(gain, CAP).sum() - LOSS * np.maximum(0, -gain).sum() for gain in gains]
    return np.mean(worths) - COST * sum(weights)


def learn(corpora):
    weights = [0.0] * len(FEATURES)
    before = [it.measure(weights, MOST) for it in corpora]
    best = worth(weights, corpora, before)
    for _ in range(ROUNDS):
        began = best
        for at in range(len(weights)):
            for value in GRID:
                tried = [*weights[:at], value, *weights[at + 1 :]]
                found = worth(tried, corpora, before)
                if found > best + LEAST:
                    best, weights = found, tried
        if best == began:
            break
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", default="limn")
    parser.add_argument("--corpora", required=True)
    parser.add_argument("--indexes", required=True)
    parser.add_argument("--out")
    args = parser.parse_args()
    corpora = {name: Corpus(features_of(args, name, folder, contexts)) for name, folder, contexts, _ in CORPORA}
    group_of = {name: group for name, _, _, group in CORPORA}
    formula = [0.0] * len(FEATURES)
    report = {"features": FEATURES, "all": learn(list(corpora.values())), "held_out": {}}
    print("all corpora:", dict(zip(FEATURES, report["all"])))
    for held in dict.fromkeys(group_of.values()):
        weights = learn([it for name, it in corpora.items() if group_of[name] != held])
        print(f"without {held}:", dict(zip(FEATURES, weights)))
        for name in (name for name in corpora if group_of[name] == held):
            one = corpora[name]
            shares = {
                "formula": one.measure(formula).round(1).tolist(),
                "held_out": one.measure(weights).round(1).tolist(),
                "all": one.measure(report["all"]).round(1).tolist(),
            }
            report["held_out"][name] = {"weights": weights, "hit1_hit5_full5": shares}
            print(f"  {name}: hit@1, hit@5, full@5:", shares)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
