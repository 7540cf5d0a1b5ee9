"""What comes before the dataflow: listing, layout and the plan of a first run, over 1 and 5 million synthetic objects,
and the plan of each of 2 and of 4 processes.

    cargo build --release --locked --workspace --example listings
    python3 tests/bench/listings.py target/release/examples/listings RESULT.json [BEFORE]

Every run is a process of its own, so that each has its own peak of memory. BEFORE is the same example of another build, which is run
in turn with the first.
"""

import json
import os
import platform
import subprocess
import sys
import time


def run(listings, build, what, millions, place=()):
    command = [listings, what, str(millions * 1_000_000), *map(str, place)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result = {"build": build} | json.loads(done.stdout) | {"load": round(os.getloadavg()[0], 1)}
    print(result, flush=True)
    return result


def main():
    builds = {"now": sys.argv[1]}
    if len(sys.argv) > 3:
        builds["before"] = sys.argv[3]
    kinds = [(what, millions) for what in ("listing", "layout", "plan") for millions in (1, 5)]
    runs = [run(of, build, what, millions) for what, millions in kinds for build, of in builds.items()]
    places = [(process, processes) for processes in (2, 4) for process in range(processes)]
    runs += [run(sys.argv[1], "now", "plan", 5, place) for place in places]
    report = {
        "what": "listing, layout and plan of a first run over a synthetic lake",
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, shared",
        "runs": runs,
    }
    with open(sys.argv[2], "w") as out:
        out.write(json.dumps(report, indent=1) + "\n")


main()
