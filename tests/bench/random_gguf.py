"""A language model of qwen2.5-coder-1.5b's shape with seeded random weights, to measure speed and
compare bits where the real file is not:  random_gguf.py TOKENIZER.gguf OUT.gguf [LAYERS]

Its tokenizer is that of another GGUF file (SmolLM2's), filled up to the vocabulary's size.
"""
import random
import struct
import sys

HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD, INNER, VOCABULARY = 1536, 28, 12, 2, 128, 8960, 151936
F32, Q4_0 = 0, 2
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_metadata(path):
    with open(path, "rb") as file:
        def text():
            return file.read(struct.unpack("<Q", file.read(8))[0])

        def value(kind):
            if kind == 8:
                return text()
            if kind == 9:
                of, count = struct.unpack("<IQ", file.read(12))
                return [value(of) for _ in range(count)]
            form = "<" + FORMATS[kind]
            return struct.unpack(form, file.read(struct.calcsize(form)))[0]

        _, _, _, count = struct.unpack("<4sIQQ", file.read(24))
        return {text().decode(): value(struct.unpack("<I", file.read(4))[0]) for _ in range(count)}


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(value)) + value


def pair(key, value):
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    if isinstance(value, (bytes, str)):
        return text(key) + struct.pack("<I", 8) + text(value)
    return text(key) + (struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value))


def tensors(layers):
    keys, queries = KV_HEADS * HEAD, HEADS * HEAD
    yield "token_embd.weight", (VOCABULARY, HIDDEN)
    yield "output.weight", (VOCABULARY, HIDDEN)
    yield "output_norm.weight", (HIDDEN,)
    for n in range(layers):
        yield f"blk.{n}.attn_norm.weight", (HIDDEN,)
        yield f"blk.{n}.ffn_norm.weight", (HIDDEN,)
        for name, rows in (("q", queries), ("k", keys), ("v", keys)):
            yield f"blk.{n}.attn_{name}.weight", (rows, HIDDEN)
            yield f"blk.{n}.attn_{name}.bias", (rows,)
        yield f"blk.{n}.attn_output.weight", (HIDDEN, queries)
        yield f"blk.{n}.ffn_gate.weight", (INNER, HIDDEN)
        yield f"blk.{n}.ffn_up.weight", (INNER, HIDDEN)
        yield f"blk.{n}.ffn_down.weight", (HIDDEN, INNER)


def data(name, shape, seeded):
    if len(shape) == 1:
        norm = name.endswith("norm.weight")
        return struct.pack(f"<{shape[0]}f", *(seeded.gauss(1.0 if norm else 0.0, 0.1) for _ in range(shape[0])))
    # Blocks of 32 numbers: a half-precision scale of about 0.0044, then four bits a number.
    blocks = shape[0] * shape[1] // 32
    out = bytearray(seeded.randbytes(blocks * 18))
    out[1::18] = b"\x1c" * blocks
    return bytes(out)


def main():
    source, target = sys.argv[1:3]
    layers = int(sys.argv[3]) if len(sys.argv) > 3 else LAYERS
    old = read_metadata(source)
    pieces = old["tokenizer.ggml.tokens"]
    pieces += [f"<|unused{n}|>" for n in range(VOCABULARY - len(pieces))]
    metadata = {
        "general.architecture": "qwen2",
        "qwen2.block_count": layers,
        "qwen2.context_length": 32768,
        "qwen2.embedding_length": HIDDEN,
        "qwen2.feed_forward_length": INNER,
        "qwen2.attention.head_count": HEADS,
        "qwen2.attention.head_count_kv": KV_HEADS,
        "qwen2.rope.freq_base": 1e6,
        "qwen2.attention.layer_norm_rms_epsilon": 1e-6,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": old["tokenizer.ggml.pre"],
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.merges": old["tokenizer.ggml.merges"],
        "tokenizer.ggml.eos_token_id": old["tokenizer.ggml.eos_token_id"],
    }
    header, offset, sized = [], 0, list(tensors(layers))
    for name, shape in sized:
        kind = F32 if len(shape) == 1 else Q4_0
        size = shape[0] * 4 if kind == F32 else shape[0] * shape[1] // 32 * 18
        sizes = struct.pack(f"<{len(shape)}Q", *reversed(shape))
        header.append(text(name) + struct.pack("<I", len(shape)) + sizes + struct.pack("<IQ", kind, offset))
        offset += -(-size // 32) * 32
    with open(target, "wb") as out:
        out.write(struct.pack("<4sIQQ", b"GGUF", 3, len(sized), len(metadata)))
        out.write(b"".join(pair(key, value) for key, value in metadata.items()) + b"".join(header))
        seeded = random.Random(7)
        for name, shape in sized:
            out.write(bytes(-out.tell() % 32))
            out.write(data(name, shape, seeded))


main()
