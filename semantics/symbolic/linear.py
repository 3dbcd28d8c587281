"""Symbolic integers: linear forms over thread coordinates, loop counters, div/mod/min/max atoms and tests."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semantics.symbolic.terms import Condition

Atom = "str | Quotient | Choice | Indicator"


@dataclass(frozen=True, slots=True)
class Quotient:
    """`a / c` or `a % c` for a literal c > 0, rounding down."""

    remainder: bool
    a: "Linear"
    c: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The smaller (or larger) of two forms."""

    larger: bool
    a: "Linear"
    b: "Linear"


@dataclass(frozen=True, slots=True)
class Indicator:
    """1 where the condition holds, 0 elsewhere."""

    cond: "Condition"


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + sum of coefficient * atom`; atoms are sorted, coefficients are not zero."""

    constant: int = 0
    terms: tuple[tuple["str | Quotient | Choice | Indicator", int], ...] = field(default=())

    def __add__(self, other: "Linear") -> "Linear":
        sums = dict(self.terms)
        for atom, n in other.terms:
            sums[atom] = sums.get(atom, 0) + n
        return _make(self.constant + other.constant, sums)

    def __sub__(self, other: "Linear") -> "Linear":
        return self + other.scale(-1)

    def scale(self, n: int) -> "Linear":
        return _make(self.constant * n, {atom: c * n for atom, c in self.terms})

    def plus(self, n: int) -> "Linear":
        return Linear(self.constant + n, self.terms)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def coefficient(self, name: str) -> int:
        """Of a plain atom, 0 when absent."""
        return dict(self.terms).get(name, 0)

    def names(self) -> set[str]:
        """Every plain atom it mentions, also inside others."""
        found: set[str] = set()
        for atom, _ in self.terms:
            if isinstance(atom, str):
                found.add(atom)
            elif isinstance(atom, Quotient):
                found |= atom.a.names()
            elif isinstance(atom, Indicator):
                found |= _conditions().condition_names(atom.cond)
            else:
                found |= atom.a.names() | atom.b.names()
        return found

    def substitute(self, values: dict[str, "Linear"]) -> "Linear":
        """Replace plain atoms, everywhere."""
        result = Linear(self.constant)
        for atom, n in self.terms:
            if isinstance(atom, str):
                part = values.get(atom, variable(atom))
            elif isinstance(atom, Quotient):
                part = quotient(atom.a.substitute(values), atom.c, atom.remainder)
            elif isinstance(atom, Indicator):
                part = indicator(_conditions().substitute_condition(atom.cond, values))
            else:
                part = choice(atom.a.substitute(values), atom.b.substitute(values), atom.larger)
            result = result + part.scale(n)
        return result


def _conditions() -> ModuleType:
    """Conditions are made of integers, and tests of conditions."""
    from semantics.symbolic import terms

    return terms


def _make(constant: int, sums: "dict[str | Quotient | Choice | Indicator, int]") -> Linear:
    kept = [(atom, n) for atom, n in sums.items() if n]
    return Linear(constant, tuple(sorted(kept, key=lambda one: repr(one[0]))))


def literal(n: int) -> Linear:
    return Linear(n)


def variable(name: str) -> Linear:
    return Linear(0, ((name, 1),))


def quotient(a: Linear, c: int, remainder: bool) -> Linear:
    """`a / c` or `a % c`, rounding down; c > 0."""
    if a.is_constant:
        return literal(a.constant % c if remainder else a.constant // c)
    if c == 1:
        return literal(0) if remainder else a
    inner = _quotient_of(a)
    if inner is not None and not remainder:
        return quotient(inner.a, inner.c * c, False)
    return Linear(0, ((Quotient(remainder, a, c), 1),))


def choice(a: Linear, b: Linear, larger: bool) -> Linear:
    """The smaller or larger of two."""
    if (a - b).is_constant:
        return a if ((a - b).constant >= 0) == larger else b
    return Linear(0, ((Choice(larger, a, b), 1),))


def indicator(cond: "Condition") -> Linear:
    """1 where the condition holds, else 0."""
    return Linear(0, ((Indicator(cond), 1),))


def _quotient_of(a: Linear) -> Quotient | None:
    """`x / c` when the form is just that."""
    match a:
        case Linear(0, ((Quotient(False) as only, 1),)):
            return only
        case _:
            return None


def recombined(x: Linear) -> Linear:
    """The same value with digits put together again: `(y / c) * (s * c) + (y % c) * s` is `y * s`."""
    terms = dict(x.terms)
    for atom, n in x.terms:
        if not isinstance(atom, Quotient) or not atom.remainder:
            continue
        upper = quotient(atom.a, atom.c, False)
        found = [(other, m) for other, m in upper.terms if m == 1 and terms.get(other) == n * atom.c]
        if len(upper.terms) == 1 and upper.constant == 0 and found:
            rest = x - Linear(0, ((atom, n),)) - Linear(0, ((found[0][0], n * atom.c),))
            return recombined(rest + atom.a.scale(n))
    return x
