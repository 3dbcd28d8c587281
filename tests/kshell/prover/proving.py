"""One prover for all tests of a process: its checker loads the proof package once. Test processes check
at the same time, and beside the command line."""

import asyncio
import functools
import os

from insights_db.records import Candidate, Obligation, Proof
from kshell import tasks
from kshell.prover import LeanProver
from kshell.prover.keys import sha256
from semantics.task import Task, Workload


@functools.cache
def shared() -> tuple[asyncio.Runner, LeanProver]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return asyncio.Runner(), LeanProver(slot=1 + int(worker))


def close() -> None:
    if shared.cache_info().currsize:
        loop, prover = shared()
        loop.run(prover.close())
        loop.close()
        shared.cache_clear()


def candidate(source: str, task: str) -> Candidate:
    return Candidate(id=sha256(source)[:12], source=source, task=task, round=0, index=0, proposer="test")


def prove_at(source: str, task: Task, workload: Workload) -> tuple[Proof, list[Obligation]]:
    loop, prover = shared()
    seen: list[Obligation] = []
    proof = loop.run(
        prover.prove(candidate(source, task.name), task, workload, lambda one, _total: seen.append(one))
    )
    return proof, seen


def prove(source: str, name: str, **axes: int) -> tuple[Proof, list[Obligation], Task, Workload]:
    task = tasks.get(name)
    workload = task.workload(**axes)
    proof, seen = prove_at(source, task, workload)
    return proof, seen, task, workload
