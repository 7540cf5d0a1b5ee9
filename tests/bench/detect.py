"""Change detection alone, over a synthetic listing of 1, 2, 3 and 5 million objects of which one in a thousand was edited.

    cargo build --release --workspace --example detect
    python3 tests/bench/detect.py target/release/examples/detect RESULT.json [ROUNDS]

Every run is a process of its own, so that each has its own peak of memory. In each round the dataflow that keeps differences
alternates with one that keeps all members, as limn did first. What comes before the dataflow is measured by listings.py.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time

MILLIONS = [1, 2, 3, 5]
WORKERS = 2


def run(detect, what, millions):
    done = subprocess.run([detect, what, str(millions * 1_000_000), str(WORKERS)], check=True, stdout=subprocess.PIPE)
    result = json.loads(done.stdout) | {"load": round(os.getloadavg()[0], 1)}
    print(result, flush=True)
    return result


def summary(runs, what, millions):
    of = [it for it in runs if it["what"] == what and it["objects"] == millions * 1_000_000]
    return {
        "what": what,
        "objects": millions * 1_000_000,
        "objects_per_second": round(statistics.median(it["objects_per_second"] for it in of)),
        "best_objects_per_second": round(max(it["objects_per_second"] for it in of)),
        "cpu_nanoseconds_per_object": round(statistics.median(it["cpu_nanoseconds_per_object"] for it in of)),
        "peak_rss_mib": round(max(it["peak_rss_bytes"] for it in of) / 2**20),
    }


def main():
    detect, result, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3
    runs = []
    for _ in range(rounds):
        for millions in MILLIONS:
            for what in ("differences", "members"):
                runs.append(run(detect, what, millions))
        for millions in (1, 5):
            runs.append(run(detect, "members-alone", millions))
    kinds = sorted({(it["what"], it["objects"] // 1_000_000) for it in runs})
    rows = [summary(runs, what, millions) for what, millions in kinds]
    at = {(it["what"], it["objects"] // 1_000_000): it for it in rows}

    def members_to_differences(measure):
        return {str(millions): round(at["members", millions][measure] / at["differences", millions][measure], 2) for millions in MILLIONS}

    report = {
        "what": "change detection over a synthetic listing, 0.1 % of the objects edited",
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, shared",
        "workers": WORKERS,
        "rounds": rounds,
        "members_to_differences": {measure: members_to_differences(measure) for measure in ("cpu_nanoseconds_per_object", "peak_rss_mib")},
        "medians": rows,
        "runs": runs,
    }
    with open(result, "w") as out:
        out.write(json.dumps(report, indent=1) + "\n")


main()
