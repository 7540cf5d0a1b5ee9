#!/usr/bin/env python3
"""Requests that `limn index` makes of a Delta table of many files and versions on S3: a first run, one without a change, one commit more.

  python -m venv venv && venv/bin/pip install deltalake pyarrow
  venv/bin/python tests/bench/log_requests.py --limn target/release/limn --folder /tmp/log-requests --out tests/bench/results/DATE-log-requests.json

The table is written by its reference writer, 500 commits of 20 files each, with a checkpoint each hundred commits as that writer makes
them, and put on the S3-compatible server of the tests (`infra/python-tools`), on this machine.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.fs
from deltalake import write_deltalake

from measured import keep
from s3_sql import KEYS, PORT, serve


def commit(table, number, files):
    """Appends so many files, of two rows each: a file a store."""
    stores = [f"store {store:02}" for store in range(files) for _ in range(2)]
    ids = range(number * len(stores), (number + 1) * len(stores))
    rows = pa.table({"id": list(ids), "store": stores, "amount": [it % 97 / 4 for it in ids], "note": [f"order {it}" for it in ids]})
    write_deltalake(str(table), rows, mode="append", partition_by=["store"])


def upload(folder, put):
    """Puts what is new in a folder on the server; how many objects."""
    store = pyarrow.fs.S3FileSystem(
        access_key=KEYS["AWS_ACCESS_KEY_ID"], secret_key=KEYS["AWS_SECRET_ACCESS_KEY"], endpoint_override=f"127.0.0.1:{PORT}", scheme="http")
    new = [path for path in folder.rglob("*") if path.is_file() and path not in put]
    for path in new:
        with store.open_output_stream(f"lake/{path.relative_to(folder)}") as out:
            out.write(path.read_bytes())
    put.update(new)
    return len(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--commits", type=int, default=500)
    parser.add_argument("--files", type=int, default=20, help="of a commit")
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    lake = given.folder / "lake"
    lake.mkdir(parents=True)
    environment = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}"}
    for number in range(given.commits):
        commit(lake / "orders", number, given.files)
    server = serve(given.folder)
    rows, put, index = [], set(), given.folder / "index"
    try:
        def run(what):
            begun = time.perf_counter()
            command = [given.limn, "index", "s3://lake/", "--index", str(index), "--embedder", "hashed-words", "--json"]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                sys.exit(f"{what}: {done.stderr.strip()} {done.stdout[:2000]}")
            report, seconds = json.loads(done.stdout), time.perf_counter() - begun
            shown = subprocess.run([given.limn, "show", "orders", "--index", str(index), "--json"], capture_output=True, text=True)
            live = json.loads(shown.stdout)[0]["rows"]
            # An index in a folder costs no request of the store: what is counted there is by the other store of the run.
            rows.append({"what": what, "seconds": round(seconds, 1), "rows": live, "requests": report["requests"], "bytes": report["bytes"],
                         "files_read": report["objects"]["read"], "objects": report["objects"]["listed"]})
            print(json.dumps(rows[-1]), flush=True)

        print(upload(lake, put), "objects", flush=True)
        run("first run")
        run("nothing changed")
        run("nothing changed, again")
        commit(lake / "orders", given.commits, given.files)
        upload(lake, put)
        run("one commit more")
        if given.out:
            keep(given.out, f"limn index of a Delta table of {given.commits * given.files} files and {given.commits} versions on S3 (SeaweedFS)", rows)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(given.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
