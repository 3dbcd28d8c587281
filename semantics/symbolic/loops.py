"""Loops of a traced thread: rounds, what a round adds, how far the stores have come."""

from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Linear, literal, variable
from semantics.symbolic.terms import Condition, Term


def merged(cond: Condition, x: Term, y: Term) -> Term:
    """`acc + (c ? e : 0)` for an addition under a condition, else `c ? x : y`."""
    match x:
        case terms.Binary(core.RealOp.ADD, a, e) if a == y:
            return terms.Binary(core.RealOp.ADD, y, terms.Chosen(cond, e, terms.Number(Fraction(0))))
        case _:
            return terms.Chosen(cond, x, y)


def accumulated_total(start: Term, before: Term, after: Term, counter: str) -> Term | None:
    """`start + sum` or `max start ...` when a round adds to, or takes the maximum with, `before`."""
    inner = counter + "s"
    swap = {counter: variable(inner)}
    match after:
        case terms.Binary(core.RealOp.ADD):
            e = _added(before, after)
            if e is None:
                return None
            total = terms.Total(inner, variable(counter), terms.substitute(e, swap))
            if start == terms.Number(Fraction(0)):
                return total
            return terms.Binary(core.RealOp.ADD, start, total)
        case terms.Binary(core.RealOp.MAX, a, e) if a == before and not mentions(e, before):
            largest = terms.Largest(inner, variable(counter), terms.substitute(e, swap))
            return largest if start == terms.NegInf() else terms.Binary(core.RealOp.MAX, start, largest)
        case _:
            return None


def _added(before: Term, after: Term) -> Term | None:
    """What was added to `before`, once or several times."""
    match after:
        case terms.Binary(core.RealOp.ADD, a, e) if mentions(a, before) and not mentions(e, before):
            pass
        case terms.Binary(core.RealOp.ADD, e, a) if mentions(a, before) and not mentions(e, before):
            pass
        case _:
            return None
    if a == before:
        return e
    first = _added(before, a)
    return None if first is None else terms.Binary(core.RealOp.ADD, first, e)


def mentions(term: Term, part: Term) -> bool:
    """Whether a part occurs in a term."""
    if term == part:
        return True
    match term:
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return mentions(a, part) or mentions(b, part)
        case terms.Unary(_, a) | terms.Total(_, _, a) | terms.Largest(_, _, a):
            return mentions(a, part)
        case _:
            return False


def loop_bounds(cond: Condition) -> tuple[Linear, Linear] | None:
    """`a < b` of a loop condition, the first conjunct counts."""
    match cond:
        case terms.Compare(core.CmpOp.LT, a, b):
            return a, b
        case terms.Compare(core.CmpOp.LE, a, b):
            return a, b.plus(1)
        case _:
            return None


def trip_count(cond: Condition, counter: str) -> Linear | None:
    """The number of rounds where it is a literal."""
    bounds = loop_bounds(cond)
    if bounds is None:
        return None
    low, high = bounds
    step = low.coefficient(counter)
    rest = high - (low - variable(counter).scale(step))
    if step <= 0 or not rest.is_constant:
        return None
    return literal(max(0, -(-rest.constant // step)))


def boundary(first: Linear, cond: Condition, counter: str, count: Linear | None, size: int) -> Linear:
    """Below which cells everything is written when a loop with first store `first` has ended."""
    if count is not None:
        return first.substitute({counter: count})
    bounds = loop_bounds(cond)
    if bounds is not None:
        low, high = bounds
        step, stride = low.coefficient(counter), first.coefficient(counter)
        if step > 0 and stride > 0 and stride % step == 0:
            found = first + (high - low).scale(stride // step)
            if counter not in found.names():
                return found
    return literal(size)
