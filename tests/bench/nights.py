#!/usr/bin/env python3
"""Nightly runs for as long as asked: how large the index stays, and how fast.

  tests/bench/nights.py --limn …/limn [--nights 300] [--tables 2000] [--change 0.01] [--compare 30]
                        [--embedder hashed-words] --out results/nights.json

Makes a lake of CSV tables in a temporary folder. Every night a share of the tables changes (rows are
added, a table is written anew, one is renamed, one comes, one goes), then `limn index` and
`limn gc --older-than 12h --keep 2` run as a scheduler would have them run. Every --compare nights, and in the
end, the index is compared with one built anew: bytes that the newest snapshot names, files, answers, and the
latency of a question that one thread asks (in turns of one run, median of the medians).
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import tempfile
import time

WORDS = ("river lake glacier station depth level flow ice snow rain wind birch pine trout perch harbour ferry "
         "bridge tunnel road rail mine quarry farm barley wheat rye cattle sheep goat cheese butter wool linen "
         "tax census parish school teacher pupil doctor nurse clinic patient vaccine ship captain cargo port").split()


def table(rng, rows):
    columns = rng.sample(WORDS, 4)
    lines = [",".join(["id"] + columns)]
    for row in range(rows):
        lines.append(",".join([str(row)] + [f"{rng.choice(WORDS)} {rng.randrange(1000)}" for _ in columns]))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--nights", type=int, default=300)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--change", type=float, default=0.01)
    parser.add_argument("--embedder", default="hashed-words")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--compare", type=int, default=30)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rng = random.Random(1)
    environment = dict(os.environ, LIMN_NARRATE="names", LIMN_JUDGE="off", LIMN_RESAMPLE_THRESHOLD="0")

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lake, index, fresh = scratch / "lake", scratch / "index.limn", scratch / "fresh.limn"

        def limn(*command):
            done = subprocess.run([arguments.limn, *map(str, command)], capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
            return json.loads(done.stdout) if "--json" in command else done.stdout

        def write(path, rows):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(table(rng, rows))

        def build(at):
            return limn("index", lake, "--index", at, "--embedder", arguments.embedder, "--json")

        def named(at):
            """The newest snapshot: bytes that it names, and files of its largest shard."""
            newest = json.loads(min((at / "snapshots").glob("*.json")).read_text())
            shards = range(newest["shards"])
            bytes_named = sum(entry["bytes"] for entry in newest["segments"] + newest["catalog"])
            deletes = {entry["deletes"]["path"] for entry in newest["segments"] if entry.get("deletes")}
            bytes_named += sum((at / path).stat().st_size for path in deletes)
            files = lambda kind: max(sum(e["shard"] in (s, f"{s:04x}", f"{s:04}") for e in newest[kind]) for s in shards)
            return bytes_named, files("segments"), files("catalog")

        paths = []
        for number in range(arguments.tables):
            paths.append(lake / f"area{number % 40:02}" / f"table{number:05}" / "data.csv")
            write(paths[-1], rng.randrange(5, 40))
        build(index)

        def compare():
            """The index beside one built anew of the same lake."""
            shutil.rmtree(fresh, ignore_errors=True)
            build(fresh)
            limn("verify", "--index", index)
            names = [entry["table"] for entry in limn("tables", "--index", index, "--json")]
            asked = random.Random(2)
            questions = scratch / "questions.jsonl"
            with questions.open("w") as file:
                for _ in range(arguments.questions):
                    text = " ".join(asked.sample(WORDS, 4))
                    file.write(json.dumps({"question": text, "tables": [asked.choice(names)]}) + "\n")
            ask = lambda at, *more: limn("eval", "--index", at, "--questions", questions, "-k", "10", "--threads", "1", *more)

            def answers(at):
                save = scratch / "ranked.jsonl"
                ask(at, "--save", save)
                return save.read_text()

            same = answers(index) == answers(fresh)
            latency = {"nightly": [], "fresh": []}
            for _ in range(7):
                for name, at in (("nightly", index), ("fresh", fresh)):
                    latency[name].append(ask(at, "--json")["latency_ms"]["p50"])
            nightly, anew = (statistics.median(latency[name]) for name in ("nightly", "fresh"))
            (size, here, catalog), (fresh_size, fresh_here, fresh_catalog) = named(index), named(fresh)
            return {
                "segments_per_shard": [here, fresh_here], "catalog_files_per_shard": [catalog, fresh_catalog],
                "bytes_named": [size, fresh_size], "bytes_ratio": round(size / fresh_size, 3),
                "latency_p50_ms": [round(nightly, 3), round(anew, 3)], "latency_ratio": round(nightly / anew, 3),
                "same_answers": same,
            }

        seconds, segments, catalogs, compared = [], [], [], []
        number = arguments.tables
        for night in range(arguments.nights):
            for at in rng.sample(range(len(paths)), max(1, int(len(paths) * arguments.change))):
                with paths[at].open("a") as file:
                    file.write(f"{night},{rng.choice(WORDS)},{rng.choice(WORDS)},{rng.choice(WORDS)},{night}\n")
                if rng.random() < 0.2:
                    write(paths[at], rng.randrange(5, 40))
            removed = paths.pop(rng.randrange(len(paths)))
            removed.unlink()
            paths.append(lake / f"area{number % 40:02}" / f"table{number:05}" / "data.csv")
            write(paths[-1], 20)
            number += 1
            moved = rng.randrange(len(paths))
            to = lake / f"area{number % 40:02}" / f"table{number:05}" / "data.csv"
            to.parent.mkdir(parents=True)
            paths[moved] = paths[moved].rename(to)
            number += 1
            start = time.monotonic()
            build(index)
            # A day goes by.
            for path in index.rglob("*"):
                os.utime(path, (time.time() - 86400,) * 2)
            limn("gc", "--index", index, "--older-than", "12h", "--keep", "2")
            seconds.append(time.monotonic() - start)
            _, s, c = named(index)
            segments.append(s)
            catalogs.append(c)
            if (night + 1) % arguments.compare == 0 or night + 1 == arguments.nights:
                compared.append({"night": night + 1, **compare()})
        worst = lambda name: max(entry[name] for entry in compared)
        result = {
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, shared",
            "nights": arguments.nights, "tables": arguments.tables, "change": arguments.change,
            "embedder": arguments.embedder,
            "segments_per_shard": {"most": max(segments), "mean": round(statistics.mean(segments), 2)},
            "catalog_files_per_shard": {"most": max(catalogs), "mean": round(statistics.mean(catalogs), 2)},
            "bytes_ratio": {"worst": worst("bytes_ratio"), "last": compared[-1]["bytes_ratio"]},
            "latency_ratio": {"worst": worst("latency_ratio"),
                              "median": round(statistics.median(entry["latency_ratio"] for entry in compared), 3)},
            "same_answers_as_fresh": all(entry["same_answers"] for entry in compared),
            "bytes_on_disk": sum(path.stat().st_size for path in index.rglob("*") if path.is_file()),
            "seconds_a_night": {"median": round(statistics.median(seconds), 2), "most": round(max(seconds), 2)},
            "nightly_and_fresh": compared,
        }
        print(json.dumps(result, indent=2))
        if arguments.out:
            pathlib.Path(arguments.out).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
