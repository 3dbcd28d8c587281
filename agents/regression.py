"""Regression cases: sizes and inputs that broke earlier candidates of a task, tried on every later one."""

import asyncio
import threading
import time
from collections.abc import Iterable

from agents.falsifier import Attack, Finding, Oracle
from agents.protocols import Verdict
from agents.recipes import BadRecipe
from insights_db.records import Candidate
from semantics.span import Refusal
from semantics.task import Task, Workload

Case = tuple[dict[str, int], str]
"""Sizes, and inputs as `agents.recipes` reads them."""


class Regression:
    """Implements `agents.protocols.Verifier`; `learn` adds cases. At most about `seconds` an attack."""

    name = "regression"

    def __init__(self, oracle: Oracle | None, *, seconds: float = 4.0, most: int = 24) -> None:
        self._oracle = oracle
        self._seconds = seconds
        self._most = most
        self._cases: list[Case] = []

    @property
    def idle(self) -> bool:
        """Whether there is nothing to try."""
        return not self._cases

    def learn(self, cases: Iterable[Case]) -> None:
        """Take in cases, newest first; those known already are left out."""
        for axes, inputs in cases:
            if (axes, inputs) not in self._cases:
                self._cases.append((dict(axes), inputs))

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """Try every case that fits the task's axes."""
        started = time.monotonic()
        stop = threading.Event()
        cases = [c for c in self._cases if set(c[0]) == set(workload.axes)][-self._most :]
        try:
            found, tried = await asyncio.to_thread(self._try, candidate.source, task, workload, cases, stop)
        finally:
            stop.set()
        counterexample = found.counterexample if found is not None else None
        effort = f"{tried} of {len(cases)} known cases"
        return Verdict(self.name, counterexample, time.monotonic() - started, effort)

    def _try(
        self, source: str, task: Task, workload: Workload, cases: list[Case], stop: threading.Event
    ) -> tuple[Finding | None, int]:
        from semantics.program import load

        try:
            attack = Attack(load(source), source, task, workload, self._oracle, stop=stop)
        except Refusal:
            return None, 0
        ends = time.monotonic() + self._seconds
        for number, (axes, inputs) in enumerate(cases):
            left = ends - time.monotonic()
            if stop.is_set() or left <= 0:
                return None, number
            try:
                found = attack.trial(Workload(axes=axes, seed=workload.seed), inputs, left)
            except BadRecipe:  # found by a verifier whose inputs cannot be made again here
                continue
            if found is not None:
                return found, number + 1
        return None, len(cases)
