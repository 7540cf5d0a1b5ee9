#!/usr/bin/env python3
"""Indexes a lake and reports peak memory, MB/s read, tables/s, and how busy the embedder was.

  tests/bench/memory.py --limn …/limn --lake FOLDER --index FOLDER [--workers 2] --out results/memory.json
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import subprocess
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    lake_bytes = sum(path.stat().st_size for path in pathlib.Path(arguments.lake).rglob("*") if path.is_file())
    start = time.time()
    done = subprocess.run([arguments.limn, "index", arguments.lake, "--index", arguments.index, "--workers", arguments.workers, "--json"],
                          capture_output=True, text=True)
    wall = time.time() - start
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    report = json.loads(done.stdout)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    tables = report["tables"]["added"] + report["tables"]["changed"]
    seconds = report["seconds"]
    threads = os.cpu_count()
    result = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {threads} cores",
        "lake_bytes": lake_bytes,
        "tables": tables,
        "failures": len(report["failures"]),
        "wall_s": round(wall, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_memory_mib": round(usage.ru_maxrss / 1024),
        "lake_mb_per_s": round(lake_bytes / 1e6 / wall, 1),
        "read_mb_per_s": round(report["bytes"]["read"] / 1e6 / wall, 1),
        "tables_per_s": round(tables / wall, 1),
        "embedded_blocks": report["model"]["embedded_blocks"],
        "embedder_busy_share_of_wall": round(seconds["embed"] / wall / threads, 3),
        "embedder_span_share_of_wall": round(seconds["embed_span"] / wall, 3),
        "seconds": seconds,
        "requests": report["requests"],
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        with open(arguments.out, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
