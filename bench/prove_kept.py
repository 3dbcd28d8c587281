"""Tries the automatic proof of the kernels that a GPU campaign kept, the fastest first.

    python bench/prove_kept.py bench/results/campaign_h200.json --out bench/results/campaign_proofs.json
                               [--tasks relu,gemv] [--seconds 120] [--each 3]

Per task and size it stops at the first kernel that is proven. What was tried before stays in the file and is
not tried again; a kernel that is not in the file was not tried."""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from insights_db.records import Candidate, ProofStatus
from kshell import tasks
from kshell.prover import LeanProver


def key(result: dict[str, Any], kernel: dict[str, Any]) -> str:
    """What a proof is filed under: task, size and kernel."""
    return f"{result['task']}/{result['sizes']}/{kernel['id']}"


async def prove(prover: LeanProver, result: dict[str, Any], kernel: dict[str, Any], limit: float) -> Any:
    """Status, seconds and the reason of one attempt."""
    task = tasks.get(result["task"])
    candidate = Candidate(
        id=kernel["id"],
        source=kernel["source"],
        task=task.name,
        round=0,
        index=0,
        proposer="builtin",
        family=kernel["family"],
        schedule=kernel["schedule"],
    )
    started = time.monotonic()
    workload = task.workload(**result["axes"])
    try:
        proof = await asyncio.wait_for(prover.prove(candidate, task, workload, lambda _o, _t: None), limit)
    except TimeoutError:
        return {"status": "unproven", "reason": f"no proof within {limit:.0f} s", "seconds": limit}
    return {
        "status": "proven" if proof.status is ProofStatus.PROVEN else "unproven",
        "reason": proof.reason,
        "seconds": round(time.monotonic() - started, 1),
    }


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default="", help="only these")
    parser.add_argument("--sizes", default="default,large")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each kernel")
    parser.add_argument("--each", type=int, default=3, help="kernels tried for a task and size")
    options = parser.parse_args()
    found: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    wanted, sizes = set(filter(None, options.tasks.split(","))), options.sizes.split(",")
    prover = LeanProver()
    try:
        for result in json.loads(options.campaign.read_text())["results"]:
            if (wanted and result["task"] not in wanted) or result["sizes"] not in sizes:
                continue
            kernels = sorted((k for k in result["kept"] if k["agrees"]), key=lambda k: float(k["ms"]))
            for kernel in kernels[: options.each]:
                name = key(result, kernel)
                if name not in found:
                    found[name] = await prove(prover, result, kernel, options.seconds)
                    options.out.write_text(json.dumps(found, indent=1) + "\n")
                    said = found[name]
                    why = said["reason"][:120]
                    print(
                        f"{name} {kernel['family']}: {said['status']} {said['seconds']} s {why}", flush=True
                    )
                if found[name]["status"] == "proven":
                    break
    finally:
        await prover.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
