"""A candidate as the panes show it: a view of the engine's state of it."""

from dataclasses import dataclass, field

from insights_db.records import (
    Candidate,
    Certificate,
    CompileResult,
    Counterexample,
    Obligation,
    ProfileResult,
    Proof,
    ProofStatus,
    Reward,
    Stage,
    ValidationResult,
)
from kshell.engine.state import CandidateState, SessionState


@dataclass(slots=True)
class Row:
    """One candidate of the session, as the panes show it. `attacks` says in words what each verifier
    did; `checker` is who proves it, since `proof_started` seconds of work."""

    known: CandidateState
    state: SessionState
    attacks: dict[str, str] = field(default_factory=dict)
    checker: str = ""
    proof_started: float = 0.0

    @property
    def id(self) -> str:
        """The candidate's id: 12 hex digits of its source's hash."""
        return self.known.candidate.id

    @property
    def candidate(self) -> Candidate:
        """Source, parent, strategy."""
        return self.known.candidate

    @property
    def label(self) -> str:
        """Round and index, the short name a person uses: `2.1`."""
        return f"{self.known.candidate.round}.{self.known.candidate.index}"

    @property
    def compile(self) -> CompileResult | None:
        """How it compiled."""
        return self.known.compile

    @property
    def validation(self) -> ValidationResult | None:
        """How it compared with the reference."""
        return self.known.validation

    @property
    def profile(self) -> ProfileResult | None:
        """How it was timed."""
        return self.known.profile

    @property
    def reward(self) -> Reward | None:
        """Its reward, or None before it is assigned."""
        return self.known.reward

    @property
    def failed(self) -> bool:
        """Whether it failed to compile, to be right, or to be timed."""
        results = (self.known.compile, self.known.validation, self.known.profile)
        return any(result is not None and not result.ok for result in results)

    @property
    def stage(self) -> Stage:
        """The stage it is in; one that failed stays at the stage where it did."""
        known = self.known
        if not self.failed:
            return known.stage
        if known.profile is not None and not known.profile.ok:
            return Stage.PROFILE
        return Stage.VALIDATE if known.validation is not None else Stage.COMPILE

    @property
    def value(self) -> float | None:
        """The reward's value, or None before it is assigned."""
        return self.known.reward.value if self.known.reward else None

    @property
    def median_ms(self) -> float | None:
        """Measured latency in milliseconds, or None."""
        return self.known.median_ms

    @property
    def proof(self) -> ProofStatus:
        """Where its proof stands."""
        return self.known.proof_status

    @property
    def proof_record(self) -> Proof | None:
        """The last proof that ended, unless another one is tried now."""
        return None if self.known.proving else self.known.proof

    @property
    def obligations(self) -> dict[str, Obligation]:
        """Obligations that were decided, by name."""
        return self.known.obligations

    @property
    def obligations_total(self) -> int:
        """How many obligations the proof has; 0 before that is known."""
        return self.known.obligations_total

    @property
    def obligations_closed(self) -> int:
        """How many obligations are proven."""
        return sum(o.status is ProofStatus.PROVEN for o in self.known.obligations.values())

    @property
    def counterexample(self) -> Counterexample | None:
        """The first counterexample, or None."""
        return self.known.counterexamples[0] if self.known.counterexamples else None

    @property
    def certificate(self) -> Certificate | None:
        """The certificate, once it is promoted."""
        return self.known.certificate

    @property
    def export(self) -> str:
        """The folder it is exported to, or the empty string."""
        return self.known.export

    @property
    def promoted(self) -> bool:
        """A certificate exists."""
        return self.known.promoted

    @property
    def pinned(self) -> bool:
        """The person keeps it as a parent."""
        return self.id in self.state.pinned

    @property
    def banned(self) -> bool:
        """The person forbids to build on it."""
        return self.id in self.state.banned
