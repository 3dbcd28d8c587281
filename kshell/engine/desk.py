"""What every step of a session shares: the parts, the log, the clock, the pause gate."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from agents.llm.memory import Memory
from agents.protocols import Generator, Scored, Spent, Verifier
from insights_db.records import Candidate, Certificate, Insight
from insights_db.store import Store
from kshell import events as ev
from kshell.engine.budget import Metered, eta
from kshell.engine.clock import WorkClock
from kshell.engine.log import EventLog
from kshell.engine.settings import Settings
from kshell.engine.state import CandidateState, SessionState
from kshell.protocols import Evaluator, Prover
from semantics.task import Task, Workload


@runtime_checkable
class Closing(Protocol):
    """A prover or a device that keeps processes ready; the session ends them."""

    async def close(self) -> None:
        """End what it keeps."""
        ...


@runtime_checkable
class Absent(Protocol):
    """A prover that proves nothing; `missing` says why, in one line."""

    @property
    def missing(self) -> str: ...


@runtime_checkable
class Complaining(Protocol):
    """A generator that says why places of a round stayed empty; the session takes the lines away."""

    problems: list[str]


@runtime_checkable
class Remembering(Protocol):
    """An agent that keeps paid answers before it uses them."""

    def remember(self, memory: Memory, /) -> None:
        """Keep them there."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A verifier that tries what broke other candidates; `idle` while it knows nothing."""

    @property
    def idle(self) -> bool: ...

    def learn(self, cases: Iterable[tuple[dict[str, int], str]], /) -> None:
        """Take in sizes and inputs."""
        ...


class Teacher(Protocol):
    """Says the insights of a round again, for those who come later. The numbers stay as measured."""

    async def teach(self, number: int, measured: list[Insight], task: Task, device: str) -> list[Insight]: ...


class Distill(Protocol):
    """Makes an insight of a change: the parent as it was measured (None for a first attempt) and the
    child. None when the change teaches nothing."""

    def __call__(
        self, before: Scored | None, after: Scored, task: Task, device: str, /
    ) -> Insight | None: ...


class Export(Protocol):
    """Writes a promoted candidate to a folder and returns that folder."""

    def __call__(
        self, candidate: Candidate, certificate: Certificate, task: Task, workload: Workload, folder: Path
    ) -> Path: ...


class Unfit(Protocol):
    """Says in one line why no kernel of a task could be judged; None when it can be. May be slow."""

    def __call__(self, task: Task, workload: Workload, /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """The agents and devices of a session. `meter` counts what all model calls cost; without one each
    agent is asked for its own. `unfit` is asked before the first candidate is made."""

    generator: Generator
    evaluator: Evaluator
    verifiers: tuple[Verifier, ...]
    prover: Prover
    distill: Distill
    export: Export
    teacher: Teacher | None = None
    meter: Metered | None = None
    unfit: Unfit | None = None


@dataclass(slots=True)
class Desk:
    """One session at work. `publish` takes each event after it is stored."""

    store: Store
    task: Task
    workload: Workload
    settings: Settings
    parts: Parts
    exports: Path
    log: EventLog
    clock: WorkClock
    publish: Callable[[ev.Event], None]
    open_gate: asyncio.Event = field(default_factory=asyncio.Event)
    charged: Spent = field(default_factory=Spent)

    @property
    def state(self) -> SessionState:
        """The session so far."""
        return self.log.state

    @property
    def no_prover(self) -> str:
        """Why nothing can be proven on this machine; empty when proofs can be tried."""
        return self.parts.prover.missing if isinstance(self.parts.prover, Absent) else ""

    def emit(self, *events: ev.Event) -> None:
        """Store events, all or none, then publish them."""
        for event in self.log.append(*events):
            self.publish(event)

    async def gate(self) -> None:
        """Wait here while the session is paused."""
        await self.open_gate.wait()

    def spend(self, *, candidates: int = 0, rounds: int = 0, proofs: int = 0) -> ev.BudgetChanged:
        """The event that says what is spent now."""
        paid = self._paid()
        old = self.state.budget
        budget = old.model_copy(
            update={
                "candidates_done": old.candidates_done + candidates,
                "rounds_done": old.rounds_done + rounds,
                "proof_tries": old.proof_tries + proofs,
                "usd": old.usd + paid.usd - self.charged.usd,
                "tokens": old.tokens + paid.tokens - self.charged.tokens,
                "seconds": round(self.clock.seconds(), 3),
            }
        )
        self.charged = paid
        return ev.BudgetChanged(budget=budget, eta_seconds=eta(budget))

    def budget_now(self) -> ev.Budget:
        """The budget with the seconds and the money of this moment."""
        return self.spend_nothing().budget

    def spend_nothing(self) -> ev.BudgetChanged:
        """The budget of this moment, as an event that is not emitted."""
        charged = self.charged
        event = self.spend()
        self.charged = charged
        return event

    def trouble(self, where: str, error: BaseException | str, candidate: str | None = None) -> ev.Problem:
        """An event for something that went wrong and does not end the session."""
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        return ev.Problem(where=where, message=" ".join(text.split())[:500], candidate=candidate)

    def known(self, candidate: str) -> CandidateState:
        """The state of a candidate."""
        return self.state.candidates[candidate]

    def _paid(self) -> Spent:
        if self.parts.meter is not None:
            return self.parts.meter.spent()
        metered = [
            p for p in (self.parts.generator, self.parts.prover, *self.parts.verifiers) if _is_metered(p)
        ]
        sums = [part.spent() for part in metered if isinstance(part, Metered)]
        return Spent(sum(s.usd for s in sums), sum(s.tokens for s in sums))


def _is_metered(part: object) -> bool:
    return isinstance(part, Metered)


async def together(jobs: Iterable[Callable[[], Awaitable[None]]], limit: int) -> None:
    """Do all, at most `limit` at a time. The first error cancels the rest and is raised."""
    turns = asyncio.Semaphore(limit)

    async def turn(job: Callable[[], Awaitable[None]]) -> None:
        async with turns:
            await job()

    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(turn(job))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
