#!/usr/bin/env python3
"""A node under load while its index is published anew again and again: failed requests, and memory.

  tests/bench/switches.py --limn …/limn --tables …/fetaqa/tables --questions …/questions.jsonl --out results/switches.json

A copy of the lake is indexed (`--embedder hashed-words`: what is measured is the node), and served with `--follow 100ms`. wrk asks
over 8 connections all the time, while a table is added, another taken away, the lake is indexed, and the node has moved to the new
snapshot, SWITCHES times.
"""
import argparse
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

from measured import machine, memory

HERE = pathlib.Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn", required=True)
    parser.add_argument("--tables", required=True)
    parser.add_argument("--questions", required=True)
    parser.add_argument("--switches", type=int, default=100)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake, index = pathlib.Path(folder, "lake"), pathlib.Path(folder, "index")
        shutil.copytree(arguments.tables, lake)
        run = [arguments.limn, "index", str(lake), "--index", str(index), "--embedder", "hashed-words", "--narrate", "off"]
        subprocess.run(run, check=True, capture_output=True)
        serve = [arguments.limn, "serve", "--index", str(index), "--listen", "127.0.0.1:0", "--judge", "off", "--follow", "100ms"]
        node = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
        url = next(found[1] for line in node.stderr if (found := re.search(r" at (http://\S+)", line)))
        bodies = pathlib.Path(folder, "bodies.jsonl")
        questions = [json.loads(line)["question"] for line in open(arguments.questions, encoding="utf-8")]
        bodies.write_text("\n".join(json.dumps({"q": question, "k": 5}) for question in questions) + "\n")
        status = lambda: json.load(urllib.request.urlopen(f"{url}/v1/status"))["snapshot"]
        before = memory(node.pid)
        load = subprocess.Popen(["wrk", "-t", "1", "-c", "8", "-d", "3600s", "--timeout", "30s", "-s", str(HERE / "load.lua"), url, "--", str(bodies)],
                                stdout=subprocess.PIPE, text=True)
        course, started = [], time.monotonic()
        for number in range(arguments.switches):
            (lake / f"new{number}.csv").write_text(f"glacier{number},thickness\n1,{number}\n")
            (lake / f"new{number - 1}.csv").unlink(missing_ok=True)
            subprocess.run(run, check=True, capture_output=True)
            while status() < number + 2:
                time.sleep(0.02)
            if number % 10 == 9:
                course.append({"switches": number + 1, **memory(node.pid)})
                print(course[-1], flush=True)
        seconds = time.monotonic() - started
        load.send_signal(2)
        report = json.loads(next(line for line in load.communicate()[0].splitlines() if line.startswith("{")))
        node.terminate()
        code = node.wait()
    result = {
        "date": datetime.date.today().isoformat(), "machine": f"{machine()}; wrk and limn index on the same",
        "switches": arguments.switches, "seconds": round(seconds, 1), "requests": report["requests"], "failed": report["failed"],
        "p50_ms": report["p50_ms"], "p99_ms": report["p99_ms"], "exit_code": code, "memory_before": before, "course": course,
    }
    print(json.dumps(result, indent=1))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
