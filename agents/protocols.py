"""What the engine asks of a generator and of a verifier, and what it gives them."""

from dataclasses import dataclass, field
from typing import Protocol

from insights_db.records import Candidate, Counterexample, Evaluation, Insight, Reward
from semantics.task import Task, Workload


@dataclass(frozen=True, slots=True)
class Scored:
    """A finished candidate as later rounds see it."""

    candidate: Candidate
    evaluation: Evaluation
    reward: Reward


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a generator hands in; the engine makes the Candidate of it."""

    source: str
    proposer: str
    parent: str | None = None
    family: str = ""
    schedule: dict[str, int | str | bool] = field(default_factory=dict)
    strategy: str = ""
    insights: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationContext:
    """Everything a generator may know. `seed` fixes its choices for this round: the same context gives
    the same proposals. `history` holds every finished candidate of the session, oldest first;
    `notes` are hints from the person, `banned` candidate ids not to build on."""

    task: Task
    workload: Workload
    device: str
    round: int
    group: int
    seed: int
    history: tuple[Scored, ...] = ()
    insights: tuple[Insight, ...] = ()
    notes: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    banned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spent:
    """What the paid calls of an agent have cost: dollars and tokens."""

    usd: float = 0.0
    tokens: int = 0


class Generator(Protocol):
    """Proposes `group` candidates a round."""

    name: str

    async def propose(self, context: GenerationContext) -> list[Proposal]:
        """At most `context.group` proposals, none of a source already in the history."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an attack found: None is no counterexample, which proves nothing."""

    verifier: str
    counterexample: Counterexample | None
    seconds: float
    effort: str = ""


class Verifier(Protocol):
    """Tries to break a candidate."""

    name: str

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """Search for a fault or a wrong value."""
        ...
