"""What can go wrong when a launch runs, as values: one kind a name, one record an occurrence."""

from dataclasses import dataclass
from enum import StrEnum

from semantics.span import Span

Thread = tuple[int, int, int]


class FaultKind(StrEnum):
    """Names of faults, as people and `core.Check.reason` spell them."""

    RACE = "RACE"
    DIVERGENT_BARRIER = "DIVERGENT BARRIER"
    BAD_MASK = "BAD MASK"
    OUT_OF_BOUNDS = "OUT OF BOUNDS"
    UNINITIALISED_READ = "UNINITIALISED READ"
    INT_OVERFLOW = "INT OVERFLOW"
    MISALIGNED = "MISALIGNED"
    ALIAS = "ALIAS"
    UNDEFINED = "UNDEFINED"
    GEOMETRY = "GEOMETRY"
    NON_TERMINATION = "NON-TERMINATION"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one launch.

    The tuples run in parallel, one entry a participant: a race has two (the access that came first
    in the interpreter's order, then the other), a divergent barrier has a thread that waits and one
    that is missing, everything else has one. `what` says what each participant did (`write`,
    `read`, `waits`, ...). `values` are the values written or read, None where there is none.
    `index` is the element of `array`."""

    kind: FaultKind
    message: str
    kernel: str = ""
    threads: tuple[Thread, ...] = ()
    blocks: tuple[Thread, ...] = ()
    spans: tuple[Span, ...] = ()
    what: tuple[str, ...] = ()
    values: tuple[float | None, ...] = ()
    array: str = ""
    index: int | None = None

    def __str__(self) -> str:
        where = f"line {self.spans[0].line}: " if self.spans and self.spans[0].line else ""
        return f"{self.kind}: {where}{self.message}"
