#!/usr/bin/env python3
"""The gold statements of a corpus of questions, by `limn sql` over the lake and by SQLite over the same CSV files.

  python tests/reference/gold.py --limn target/release/limn --corpus ../shared/corpora/spider --work /tmp/gold --out gold.json

A statement is given to limn as it is but for two things. Tables of the question's database are put in by their names in the lake,
with the name that the statement has for them as an alias. A text in double quotes that names no column, which SQLite takes for a
text and standard SQL does not, is written in single quotes. In SQLite a column is INTEGER or REAL where every cell is such a number,
else TEXT, and NULL where limn finds null: in empty cells and those of NULLS below.

Rows are the same if they are so as multisets: numbers to nine digits, times in one way of writing (limn reads `2 May 2018` and
`2018-05-02 10:00:00` as times, SQLite as texts). Where they are not, the first rule that explains it says its kind.
These are the same answer:
  ties        ORDER BY … LIMIT cuts among rows with equal keys: limn has all rows before those, and some of those
  any row     limn notes a column that is not in GROUP BY; all other columns agree, and so does the number of rows
These are other answers, for a reason that docs/cli.md gives:
  null order  the two agree once SQLite is set to sort NULL as limn does: last if ascending, first if descending
  case        the two agree once SQLite's LIKE minds case
  units       the two agree once `44.7%` is 44.7
  no values   limn has no answer: sum() or avg() of a column of a table without rows, which is text
Any other difference is "refused" or "unexplained". --out gets the counts and every difference. The exit status is 0 if at least 97 %
of all statements have the same answer.
"""
import argparse
import collections
import concurrent.futures
import csv
import datetime
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import threading

# As limn_profile::infer::is_null.
NULLS = {"", "NA", "NULL", "null", "nan", "NaN", "\\N", "n/a", "N/A", "<NA>", "#N/A"}
TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\w+|\s+|[<>!=|]{2}|.""", re.DOTALL)
# Behind these, at the same depth of brackets, FROM is over.
ENDS = {"where", "group", "having", "order", "limit", "union", "intersect", "except", "select"}
# What stands behind a table without being its alias.
KEYWORDS = ENDS | {"on", "join", "inner", "left", "right", "full", "cross", "natural", "using", "outer", "as"}
TIMES = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%d %B %Y", "%B %d, %Y", "%B %d %Y", "%d/%m/%Y", "%m/%d/%Y")
SAME = ("the same rows", "ties", "any row")


def tables_of(folder):
    """Paths by database and table, both in lower case."""
    found = collections.defaultdict(dict)
    for path in sorted(folder.glob("*.csv")):
        database, _, table = path.stem.lower().partition("__")
        found[database][table] = path
    return found


def number(text, kinds=(int, float)):
    for kind in kinds:
        try:
            return kind(text)
        except (TypeError, ValueError):
            pass
    return None


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Base:
    """A database in SQLite."""

    def __init__(self, tables):
        self.base = sqlite3.connect(":memory:", check_same_thread=False)
        self.lock = threading.Lock()
        # The names of all columns, and of the tables without rows.
        self.columns, self.empty = set(), set()
        for table, path in tables.items():
            with open(path, newline="", encoding="utf-8", errors="replace") as file:
                header, *rows = list(csv.reader(file)) or [[]]
            self.columns.update(name.lower() for name in header)
            rows = [[cell.strip() for cell in row] for row in rows if row]
            rows = [[None if cell in NULLS else cell for cell in (row + [""] * len(header))[: len(header)]] for row in rows]
            if not rows:
                self.empty.add(table)
            declared = ", ".join(f"{quoted(name)} {self.kind(rows, at)}" for at, name in enumerate(header))
            self.base.execute(f"CREATE TABLE {quoted(table)} ({declared})")
            self.base.executemany(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(header))})", rows)

    @staticmethod
    def kind(rows, at):
        cells = [row[at] for row in rows if row[at] is not None]
        for kinds, name in (((int,), "INTEGER"), ((float,), "REAL")):
            if cells and all(number(cell, kinds) is not None for cell in cells):
                return name
        return "TEXT"

    def rows(self, tokens, minds_case=False):
        with self.lock:
            self.base.execute(f"PRAGMA case_sensitive_like = {'ON' if minds_case else 'OFF'}")
            return self.base.execute(joined(tokens)).fetchall()


class Limn:
    """The lake, by `limn sql`."""

    def __init__(self, limn, index):
        self.command = [limn, "sql", "--index", index, "--json", "--max-rows", "1000000"]

    def rows(self, sql):
        """The rows and notes; no rows and the error where there is none."""
        done = subprocess.run([*self.command, sql], capture_output=True, text=True)
        if done.returncode != 0:
            return None, " ".join(done.stderr.strip().splitlines()[-1:])
        answer = json.loads(done.stdout)
        return answer["rows"], "; ".join(answer["notes"])


def tokens_of(sql):
    return [token for token in TOKEN.findall(sql.strip().rstrip(";")) if not token.isspace()]


def joined(tokens):
    return " ".join(tokens).replace(" . ", ".")


def for_limn(tokens, tables, columns):
    """The statement with tables by their names in the lake, and texts in single quotes."""
    written, depth, is_from, is_next = [], 0, {}, False
    for at, token in enumerate(tokens):
        word, behind = token.lower(), tokens[at + 1].lower() if at + 1 < len(tokens) else ""
        name = word.strip('"`')
        if is_next and name in tables:
            has_alias = behind == "as" or (re.fullmatch(r"[a-z_]\w*", behind) and behind not in KEYWORDS)
            written += [quoted(tables[name].stem)] + ([] if has_alias else ["AS", name])
            is_next = False
            continue
        if word == "(":
            depth += 1
            is_from[depth] = is_next
        elif word == ")":
            is_from.pop(depth)
            depth -= 1
            is_next = False
        elif word in ENDS or word in ("from", "join"):
            is_from[depth] = is_next = word not in ENDS
        else:
            is_next = word == "," and is_from.get(depth, False)
        if token.startswith('"') and token[1:-1].lower() not in columns:
            token = "'" + token[1:-1].replace("'", "''") + "'"
        written.append(token)
    return joined(written)


def nulls_as_limn(tokens):
    """ORDER BY with the place of NULL said."""
    written, depth, orders = [], 0, set()
    for at, token in enumerate([*tokens, ""]):
        word = token.lower()
        if depth in orders and word in (",", ")", "limit", "union", "intersect", "except", ""):
            written.append("NULLS FIRST" if tokens[at - 1].lower() == "desc" else "NULLS LAST")
            if word != ",":
                orders.discard(depth)
        depth += (word == "(") - (word == ")")
        if word == "by" and tokens[at - 1].lower() == "order":
            orders.add(depth)
        written.append(token)
    return written


def cell(value):
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    if isinstance(value, (int, float)):
        return f"{float(value):.9g}"
    text = str(value).strip()
    for form in TIMES:
        try:
            return datetime.datetime.strptime(text, form).isoformat()
        except ValueError:
            pass
    return text


def counted(rows):
    return collections.Counter(tuple(cell(value) for value in row) for row in rows)


def without_units(rows):
    return [[number(value.rstrip("%")) if isinstance(value, str) and value.endswith("%") else value for value in row] for row in rows]


def cuts_ties(tokens, mine, base):
    """Whether LIMIT cut among rows with equal keys: limn has all rows before those, and some of those."""
    words = [token.lower() for token in tokens]
    if words[-2:-1] != ["limit"] or "order" not in words:
        return False
    order = len(words) - 1 - words[::-1].index("order")
    key = [token for token in tokens[order + 2 : -2] if token.lower() not in ("asc", "desc")]
    start = words.index("from")
    try:
        # The key as one column more.
        whole = base.rows([*tokens[:start], ",", *key, *tokens[start:-2]])
    except sqlite3.Error:
        return False
    width = len(mine[0]) if mine else 0
    if len(mine) != min(int(tokens[-1]), len(whole)):
        return False
    last = whole[len(mine) - 1][width:]
    place = next(at for at, row in enumerate(whole) if row[width:] == last)
    before = counted(row[:width] for row in whole[:place])
    equal = counted(row[:width] for row in whole if row[width:] == last)
    return before <= counted(mine) and counted(mine) - before <= equal


def is_any_row(mine, theirs, note):
    """Whether only columns differ that are not grouped by."""
    said = re.match(r"((?:'[^']*'(?:, )?)+) (?:is|are) (?:not in GROUP BY|in no aggregate)", note)
    if not said or len(mine) != len(theirs):
        return False
    differ = [at for at in range(len(mine[0])) if counted([[row[at]] for row in mine]) != counted([[row[at]] for row in theirs])]
    return len(differ) <= said.group(1).count("', '") + 1


def kind_of(tokens, base, limn, tables):
    """What kind of answer limn has, and what is to say of it."""
    mine, note = limn.rows(for_limn(tokens, tables, base.columns))
    if mine is None:
        used = {token.lower() for token in tokens}
        is_of_nothing = base.empty & used and "takes no values of such types" in note
        return ("no values" if is_of_nothing else "refused"), note
    theirs = base.rows(tokens)
    if counted(mine) == counted(theirs):
        return "the same rows", note
    if mine and cuts_ties(tokens, mine, base):
        return "ties", ""
    if is_any_row(mine, theirs, note):
        return "any row", note
    if counted(mine) == counted(base.rows(nulls_as_limn(tokens))):
        return "null order", ""
    if counted(mine) == counted(base.rows(tokens, minds_case=True)):
        return "case", ""
    if counted(mine) == counted(without_units(theirs)):
        return "units", ""
    missing, more = counted(theirs) - counted(mine), counted(mine) - counted(theirs)
    return "unexplained", f"missing {list(missing)[:3]} more {list(more)[:3]} {note}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--limn", required=True)
    arguments.add_argument("--corpus", required=True, type=pathlib.Path)
    arguments.add_argument("--work", required=True, type=pathlib.Path)
    arguments.add_argument("--out", type=pathlib.Path)
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    index = str(given.work / "index")
    subprocess.run([given.limn, "index", str(given.corpus / "tables"), "--index", index], check=True, stderr=subprocess.DEVNULL)
    limn, tables = Limn(given.limn, index), tables_of(given.corpus / "tables")
    with open(given.corpus / "questions.jsonl", encoding="utf-8") as file:
        questions = [json.loads(line) for line in file]
    bases = {database: Base(tables[database]) for database in {question["db"].lower() for question in questions}}

    def answered(question):
        database = question["db"].lower()
        kind, reason = kind_of(tokens_of(question["sql"]), bases[database], limn, tables[database])
        return {"id": question["id"], "kind": kind, "reason": reason, "sql": question["sql"]}

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(answered, questions))
    counts = collections.Counter(answer["kind"] for answer in answers)
    differing = [answer for answer in answers if answer["kind"] != "the same rows"]
    for answer in differing:
        print(*answer.values(), sep="\t")
    share = sum(counts[kind] for kind in SAME) / len(answers)
    summary = {"statements": len(answers), **counts, "share": round(share, 4)}
    print(json.dumps(summary))
    if given.out:
        given.out.write_text(json.dumps({**summary, "differing": differing}, indent=1) + "\n")
    sys.exit(0 if share >= 0.97 else 1)


if __name__ == "__main__":
    main()
