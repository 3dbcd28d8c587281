"""Several verifiers at once, as one."""

import asyncio
import time

from agents.protocols import Verdict, Verifier
from insights_db.records import Candidate
from semantics.task import Task, Workload


class Together:
    """Implements `agents.protocols.Verifier`: all attack at the same time, and the first in the given order
    that has a counterexample decides, so that the answer does not depend on who is quicker."""

    def __init__(self, *verifiers: Verifier) -> None:
        self._verifiers = verifiers
        self.name = " and ".join(v.name for v in verifiers)

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """The verdict of the first that refutes, else one with everybody's effort. Cancelling, or a
        counterexample, ends the others. Raises what the first of them raised, if none refutes."""
        started = time.monotonic()
        running = [asyncio.ensure_future(v.attack(candidate, task, workload)) for v in self._verifiers]
        trouble: Exception | None = None
        efforts = []
        try:
            for work in running:
                try:
                    verdict = await work
                except Exception as error:
                    trouble = trouble or error
                    continue
                efforts.append(f"{verdict.verifier}: {verdict.effort}")
                if verdict.counterexample is not None:
                    return Verdict(self.name, verdict.counterexample, time.monotonic() - started, efforts[-1])
        finally:
            for work in running:
                work.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if trouble is not None:
            raise trouble
        return Verdict(self.name, None, time.monotonic() - started, "; ".join(efforts))
