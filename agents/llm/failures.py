"""What can go wrong with a model call, and which of it is worth another try."""

import random
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kinds of failure."""

    KEY = "key"
    REFUSED = "refused"
    RATE = "rate"
    SERVER = "server"
    CONNECTION = "connection"
    STALLED = "stalled"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"


class LLMFailure(Exception):
    """A call failed for good; the message is one line that says what to do."""

    def __init__(self, kind: Kind, message: str, attempts: int = 1) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = attempts


@dataclass(frozen=True, slots=True)
class Rule:
    """How often a kind is tried again, and the first pause in seconds (doubled each time)."""

    retries: int
    pause_s: float


RULES: dict[Kind, Rule] = {
    Kind.KEY: Rule(0, 0.0),
    Kind.REFUSED: Rule(0, 0.0),
    Kind.RATE: Rule(5, 2.0),
    Kind.SERVER: Rule(3, 1.0),
    Kind.CONNECTION: Rule(3, 1.0),
    Kind.STALLED: Rule(1, 0.5),
    Kind.TRUNCATED: Rule(2, 0.5),
    Kind.MALFORMED: Rule(2, 0.5),
}

_ADVICE = {
    Kind.KEY: "check the provider's key in the environment (kshell doctor)",
    Kind.REFUSED: "the provider does not accept the request; check the model's name",
    Kind.RATE: "the provider limits the rate; try later or with a smaller --group",
    Kind.SERVER: "the provider has a fault; try later",
    Kind.CONNECTION: "the provider cannot be reached; check the network and the base URL",
    Kind.STALLED: "the provider stopped answering",
    Kind.TRUNCATED: "the provider's answer ended too early",
    Kind.MALFORMED: "the provider's answer could not be read",
}


def advice(kind: Kind) -> str:
    """What a person can do."""
    return _ADVICE[kind]


def kind_of(error: BaseException) -> Kind:
    """The kind of an exception of litellm or below it, by HTTP status, then by name."""
    name = type(error).__name__
    status = getattr(error, "status_code", None)
    if "api_key" in str(error):  # a missing key never reaches the provider
        return Kind.KEY
    if name == "APIConnectionError" or isinstance(error, ConnectionError):
        return Kind.CONNECTION
    if status in (401, 403):
        return Kind.KEY
    if status == 429:
        return Kind.RATE
    if name in ("Timeout", "APITimeoutError", "TimeoutError") or status == 408:
        return Kind.STALLED
    if isinstance(status, int) and 400 <= status < 500:
        return Kind.REFUSED
    if isinstance(status, int) and status >= 500:
        return Kind.SERVER
    return Kind.MALFORMED


def pause(kind: Kind, attempt: int, rng: random.Random) -> float:
    """Seconds before another try: doubled each time, with jitter of half."""
    return float(RULES[kind].pause_s * 2 ** (attempt - 1) * rng.uniform(0.5, 1.5))
