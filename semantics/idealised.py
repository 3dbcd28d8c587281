"""Where the exact numbers of the checks stand for something a device does differently."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from semantics import core
from semantics.beyond import IOfReal
from semantics.span import NOWHERE

ATOMIC = (
    "atomicAdd adds floats: the sum is exact here; on a device the order of the additions, and with it the "
    "last digits of the sum, changes from run to run"
)
CONVERSION = (
    "a float becomes an integer: the exact value is cut here; on a device rounding may put a value near an "
    "integer on its other side"
)


_INTEGERS = frozenset({"int", "unsigned int", "long long", "unsigned long long", "bool"})


@dataclass(frozen=True, slots=True)
class Idealisation:
    """One such place: the line in the source, and what is different."""

    line: int
    message: str


def idealisations(kernels: Iterable[core.Kernel]) -> tuple[Idealisation, ...]:
    """The places of some kernels, in the order of their lines, each once."""
    found: dict[Idealisation, None] = {}
    for kernel in kernels:
        for place in _places(kernel.body, kernel, 0):
            found.setdefault(place)
    return tuple(sorted(found, key=lambda i: (i.line, i.message)))


def _places(node: Any, kernel: core.Kernel, line: int) -> Iterator[Idealisation]:
    if isinstance(node, tuple):
        for part in node:
            yield from _places(part, kernel, line)
        return
    if not is_dataclass(node) or isinstance(node, type):
        return
    line = getattr(node, "span", NOWHERE).line or line
    if isinstance(node, core.AtomicAdd) and kernel.arrays[node.array].elem not in _INTEGERS:
        yield Idealisation(line, ATOMIC)
    if isinstance(node, IOfReal):
        yield Idealisation(line, CONVERSION)
    for f in fields(node):
        if f.name != "span":
            yield from _places(getattr(node, f.name), kernel, line)
