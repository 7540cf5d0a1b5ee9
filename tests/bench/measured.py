"""What the measurements of this folder report of the machine, and of a process."""
import datetime
import json
import os
import pathlib
import platform

FIELDS = {"resident": "VmRSS", "anonymous": "RssAnon", "of_files": "RssFile", "shared": "RssShmem", "peak": "VmHWM"}


def machine():
    """The machine in words; what decides how fast vectors and models are is the widest instructions."""
    parts = [platform.machine(), f"{os.cpu_count()} cores"]
    rows = [line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    about = {name.strip(): value.strip() for name, value in rows}
    flags = about.get("flags", "").split()
    for name, words in (("avx512_vnni", "AVX-512 with VNNI"), ("avx512f", "AVX-512"), ("avx2", "AVX2")):
        if name in flags:
            parts.append(words)
            break
    return ", ".join([*parts, about.get("model name", "unknown")])


def keep(path, what, rows):
    """Writes rows of results with the date and the machine."""
    result = {"date": datetime.date.today().isoformat(), "machine": machine(), "what": what, "rows": rows}
    with open(path, "w") as out:
        json.dump(result, out, indent=1)
        out.write("\n")


def memory(pid):
    """What a process holds and has held at most, in MiB."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    rows = dict(line.split(":", 1) for line in lines)
    return {name: round(int(rows[field].split()[0]) / 1024, 1) for name, field in FIELDS.items()}
