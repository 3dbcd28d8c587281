"""Several verifiers at once: the first in order decides, nobody is left running."""

import asyncio

import pytest

from agents.protocols import Verdict
from insights_db.records import Candidate, Counterexample
from kshell import tasks
from kshell.harness.together import Together
from semantics.task import Task, Workload
from tests.kshell.harness.samples import RELU, candidate

TASK = tasks.get("relu")


class Scripted:
    """Answers when told to: a fault, no fault (the empty string) or an error."""

    def __init__(self, name: str, answer: str | Exception | None, turns: int = 0) -> None:
        self.name, self.answer, self.turns, self.ended = name, answer, turns, ""

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        try:
            for _ in range(self.turns):
                await asyncio.sleep(0)
            if self.answer is None:
                await asyncio.Event().wait()
            if isinstance(self.answer, Exception):
                raise self.answer
            found = Counterexample(fault=self.answer, message="m") if self.answer else None
            self.ended = "answered"
            return Verdict(self.name, found, 0.0, "tried")
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise


async def attack(*verifiers: Scripted) -> Verdict:
    return await Together(*verifiers).attack(candidate(RELU, "relu"), TASK, TASK.workload())


async def test_nobody_refutes_and_the_efforts_are_listed() -> None:
    verdict = await attack(Scripted("a", "", 3), Scripted("b", ""))
    assert verdict.counterexample is None
    assert (verdict.verifier, verdict.effort) == ("a and b", "a: tried; b: tried")


async def test_the_first_in_order_decides_however_late_it_is() -> None:
    verdict = await attack(Scripted("a", "RACE", 9), Scripted("b", "OUT OF BOUNDS"))
    assert verdict.counterexample is not None
    assert verdict.counterexample.fault == "RACE"


async def test_a_counterexample_ends_the_others() -> None:
    endless = Scripted("b", None)
    assert (await attack(Scripted("a", "RACE", 2), endless)).counterexample is not None
    assert endless.ended == "cancelled"


async def test_one_that_fails_does_not_silence_the_others() -> None:
    verdict = await attack(Scripted("a", ValueError("broken")), Scripted("b", "RACE"))
    assert verdict.counterexample is not None
    with pytest.raises(ValueError, match="broken"):
        await attack(Scripted("a", ValueError("broken")), Scripted("b", ""))


async def test_cancelling_ends_everybody() -> None:
    both = Scripted("a", None), Scripted("b", None)
    work = asyncio.create_task(attack(*both))
    for _ in range(3):
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert [v.ended for v in both] == ["cancelled", "cancelled"]
