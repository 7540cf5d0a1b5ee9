#!/usr/bin/env python3
"""What a run of `limn index` costs, measured against what a model of it says (docs/benchmarks.md, "What does a run cost?").

  infra/python-tools
  tests/bench/cost_model.py --limn target/release/limn --out tests/bench/results/DATE-cost-model.json
  tests/bench/cost_model.py --table tests/bench/results/DATE-cost-model.json     # the tables of docs/benchmarks.md
  tests/bench/cost_model.py --again tests/bench/results/DATE-cost-model.json     # with another model, what was measured before

Lakes of CSV tables, each fifth of Parquet, are indexed for the first time, again unchanged, and with 1 % of the tables (ten
at least) written anew: in a folder and on the S3-compatible server of the tests with `hashed-words`, which costs next to
nothing, and in a folder with --embedder, lakes a fifth as large. The lakes of FITTED give the model's rates. Those of HELD_OUT,
a larger one and one of tables of another shape, are predicted with them from what is known before a run: how many files,
columns, cells and bytes there are. How many requests a page, a file and an epoch make is not fitted: MODEL says it. Counts are
those of `--json`, CPU seconds those of the process. All figures are medians of rounds in which the lakes take turns.

--tokens adds what narration costs: prompts and answers of the embedded language model, of 30 tables. `--tokens only` measures nothing
else.
"""
import argparse
import concurrent.futures
import datetime
import io
import itertools
import json
import math
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path.home() / ".cache/limn/python"))
import numpy  # noqa: E402
import pyarrow.csv  # noqa: E402
import pyarrow.fs  # noqa: E402
import pyarrow.parquet  # noqa: E402

from measured import machine  # noqa: E402
from nights import WORDS  # noqa: E402
from s3_sql import KEYS, PORT, serve  # noqa: E402

FITTED = [("small", 300), ("wide", 300), ("long", 300), ("mixed", 500), ("mixed", 2000)]
HELD_OUT = [("mixed", 4000), ("large", 400)]
# Rows and columns of a table, from and to.
SHAPES = {"small": ((20, 40), (5, 8)), "wide": ((20, 40), (14, 20)), "long": ((120, 200), (5, 8)), "large": ((120, 200), (14, 20))}
MIXED = ("small", "wide", "long")
# Ten at least, so that both shards have some.
CHANGED, FEWEST_CHANGED = 0.01, 10
NARRATED = [("small", 8), ("wide", 8), ("mixed", 14)]
WITHIN = 0.15
# Before an index's first snapshot limn has creators race for a name, six times; for each the server of the tests takes up to
# seconds, whatever the lake.
NOT_COMPARED = [("s3", "first", "seconds")]

SHARDS, PAGE, FIRST_EPOCH, LARGEST_EPOCH = 2, 1000, 1024, 16384
# Of an epoch whose tables take more memory than may wait (two workers), a shard has several segments. Bytes a cell are set so that
# the lakes of HELD_OUT have as many as they had.
WAITING, HELD_CELL = 40 << 20, 72
# Hashes of its values that a column meets others by.
HASHES = 128
# Each half minute a run keeps the vectors that are in no segment yet: numbers of two bytes, and a hash.
KEEP_SECONDS, KEPT_HASH, DIMENSIONS, USUAL_DIMENSIONS = 30, 16, {"hashed-words": 64}, 384

SIZES = ("run", "table", "column", "cell")
# Of each kind of run and each measure: what is known by how limn works, and what is fitted.
MODEL = {
    "first": {
        "list": ({"page": 1, "epoch": 1}, ("run",)),
        # A read for a file, and for each catalog file, of which the join graph is made.
        "get": ({"file": 1, "segment": 1}, ("run", "segment", "cell")),
        # Segments and catalog files, and in each epoch a file of joins of each shard and the snapshot.
        "put": ({"segment": 2, "joins": 1, "epoch": 1, "kept": 1}, ("run",)),
        "bytes_read": ({"byte": 1}, SIZES),
        "bytes_written": ({"kept_byte": 1}, SIZES),
        "blocks": ({}, ("table", "column")),
        "tokens": ({}, ("table", "column")),
        "cpu_seconds": ({}, ("run", "table", "hash", "cell", "token")),
        "seconds": ({}, ("run", "table", "hash", "cell", "token")),
    },
    "unchanged": {
        "list": ({"page": 1}, ("run",)),
        "get": ({"segment": 1}, ("run",)),
        "put": ({}, ()),
        "bytes_read": ({}, SIZES),
        "bytes_written": ({}, ()),
        "blocks": ({}, ()),
        "tokens": ({}, ()),
        "cpu_seconds": ({}, ("run", "table", "column")),
        "seconds": ({}, ("run", "table", "column")),
    },
    "changed": {
        "list": ({"page": 1}, ("run",)),
        # The snapshot at the beginning and in the end, the catalog, and what is read of remote segments.
        "get": ({"run": 2, "segment": 1, "file": 1, "touched": 1}, ("segment", "all_cells")),
        # A segment and a catalog file of each shard with a changed table, which blocks are deleted, and the snapshot.
        "put": ({"run": 1, "touched": 2, "bitmap": 1}, ()),
        # What is read of remote segments grows with the lake.
        "bytes_read": ({"byte": 1}, ("run", "all_tables", "all_columns", "all_cells")),
        "bytes_written": ({}, ("touched",)),
        "blocks": ({}, ()),
        "tokens": ({}, ()),
        # The join graph is made of all columns again.
        "cpu_seconds": ({}, ("run", "all_columns", "all_hashes")),
        "seconds": ({}, ("run", "all_columns", "all_hashes")),
    },
}
# What a changed table costs is what it costs the first time, and the whole lake what it costs unchanged.
AS_THE_FIRST_TIME = ("bytes_read", "bytes_written", "blocks", "tokens", "cpu_seconds", "seconds")
AS_UNCHANGED = ("bytes_read", "cpu_seconds", "seconds")
OF_ALL = {"run": "run", "table": "all_tables", "column": "all_columns", "hash": "all_hashes", "cell": "all_cells"}
IN_WORDS = {"all_tables": "table of the lake", "all_columns": "column of the lake", "all_hashes": "hash of the lake", "all_cells": "cell of the lake",
            "touched": "shard"}
# Seconds come before what is written while they go by, tokens before seconds.
ORDER = ("blocks", "tokens", "cpu_seconds", "seconds", "list", "get", "put", "bytes_read", "bytes_written")


class Folder:
    """A lake and its index in a folder."""

    def __init__(self, root):
        self.root = root
        self.lake = str(root / "tables")
        self.environment = {}

    def put(self, path, content):
        path = self.root / "tables" / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def index(self, round_number):
        shutil.rmtree(self.root / "index", ignore_errors=True)
        return str(self.root / "index")


class Bucket:
    """A lake and its indexes in a folder of the bucket `lake`."""

    def __init__(self, root):
        self.root = root
        self.lake = f"s3://lake/{root}/tables"
        self.environment = {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}"}
        self.store = pyarrow.fs.S3FileSystem(
            access_key=KEYS["AWS_ACCESS_KEY_ID"], secret_key=KEYS["AWS_SECRET_ACCESS_KEY"], endpoint_override=f"127.0.0.1:{PORT}", scheme="http")

    def put(self, path, content):
        with self.store.open_output_stream(f"lake/{self.root}/tables/{path}") as out:
            out.write(content)

    def index(self, round_number):
        return f"s3://lake/{self.root}/index-{round_number}"


class Lake:
    """Tables of a shape at a place, and what is known of them before a run."""

    def __init__(self, shape, tables, place):
        self.shape, self.tables, self.place = shape, tables, place
        self.salts = dict.fromkeys(range(tables), 0)
        self.counts = {}
        changed = min(tables, max(FEWEST_CHANGED, round(tables * CHANGED)))
        self.chosen = random.Random(tables).sample(range(tables), changed)
        with concurrent.futures.ThreadPoolExecutor(8) as writers:
            list(writers.map(self._write, range(tables)))

    @property
    def name(self):
        return f"{self.shape} {self.tables}"

    def change(self):
        """Writes the chosen tables anew: other values, and another name of a column."""
        for number in self.chosen:
            self.salts[number] += 1
            self._write(number)

    def _write(self, number):
        rng = random.Random(number)
        shape = self.shape if self.shape in SHAPES else rng.choice(MIXED)
        rows, columns = (rng.randint(*bounds) for bounds in SHAPES[shape])
        text = table(number, rows, columns, self.salts[number])
        content, extension = text.encode(), "csv"
        if number % 5 == 0:
            parquet = io.BytesIO()
            pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(content)), parquet)
            content, extension = parquet.getvalue(), "parquet"
        self.place.put(f"area{number % 40:02}/table{number:05}/data.{extension}", content)
        hashes = columns * min(rows, HASHES)
        self.counts[number] = {"table": 1, "file": 1, "column": columns, "hash": hashes, "cell": rows * columns, "byte": len(content)}

    def _sum(self, numbers):
        return {name: sum(self.counts[number][name] for number in numbers) for name in self.counts[0]}

    def known(self, kind):
        """What there is of a run's lake before it. Files, columns, cells and bytes are those that the run reads or, where none is read, all."""
        whole = self._sum(range(self.tables))
        counts = self._sum(self.chosen) if kind == "changed" else whole
        return {"run": 1, **counts, **{name: whole[one] for one, name in OF_ALL.items() if one != "run"}}


def derived(known):
    """What follows from it: pages of a listing, epochs, segments, and which of them a change touches."""
    tables, changed = known["all_tables"], known["table"]
    epochs, room, left = [], FIRST_EPOCH, tables
    while left > 0:
        epochs.append(min(room, left))
        left, room = left - room, min(2 * room, LARGEST_EPOCH)
    held = known["all_cells"] / tables / SHARDS * HELD_CELL
    parts = [math.ceil(epoch * held / WAITING) for epoch in epochs]

    def hit(share):
        """How probable it is that a segment with this share of all tables has a changed one."""
        return 1 - (1 - share) ** changed
    return {
        **known, "page": math.ceil(tables / PAGE), "epoch": len(epochs), "segment": SHARDS * sum(parts), "joins": SHARDS * len(epochs),
        "ends": list(itertools.accumulate(epoch / tables for epoch in epochs)),
        "touched": SHARDS * hit(1 / SHARDS),
        "bitmap": sum(SHARDS * count * hit(epoch / tables / SHARDS / count) for epoch, count in zip(epochs, parts)),
    }


def table(number, rows, columns, salt):
    """A table as text: ids, every second time those of the table before, and columns of texts, numbers and dates.

    Texts and whole numbers are of no other table: columns share values where one refers to the other.
    """
    named, values = random.Random(number), random.Random(f"{number} {salt}")
    words = named.sample(WORDS, columns - 1)
    kinds = [named.choice(("text", "integer", "fraction", "date")) for _ in words]
    names = [f"{words[0]}_id", *words]
    if salt > 0:
        names[-1] = f"{names[-1]}_{salt}"

    def value(kind):
        match kind:
            case "text":
                return f"{values.choice(WORDS)} {values.choice(WORDS)} {number:05}{values.randrange(100):02}"
            case "integer":
                return str(number * 10_000 + values.randrange(10_000))
            case "fraction":
                return f"{values.random() * 1000:.2f}"
            case _:
                return f"20{values.randrange(10, 25)}-{values.randrange(1, 13):02}-{values.randrange(1, 29):02}"
    lines = [names]
    for row in range(rows):
        line = [f"K{number:05}-{row:04}", *(value(kind) for kind in kinds)]
        if number % 2 == 1:
            line[1] = f"K{number - 1:05}-{row % 20:04}"
        lines.append(line)
    return "".join(",".join(line) + "\n" for line in lines)


def run(limn, lake, index, embedder, more=("--narrate", "off")):
    """One run's measures."""
    command = [limn, "index", lake.place.lake, "--index", index, "--embedder", embedder, "--json", *more]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **lake.place.environment})
    seconds, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{lake.name}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    if report["compacted"] or report["failures"] or report["requests"]["head"] > 0:
        sys.exit(f"{lake.name}: the model has no word for this run: {done.stdout}")
    requests, model = report["requests"], report["model"]
    return {
        **{kind: requests[kind] for kind in ("list", "get", "put")},
        "bytes_read": report["bytes"]["read"], "bytes_written": report["bytes"]["written"],
        "blocks": model["embedded_blocks"], "tokens": model["embedded_tokens"],
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "seconds": seconds,
    }, report


def measure(limn, lakes, embedder, rounds):
    """The medians of each lake's measures, by kind of run, and what was known before them."""
    runs = {lake.name: {kind: [] for kind in MODEL} for lake in lakes}
    known = {lake.name: {} for lake in lakes}
    for round_number in range(rounds):
        for lake in lakes:
            index = lake.place.index(round_number)
            for kind in MODEL:
                if kind == "changed":
                    lake.change()
                known[lake.name][kind] = lake.known(kind)
                # One that reads nothing is over soon, so that it says little.
                for _ in range(3 if kind == "unchanged" else 1):
                    runs[lake.name][kind].append(run(limn, lake, index, embedder)[0])
            seconds = ", ".join(f"{kind} {runs[lake.name][kind][-1]['seconds']:.2f} s" for kind in MODEL)
            print(f"round {round_number + 1}, {lake.name}: {seconds}, load {os.getloadavg()[0]:.1f}", flush=True)
    median = lambda rows: {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return {name: {kind: median(rows) for kind, rows in kinds.items()} for name, kinds in runs.items()}, known


def times(rates, known):
    return sum(rate * known[name] for name, rate in rates.items())


def fit(rows, names):
    """Rates, none below nothing, that give the least squares of relative errors; rows are (known, what is to be explained, all)."""
    best, least = {}, math.fsum((rest / total) ** 2 for _, rest, total in rows if total)
    for size in range(1, len(names) + 1):
        for some in itertools.combinations(names, size):
            left = numpy.array([[known[name] / total for name in some] for known, _, total in rows])
            right = numpy.array([rest / total for _, rest, total in rows])
            # Of one magnitude, since bytes and runs differ by much.
            scale = numpy.abs(left).max(axis=0)
            rates = numpy.linalg.lstsq(left / scale, right, rcond=None)[0] / scale
            error = float(((left @ rates - right) ** 2).sum())
            # More rates have to say more.
            if (rates >= 0).all() and error < least - 1e-8:
                best, least = dict(zip(some, map(float, rates))), error
    return best


class Model:
    """The rates of one series."""

    def __init__(self, measured, known, embedder):
        self.rates = {kind: {} for kind in MODEL}
        self.kept_bytes = 2 * DIMENSIONS.get(embedder, USUAL_DIMENSIONS) + KEPT_HASH
        for kind, measures in MODEL.items():
            for name in ORDER:
                fixed, fitted = measures[name]
                rows = []
                for lake, kinds in measured.items():
                    got, at = kinds[kind], self._more(known[lake][kind], kinds[kind])
                    rows.append((at, got[name] - self._given(kind, name, fixed, at), got[name]))
                self.rates[kind][name] = fit(rows, fitted) if fitted else {}

    def _more(self, known, got):
        """What depends on how long a run takes, and on its texts."""
        known = derived(known)
        kept = [number * KEEP_SECONDS / got["seconds"] for number in range(1, int(got["seconds"] // KEEP_SECONDS) + 1)]
        # Of the time between two writes, or since an epoch ended.
        share = sum(at - max(end for end in (0, *kept, *known["ends"]) if end < at) for at in kept)
        return {**known, "token": got["tokens"], "kept": len(kept), "kept_byte": share * got["blocks"] * self.kept_bytes}

    def _given(self, kind, name, fixed, known):
        """What is known, and of changed tables what other kinds of runs have shown."""
        given = times(fixed, known)
        if kind == "changed" and name in AS_THE_FIRST_TIME:
            first = self.rates["first"][name]
            given += times({of: rate for of, rate in first.items() if of != "run"}, known)
        if kind == "changed" and name in AS_UNCHANGED:
            unchanged = self.rates["unchanged"][name]
            given += times({OF_ALL[of]: rate for of, rate in unchanged.items()}, known)
        return given

    def predict(self, kind, known):
        found = {"blocks": 0, "tokens": 0, "seconds": 0}
        for name in ORDER:
            at = self._more(known, found)
            found[name] = self._given(kind, name, MODEL[kind][name][0], at) + times(self.rates[kind][name], at)
        return found


def compare(series, lake, kind, measured, predicted):
    """Rows of what was measured and predicted."""
    rows = []
    for name, got in measured.items():
        if (series, kind, name) in NOT_COMPARED:
            continue
        said = predicted[name]
        error = said / got - 1 if got else (0.0 if said == 0 else math.inf)
        # No minus before nothing.
        error = round(error, 4) + 0.0
        rows.append({"series": series, "lake": lake, "run": kind, "measure": name, "measured": round(got, 3), "predicted": round(said, 3),
                     "error": error, "is_within": abs(error) <= WITHIN})
        print(f"{series}, {lake}, {kind:9} {name:13} {got:14,.2f} {said:14,.2f} {error:+7.1%}{'' if rows[-1]['is_within'] else '  beyond'}", flush=True)
    return rows


def series(name, limn, place, embedder, share, rounds):
    """Measures lakes, of so large a share of the usual sizes, and compares those that are held out with the model of the others."""
    begun, load = time.monotonic(), os.getloadavg()[0]
    size = lambda tables: max(1, tables // share)
    make = lambda shape, tables: Lake(shape, size(tables), place(f"{name.replace(' ', '-')}-{shape}-{size(tables)}"))
    fitted, held_out = ([make(*lake) for lake in lakes] for lakes in (FITTED, HELD_OUT))
    measured, known = measure(limn, fitted + held_out, embedder, rounds)
    part = {
        "series": name, "embedder": embedder, "rounds": rounds, "load_before": round(load, 1), "took_seconds": round(time.monotonic() - begun),
        "fitted": [lake.name for lake in fitted], "held_out": [lake.name for lake in held_out], "known": known, "measured": measured,
    }
    return fitted_to(part)


def fitted_to(part):
    """A series with the rates that its lakes give, and the rows that compare those that are held out."""
    known, measured = part["known"], part["measured"]
    of = lambda lakes, values: {lake: values[lake] for lake in lakes}
    model = Model(of(part["fitted"], measured), of(part["fitted"], known), part["embedder"])
    for kind, measures in model.rates.items():
        for measure_name, rates in measures.items():
            if rates:
                print(f"{part['series']}, {kind}, {measure_name}: {in_words(rates)}", flush=True)
    rows = []
    for lake in part["held_out"]:
        for kind in MODEL:
            rows += compare(part["series"], lake, kind, measured[lake][kind], model.predict(kind, known[lake][kind]))
    rates = {kind: {measure: {of: float(f"{rate:.4g}") for of, rate in rates.items()} for measure, rates in measures.items()}
             for kind, measures in model.rates.items()}
    return {**part, "rates": rates}, rows


def narration(limn, model, place):
    """Tokens of narration: fitted to the first two lakes, predicted for the third. A prompt has all names of its table."""
    asked, begun = {}, time.monotonic()
    for shape, tables in NARRATED:
        lake = Lake(shape, tables, place(f"narration-{shape}"))
        columns = [counts["column"] for counts in lake.counts.values()]
        _, report = run(limn, lake, lake.place.index(0), "hashed-words", ("--narrate", "llm", "--model", model))
        got = report["model"]
        asked[shape] = {"column": sum(columns), "name": sum(count * count for count in columns)}, {
            "columns": got["narrated_columns"], "prompt_tokens": got["prompt_tokens"], "generated_tokens": got["generated_tokens"]}
        print(f"{lake.name}: {asked[shape][1]}, {report['seconds']['narrate']:.0f} s", flush=True)
    of = {"columns": ("column",), "prompt_tokens": ("column", "name"), "generated_tokens": ("column",)}
    *fitted, (known, got) = asked.values()
    rates = {measure: fit([(at, seen[measure], seen[measure]) for at, seen in fitted], names) for measure, names in of.items()}
    rows = compare("narration", lake.name, "first", got, {measure: times(rates[measure], known) for measure in of})
    return {"series": "narration", "model": model, "took_seconds": round(time.monotonic() - begun), "rates": rates, "measured": asked}, rows


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def in_words(rates):
    return " + ".join(f"{number(rate)} a {IN_WORDS.get(of, of)}" for of, rate in rates.items())


def print_tables(result):
    """The tables of the documentation: rates, and what was measured with how far off the model was."""
    for part in result["series"]:
        print(f"\n{part['series']}\n")
        if "known" not in part:
            print("; ".join(f"{measure}: {in_words(rates)}" for measure, rates in part["rates"].items()))
        else:
            print("| rates | first run | unchanged | 1 % changed |\n|---|---|---|---|")
            for measure in ORDER:
                print(f"| {measure} | {' | '.join(in_words(part['rates'][kind][measure]) for kind in MODEL)} |")
        rows = [row for row in result["rows"] if row["series"] == part["series"]]
        for lake in dict.fromkeys(row["lake"] for row in rows):
            tables = int(lake.split()[1])
            print(f"\n| {lake} | first run | a table | predicted | unchanged | predicted | 1 % changed | predicted |\n|---|---|---|---|---|---|---|---|")
            for measure in dict.fromkeys(row["measure"] for row in rows):
                of = {row["run"]: row for row in rows if (row["lake"], row["measure"]) == (lake, measure)}
                cells = []
                for kind in MODEL:
                    row = of.get(kind)
                    cells.append(number(row["measured"]) if row else "")
                    if kind == "first":
                        cells.append(number(row["measured"] / tables) if row else "")
                    cells.append(f"{row['error']:+.1%}" if row else "")
                print(f"| {measure} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn")
    parser.add_argument("--table", type=pathlib.Path, help="print a result as tables, and measure nothing")
    parser.add_argument("--again", type=pathlib.Path, help="fit the model again to what a result has measured, and write it there")
    parser.add_argument("--embedder", default="all-MiniLM-L6-v2", help="the embedder whose seconds are measured; hashed-words leaves them out")
    parser.add_argument("--rounds", type=int, default=3, help="in a folder with hashed-words; the others have one less")
    parser.add_argument("--share", type=int, default=1, help="lakes are so many times smaller, to try the script out")
    parser.add_argument("--no-s3", action="store_true")
    parser.add_argument("--tokens", nargs="?", const="too", choices=["too", "only"], help="measure narration, too, or nothing else")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="the language model of --tokens")
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    if given.table:
        print_tables(json.loads(given.table.read_text()))
        return
    if given.again:
        result = json.loads(given.again.read_text())
        rows_of = lambda part: [row for row in result["rows"] if row["series"] == part["series"]]
        parts = [fitted_to(part) if "known" in part else (part, rows_of(part)) for part in result["series"]]
        keep(given.again, parts, result)
        return
    if not given.limn:
        parser.error("--limn says what to measure")
    fewer = max(1, given.rounds - 1)
    parts = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folder = lambda name: Folder(scratch / name)
        if given.tokens != "only":
            parts.append(series("local", given.limn, folder, "hashed-words", given.share, given.rounds))
        if given.tokens != "only" and not given.no_s3:
            (scratch / "server").mkdir()
            server = serve(scratch / "server")
            try:
                # The server takes seconds for the first objects of a bucket.
                warm = Lake("small", 30, Bucket("warm"))
                run(given.limn, warm, warm.place.index(0), "hashed-words")
                parts.append(series("s3", given.limn, Bucket, "hashed-words", given.share, fewer))
            finally:
                server.terminate()
                server.wait()
        if given.tokens != "only" and given.embedder != "hashed-words":
            parts.append(series("local, embedder", given.limn, folder, given.embedder, 5 * given.share, fewer))
        if given.tokens:
            parts.append(narration(given.limn, given.model, folder))
    keep(given.out, parts, {
        "date": datetime.date.today().isoformat(), "machine": machine(), "within": WITHIN, "share_of_sizes": given.share,
        "what": "what limn index costs, measured and predicted from smaller lakes; error is predicted / measured - 1, seconds and counts are medians of rounds"})


def keep(out, parts, result):
    """Says how many figures are as predicted, and writes the result."""
    rows = [row for _, rows in parts for row in rows]
    beyond = [row for row in rows if not row["is_within"]]
    print(f"{len(rows) - len(beyond)} of {len(rows)} figures are within {WITHIN:.0%}")
    if out:
        result = {**result, "figures": len(rows), "beyond": len(beyond), "rows": rows, "series": [part for part, _ in parts]}
        out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
