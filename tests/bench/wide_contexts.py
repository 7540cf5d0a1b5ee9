"""Whether texts about the columns of very wide tables help or hurt: adventureworks, widened.

    python3 tests/bench/wide_contexts.py --limn BIN --corpora FOLDER --questions FILE.jsonl [--columns N]

Each table gets the columns of other tables behind its own, empty, until it has N (300), and one text that
lists all its columns with their descriptions, as warehouses' documentation does. Prints hit@1, hit@5 and
full@5 in per cent without texts and with them, by the learned ranking and by the formula.
"""

import argparse
import csv
import json
import pathlib
import random
import re
import subprocess
import tempfile


def described(corpus):
    """The descriptions of columns, by table and column."""
    found = {}
    for line in (corpus / "contexts.jsonl").open():
        context = json.loads(line)
        listed = re.match(r"Columns of [^:]+: (.*)", context["context"], re.S)
        for part in listed[1].split(";") if listed else []:
            name, _, text = part.strip().partition(":")
            if text.strip():
                found.setdefault(context["table"], {})[name.strip()] = text.strip()
    return found


def widen(corpus, folder, columns):
    chance, texts = random.Random(1), described(corpus)
    pool = [(name, text) for of_table in texts.values() for name, text in of_table.items()]
    (folder / "tables").mkdir()
    with (folder / "contexts.jsonl").open("w") as contexts:
        for path in sorted((corpus / "tables").glob("*.csv")):
            rows = list(csv.reader(path.open(encoding="utf-8", newline="")))
            header, own = rows[0], texts.get(path.stem, {})
            listed = [f"{name}: {own[name]}" for name in header if name in own]
            added = []
            while len(header) + len(added) < columns:
                name, text = chance.choice(pool)
                added.append(f"{name}_{len(added)}")
                listed.append(f"{added[-1]}: {text}")
            with (folder / "tables" / path.name).open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([header + added, *(row + [""] * len(added) for row in rows[1:])])
            text = f"Columns of {path.stem}: " + "; ".join(listed)
            contexts.write(json.dumps({"table": path.stem, "context": text}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limn", default="limn")
    parser.add_argument("--corpora", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--columns", type=int, default=300)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        widen(pathlib.Path(args.corpora) / "adventureworks", folder, args.columns)
        report = {}
        for name, contexts in (("without", []), ("with", ["--contexts", str(folder / "contexts.jsonl")])):
            index = str(folder / f"{name}.limn")
            command = [args.limn, "index", str(folder / "tables"), "--index", index, "--narrate", "off", *contexts]
            subprocess.run(command, check=True, capture_output=True)
            for ranking in ("learned", "formula"):
                command = [args.limn, "eval", "--index", index, "--questions", args.questions, "-k", "1,5", "--judge"]
                command += ["off", "--ranking", ranking, "--json"]
                found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["k"]
                shares = found["1"]["hit"], found["5"]["hit"], found["5"]["full"]
                report[f"{name} contexts, {ranking}"] = [round(100 * it, 1) for it in shares]
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
