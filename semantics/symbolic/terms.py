"""Symbolic scalars and conditions: the values real registers hold, in terms of the inputs."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from semantics.core import CmpOp, RealFn, RealOp
from semantics.symbolic.linear import Linear


@dataclass(frozen=True, slots=True)
class Number:
    """A rational."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class NegInf:
    """-infinity."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Element `index` of the initial contents of buffer number `buffer`."""

    buffer: int
    index: Linear


@dataclass(frozen=True, slots=True)
class Slot:
    """The same of an array that may hold -infinity there."""

    buffer: int
    index: Linear


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary operation."""

    op: RealOp
    a: "Term"
    b: "Term"


@dataclass(frozen=True, slots=True)
class Unary:
    """A function."""

    fn: RealFn
    a: "Term"


@dataclass(frozen=True, slots=True)
class OfInt:
    """The scalar of an integer."""

    a: Linear


@dataclass(frozen=True, slots=True)
class Chosen:
    """`a` where the condition holds, else `b`."""

    cond: "Condition"
    a: "Term"
    b: "Term"


@dataclass(frozen=True, slots=True)
class Total:
    """Sum of `body` for 0 <= counter < count."""

    counter: str
    count: Linear
    body: "Term"


@dataclass(frozen=True, slots=True)
class Largest:
    """Maximum of `body` for 0 <= counter < count; -infinity when count is 0."""

    counter: str
    count: Linear
    body: "Term"


@dataclass(frozen=True, slots=True)
class Named:
    """A closed value with a definition of its own, applied to the context."""

    name: str
    kind: str


Term = Number | NegInf | Cell | Slot | Binary | Unary | OfInt | Chosen | Total | Largest | Named


@dataclass(frozen=True, slots=True)
class Compare:
    """Comparison of integers."""

    op: CmpOp
    a: Linear
    b: Linear


@dataclass(frozen=True, slots=True)
class CompareReal:
    """Comparison of scalars."""

    op: CmpOp
    a: Term
    b: Term


@dataclass(frozen=True, slots=True)
class Both:
    a: "Condition"
    b: "Condition"


@dataclass(frozen=True, slots=True)
class Either:
    a: "Condition"
    b: "Condition"


@dataclass(frozen=True, slots=True)
class Negation:
    a: "Condition"


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool


Condition = Compare | CompareReal | Both | Either | Negation | Truth


def may_be_infinite(t: Term) -> bool:
    """Whether the value can be -infinity, so that it has no scalar."""
    match t:
        case NegInf() | Slot():
            return True
        case Largest(_, count, body):
            return not positive(count) or may_be_infinite(body)
        case Binary(RealOp.MAX, a, b):
            return may_be_infinite(a) and may_be_infinite(b)
        case _:
            return False


def positive(count: Linear) -> bool:
    """Whether a count is at least 1 as far as one sees: counters and coordinates are at least 0. A constant
    count is that of a loop that runs, or of an axis."""
    if count.is_constant:
        return True
    return count.constant >= 1 and all(isinstance(atom, str) and n > 0 for atom, n in count.terms)


def substitute(term: Term, values: dict[str, Linear]) -> Term:
    """Replace integer atoms in a term."""
    match term:
        case Number() | NegInf() | Named():
            return term
        case Cell(buffer, index):
            return Cell(buffer, index.substitute(values))
        case Slot(buffer, index):
            return Slot(buffer, index.substitute(values))
        case Binary(op, a, b):
            return Binary(op, substitute(a, values), substitute(b, values))
        case Unary(fn, a):
            return Unary(fn, substitute(a, values))
        case OfInt(a):
            return OfInt(a.substitute(values))
        case Chosen(cond, a, b):
            return Chosen(substitute_condition(cond, values), substitute(a, values), substitute(b, values))
        case Total(counter, count, body):
            return Total(counter, count.substitute(values), substitute(body, _free(values, counter)))
        case Largest(counter, count, body):
            return Largest(counter, count.substitute(values), substitute(body, _free(values, counter)))


def _free(values: dict[str, Linear], counter: str) -> dict[str, Linear]:
    """A fold hides its own counter."""
    return {name: value for name, value in values.items() if name != counter}


def substitute_condition(cond: Condition, values: dict[str, Linear]) -> Condition:
    """Replace integer atoms in a condition."""
    match cond:
        case Compare(op, a, b):
            return Compare(op, a.substitute(values), b.substitute(values))
        case CompareReal(op, a, b):
            return CompareReal(op, substitute(a, values), substitute(b, values))
        case Both(a, b):
            return Both(substitute_condition(a, values), substitute_condition(b, values))
        case Either(a, b):
            return Either(substitute_condition(a, values), substitute_condition(b, values))
        case Negation(a):
            return Negation(substitute_condition(a, values))
        case Truth():
            return cond


def names(term: Term) -> set[str]:
    """Integer atoms a term mentions freely."""
    match term:
        case Number() | NegInf() | Named():
            return set()
        case Cell(_, index) | Slot(_, index):
            return index.names()
        case Binary(_, a, b):
            return names(a) | names(b)
        case Unary(_, a):
            return names(a)
        case OfInt(a):
            return a.names()
        case Chosen(cond, a, b):
            return condition_names(cond) | names(a) | names(b)
        case Total(counter, count, body) | Largest(counter, count, body):
            return count.names() | (names(body) - {counter})


def condition_names(cond: Condition) -> set[str]:
    """Integer atoms a condition mentions freely."""
    match cond:
        case Compare(_, a, b):
            return a.names() | b.names()
        case CompareReal(_, c, d):
            return names(c) | names(d)
        case Both(e, f) | Either(e, f):
            return condition_names(e) | condition_names(f)
        case Negation(e):
            return condition_names(e)
        case Truth():
            return set()


def mapped(term: Term, index: Callable[[Linear], Linear]) -> Term:
    """The term with every integer form replaced, those inside folds and conditions too."""
    match term:
        case Number() | NegInf() | Named():
            return term
        case Cell(buffer, at):
            return Cell(buffer, index(at))
        case Slot(buffer, at):
            return Slot(buffer, index(at))
        case Binary(op, a, b):
            return Binary(op, mapped(a, index), mapped(b, index))
        case Unary(fn, a):
            return Unary(fn, mapped(a, index))
        case OfInt(n):
            return OfInt(index(n))
        case Chosen(cond, a, b):
            return Chosen(mapped_condition(cond, index), mapped(a, index), mapped(b, index))
        case Total(counter, count, body):
            return Total(counter, index(count), mapped(body, index))
        case Largest(counter, count, body):
            return Largest(counter, index(count), mapped(body, index))


def mapped_condition(cond: Condition, index: Callable[[Linear], Linear]) -> Condition:
    """The same for a condition."""
    match cond:
        case Compare(op, a, b):
            return Compare(op, index(a), index(b))
        case CompareReal(op, c, d):
            return CompareReal(op, mapped(c, index), mapped(d, index))
        case Both(e, f):
            return Both(mapped_condition(e, index), mapped_condition(f, index))
        case Either(e, f):
            return Either(mapped_condition(e, index), mapped_condition(f, index))
        case Negation(e):
            return Negation(mapped_condition(e, index))
        case Truth():
            return cond
