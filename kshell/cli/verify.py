"""`kshell verify KERNEL.cu --task T`: prove a kernel equivalent to its task."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from insights_db.records import Obligation, Proof

HELP = (
    "Prove a kernel equivalent to its task at given sizes, for every input and every interleaving of its "
    "threads. Obligations are shown as they close. Exit code 0: proven, and with --certificate written to a "
    "file; 1: not proven, with the first obligation that stayed open; 3: outside the supported language."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL.cu", help="kernels and one launcher")
    parser.add_argument("--task", required=True, metavar="T", help="a task name or a manifest file")
    parser.add_argument(
        "--size", action="append", default=[], metavar="AXIS=N", help="size of an axis (default: the task's)"
    )
    parser.add_argument(
        "--certificate", metavar="FILE", help="where to write the certificate of a closed proof"
    )
    parser.add_argument("--lean-file", metavar="FILE", help="where to write the Lean file, proven or not")
    parser.add_argument("--quiet", action="store_true", help="do not show obligations")


def run(args: argparse.Namespace) -> int:
    import asyncio

    from insights_db.records import Candidate, ProofStatus
    from kshell import wiring
    from kshell.prover import LeanProver
    from kshell.prover.keys import sha256

    task = wiring.task(args.task)
    workload = wiring.workload(task, args.size, 0)
    source = _read(args.kernel)
    candidate = Candidate(
        id=sha256(source)[:12], source=source, task=task.name, round=0, index=0, proposer="person"
    )
    prover = LeanProver()
    began = time.monotonic()

    def closed(obligation: "Obligation", total: int) -> None:
        if not args.quiet and not args.json:
            print(_line(obligation, total, Path(args.kernel).name), file=sys.stderr, flush=True)

    async def prove() -> "Proof":
        try:
            return await prover.prove(candidate, task, workload, closed)
        finally:
            await prover.close()

    proof = asyncio.run(prove())
    proven = proof.status is ProofStatus.PROVEN
    if args.lean_file and proof.file:
        _write(args.lean_file, Path(proof.file).read_text(encoding="utf-8"))
    if args.certificate and proven:
        certificate = prover.certificate(candidate, task, workload, proof)
        _write(args.certificate, certificate.model_dump_json(indent=2) + "\n")
    if args.json:
        print(json.dumps({"proven": proven, **proof.model_dump(mode="json")}))
    elif proven:
        sizes = " ".join(f"{name}={value}" for name, value in workload.axes.items())
        shared = " with buffers apart and in place" if "ClaimInEveryLayout" in proof.statement else ""
        print(
            f"proven: {task.name} {sizes}{shared}, {len(proof.obligations)} theorems in "
            f"{time.monotonic() - began:.0f} s "
            f"by {prover.checker}"
        )
    else:
        print(f"{proof.status.value}: {proof.reason}")
    if proof.status is ProofStatus.REFUSED:
        return 3
    return 0 if proven else 1


def _line(obligation: "Obligation", total: int, name: str) -> str:
    from insights_db.records import ProofStatus

    mark = "closed" if obligation.status is ProofStatus.PROVEN else "OPEN  "
    at = f"{name}:{obligation.line}: " if obligation.line else ""
    why = "" if obligation.status is ProofStatus.PROVEN else f" ({obligation.message.splitlines()[0]})"
    return f"[{mark}] {at}{obligation.title}{why}  [{obligation.name} of {total}, {obligation.seconds:.1f} s]"


def _read(path: str) -> str:
    from kshell.errors import UserError

    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def _write(path: str, text: str) -> None:
    from kshell.errors import UserError

    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
