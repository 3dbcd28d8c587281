"""The one place where caps are checked, and the one that says what is spent."""

from typing import Protocol, runtime_checkable

from agents.protocols import Spent
from kshell.events import Budget


@runtime_checkable
class Metered(Protocol):
    """A generator, verifier or prover whose calls cost something."""

    def spent(self) -> Spent:
        """The sum since it was made."""
        ...


@runtime_checkable
class Prepaid(Metered, Protocol):
    """A meter that takes over what was paid before the process was cut, and is in no event yet."""

    def carry(self, paid: Spent) -> None:
        """Count this as spent too; no cap holds it back, since it is spent."""
        ...


def exhausted(budget: Budget) -> str | None:
    """Why no more candidates may be made, as one line; None while they may."""
    if budget.max_usd is not None and budget.usd >= budget.max_usd:
        return f"the cap of {budget.max_usd:g} dollars is reached (--max-usd)"
    if budget.max_tokens is not None and budget.tokens >= budget.max_tokens:
        return f"the cap of {budget.max_tokens} tokens is reached (--max-tokens)"
    return out_of_time(budget)


def out_of_time(budget: Budget) -> str | None:
    """Whether the cap on seconds is reached, as one line."""
    if budget.max_seconds is not None and budget.seconds >= budget.max_seconds:
        return f"the cap of {budget.max_seconds:g} seconds is reached (--max-seconds)"
    return None


def no_more_proofs(budget: Budget) -> str | None:
    """Why no more proofs may be tried, as one line."""
    if budget.max_proof_tries is not None and budget.proof_tries >= budget.max_proof_tries:
        return f"the cap of {budget.max_proof_tries} proof tries is reached (--max-proof-tries)"
    return out_of_time(budget)


def eta(budget: Budget) -> float | None:
    """Seconds until the rounds are done at the pace so far; None before there is a pace."""
    total = budget.rounds * budget.group
    if not budget.candidates_done or not budget.seconds:
        return None
    left = max(0, total - budget.candidates_done) if budget.rounds_done < budget.rounds else 0
    seconds = left * budget.seconds / budget.candidates_done
    if budget.max_seconds is not None:
        seconds = min(seconds, max(0.0, budget.max_seconds - budget.seconds))
    return seconds
