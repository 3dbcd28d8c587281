"""Many evaluations in a row on device cpu: what is left of processes, open files, temporary files and memory.

    python bench/endurance.py [--count 1000]

Compiles and validates one kernel again and again in one process, and prints the counts after a tenth of them
and at the end. Exit status 1 when something grew."""

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from insights_db.records import Candidate
from kshell import tasks
from kshell.bench import cheats
from kshell.engine.promotion import digest
from kshell.harness.cpu import CpuEvaluator
from kshell.tasks import reference


def left(folder: Path) -> dict[str, int]:
    """Open files, child processes, temporary files, and the largest memory so far in MB."""
    mine = f" {os.getpid()} "
    children = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            children += f" {text.rsplit(')', 1)[1].split()[1]} " == mine
    return {
        "open_files": len(list(Path("/proc/self/fd").iterdir())),
        "children": children,
        "temporary_files": len(list(folder.iterdir())),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    source = next(s for s in cheats.samples() if s.layer == "none").source
    task = tasks.get("relu")
    workload = task.workload(n=500)
    kernel = Candidate(
        id=digest(source)[:12], source=source, task=task.name, round=0, index=0, proposer="bench"
    )
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        evaluator = CpuEvaluator(reference.compute, Path(cache))
        early: dict[str, int] = {}
        for k in range(1, count + 1):
            compiled = await evaluator.compile(kernel, task, workload)
            result = await evaluator.validate(kernel, task, workload, compiled)
            if not result.ok:
                raise SystemExit(f"evaluation {k} failed: {result.reason}")
            if k == max(1, count // 10):
                early = left(Path(folder))
        end = left(Path(folder))
        tempfile.tempdir = None
    grew = [n for n in ("open_files", "children", "temporary_files") if end[n] > early[n]]
    grew += ["memory_mb"] if end["memory_mb"] > early["memory_mb"] + 30 else []
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({"evaluations": count, "early": early, "end": end, "grew": grew, "seconds": seconds}))
    return 1 if grew else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
