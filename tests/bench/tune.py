"""What `limn tune` gains on corpora, and whether it refuses noise.

    python3 tests/bench/tune.py --limn BIN --corpora FOLDER --indexes FOLDER [--out FILE.json]

FOLDER of indexes holds those of ranking.py. Of each corpus, all questions are halved five times, and
each half is judged by weights that were fitted on the other (`limn tune --dry-run --json`). The same
with ten seeds of noise each: questions whose tables are those of other questions, drawn by the seed.
Nothing is written to the indexes.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile

from ranking import CORPORA

NOISES = 10


def tune(args, index, questions, seed=0):
    """What `limn tune` says of these questions: (question, tables)."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "questions.jsonl"
        lines = [json.dumps({"question": question, "tables": tables}) for question, tables in questions]
        file.write_text("\n".join(lines) + "\n")
        command = [args.limn, "tune", "--index", str(index), "--questions", str(file), "--dry-run", "--json"]
        done = subprocess.run([*command, "--seed", str(seed)], check=True, capture_output=True)
        return json.loads(done.stdout)


def shuffled(questions, seed):
    tables = [tables for _, tables in questions]
    random.Random(seed).shuffle(tables)
    return [(question, tables) for (question, _), tables in zip(questions, tables)]


def in_points(measures):
    return {name: round(100 * share, 2) for name, share in measures.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", default="limn")
    parser.add_argument("--corpora", required=True)
    parser.add_argument("--indexes", required=True)
    parser.add_argument("--more", nargs="*", default=[], metavar="NAME=INDEX=FILE", help="further indexes with questions")
    parser.add_argument("--out")
    args = parser.parse_args()
    indexes, corpora = pathlib.Path(args.indexes), pathlib.Path(args.corpora)
    places = [(name, indexes / f"{name}.limn", corpora / folder / "questions.jsonl") for name, folder, _, _ in CORPORA]
    report = {}
    for name, index, file in [*places, *(it.split("=") for it in args.more)]:
        lines = [json.loads(line) for line in pathlib.Path(file).read_text().splitlines()]
        questions = [(line["question"], line["tables"]) for line in lines if line.get("tables")]
        found = tune(args, index, questions)
        noise = [tune(args, index, shuffled(questions, seed), seed) for seed in range(NOISES)]
        report[name] = {
            "questions": found["questions"],
            "seconds": round(found["seconds"], 1),
            **{key: in_points(found[key]) for key in ("own", "held_out")},
            "gain": {key: in_points(found["gain"][key]) for key in ("mean", "standard_error")},
            "weights": found["weights"],
            "helps": found["helps"],
            "noise_that_helps": f"{sum(it['helps'] for it in noise)} of {NOISES}",
        }
        print(name, json.dumps(report[name]), flush=True)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
