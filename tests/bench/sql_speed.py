#!/usr/bin/env python3
"""How fast `limn sql` answers over files of 200 MB, beside DuckDB over the same files: whole processes in turn, A B A B …, in one run.

  python -m venv venv && venv/bin/pip install duckdb
  venv/bin/python tests/bench/sql_speed.py --limn target/release/limn --folder /tmp/sql-speed --out tests/bench/results/DATE-sql-speed.json

The table is `orders` of read_speed.py, as CSV and as Parquet. limn's index is made once, and not counted. A process of limn is
counted whole; of DuckDB's the query, from connecting on, without loading Python and the library. Both use all cores. Warm: the system has the file in memory.
Cold: its caches are emptied before each run (as root only), and the
program of limn is brought back, as DuckDB's library is. `limn_is`: how many times as fast as DuckDB limn is, by the clock.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

from measured import keep
from read_speed import ORDERS

STATEMENTS = {
    "count": "SELECT count(*), sum(amount) FROM {t}",
    "filter": "SELECT id, amount FROM {t} WHERE city = 'Rome' AND quantity > 48 AND amount < 100 ORDER BY amount, id LIMIT 10",
    "group": "SELECT customer, count(*) n, avg(amount) FROM {t} GROUP BY customer ORDER BY n DESC, customer LIMIT 10",
    "days": "SELECT date_part('year', day) y, min(\"at\"), max(amount) FROM {t} GROUP BY 1 ORDER BY 1",
    "join": "SELECT count(*) FROM {t} a JOIN (SELECT customer, max(amount) m FROM {t} GROUP BY customer) b ON a.customer = b.customer AND a.amount = b.m",
}
DUCKDB = """
import duckdb, sys, time
begun = time.perf_counter()
duckdb.connect().execute(sys.argv[1]).fetchall()
print(time.perf_counter() - begun)"""


def timed(command, is_cold):
    if is_cold:
        subprocess.run(["sync"], check=True)
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        if command[0] != sys.executable:
            pathlib.Path(command[0]).read_bytes()
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = process.communicate()
    seconds = time.perf_counter() - begun
    if process.returncode != 0:
        sys.exit(f"{command[0]}: {errors.decode(errors='replace').strip()}")
    return float(out) if command[0] == sys.executable else seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    lake, index = given.folder / "lake", given.folder / "index"
    lake.mkdir(parents=True, exist_ok=True)
    make = f"""
import duckdb, pathlib
connection, lake = duckdb.connect(), pathlib.Path({str(lake)!r})
connection.execute("SET enable_progress_bar = false")
query = {ORDERS!r}
for suffix, options in (("csv", "FORMAT csv, HEADER"), ("parquet", "FORMAT parquet")):
    path = lake / ("orders_as_" + suffix + "." + suffix)
    if not path.exists():
        connection.execute(f"COPY ({{query.replace('{{rows}}', '100000')}}) TO '{{path}}' ({{options}})")
        rows = int(100000 * {given.megabytes} * 1e6 / path.stat().st_size)
        connection.execute(f"COPY ({{query.replace('{{rows}}', str(rows))}}) TO '{{path}}' ({{options}})")
"""
    subprocess.run([sys.executable, "-c", make], check=True)
    subprocess.run([given.limn, "index", str(lake), "--index", str(index)], check=True, stderr=subprocess.DEVNULL)
    rows = []
    can_be_cold = os.access("/proc/sys/vm/drop_caches", os.W_OK)
    for suffix in ("csv", "parquet"):
        for name, sql in STATEMENTS.items():
            ours = [given.limn, "sql", sql.format(t=f'"orders_as_{suffix}"'), "--index", str(index)]
            theirs = [sys.executable, "-c", DUCKDB, sql.format(t=f"'{lake}/orders_as_{suffix}.{suffix}'")]
            for is_cold in (False, True)[: 1 + can_be_cold]:
                for command in (ours, theirs):
                    timed(command, is_cold)
                runs = [(timed(ours, is_cold), timed(theirs, is_cold)) for _ in range(given.rounds)]
                limn, duckdb = (statistics.median(side) for side in zip(*runs))
                row = {"format": suffix, "statement": name, "state": "cold" if is_cold else "warm"}
                row |= {"limn_s": round(limn, 3), "duckdb_s": round(duckdb, 3), "limn_is": round(duckdb / limn, 2)}
                rows.append(row)
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if given.out:
        keep(given.out, f"limn sql beside DuckDB over {given.megabytes} MB; medians of {given.rounds} alternating rounds", rows)


if __name__ == "__main__":
    main()
