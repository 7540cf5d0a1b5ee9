#!/usr/bin/env python3
"""A made-up company's lake, and how well limn finds its tables: what a first user meets, not a tidy corpus.

  tests/bench/company.py make FOLDER              # writes the lake, and FOLDER.tables.json beside it
  tests/bench/company.py measure --limn ~/.cache/limn/target/release/limn --out tests/bench/results/DATE-company.json

The questions (`company_lake/questions.jsonl`) were written before any answer was seen, and are never changed to fit limn. An
answer counts as right if it names the table or one of its copies of equal content. `"any": true`: one of the tables is enough. Needs
nothing but Python 3; with the tools of infra/python-tools some tables are Parquet, without them JSON.
"""
import argparse
import collections
import datetime
import fnmatch
import json
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path.home() / ".cache/limn/python"))
import measured  # noqa: E402
from company_lake import commercial, foreign, mess, technical, write  # noqa: E402

QUESTIONS = pathlib.Path(__file__).parent / "company_lake/questions.jsonl"
# Of these columns forty values each are asked for as they stand, where `limn show` has them.
VALUE_COLUMNS = [
    ("rnd/ip/patents", "publication_no"), ("rnd/ip/competitor_patents", "publication"), ("telemetry/devices/registry", "hardware_id"),
    ("telemetry/firmware_releases", "git_commit"), ("webshop/payment_attempts", "payment_ref"), ("logistics/sea_containers", "container"),
    ("facilities/company_cars", "vin"), ("supply/customs_declarations", "mrn"), ("marketing/promo_codes", "code"), ("rnd/ip/patents", "inventor"),
]


class Lake:
    """The lake's files, and its logical tables with the names that an answer may give them."""

    def __init__(self, seed):
        self.files = {}
        self.tables = {}
        # Which tables hold a cell.
        self.cells = collections.defaultdict(set)
        self._tables(seed)
        self._books(seed)
        for path, data in [*mess.series(seed, self.logical), *mess.archives(seed, self.logical)]:
            self.add(path, data)
        originals = dict(self.files)
        for path, data in mess.around():
            self.add(path, data)
        copied = list(mess.copies(originals))
        of = {path: source for path, _, source in copied}
        for path, data, _ in copied:
            self.add(path, data)
        self._accept(of)

    def add(self, path, data):
        if path in self.files:
            raise SystemExit(f"two files are called {path}")
        self.files[path] = data

    def logical(self, name, *also):
        self.tables[name] = [name, *also]

    def _tables(self, seed):
        for path, count, text, *options in [*commercial.TABLES, *technical.TABLES, *foreign.TABLES, *_partners()]:
            options = options[0] if options else {}
            self.logical(_name(path), *([path, path + "//*"] if path.endswith(".xlsx") else [path]))
            names, rows = write.table(seed, path, count, text, options)
            for cell in (cell for row in rows for cell in row if isinstance(cell, str)):
                self.cells[cell].add(_name(path))
            self.add(write.placed(path), write.encoded(path, names, rows, options))

    def _books(self, seed):
        for path, tables in foreign.DATABASES:
            made = {name: write.table(seed, f"{path}/{name}", *spec, {}) for name, spec in tables.items()}
            for name in tables:
                self.logical(f"{path}//{name}")
            self.add(path, write.database(made))
        for path, sheets, count, text, options in foreign.BOOKS:
            title = [[line] for line in options.get("title", [])]
            made = {}
            for sheet in sheets:
                names, rows = write.table(seed, f"{path}/{sheet}", count, text or foreign.OTHER_SHEETS[sheet], {})
                made[sheet] = title + ([[]] if title else []) + [names] + rows
                # Sheets of the same columns may be one table, of the book's name.
                self.logical(f"{path}//{sheet}", *([path, _name(path)] if text else []))
            self.add(path, write.book(made))

    def _accept(self, of):
        """Copies may be named for what they are copies of."""
        for accepted in self.tables.values():
            for path, source in of.items():
                if source is None:
                    continue
                folder, copied_folder = source.rpartition("/")[0], path.rpartition("/")[0]
                for name in list(accepted):
                    if name in (source, _name(source)):
                        accepted += [path, _name(path)]
                    elif name.startswith(source + "//"):
                        accepted.append(path + name.removeprefix(source))
                    elif name == folder and folder + "/*" in accepted and copied_folder not in accepted:
                        accepted += [copied_folder, copied_folder + "/*"]

    def write(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        for path, data in self.files.items():
            target = pathlib.Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        told = {"files": len(self.files), "logical_tables": len(self.tables), "accepted": self.tables}
        pathlib.Path(f"{str(folder).rstrip('/')}.tables.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        print(f"{folder}: {len(self.files)} files, {len(self.tables)} logical tables, {sum(map(len, self.files.values())) / 1e6:.1f} MB")


def _name(path):
    for extension in (".parquet", ".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".dat"):
        if path.endswith(extension):
            return path.removesuffix(extension)
    return path


def _partners():
    for at, partner in enumerate(commercial.PARTNERS):
        chosen = [column for place, column in enumerate(commercial.PARTNER_COLUMNS) if (at >> place) % 2 == 0 or place == at % 6]
        text = "; ".join(["settlement_month:month=2024", "promo_code:pick=WARM10,HYGGE77,COZY5", *chosen])
        yield f"marketing/partners/{partner}/settlement.csv", 24, text


class Asked:
    """limn over an index of the lake."""

    def __init__(self, limn, index):
        self.limn, self.index = limn, index
        self.names = [row["table"] for row in self.run("tables", "--json")]

    def run(self, *arguments):
        done = subprocess.run([self.limn, arguments[0], "--index", self.index, *arguments[1:]], capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
        return json.loads(done.stdout)

    def search(self, question):
        # A question may begin with a dash.
        return self.run("search", "-k", "5", "--judge", "off", "--json", "--", question)


def _is(name, accepted):
    # Brackets are letters here.
    return any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in accepted)


def grade(answer):
    """What an answer says of itself: nothing found, or a grade of the answer or of its first table."""
    if not answer["results"]:
        return "nothing"
    return answer.get("grade") or answer["results"][0].get("grade")


def ask(lake, asked, question):
    """One question: where its tables came among the first five."""
    answer = asked.search(question["question"])
    found = [hit["table"] for hit in answer["results"]]
    ranks = {}
    for table in question["tables"]:
        ranks[table] = next((rank for rank, name in enumerate(found, 1) if _is(name, lake.tables[table])), None)
    there = [rank for rank in ranks.values() if rank]
    unlikely = grade(answer) in ("nothing", "unlikely", "nearest")
    row = {"category": question["category"], "question": question["question"], "found": found, "grade": grade(answer), "unlikely": unlikely}
    if question["tables"]:
        row["hit@1"], row["hit@5"] = 1 in there, bool(there)
        row["full@5"] = bool(there) if question.get("any") else len(there) == len(ranks)
        row["missed"] = [] if question.get("any") and there else [table for table, rank in ranks.items() if not rank]
    return row


def values(lake, asked, folder):
    """Values that the index shows of ten columns, each asked for alone: how many find a table that holds them among five."""
    questions, missing = [], []
    for table, column in VALUE_COLUMNS:
        here = [name for name in asked.names if name == table] or [name for name in asked.names if _is(name, lake.tables[table])]
        shown = asked.run("show", here[0], "--json")[0]
        profile = next(told for told in shown["columns"] if told["name"] == column)
        held = [entry["value"] for entry in profile.get("frequent", [])]
        place = [told["name"] for told in shown["columns"]].index(column)
        held += [row[place] for row in shown.get("sample", [])]
        held = [value for value in dict.fromkeys(map(str, held)) if value in lake.cells][:40]
        if not held:
            missing.append(f"{table}.{column}")
        for value in held:
            patterns = [pattern for name in lake.cells[value] for pattern in lake.tables[name]]
            questions.append({"question": value, "tables": [name for name in asked.names if _is(name, patterns)]})
    path = pathlib.Path(folder) / "values.jsonl"
    path.write_text("".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions))
    scores = asked.run("eval", "--questions", str(path), "-k", "1,5", "--judge", "off", "--json")
    return {"values": len(questions), "columns_without": missing, "hit@1": _share(scores["k"]["1"]["hit"]), "hit@5": _share(scores["k"]["5"]["hit"])}


def _share(part):
    return round(100 * part, 1)


def summary(rows):
    """Shares in per cent, by category and of all that can be answered."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["category"]].append(row)
        if row["category"] != "unanswerable":
            groups["all"].append(row)
    told = {}
    for category, members in groups.items():
        told[category] = {"questions": len(members), "unlikely": sum(row["unlikely"] for row in members)}
        if category != "unanswerable":
            told[category] |= {key: _share(sum(row[key] for row in members) / len(members)) for key in ("hit@1", "hit@5", "full@5")}
    return {category: told[category] for category in sorted(told, key=lambda name: (name == "all", name == "unanswerable"))}


def show(categories):
    print("\n| category | questions | hit@1 | hit@5 | full@5 | said to be unlikely |\n|---|---|---|---|---|---|")
    for category, told in categories.items():
        shares = " | ".join(f"{told[key]:.1f}" if key in told else "–" for key in ("hit@1", "hit@5", "full@5"))
        print(f"| {category} | {told['questions']} | {shares} | {told['unlikely']} |")


def measure(arguments):
    lake = Lake(arguments.seed)
    work = pathlib.Path(arguments.work)
    folder, index = work / "lake", work / "company.limn"
    shutil.rmtree(index, ignore_errors=True)
    lake.write(folder)
    start = time.time()
    done = subprocess.run([arguments.limn, "index", str(folder), "--index", str(index), "--narrate", "names", "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    report = json.loads(done.stdout)
    seconds = time.time() - start
    asked = Asked(arguments.limn, str(index))
    rows = [ask(lake, asked, json.loads(line)) for line in QUESTIONS.read_text().splitlines()]
    result = {
        "date": datetime.date.today().isoformat(),
        "machine": measured.machine(),
        "what": "hit@1, hit@5, full@5 in per cent of a made-up company's questions; copies of equal content count as their table",
        "limn": arguments.note,
        "lake": {"files": len(lake.files), "logical_tables": len(lake.tables), "parquet": write.pyarrow is not None},
        "index": {"tables": len(asked.names), "exit": done.returncode, "failures": len(report["failures"]), "seconds": round(seconds, 1)},
        "categories": summary(rows),
        "values": values(lake, asked, work),
        "rows": rows,
    }
    show(result["categories"])
    held = result["values"]
    print(f"\nvalues of ten columns: {held['values']} asked, hit@1 {held['hit@1']}, hit@5 {held['hit@5']}")
    for row in rows:
        if row.get("missed") or not row.get("hit@1", True):
            print(f"  {row['category']}: {row['question']}\n    found {', '.join(row['found']) or 'nothing'}")
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write the lake")
    make.add_argument("folder")
    judged = commands.add_parser("measure", help="index it and ask the questions")
    judged.add_argument("--limn", required=True, help="the binary to measure")
    judged.add_argument("--work", default="/tmp/limn-company")
    judged.add_argument("--note", default="", help="which limn it is, kept in the result")
    judged.add_argument("--out")
    for command in (make, judged):
        command.add_argument("--seed", type=int, default=28)
    arguments = parser.parse_args()
    if arguments.command == "make":
        Lake(arguments.seed).write(arguments.folder)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
