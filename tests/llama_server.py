"""A language model server for tests: llama.cpp's own HTTP server, out of the package xllamacpp.

    llama_server.py GGUF KEY chat|embeddings [TOKENS [THREADS]]

It listens on a free port of 127.0.0.1, prints its address once the model is loaded, and ends when
its standard input does.
"""

import os
import sys
import time
import urllib.error
import urllib.request

import xllamacpp

gguf, key, use, *more = sys.argv[1:]
tokens = int(more[0]) if more else 1024
threads = int(more[1]) if len(more) > 1 else 1
settings = xllamacpp.CommonParams()
settings.model.path = gguf
settings.hostnames = ["127.0.0.1"]
settings.port = 0
settings.api_keys = [key]
settings.warmup = False
# Two prompts at once, of so many tokens each. What was computed before is not used again: answers would
# depend on it, in the last bits.
settings.n_parallel = 2
settings.n_ctx = 2 * tokens
settings.cache_prompt = False
if use == "embeddings":
    settings.embedding = True
    settings.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
# Threads that wait for each other spin: on a machine that does something else, one is faster.
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
server = xllamacpp.Server(settings)

while True:
    try:
        urllib.request.urlopen(f"{server.listening_address}/health", timeout=5).close()
        break
    except (urllib.error.URLError, ConnectionError):
        time.sleep(0.05)
print(server.listening_address, flush=True)
sys.stdin.read()
# The server's threads would be waited for.
os._exit(0)
