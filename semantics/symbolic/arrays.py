"""Local arrays of a thread: what their cells hold, as a function of the cell's number.

A loop nest that stores to every cell in turn is a sweep: cells below a boundary hold the new value,
those from it on the old one. Between sweeps every cell holds one function of its number `i`. A round may
store to several cells in a row by a statement for each; their values are made into one function."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from semantics.symbolic import normal, terms
from semantics.symbolic.linear import Linear, Quotient, literal, quotient, recombined, variable
from semantics.symbolic.normal import Ranges
from semantics.symbolic.terms import Term

CELL = "i"
"""The atom that stands for the number of a cell."""
_PLACE = "$place"
"""The atom that stands for the number of a statement among those that store to cells in a row."""


@dataclass(frozen=True, slots=True)
class Local:
    """Cells below `below` hold `new`, those from there up to `size` hold `old`; None is not known. `row` are
    the stores of a round, while the loop is looked at for the first time, that no single one explains."""

    size: int
    below: Linear
    new: Term | None
    old: Term | None
    row: tuple[tuple[Linear, Term], ...] = ()

    def substituted(self, values: dict[str, Linear]) -> "Local":
        """For other values of counters."""
        return replace(
            self,
            below=self.below.substitute(values),
            new=None if self.new is None else terms.substitute(self.new, values),
            old=None if self.old is None else terms.substitute(self.old, values),
        )

    def whole(self) -> "Local":
        """The same, with the new value as the old one when the sweep is over."""
        if self.below == literal(self.size):
            return Local(self.size, literal(0), None, self.new)
        return self


def fresh(size: int) -> Local:
    """An array that nothing was stored to."""
    return Local(size, literal(0), None, None)


def placeholder(array: int) -> Term:
    """What cell `i` holds before a round of a loop, while the loop is looked at for the first time."""
    return terms.Cell(-1 - array, variable(CELL))


def read(local: Local, index: Linear, ranges: Ranges) -> Term | None:
    """The value at an index; None when the boundary does not decide it or it is not known."""
    low, high = normal.bounds(normal.index(index - local.below, ranges), ranges)
    if local.row:
        return None
    if low is not None and low >= 0:
        held = local.old
    elif high is not None and high < 0:
        held = local.new
    else:
        return None
    return None if held is None else simplified(terms.substitute(held, {CELL: index}), ranges)


def store(local: Local, index: Linear, value: Term, ranges: Ranges) -> Local | None:
    """After a store in a sweep; None when the index has no inverse."""
    digits = inverse(index)
    if digits is None or local.row:
        if local.new is None and _is_placeholder(local.old):
            return replace(local, row=(*local.row, (index, value)))
        if local.new is None or local.below != index:
            return None
        expected = terms.substitute(local.new, {CELL: index})
        return replace(local, below=index.plus(1)) if normal.same(expected, value, ranges) else None
    new = simplified(terms.substitute(value, digits))
    if local.new is not None and local.below != literal(0) and local.new != new:
        return None
    return replace(local, below=index.plus(1), new=new)


def _is_placeholder(held: Term | None) -> bool:
    return isinstance(held, terms.Cell) and held.buffer < 0


def of_row(row: Sequence[tuple[Linear, Term]]) -> Term | None:
    """What the stores of a round to cells in a row write, as a function of the cell's number; None when
    they do not make up one."""
    (base, _), count = row[0], len(row)
    if any(index != base.plus(at) for at, (index, _) in enumerate(row)):
        return None
    if base.terms and min(n for _, n in base.terms) != count:
        return None
    digits = inverse(base + variable(_PLACE))
    value = _generalised([value for _, value in row])
    return None if digits is None or value is None else simplified(terms.substitute(value, digits))


def _generalised(values: Sequence[Term]) -> Term | None:
    """A term in the number of a statement that has these values for 0, 1, 2, ...; None when they differ in
    more than indices that grow evenly."""
    first = values[0]
    if all(value == first for value in values):
        return first
    match first:
        case terms.Cell(buffer, at):
            indices = [one.index for one in values if isinstance(one, terms.Cell) and one.buffer == buffer]
            if len(indices) != len(values) or not (indices[1] - at).is_constant:
                return None
            step = (indices[1] - at).constant
            even = all(index == at.plus(step * place) for place, index in enumerate(indices))
            return terms.Cell(buffer, at + variable(_PLACE).scale(step)) if even else None
        case terms.Unary(fn):
            inner = [one.a for one in values if isinstance(one, terms.Unary) and one.fn is fn]
            a = _generalised(inner) if len(inner) == len(values) else None
            return None if a is None else terms.Unary(fn, a)
        case terms.Binary(op):
            sides = [(one.a, one.b) for one in values if isinstance(one, terms.Binary) and one.op is op]
            if len(sides) != len(values):
                return None
            a, b = _generalised([x for x, _ in sides]), _generalised([y for _, y in sides])
            return None if a is None or b is None else terms.Binary(op, a, b)
        case _:
            return None


def inverse(index: Linear) -> dict[str, Linear] | None:
    """The counters in an index as functions of the cell number: mixed-radix digits."""
    strides = {atom: n for atom, n in index.terms if isinstance(atom, str) and n > 0}
    if len(strides) != len(index.terms) or index.constant:
        return None
    ordered = sorted(strides.items(), key=lambda one: one[1])
    if (ordered and ordered[0][1] != 1) or any(b % a for (_, a), (_, b) in itertools.pairwise(ordered)):
        return None
    cell = variable(CELL)
    digits: dict[str, Linear] = {}
    for at, (name, stride) in enumerate(ordered):
        within = quotient(cell, ordered[at + 1][1], True) if at + 1 < len(ordered) else cell
        digits[name] = quotient(within, stride, False)
    return digits


def simplified(t: Term, ranges: Ranges | None = None) -> Term:
    """Digits put together again in every index, and carried out where `ranges` decide them."""
    match t:
        case terms.Cell(buffer, index):
            return terms.Cell(buffer, together(index if ranges is None else normal.index(index, ranges)))
        case terms.Binary(op, a, b):
            return terms.Binary(op, simplified(a, ranges), simplified(b, ranges))
        case terms.Unary(fn, a):
            return terms.Unary(fn, simplified(a, ranges))
        case terms.Total(counter, count, body):
            return terms.Total(counter, count, simplified(body, ranges))
        case terms.Largest(counter, count, body):
            return terms.Largest(counter, count, simplified(body, ranges))
        case _:
            return t


def together(x: Linear) -> Linear:
    """`recombined`, also inside divisions."""
    result = literal(x.constant)
    for atom, n in x.terms:
        part = Linear(0, ((atom, 1),))
        if isinstance(atom, Quotient):
            part = quotient(together(atom.a), atom.c, atom.remainder)
        result = result + part.scale(n)
    return recombined(result)


def refilled(t: Term | None, array: int, content: Term | None) -> Term | None:
    """A term with the placeholder of an array replaced by what the array holds; None when that is not
    known and the term needs it."""
    if t is None:
        return None
    match t:
        case terms.Cell(buffer, index) if buffer == -1 - array:
            return None if content is None else simplified(terms.substitute(content, {CELL: index}))
        case terms.Binary(op, a, b):
            x, y = refilled(a, array, content), refilled(b, array, content)
            return None if x is None or y is None else terms.Binary(op, x, y)
        case terms.Unary(fn, a):
            x = refilled(a, array, content)
            return None if x is None else terms.Unary(fn, x)
        case terms.Chosen(cond, a, b):
            x, y = refilled(a, array, content), refilled(b, array, content)
            return None if x is None or y is None else terms.Chosen(cond, x, y)
        case _:
            return t
