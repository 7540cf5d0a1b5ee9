#!/usr/bin/env python3
"""A made-up company's lake, and how well limn finds its tables: what a first user meets, not a tidy corpus.

  tests/bench/company.py make FOLDER              # writes the lake, and FOLDER.tables.json beside it
  tests/bench/company.py measure --limn ~/.cache/limn/target/release/limn --out tests/bench/results/DATE-company.json
  tests/bench/company.py questions --limn LIMN --index INDEX > asked.jsonl  # for `limn eval --questions asked.jsonl`

The questions (`company_lake/questions*.jsonl`) were written before any answer was seen, and are never changed to fit limn. An
answer counts as right if it names the table or one of its copies of equal content. `"any": true`: one of the tables is enough.
`measure` also compares what limn lists with the lake's logical tables, each with its rows, and what failed with what is broken.

Needs nothing but Python 3. With the tools of infra/python-tools some tables are Parquet, without them JSON; tables of Delta Lake,
Iceberg and Hudi are left out without them, and the manifest says so.
"""
import argparse
import collections
import datetime
import fnmatch
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path.home() / ".cache/limn/python"))
import measured  # noqa: E402
from company_lake import commercial, foreign, landing, mess, technical, write  # noqa: E402

HERE = pathlib.Path(__file__).parent
QUESTIONS = {"lake": HERE / "company_lake/questions.jsonl", "lakehouse": HERE / "company_lake/questions_lakehouse.jsonl"}
LAKEHOUSE_TOOLS = ("pyarrow", "deltalake", "pyiceberg")
# Words by which a person would be known who asked to be forgotten (company_lake/lakehouse.py).
FORGOTTEN = ("thistlewhite", "leocadia", "71 40 99 18")
# Of these columns forty values each are asked for as they stand, where `limn show` has them.
VALUE_COLUMNS = [
    ("rnd/ip/patents", "publication_no"), ("rnd/ip/competitor_patents", "publication"), ("telemetry/devices/registry", "hardware_id"),
    ("telemetry/firmware_releases", "git_commit"), ("webshop/payment_attempts", "payment_ref"), ("logistics/sea_containers", "container"),
    ("facilities/company_cars", "vin"), ("supply/customs_declarations", "mrn"), ("marketing/promo_codes", "code"), ("rnd/ip/patents", "inventor"),
]


class Lake:
    """The lake's files, and its logical tables: the names that an answer may give them, and how they should be listed."""

    def __init__(self, seed):
        self.seed = seed
        self.files = {}
        self.tables = {}
        # Name to rows, patterns of names in the list, and what it is: "table", "copy" or "older state".
        self.expected = {}
        self.left_out = []
        # Which tables hold a cell.
        self.cells = collections.defaultdict(set)
        self._tables(seed)
        self._books(seed)
        for made in (mess.series(seed, self.logical), mess.archives(seed, self.logical), landing.dated(seed, self.logical),
                     landing.books(seed, self.logical, self.expect), landing.dumps(seed, self.logical), landing.maps(seed, self.logical)):
            for path, data in made:
                self.add(path, data)
        originals = dict(self.files)
        for path, data in [*mess.around(), *landing.described()]:
            self.add(path, data)
        copied = [*mess.copies(originals), *landing.backups(originals, self.expect)]
        for path, data, source, rows in copied:
            self.add(path, data)
            if rows is not None:
                self.expect(_name(path), rows, [_name(path), path], "older state")
        of = {path: source for path, _, source, _ in copied if source}
        self._expect_copies(of, originals)
        self._accept(of)

    def add(self, path, data):
        if path in self.files:
            raise SystemExit(f"two files are called {path}")
        self.files[path] = data

    def logical(self, name, *also, rows=None, listed=None):
        self.tables[name] = [name, *also]
        if rows is not None:
            self.expect(name, rows, listed or [name])

    def expect(self, name, rows, listed, kind="table"):
        self.expected[name] = {"rows": rows, "listed": listed, "kind": kind}

    def _tables(self, seed):
        for path, count, text, *options in [*commercial.TABLES, *technical.TABLES, *foreign.TABLES, *landing.TABLES, *_partners()]:
            options = options[0] if options else {}
            also = [path, path + "//*"] if path.endswith(".xlsx") else [path]
            self.logical(_name(path), *also, rows=count, listed=[_name(path), *also])
            names, rows = write.table(seed, path, count, text, options)
            for cell in (cell for row in rows for cell in row if isinstance(cell, str)):
                self.cells[cell].add(_name(path))
            self.add(write.placed(path), write.encoded(path, names, rows, options))

    def _books(self, seed):
        for path, tables in foreign.DATABASES:
            made = {name: write.table(seed, f"{path}/{name}", *spec, {}) for name, spec in tables.items()}
            for name, (count, _) in tables.items():
                self.logical(f"{path}//{name}", rows=count)
            self.add(path, write.database(made))
        for path, sheets, count, text, options in foreign.BOOKS:
            title = [[line] for line in options.get("title", [])]
            made = {}
            for sheet in sheets:
                names, rows = write.table(seed, f"{path}/{sheet}", count, text or foreign.OTHER_SHEETS[sheet], {})
                made[sheet] = title + ([[]] if title else []) + [names] + rows
                # Sheets of the same columns are one table, of the book's name; a question may have one of them in mind.
                self.logical(f"{path}//{sheet}", *([path, _name(path)] if text else []), rows=None if text else count)
            if text:
                self.expect(path, count * len(sheets), [path, _name(path)])
            self.add(path, write.book(made))

    def _expect_copies(self, of, originals):
        """Copies are listed like what they are copies of, with the rows of the files that were copied."""
        for path, source in of.items():
            for name, rows in self._within(source, originals):
                folder, copied_folder = source.rpartition("/")[0], path.rpartition("/")[0]
                copy = _name(path) if name == _name(source) else path + name.removeprefix(source) if name.startswith(source) else copied_folder
                if copy in (folder, name) or path.endswith(".bak"):
                    continue
                at = self.expected.setdefault(copy, {"rows": 0, "listed": [copy, path, path + "//*"] if copy == _name(path) else [copy, copy + "/*"] if copy == copied_folder else [copy], "kind": "copy"})
                at["rows"] += rows

    def _within(self, path, originals):
        """The tables that a file is or holds, with its share of their rows."""
        folder = path.rpartition("/")[0]
        whole = [name for name in (_name(path), path) if name in self.expected][:1]
        if whole or any(name.startswith(path + "//") for name in self.expected):
            return [(name, self.expected[name]["rows"]) for name in [*whole, *(name for name in self.expected if name.startswith(path + "//"))]]
        if folder in self.expected:
            return [(folder, self.expected[folder]["rows"] // sum(other.startswith(folder + "/") for other in originals))]
        return []

    def _accept(self, of):
        """Copies may be named for what they are copies of."""
        for accepted in self.tables.values():
            for path, source in of.items():
                folder, copied_folder = source.rpartition("/")[0], path.rpartition("/")[0]
                for name in list(accepted):
                    if name in (source, _name(source)):
                        accepted += [path, _name(path)]
                    elif name.startswith(source + "//"):
                        accepted.append(path + name.removeprefix(source))
                    elif name == folder and folder + "/*" in accepted and copied_folder not in accepted:
                        accepted += [copied_folder, copied_folder + "/*"]

    def write(self, folder, has_lakehouse=True):
        shutil.rmtree(folder, ignore_errors=True)
        for path, data in self.files.items():
            target = pathlib.Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if has_lakehouse:
            self._lakehouse(pathlib.Path(folder).resolve())
        files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
        self.file_count = len(files)
        kinds = collections.Counter(at["kind"] for at in self.expected.values())
        report = {"files": len(files), "logical_tables": kinds["table"], "left_out": self.left_out, "expected": self.expected, "accepted": self.tables, "broken": sorted([*mess.BROKEN, *landing.BROKEN])}
        pathlib.Path(f"{str(folder).rstrip('/')}.tables.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        listed = ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
        print(f"{folder}: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB; {listed}")

    def _lakehouse(self, folder):
        """Tables that only their writers can write, with the rows that these count."""
        if not all(importlib.util.find_spec(tool) for tool in LAKEHOUSE_TOOLS):
            self.left_out = ["tables of Delta Lake, Iceberg and Hudi, for want of the tools of infra/python-tools"]
            return
        done = subprocess.run([sys.executable, "-m", "company_lake.lakehouse", str(folder), str(self.seed)], cwd=HERE, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        for path, rows in json.loads(done.stdout).items():
            if path.startswith("backup_"):
                self.expect(path, rows, [path], "copy")
                self.tables[path.partition("/")[2]].append(path)
            else:
                self.logical(path, rows=rows)


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
        self.listed = self.run("tables", "--json")
        self.names = [row["table"] for row in self.listed]

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
        profile = next(it for it in shown["columns"] if it["name"] == column)
        held = [entry["value"] for entry in profile.get("frequent", [])]
        place = [it["name"] for it in shown["columns"]].index(column)
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
    report = {}
    for category, members in groups.items():
        report[category] = {"questions": len(members), "unlikely": sum(row["unlikely"] for row in members)}
        if category != "unanswerable":
            report[category] |= {key: _share(sum(row[key] for row in members) / len(members)) for key in ("hit@1", "hit@5", "full@5")}
    return {category: report[category] for category in sorted(report, key=lambda name: (name == "all", name == "unanswerable"))}


def show(categories):
    print("\n| category | questions | hit@1 | hit@5 | full@5 | said to be unlikely |\n|---|---|---|---|---|---|")
    for category, report in categories.items():
        shares = " | ".join(f"{report[key]:.1f}" if key in report else "–" for key in ("hit@1", "hit@5", "full@5"))
        print(f"| {category} | {report['questions']} | {shares} | {report['unlikely']} |")


def listed(lake, asked, report):
    """What limn lists against the logical tables: entries that are none, tables without entry or with several, wrong rows, failures."""
    entries = [row for row in asked.listed if not row["error"]]
    found = collections.defaultdict(list)
    stray = []
    for row in entries:
        names = [name for name, at in lake.expected.items() if row["table"] == name] or [name for name, at in lake.expected.items() if _is(row["table"], at["listed"])]
        if names:
            found[names[0]].append(row)
        elif not _is(row["table"], landing.EITHER):
            stray.append({"table": row["table"], "rows": row["rows"], "files": row["files"]})
    wrong = []
    for name, at in lake.expected.items():
        if found[name] and (len(found[name]) > 1 or found[name][0]["rows"] != at["rows"]):
            wrong.append({"table": name, "expected": at["rows"], "listed": {row["table"]: row["rows"] for row in found[name]}, "kind": at["kind"]})
    broken = {*mess.BROKEN, *landing.BROKEN} - set(mess.NO_DATA)
    failures = {failure["object"]: failure["error"] for failure in report["failures"]}
    return {
        "entries": len(entries),
        "expected": collections.Counter(at["kind"] for at in lake.expected.values()),
        "no_logical_table": stray,
        "without_entry": [{"table": name, "kind": at["kind"], "rows": at["rows"]} for name, at in lake.expected.items() if not found[name]],
        "wrong_rows": [row for row in wrong if len(row["listed"]) == 1],
        "in_pieces": [row for row in wrong if len(row["listed"]) > 1],
        "false_failures": {path: error for path, error in failures.items() if path not in broken},
        "broken_without_failure": sorted(broken - set(failures)),
    }


def forgotten(asked, index):
    """Where a person who was deleted can still be found: files of the index, what it shows, answers."""
    places = []
    for path in sorted(path for path in pathlib.Path(index).rglob("*") if path.is_file()):
        data = path.read_bytes().decode("latin-1").lower()
        places += [f"{path.relative_to(index)}: {word}" for word in FORGOTTEN if word in data]
    for row in asked.listed:
        if row["format"] in ("delta", "iceberg", "hudi") or row["table"].startswith(("silver", "bronze", "gold", "iceberg", "hudi")):
            shown = json.dumps(asked.run("show", row["table"], "--json"), ensure_ascii=False).lower()
            places += [f"show {row['table']}: {word}" for word in FORGOTTEN if word in shown]
    for word in FORGOTTEN:
        answer = asked.search(word)
        if " " not in word and word not in map(str.lower, answer["unknown"]):
            places.append(f"the index's words: {word}")
        for hit in answer["results"]:
            said = json.dumps(hit, ensure_ascii=False).lower()
            places += [f"search {word}: {hit['table']}"] if word in said else []
    return places


def evaluated(lake, asked, questions, folder):
    """The questions by `limn eval`, each with the names that its tables have in the index."""
    path = pathlib.Path(folder) / "eval.jsonl"
    path.write_text("".join(json.dumps(question, ensure_ascii=False) + "\n" for question in for_eval(lake.tables, asked.names, questions)))
    scores = asked.run("eval", "--questions", str(path), "-k", "1,5", "--judge", "off", "--json")["k"]
    return {f"{measure}@{k}": _share(scores[str(k)][measure]) for k in (1, 5) for measure in ("hit", "recall", "full")}


def for_eval(tables, names, questions):
    """Questions with, of each table, the one name that the index has and that comes first among those accepted."""
    for question in questions:
        known = {next((name for pattern in tables[table] for name in names if _is(name, [pattern])), table) for table in question["tables"]}
        yield {"question": question["question"], "tables": sorted(known)}


def read_questions(lake_tables, path):
    """Questions whose tables are in the lake: without the tools some are not."""
    questions = [json.loads(line) for line in path.read_text().splitlines()]
    return [question for question in questions if all(table in lake_tables for table in question["tables"])]


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
    asked_of = {name: read_questions(lake.tables, path) for name, path in QUESTIONS.items()}
    rows = {name: [ask(lake, asked, question) for question in questions] for name, questions in asked_of.items()}
    result = {
        "date": datetime.date.today().isoformat(),
        "machine": measured.machine(),
        "what": "hit@1, hit@5, full@5 in per cent of a made-up company's questions; copies of equal content count as their table",
        "limn": arguments.note,
        "lake": {"files": lake.file_count, "logical_tables": sum(at["kind"] == "table" for at in lake.expected.values()), "parquet": write.pyarrow is not None, "left_out": lake.left_out},
        "index": {"tables": len(asked.names), "exit": done.returncode, "failures": len(report["failures"]), "seconds": round(seconds, 1)},
        "tables": listed(lake, asked, report),
        "forgotten_found": forgotten(asked, index),
        "categories": summary(rows["lake"]),
        "lakehouse_categories": summary(rows["lakehouse"]),
        "eval": {name: evaluated(lake, asked, questions, work) for name, questions in asked_of.items()},
        "values": values(lake, asked, work),
        "rows": rows["lake"],
        "lakehouse_rows": rows["lakehouse"],
    }
    show(result["categories"])
    show(result["lakehouse_categories"])
    show_listed(result["tables"], result["forgotten_found"])
    held = result["values"]
    print(f"\nvalues of ten columns: {held['values']} asked, hit@1 {held['hit@1']}, hit@5 {held['hit@5']}")
    print(f"limn eval: {json.dumps(result['eval'])}")
    for row in [*rows["lake"], *rows["lakehouse"]]:
        if row.get("missed") or not row.get("hit@1", not row["found"] or row["unlikely"]):
            print(f"  {row['category']}: {row['question']}\n    found {', '.join(row['found']) or 'nothing'}")
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def show_listed(report, places):
    print(f"\n{report['entries']} entries; expected {', '.join(f'{count} × {kind}' for kind, count in report['expected'].items())}")
    for what in ("no_logical_table", "without_entry", "wrong_rows", "in_pieces"):
        print(f"{what.replace('_', ' ')}: {len(report[what])}")
        for row in report[what]:
            print(f"  {json.dumps(row, ensure_ascii=False)}")
    print(f"false failures: {len(report['false_failures'])}")
    for path, error in report["false_failures"].items():
        print(f"  {path}: {error}")
    print(f"broken without failure: {', '.join(report['broken_without_failure']) or 'none'}")
    print(f"the person who was deleted: {', '.join(places) or 'nowhere'}")


def questions(arguments):
    """Prints all questions as `limn eval` takes them, with the names of an index of the lake."""
    lake = Lake(arguments.seed)
    asked = Asked(arguments.limn, arguments.index)
    for path in QUESTIONS.values():
        for question in map(json.loads, path.read_text().splitlines()):
            for row in for_eval({**{table: [table] for table in question["tables"]}, **lake.tables}, asked.names, [question]):
                print(json.dumps(row, ensure_ascii=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write the lake")
    make.add_argument("folder")
    make.add_argument("--without-lakehouse", action="store_true", help="without the tables whose writers name files anew each time")
    judged = commands.add_parser("measure", help="index it and ask the questions")
    judged.add_argument("--limn", required=True, help="the binary to measure")
    judged.add_argument("--work", default="/tmp/limn-company")
    judged.add_argument("--note", default="", help="which limn it is, kept in the result")
    judged.add_argument("--out")
    printed = commands.add_parser("questions", help="print the questions for limn eval")
    printed.add_argument("--limn", required=True)
    printed.add_argument("--index", required=True)
    for command in (make, judged, printed):
        command.add_argument("--seed", type=int, default=28)
    arguments = parser.parse_args()
    if arguments.command == "make":
        Lake(arguments.seed).write(arguments.folder, not arguments.without_lakehouse)
    elif arguments.command == "questions":
        questions(arguments)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
