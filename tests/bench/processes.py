"""One process against two: a generated lake with the default embedder, one worker and one embedding thread in each.

    python3 tests/bench/processes.py target/release/limn RESULT.json [TABLES]

Reports wall seconds and CPU seconds (of all processes of a run) of alternating runs into new indexes: one process on one
core, one on all (tasks beside the worker use what another core has to spare), two on all; and of each process the share of
its time that it was busy or waited, of a core, and the share of each stage, summed over its concurrent tasks.
"""

import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
# Processes and cores.
SETTINGS = [(1, 1), (1, os.cpu_count()), (2, os.cpu_count())]


def lake(root, tables):
    numbers = random.Random(7)
    words = "river station level order buyer city harbour depth flow permit vessel tariff owner grade sample".split()
    for table in range(tables):
        columns = numbers.sample(words, 6)
        rows = [",".join(f"{numbers.choice(words)} {numbers.randrange(10_000)}" for _ in columns) for _ in range(50)]
        path = root / f"area{table % 20}" / f"{columns[0]}_{table}" / "data.csv"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join([",".join(columns), *rows]) + "\n")


def run(limn, root, index, processes, cores):
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [limn, "index", root, "--index", index, "--workers", "1", "--embed-threads", "1", "--json"]
    if processes > 1:
        command += ["--processes", str(processes)]
    environment = {**os.environ, "LIMN_NARRATE": "names", "LIMN_LOG": "limn_pipeline::cluster::totals=info", "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        check=True,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, range(cores)),
    )
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "processes": processes,
        "cores": cores,
        "wall_seconds": round(wall, 2),
        "cpu_seconds": round(cpu, 2),
        "load": round(os.getloadavg()[0], 1),
        "embedded_blocks": report["model"]["embedded_blocks"],
        "embedded_tokens": report["model"]["embedded_tokens"],
        "objects_read": report["objects"]["read"],
        "requests": sum(report["requests"].values()),
        "shares_by_process": [shares(line) for line in done.stderr.splitlines() if "seconds of this process" in line],
    }


def shares(line):
    """The seconds that a line of a process's log has in all, and the shares of them."""
    seconds = {name: float(value) for name, value in re.findall(r"(total|busy|list|plan|read|embed|write|publish)=([0-9.e-]+)", line)}
    total = seconds.pop("total")
    found = {"seconds": round(total, 2)} | {name: round(value / total, 3) for name, value in seconds.items()}
    return found | {"waiting": round(max(0, 1 - seconds["busy"] / total), 3)}


def main():
    limn, result, tables = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lake(scratch / "lake", tables)
        for number in range(ROUNDS):
            for processes, cores in SETTINGS:
                index = scratch / f"{number}-{processes}-{cores}.limn"
                runs.append(run(limn, scratch / "lake", index, processes, cores))
                print(runs[-1])
    best = {it: min(run["wall_seconds"] for run in runs if (run["processes"], run["cores"]) == it) for it in SETTINGS}
    two = best[SETTINGS[2]]
    report = {
        "what": "limn index of a generated lake, one worker and one embedding thread in each process",
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "tables": tables,
        "wall_ratio_to_one_on_one_core": round(best[SETTINGS[0]] / two, 2),
        "wall_ratio_to_one_on_all_cores": round(best[SETTINGS[1]] / two, 2),
        "runs": runs,
    }
    pathlib.Path(result).write_text(json.dumps(report, indent=1) + "\n")


main()
