"""The scoreboard: what each agent of a session has proposed, broken and proven."""

from collections import Counter
from collections.abc import Mapping

from insights_db.records import Proof, ProofStatus
from kshell.events import (
    CandidatePromoted,
    CandidateProposed,
    CounterexampleFound,
    Event,
    ProofFinished,
    RewardAssigned,
    VerificationFinished,
)

ORDER = ("proposed", "correct", "broken", "promoted", "attacks", "breaks", "tries", "proofs")
"""What points are for. A generator has the first four, a verifier the next two, a prover the last two."""


_ONE = {"attacks": "attack", "breaks": "break", "tries": "try", "proofs": "proof"}


class Scoreboard:
    """Points by agent, folded from events."""

    def __init__(self) -> None:
        self._points: dict[str, Counter[str]] = {}
        self._proposers: dict[str, str] = {}
        self._correct: set[str] = set()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scoreboard) and self.points() == other.points()

    def apply(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case CandidateProposed(candidate=candidate):
                self._proposers[candidate.id] = candidate.proposer
                self._add(candidate.proposer, "proposed")
            case RewardAssigned(reward=reward):
                if reward.value > 0 and reward.candidate not in self._correct:
                    self._correct.add(reward.candidate)
                    self._add(self._proposers.get(reward.candidate, ""), "correct")
            case CounterexampleFound():
                self._add(event.verifier, "breaks")
                self._add(self._proposers.get(event.candidate, ""), "broken")
            case VerificationFinished():
                self._add(event.verifier, "attacks")
            case ProofFinished(proof=proof):
                self._proof(proof)
            case CandidatePromoted():
                self._add(self._proposers.get(event.candidate, ""), "promoted")
            case _:
                pass

    def _proof(self, proof: Proof) -> None:
        if proof.key and proof.status is not ProofStatus.REFUSED:
            self._add(proof.prover, "tries")
            if proof.status is ProofStatus.PROVEN:
                self._add(proof.prover, "proofs")

    def _add(self, agent: str, what: str) -> None:
        if agent:
            self._points.setdefault(agent, Counter())[what] += 1

    def points(self) -> dict[str, dict[str, int]]:
        """Points of each agent, in the order of `ORDER`, none that are zero."""
        return {agent: {k: n[k] for k in ORDER if n[k]} for agent, n in sorted(self._points.items())}


def line(agent: str, points: Mapping[str, int]) -> str:
    """The points of an agent for a person."""
    said = [f"{points[k]} {_ONE.get(k, k) if points[k] == 1 else k}" for k in ORDER if points.get(k)]
    if points.get("attacks") and not points.get("breaks"):
        said.append("0 breaks")
    if points.get("tries") and not points.get("proofs"):
        said.append("0 proofs")
    return f"{agent}: {', '.join(said) or 'nothing yet'}"
