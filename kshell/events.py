"""The event stream of a session: the log IS the session.

The TUI, the text and JSON modes, replay and resume all read this one stream."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from insights_db.records import (
    Candidate,
    Certificate,
    CompileResult,
    Counterexample,
    Insight,
    Obligation,
    ProfileResult,
    Proof,
    Reward,
    ValidationResult,
)


class _Event(BaseModel):
    """`seq` numbers the events of a session from 1; `at` is UTC; `elapsed` counts seconds of work."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    seq: int = 0
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    elapsed: float = 0.0


class Budget(BaseModel):
    """Caps and what is spent. None is no cap. Seconds count work, not pauses."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    rounds: int
    group: int
    rounds_done: int = 0
    candidates_done: int = 0
    usd: float = 0.0
    max_usd: float | None = None
    tokens: int = 0
    max_tokens: int | None = None
    seconds: float = 0.0
    max_seconds: float | None = None
    proof_tries: int = 0
    max_proof_tries: int | None = None


class SessionStarted(_Event):
    kind: Literal["session_started"] = "session_started"
    session: str
    task: str
    axes: dict[str, int]
    device: str
    generator: str
    seed: int
    budget: Budget
    version: str
    machine: str = ""


class SessionResumed(_Event):
    kind: Literal["session_resumed"] = "session_resumed"
    session: str


class RoundStarted(_Event):
    kind: Literal["round_started"] = "round_started"
    round: int


class CandidateProposed(_Event):
    kind: Literal["candidate_proposed"] = "candidate_proposed"
    candidate: Candidate


class CompileFinished(_Event):
    kind: Literal["compile_finished"] = "compile_finished"
    candidate: str
    result: CompileResult


class ValidationFinished(_Event):
    kind: Literal["validation_finished"] = "validation_finished"
    candidate: str
    result: ValidationResult


class ProfileFinished(_Event):
    kind: Literal["profile_finished"] = "profile_finished"
    candidate: str
    result: ProfileResult


class RewardAssigned(_Event):
    kind: Literal["reward_assigned"] = "reward_assigned"
    reward: Reward


class InsightDistilled(_Event):
    kind: Literal["insight_distilled"] = "insight_distilled"
    insight: Insight


class VerificationStarted(_Event):
    kind: Literal["verification_started"] = "verification_started"
    candidate: str
    verifier: str


class VerificationFinished(_Event):
    kind: Literal["verification_finished"] = "verification_finished"
    candidate: str
    verifier: str
    seconds: float
    effort: str = ""


class CounterexampleFound(_Event):
    kind: Literal["counterexample_found"] = "counterexample_found"
    candidate: str
    verifier: str
    counterexample: Counterexample


class ProofStarted(_Event):
    kind: Literal["proof_started"] = "proof_started"
    candidate: str
    checker: str


class ObligationClosed(_Event):
    """An obligation was decided; its status says how."""

    kind: Literal["obligation_closed"] = "obligation_closed"
    candidate: str
    obligation: Obligation
    total: int


class ProofFinished(_Event):
    """`kept`: the proof closed earlier, of the same kernel with the same checker, and was not run again."""

    kind: Literal["proof_finished"] = "proof_finished"
    candidate: str
    proof: Proof
    kept: bool = False


class CandidatePromoted(_Event):
    kind: Literal["candidate_promoted"] = "candidate_promoted"
    candidate: str
    certificate: Certificate
    export: str


class BudgetChanged(_Event):
    kind: Literal["budget_changed"] = "budget_changed"
    budget: Budget
    eta_seconds: float | None = None


class RoundFinished(_Event):
    kind: Literal["round_finished"] = "round_finished"
    round: int
    best: str | None
    best_ms: float | None
    best_reward: float


class PersonActed(_Event):
    """A command of the person that changes the session: pin, ban, note, pause, continue, stop, prove,
    refute."""

    kind: Literal["person_acted"] = "person_acted"
    action: Literal["pin", "unpin", "ban", "unban", "note", "pause", "continue", "stop", "prove", "refute"]
    target: str = ""


class Problem(_Event):
    """Something went wrong; the session goes on unless `fatal`."""

    kind: Literal["problem"] = "problem"
    where: str
    message: str
    candidate: str | None = None
    fatal: bool = False


class SessionFinished(_Event):
    """`outcome` is one line for a person; `promoted` lists candidate ids; `scores` has the points of each
    agent that has any, by what they are for."""

    kind: Literal["session_finished"] = "session_finished"
    session: str
    outcome: str
    best: str | None
    best_ms: float | None
    first_best_ms: float | None
    promoted: tuple[str, ...]
    scores: dict[str, dict[str, int]] = Field(default_factory=dict)
    interrupted: bool = False


Event = Annotated[
    SessionStarted
    | SessionResumed
    | RoundStarted
    | CandidateProposed
    | CompileFinished
    | ValidationFinished
    | ProfileFinished
    | RewardAssigned
    | InsightDistilled
    | VerificationStarted
    | VerificationFinished
    | CounterexampleFound
    | ProofStarted
    | ObligationClosed
    | ProofFinished
    | CandidatePromoted
    | BudgetChanged
    | RoundFinished
    | PersonActed
    | Problem
    | SessionFinished,
    Field(discriminator="kind"),
]

adapter: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))


def parse(line: str | bytes) -> Event:
    """One event from its JSON text. Raises pydantic.ValidationError."""
    return adapter.validate_json(line)
