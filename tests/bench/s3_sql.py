#!/usr/bin/env python3
"""What `limn sql` reads of 10 GB of Parquet on S3: requests and bytes, as its own answers say, and seconds.

  python -m venv venv && venv/bin/pip install duckdb pyarrow
  venv/bin/python tests/bench/s3_sql.py --limn target/release/limn --folder /tmp/s3-sql --out tests/bench/results/DATE-s3-sql.json

The table `orders` has a file a month, of a thousand megabytes and 16 columns (the eight of read_speed.py, and eight of texts and numbers
that hardly repeat), on the S3-compatible server of the tests (`infra/python-tools`), on this machine. Each statement is a process of its own.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pyarrow.fs

from measured import keep
from read_speed import ORDERS

FILES = 10
WEED = pathlib.Path.home() / ".cache/limn/python/bin/weed"
KEYS = {"AWS_ACCESS_KEY_ID": "limn-bench", "AWS_SECRET_ACCESS_KEY": "limn-bench-secret", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
PORT = 18433
MORE = ", ".join(
    [f"format('{{:x}} of text {n}', hash(id + {n})) AS text_{n}" for n in range(4)]
    + [f"hash(id + {n}) % 1000000007 / 16.0 AS number_{n}" for n in range(4, 8)]
)
STATEMENTS = {
    "two columns, unordered": "SELECT count(*), sum(amount) FROM orders WHERE city = 'Rome' AND amount < 100",
    "two columns, unordered, rows of all columns": "SELECT * FROM orders WHERE city = 'Rome' AND amount < 0.02",
    "two columns, one ordered": "SELECT count(*), sum(amount) FROM orders WHERE id BETWEEN 1000000 AND 1010000 AND city = 'Rome'",
    "two columns, one constant a file": "SELECT count(*), sum(amount) FROM orders WHERE month = 7 AND city = 'Rome'",
    "no column": "SELECT count(*) FROM orders",
}


def serve(folder):
    config = folder / "s3.json"
    credentials = [{"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}]
    config.write_text(json.dumps({"identities": [{"name": "bench", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}]}))
    (folder / "data").mkdir(exist_ok=True)
    ports = [f"-s3.port={PORT}", f"-master.port={PORT + 1}", f"-volume.port={PORT + 2}", f"-filer.port={PORT + 3}"]
    command = [WEED, "server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-dir={folder / 'data'}"]
    command += [f"-s3.config={config}", *ports, "-volume.max=1000", "-master.volumeSizeLimitMB=1024", "-volume.minFreeSpace=64MiB"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(60):
        time.sleep(1)
        making = f"echo 's3.bucket.create -name lake' | {WEED} shell -master=127.0.0.1:{PORT + 1}"
        made = subprocess.run(["timeout", "10", "sh", "-c", making], capture_output=True)
        if made.returncode == 0:
            return server
    sys.exit("the S3 server does not start")


def fill(folder, megabytes):
    """Puts the table's files on the server; their bytes."""
    store = pyarrow.fs.S3FileSystem(
        access_key=KEYS["AWS_ACCESS_KEY_ID"], secret_key=KEYS["AWS_SECRET_ACCESS_KEY"], endpoint_override=f"127.0.0.1:{PORT}", scheme="http")
    rows, total = megabytes * 7_800, 0
    for number in range(FILES):
        path = folder / "part.parquet"
        table = f"SELECT * REPLACE (id + {number * rows} AS id), {MORE}, {number} AS month FROM ({ORDERS.replace('{rows}', str(rows))})"
        make = f"import duckdb; duckdb.sql(\"\"\"COPY ({table}) TO '{path}' (FORMAT parquet)\"\"\")"
        subprocess.run([sys.executable, "-c", make], check=True)
        total += path.stat().st_size
        pyarrow.fs.copy_files(str(path), f"lake/orders/orders-{number:02}.parquet", destination_filesystem=store)
        print(f"file {number + 1} of {FILES}: {path.stat().st_size >> 20} MiB", flush=True)
        path.unlink()
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--megabytes", type=int, default=1000, help="of a file")
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    given.folder.mkdir(parents=True)
    environment = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}"}
    server = serve(given.folder)
    rows = []
    try:
        total = fill(given.folder, given.megabytes)
        index = str(given.folder / "index")

        def limn(*arguments):
            begun = time.perf_counter()
            done = subprocess.run([given.limn, *arguments], capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                sys.exit(f"{arguments[0]}: {done.stderr.strip()}")
            return json.loads(done.stdout), time.perf_counter() - begun

        report, seconds = limn("index", "s3://lake/", "--index", index, "--embedder", "hashed-words", "--json")
        rows.append({"what": "index", "seconds": round(seconds, 1), "requests": report["requests"], "bytes": report.get("bytes")})
        for what, statement in STATEMENTS.items():
            answer, seconds = limn("sql", statement, "--index", index, "--json", "--timeout", "10m")
            read = answer["read"]
            rows.append({"what": what, "statement": statement, "rows": len(answer["rows"]), "seconds": round(seconds, 2), **read,
                         "share_of_bytes": round(read["bytes"] / total, 4)})
        for row in rows:
            print(*(f"{name} {value} " for name, value in row.items()))
        if given.out:
            keep(given.out, f"limn sql over {FILES} files of Parquet, {total} bytes, on S3 (SeaweedFS on the same machine)", rows)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(given.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
