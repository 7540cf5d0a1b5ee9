#!/usr/bin/env python3
"""How a node's latency and memory grow with the number of tables: makes synthetic indexes, serves them, asks.

  tests/bench/scale.py --bin target/release --base fetaqa.limn --questions …/questions.jsonl --scratch FOLDER \
      --sizes 10000:1,100000:8,1000000:8 --out results/scale.json

A size is TABLES:SHARDS, perhaps with further arguments of make_index after a second colon. An index that is in the
scratch folder already is used as it is. Each index is served by `limn serve` (no judge, questions are not remembered), which is asked
over HTTP, every question once at one connection and once at eight; what the node holds of memory (anonymous, and of mapped files) is read
from /proc. `measure_vectors` compares the vectors' side with an exact search (--no-recall leaves it out). With --rounds, sizes take turns, and
medians are reported.
"""
import argparse
import datetime
import http.client
import json
import os
import pathlib
import random
import statistics
import subprocess
import threading
import time
import urllib.parse

from measured import machine, memory


class Node:
    def __init__(self, limn, index, more=(), environment=None):
        start = time.time()
        self.process = subprocess.Popen([limn, "serve", "--index", index, "--listen", "127.0.0.1:0", "--judge", "off", "--no-question-cache", *more],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        said = []
        for line in self.process.stderr:
            said.append(line)
            if " at http://" in line:
                break
        else:
            raise SystemExit(f"the node ended: {''.join(said)}")
        self.open_s = time.time() - start
        self.address = line.split(" at http://")[1].strip().rstrip("/")
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()

    def connection(self):
        return http.client.HTTPConnection(self.address, timeout=300)

    def memory(self):
        return memory(self.process.pid)

    def end(self):
        self.process.terminate()
        self.process.wait()


def ask(connection, path):
    """Milliseconds until the whole answer is there, and the answer."""
    start = time.perf_counter()
    connection.request("GET", path)
    reply = connection.getresponse()
    body = reply.read()
    took = (time.perf_counter() - start) * 1000
    if reply.status != 200:
        raise SystemExit(f"{path}: {reply.status} {body[:500]}")
    return took, body


def quantiles(times):
    times = sorted(times)
    return {"p50_ms": round(statistics.median(times), 2), "p99_ms": round(times[min(len(times) - 1, int(len(times) * 0.99))], 2), "most_ms": round(times[-1], 2)}


def ask_all(node, paths, connections):
    """Every path once, by so many connections at a time."""
    left, times, failed = iter(paths), [], []
    lock = threading.Lock()

    def work():
        connection = node.connection()
        try:
            while True:
                with lock:
                    path = next(left, None)
                if path is None:
                    return
                took, _ = ask(connection, path)
                times.append(took)
        except BaseException as error:
            failed.append(error)
    start = time.time()
    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"a request failed: {failed[0]}")
    return {**quantiles(times), "per_s": round(len(times) / (time.time() - start), 1)}


def serve(arguments, index, questions):
    node = Node(f"{arguments.bin}/limn", index)
    try:
        search = [f"/v1/search?q={urllib.parse.quote(question)}" for question in questions]
        result = {"open_s": round(node.open_s, 2), "memory_mib": {"open": node.memory()}}
        connection = node.connection()
        result["first_question_ms"] = round(ask(connection, search[0])[0], 1)
        # What is read and verified once is not what a question costs.
        for path in search[:arguments.warm]:
            ask(connection, path)
        result["one_connection"] = ask_all(node, search, 1)
        result["eight_connections"] = ask_all(node, search, 8)
        result["memory_mib"][f"after_{2 * len(search)}_questions"] = node.memory()
        # The node leaves a connection that was idle for so long.
        connection = node.connection()
        took = []
        for path in search[:200]:
            _, body = ask(connection, path)
            took.append(json.loads(body)["took_ms"])
        result["told_by_the_node"] = quantiles(took)
        words = sorted({word.lower() for question in questions[:60] for word in question.split() if len(word) > 3})[:40]
        for name, paths in (("suggest", [f"/v1/suggest?q={urllib.parse.quote(word[:size])}" for word in words for size in (2, 4)]),
                            ("tables", ["/v1/tables", "/v1/tables?prefix=area07"]), ("tree", ["/v1/tree", "/v1/tree?prefix=area07"])):
            result[name] = quantiles([ask(connection, path)[0] for path in paths * 2])
        result["memory_mib"]["after_lists"] = node.memory()
        return result
    finally:
        node.end()


def median(rounds):
    """The median of each figure of several rounds."""
    first = rounds[0]
    if isinstance(first, dict):
        return {key: median([one[key] for one in rounds]) for key in first}
    return round(statistics.median(rounds), 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder with limn, make_index and measure_vectors")
    parser.add_argument("--base", required=True, help="an index of real tables")
    parser.add_argument("--questions", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--sizes", default="10000:1,100000:1,1000000:8")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--warm", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-recall", action="store_true")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    with open(arguments.questions) as lines:
        questions = [json.loads(line)["question"] for line in lines]
    random.Random(1).shuffle(questions)
    questions = questions[:arguments.limit]

    made = {}
    for size in arguments.sizes.split(","):
        tables, shards, *more = size.split(":")
        index = pathlib.Path(arguments.scratch) / size.replace(":", "-").replace(" ", "")
        if not (index / "snapshots").is_dir():
            start = time.time()
            subprocess.run([f"{arguments.bin}/make_index", arguments.base, index, "--tables", tables, "--shards", shards, *" ".join(more).split()], check=True)
            print(f"{size}: made in {time.time() - start:.0f} s", flush=True)
        made[size] = index
    results, load = {}, []
    for _ in range(arguments.rounds):
        for size, index in made.items():
            load.append(os.getloadavg()[0])
            result = serve(arguments, str(index), questions)
            results.setdefault(size, []).append(result)
            print(size, json.dumps(result), flush=True)
    results = {size: median(rounds) for size, rounds in results.items()}
    for size, index in made.items():
        objects = [path.stat().st_size for path in index.rglob("*") if path.is_file()]
        results[size]["index_mb"] = round(sum(objects) / 1e6, 1)
        if not arguments.no_recall:
            done = subprocess.run([f"{arguments.bin}/measure_vectors", index, "--questions", arguments.questions, "--limit", str(max(1000, arguments.limit))],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(done.stderr)
            results[size]["vectors"] = json.loads(done.stdout)
            print(size, json.dumps(results[size]["vectors"]), flush=True)
    if arguments.out:
        with open(arguments.out, "w") as out:
            json.dump({"date": datetime.date.today().isoformat(), "machine": machine(), "what": f"{len(questions)} questions, median of {arguments.rounds} rounds",
                       "load_before_each": [round(one, 2) for one in load], "sizes": results}, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
