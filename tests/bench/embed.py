#!/usr/bin/env python3
"""Texts embedded per second, limn and ONNX Runtime in turn, A B A B …, in one run, on the same texts.

  tests/bench/embed.py --limn …/limn --python …/venv/bin/python [--model MODEL.onnx] --out results/embed.json

The Python side is the embedder of tests/bench/python_hybrid (its README says how to set it up, and how
MODEL.onnx, which multiplies in int8, is made). Texts are columns and rows of the CSV files of --tables:
questions of about 16 tokens, blocks of about 60 and of more than 250.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SIZES = (("16 tokens", 8, 800), ("60 tokens", 32, 400), ("256 tokens", 160, 120))


def words_of(tables):
    words = []
    for path in sorted(pathlib.Path(tables).rglob("*.csv")):
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            for row in csv.reader(file):
                words.extend(word for cell in row for word in cell.split())
    return words


def write_texts(folder, tables):
    words, at, files = words_of(tables), 0, []
    for name, length, count in SIZES:
        path = pathlib.Path(folder) / (name.replace(" ", "-") + ".txt")
        lines = []
        for number in range(count):
            lines.append(f"{number} " + " ".join(words[(at + i) % len(words)] for i in range(length)))
            at += length
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        files.append((name, path))
    return files


def onnx(arguments):
    """In the Python of the hybrid: texts a second of each file, on so many threads."""
    sys.path.insert(0, str(HERE / "python_hybrid"))
    import time
    import hybrid

    hybrid_arguments = argparse.Namespace(model=arguments.model, tokenizer=None, threads=arguments.threads, spin=arguments.spin, batch=1)
    embedder = hybrid.Embedder(hybrid_arguments)
    found = {}
    for path in arguments.onnx:
        texts = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        for text in texts[:16]:
            embedder.one(text)
        began = time.perf_counter()
        for text in texts:
            embedder.one(text)
        found[path] = len(texts) / (time.perf_counter() - began)
    print(json.dumps(found))


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limn")
    parser.add_argument("--python")
    parser.add_argument("--model", help="an ONNX file of the same model; the package's without")
    parser.add_argument("--tables", default=HERE.parent.parent / "examples" / "lake")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    parser.add_argument("--onnx", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--spin", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.onnx:
        return onnx(arguments)
    if not arguments.limn or not arguments.python:
        parser.error("--limn and --python are needed")
    rates = {}
    with tempfile.TemporaryDirectory() as folder:
        files = write_texts(folder, arguments.tables)
        for _ in range(arguments.rounds):
            for threads in sorted({1, os.cpu_count()}):
                for name, path in files:
                    found = run([arguments.limn, "models", "bench", "--model", "all-MiniLM-L6-v2", "--device", "cpu", "--model-threads", threads, "--texts", path, "--json"])
                    rates.setdefault((name, threads, "limn"), []).append(found["runs"][0]["texts_per_second"])
                for spin in (False, True) if threads > 1 else (False,):
                    command = [arguments.python, __file__, "--threads", threads] + (["--spin"] if spin else [])
                    command += ["--model", arguments.model] if arguments.model else []
                    found = run(command + ["--onnx"] + [path for _, path in files])
                    side = "onnxruntime, spinning" if spin else "onnxruntime"
                    for name, path in files:
                        rates.setdefault((name, threads, side), []).append(found[str(path)])
    rows = []
    for (name, threads, side), values in rates.items():
        if side != "limn":
            continue
        others = {other: statistics.median(rates[key]) for key in rates if key[:2] == (name, threads) and (other := key[2]) != "limn"}
        best, limn = max(others.values()), statistics.median(values)
        rows.append({"texts": name, "threads": threads, "limn_texts_per_s": round(limn, 1), "onnxruntime_texts_per_s": {key: round(value, 1) for key, value in others.items()}, "ratio": round(limn / best, 2)})
        print(f"{name:12} {threads} threads   limn {limn:8.1f}/s   ONNX Runtime {best:8.1f}/s   {limn / best:.2f}×")
    if arguments.out:
        result = {"date": datetime.date.today().isoformat(), "machine": f"{platform.machine()}, {os.cpu_count()} cores", "what": f"median of {arguments.rounds} alternating rounds; the better of ONNX Runtime's settings counts", "onnx_model": os.path.basename(arguments.model or "as shipped"), "rows": rows}
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
