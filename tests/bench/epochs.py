#!/usr/bin/env python3
"""How many snapshots and segments a change of a large lake makes, and what it costs.

  tests/bench/epochs.py --limn target/release/limn --files 60000 --changed 600 --out tests/bench/results/DATE-epochs.json

The lake has folders of 100 small CSV files of like names, each one table; in one folder of twenty a file has columns of its own, and is
a second table. It is indexed, and indexed again unchanged; then files evenly spread over the folders are written anew, and a further run
takes them in. Counts are those of `--json`; segments are those that a run's snapshots have and none before.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

from measured import keep

IN_A_FOLDER = 100
# One folder of so many has a file of other columns.
APART = 20


def write(lake, number, version):
    folder, at = divmod(number, IN_A_FOLDER)
    is_other = folder % APART == 0 and at == 7
    names = "depth,colour" if is_other else "city,amount"
    path = lake / f"area{folder % 97:02}/set{folder:06}" / f"part_{at:03}.csv"
    if at == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{names}\nc{number},{number + version}\nd{number},{number * 3 + version}\n")


def snapshots(index):
    """The segments of each snapshot, by its number."""
    found = {}
    for path in (index / "snapshots").glob("*.json"):
        snapshot = json.loads(path.read_text())
        found[snapshot["number"]] = {(it["shard"], it["path"]) for it in snapshot["segments"]}
    return found


def run(limn, lake, index, more):
    begun = time.monotonic()
    command = [limn, "index", str(lake), "--index", str(index), "--embedder", "hashed-words", "--narrate", "off", "--json", *more]
    running = subprocess.Popen(command, stdout=subprocess.PIPE)
    report = json.load(running.stdout)
    _, status, used = os.wait4(running.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{command} failed")
    return report, round(time.monotonic() - begun, 1), round(used.ru_maxrss / 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--files", type=int, default=60_000)
    parser.add_argument("--changed", type=int, default=600)
    parser.add_argument("--scratch", type=pathlib.Path, help="a folder with room for a file system's block a file")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("more", nargs="*", help="further arguments of limn index")
    given = parser.parse_args()
    if not 0 < given.changed <= given.files:
        parser.error("--changed is from 1 to --files")
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch:
        lake, index = pathlib.Path(scratch) / "lake", pathlib.Path(scratch) / "index"
        for number in range(given.files):
            write(lake, number, 0)
        print(f"{given.files} files written", flush=True)
        rows = []
        step = given.files // given.changed
        for name, chosen in (("first run", []), ("unchanged", []), ("changed", range(step // 2, given.files, step))):
            # Another size, whatever the file system keeps of times.
            for number in chosen:
                write(lake, number, 1_000_000_000)
            before = snapshots(index) if index.exists() else {}
            report, seconds, peak = run(given.limn, lake, index, given.more)
            after = snapshots(index)
            known = set().union(*before.values())
            new = {number: segments - known for number, segments in after.items() if number not in before}
            rows.append({
                "run": name, "files": given.files, "files_written": len(chosen), "snapshots": len(new),
                "segments": len(set().union(*new.values())), "shards": len({shard for shard, _ in max(after.items())[1]}),
                "requests": report["requests"], "bytes": report["bytes"], "tables": report["tables"], "seconds": seconds, "peak_mb": peak,
                "load": round(os.getloadavg()[0], 1)})
            print(rows[-1], flush=True)
    if given.out:
        keep(given.out, "limn index of a lake of small files, first, unchanged, and with few files changed evenly (epochs.py)", rows)


if __name__ == "__main__":
    main()
