#!/usr/bin/env python3
"""How fast files are read and profiled on one core: limn, DuckDB and polars in turn, A B C A B C …, in one run, over the same files.

  python -m venv venv && venv/bin/pip install duckdb polars
  cargo build --release -p limn-formats --example profile
  venv/bin/python tests/bench/read_speed.py --profile target/release/examples/profile --folder /tmp/read-speed \\
      --tables ../shared/corpora/adventureworks/tables/DW_ProspectiveBuyer.csv --out tests/bench/results/DATE-read-speed.json

Each side finds the columns and their types, draws 5 rows of all, and counts in every column how many values are null, the least and the
greatest, about how many are distinct, and frequent ones. Two sorts of files: `orders`, generated (eight columns; ids, texts and times that
hardly repeat beside ones that do), and the tables given, their rows repeated. Each as CSV, JSON Lines and Parquet of --megabytes, but Parquet of
repeated rows, which packs to nearly nothing, has the rows of the CSV file; MB/s are of the file as it is, so its figures mean something only beside
each other.

DuckDB and polars can do this in several ways (`WAYS`); the first round tries all of them, and the one of each that takes the least CPU time is
held against limn. Every run is a process of its own on core --core, set to use one thread; its imports are not counted, and the system has the
file in memory. CPU seconds are reported beside those of the clock: where the machine is shared, they say more.
"""
import argparse
import datetime
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from measured import machine

HERE = pathlib.Path(__file__).parent
FORMATS = ("csv", "jsonl", "parquet")
SAMPLED = 5
FREQUENT = 5
ORDERS = """
SELECT i AS id, 'customer ' || h % 5000 AS customer, ['Berlin', 'Paris', 'Rome', 'Vienna'][1 + h % 4] AS city,
  round((h // 7) % 90000 / 100, 2) AS amount, CASE WHEN h % 10 < 9 THEN h // 11 % 50 END AS quantity,
  DATE '2015-01-01' + CAST(h // 13 % 3650 AS INTEGER) AS day, TIMESTAMP '2015-01-01' + INTERVAL (h // 17 % 315360000) SECOND AS at,
  format('remark {:x} on what was sold', h) AS remark
FROM (SELECT i, CAST(hash(i) // 8 AS BIGINT) AS h FROM range({rows}) t(i))"""


# The three sides, each in a process of its own.

def duckdb_of(path):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    scans = {".csv": "read_csv('{}')", ".jsonl": "read_json('{}', format = 'newline_delimited')", ".parquet": "read_parquet('{}')"}
    return connection, scans[path.suffix].format(path)


def duckdb_profile(connection, source, sample):
    """Everything in one pass, or all but the rows."""
    names = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    wanted = ["count(*)"] + [f"count({it}), min({it}), max({it}), approx_count_distinct({it}), approx_top_k({it}, {FREQUENT})" for it in quoted]
    if sample:
        wanted.append(f"min_by(t, random(), {SAMPLED})")
    row = connection.execute(f"SELECT {', '.join(wanted)} FROM {source} t").fetchone()
    if not sample:
        connection.execute(f"SELECT * FROM {source} USING SAMPLE {SAMPLED} ROWS").fetchall()
    return row[0]


def duckdb_one_pass(path):
    return duckdb_profile(*duckdb_of(path), sample=True)


def duckdb_two_passes(path):
    return duckdb_profile(*duckdb_of(path), sample=False)


def duckdb_table(path):
    connection, source = duckdb_of(path)
    connection.execute(f"CREATE TEMP TABLE held AS SELECT * FROM {source}")
    return duckdb_profile(connection, "held", sample=False)


def duckdb_summarize(path):
    """What a person would type; it gives quartiles too."""
    connection, source = duckdb_of(path)
    summary = connection.execute(f"SUMMARIZE SELECT * FROM {source}").fetchall()
    connection.execute(f"SELECT * FROM {source} USING SAMPLE {SAMPLED} ROWS").fetchall()
    names = ['"' + row[0].replace('"', '""') + '"' for row in summary]
    connection.execute(f"SELECT {', '.join(f'approx_top_k({it}, {FREQUENT})' for it in names)} FROM {source}").fetchall()
    return summary[0][-2]


def polars_frame(path):
    import polars

    if path.suffix == ".csv":
        return polars.read_csv(path, try_parse_dates=True, infer_schema_length=10_000)
    return polars.read_ndjson(path, infer_schema_length=10_000) if path.suffix == ".jsonl" else polars.read_parquet(path)


def polars_lazy(path):
    import polars

    if path.suffix == ".csv":
        return polars.scan_csv(path, try_parse_dates=True, infer_schema_length=10_000)
    return polars.scan_ndjson(path, infer_schema_length=10_000) if path.suffix == ".jsonl" else polars.scan_parquet(path)


def polars_counts(path):
    """Values are counted once; how many counts there are is how many are distinct."""
    frame = polars_frame(path)
    for column in frame.iter_columns():
        column.null_count(), column.min(), column.max()
        counts = column.value_counts()
        counts.top_k(FREQUENT, by="count")
    frame.sample(SAMPLED)
    return frame.height


def polars_expressions(names):
    import polars

    for name in names:
        it = polars.col(name)
        yield it.null_count().alias(f"{name} nulls")
        yield it.min().alias(f"{name} min")
        yield it.max().alias(f"{name} max")
        yield it.approx_n_unique().alias(f"{name} distinct")
        yield it.value_counts(sort=True).head(FREQUENT).implode().alias(f"{name} frequent")


def polars_select(path):
    import polars

    frame = polars_frame(path)
    frame.select(polars_expressions(frame.columns))
    frame.sample(SAMPLED)
    return frame.height


def polars_streaming(path):
    import polars

    frame = polars_lazy(path)
    names = frame.collect_schema().names()
    rows = polars.struct(polars.all()).sample(SAMPLED).implode().alias("sampled rows")
    profile = frame.select(polars.len().alias("number of rows"), rows, *polars_expressions(names)).collect(engine="streaming")
    return profile["number of rows"][0]


WAYS = {
    "duckdb": {"one pass": duckdb_one_pass, "two passes": duckdb_two_passes, "a table first": duckdb_table, "SUMMARIZE": duckdb_summarize},
    "polars": {"counts": polars_counts, "select": polars_select, "streaming": polars_streaming},
}


def child(side, way, path):
    __import__(side)
    began, cpu = time.perf_counter(), time.process_time()
    rows = WAYS[side][way](pathlib.Path(path))
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "rows": int(rows)}))


# What runs them.

def measure(arguments, side, way, path):
    if side == "limn":
        command = [arguments.profile, path]
    else:
        command = [sys.executable, __file__, "--child", side, way, path]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    process = subprocess.Popen([str(it) for it in ("taskset", "-c", arguments.core, *command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        print(f"{side}, {way}: {errors.decode(errors='replace').strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    measured = json.loads(out.splitlines()[0])
    # limn's process does nothing else.
    measured.setdefault("cpu", usage.ru_utime + usage.ru_stime)
    return {**measured, "megabytes": usage.ru_maxrss / 1024}


def copy(connection, query, path):
    options = {".csv": "FORMAT csv, HEADER", ".jsonl": "FORMAT json", ".parquet": "FORMAT parquet"}
    connection.execute(f"COPY ({query}) TO '{path}' ({options[path.suffix]})")
    return path.stat().st_size


def make_files(arguments):
    """Files by what they hold; those that are there already are taken. In a process of its own: what starts others should be small,
    since the most memory that those are said to have held is this one's at least."""
    import duckdb

    connection = duckdb.connect()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    target = arguments.megabytes * 1_000_000
    sources = {"orders": lambda rows: ORDERS.replace("{rows}", str(rows))}
    for table in arguments.tables:
        connection.execute(f"CREATE TABLE \"{table.stem}\" AS SELECT * FROM read_csv('{table}', header = true, sample_size = -1)")
        count = connection.execute(f'SELECT count(*) FROM "{table.stem}"').fetchone()[0]
        sources[table.stem] = lambda rows, name=table.stem, count=count: f'SELECT held.* FROM range({-(-rows // count)}), "{name}" held LIMIT {rows}'
    for what, query in sources.items():
        in_csv = None
        for suffix in FORMATS:
            path, trial = arguments.folder / f"{what}.{suffix}", arguments.folder / f"trial.{suffix}"
            rows = int(100_000 * target / copy(connection, query(100_000), trial))
            trial.unlink()
            in_csv = in_csv or rows
            if not path.exists():
                copy(connection, query(rows if what == "orders" else min(rows, in_csv)), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", type=pathlib.Path, help="the example `profile` of limn-formats, built for release")
    parser.add_argument("--folder", type=pathlib.Path, help="where the files are, or are made; on a local disk")
    parser.add_argument("--tables", type=pathlib.Path, nargs="*", default=[], help="CSV files whose rows are repeated")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(*arguments.child)
    if not arguments.profile or not arguments.folder:
        parser.error("--profile and --folder are needed")
    if arguments.make:
        return make_files(arguments)
    subprocess.run([sys.executable, __file__, "--make", *sys.argv[1:]], check=True)
    rows = []
    for what, suffix in itertools.product(["orders", *(table.stem for table in arguments.tables)], FORMATS):
        path = arguments.folder / f"{what}.{suffix}"
        subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)
        found, ways, tries = {}, {}, {}
        for number in range(arguments.rounds):
            for side in ("limn", *WAYS):
                tried = [ways[side]] if side in ways else list(WAYS.get(side, {"": None}))
                runs = {way: run for way in tried if (run := measure(arguments, side, way, path))}
                if not runs:
                    ways[side] = tried[0]
                    continue
                ways[side] = min(runs, key=lambda way: runs[way]["cpu"])
                found.setdefault(side, []).append(runs[ways[side]])
                for way, run in runs.items() if number == 0 else ():
                    tries.setdefault(side, {})[way] = round(run["cpu"], 2)
                    print(f"{path.name:32} {side} {way:14} {run['seconds']:7.2f} s, {run['cpu']:7.2f} CPU s, {run['megabytes']:6.0f} MB")
        counted = {side: runs[0]["rows"] for side, runs in found.items()}
        if len(set(counted.values())) > 1:
            raise SystemExit(f"{path}: they count different rows: {counted}")
        size = path.stat().st_size / 1e6
        median = {side: {it: statistics.median(run[it] for run in runs) for it in ("seconds", "cpu", "megabytes")} for side, runs in found.items()}
        row = {"what": what, "format": suffix, "megabytes": round(size, 1), "rows": counted["limn"]}
        for side, it in median.items():
            row[side] = {"MB_per_s": round(size / it["seconds"], 1), "MB_per_cpu_s": round(size / it["cpu"], 1), "peak_MB": round(it["megabytes"])}
            if side != "limn":
                row[side] |= {"way": ways[side], "cpu_s_of_ways": tries[side], "limn_is": round(it["seconds"] / median["limn"]["seconds"], 2), "limn_is_by_cpu": round(it["cpu"] / median["limn"]["cpu"], 2)}
        rows.append(row)
        rates = "   ".join(f"{side} {row[side]['MB_per_s']:6.1f}" + (f" ({row[side]['limn_is']:.2f}×; CPU {row[side]['limn_is_by_cpu']:.2f}×)" if side != "limn" else "") for side in found)
        print(f"{path.name:32} {size:.0f} MB, MB/s: {rates}", flush=True)
    if arguments.out:
        import duckdb
        import polars

        about = f"one core; medians of {arguments.rounds} alternating rounds; limn_is: how many times as fast limn is as the other's fastest way"
        result = {"date": datetime.date.today().isoformat(), "machine": machine(), "what": about, "duckdb": duckdb.__version__, "polars": polars.__version__, "files": rows}
        arguments.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
