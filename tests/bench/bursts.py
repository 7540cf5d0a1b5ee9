#!/usr/bin/env python3
"""What a burst on one table costs in a large index: in a session that lasts, and by a run that begins anew.

  tests/bench/bursts.py --limn …/limn [--tables 20000] [--bursts 15] --out results/bursts.json

Makes a lake of small CSV tables, indexes it, and writes one table again and again: first beside
`limn watch`, then each time with `limn update`. Both list the whole lake, as it is local.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import signal
import statistics
import subprocess
import tempfile

WORDS = "river lake glacier station depth level flow ice snow rain wind birch pine trout perch harbour ferry bridge".split()


def table(rng):
    columns = rng.sample(WORDS, 4)
    rows = [[str(row)] + [f"{rng.choice(WORDS)} {rng.randrange(1000)}" for _ in columns] for row in range(6)]
    return "\n".join(",".join(row) for row in [["id"] + columns] + rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--tables", type=int, default=20000)
    parser.add_argument("--bursts", type=int, default=15)
    parser.add_argument("--embedder", default="hashed-words")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rng = random.Random(1)
    environment = dict(os.environ, LIMN_NARRATE="names")

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lake, index = scratch / "lake", scratch / "index.limn"
        common = ["--index", str(index), "--embedder", arguments.embedder, "--json"]

        def name(number):
            return f"area{number % 100:02}/table{number:06}/data"

        def write(number):
            path = lake / f"{name(number)}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(table(rng))

        def limn(*command):
            done = subprocess.run([arguments.limn, *map(str, command)], capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
            return json.loads(done.stdout)

        def cost(report):
            assert report["tables"]["changed"] == 1, report
            return report["seconds"]["total"], report["requests"]["get"], report["bytes"]["read"]

        for number in range(arguments.tables):
            write(number)
        limn("index", lake, *common)
        watch = subprocess.Popen(
            [arguments.limn, "watch", lake, *common, "--quiet", "200ms", "--every", "1d"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        watch.stdout.readline()
        costs = {"session": [], "anew": []}
        for _ in range(arguments.bursts):
            write(rng.randrange(arguments.tables))
            costs["session"].append(cost(json.loads(watch.stdout.readline())))
        watch.send_signal(signal.SIGINT)
        watch.wait()
        for _ in range(arguments.bursts):
            number = rng.randrange(arguments.tables)
            write(number)
            costs["anew"].append(cost(limn("update", name(number), "--lake", lake, *common)))

        median = {how: [statistics.median(values) for values in zip(*them)] for how, them in costs.items()}
        (seconds, gets, read), (seconds_anew, gets_anew, read_anew) = median["session"], median["anew"]
        result = {
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "tables": arguments.tables, "bursts": arguments.bursts, "embedder": arguments.embedder,
            "seconds": {"session": round(seconds, 3), "anew": round(seconds_anew, 3), "ratio": round(seconds_anew / seconds, 2)},
            "gets": {"session": gets, "anew": gets_anew},
            "bytes_read": {"session": read, "anew": read_anew, "ratio": round(read_anew / read, 1)},
        }
        print(json.dumps(result, indent=2))
        if arguments.out:
            pathlib.Path(arguments.out).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
