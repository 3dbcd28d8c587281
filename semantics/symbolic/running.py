"""Running pairs: a maximum of what a loop has seen so far, and a sum of exponentials relative to it.

One pass replaces the maximum `m` by `m' = max m x` and the sum `s` by `s * exp (m - m') + exp (x - m')`. With
`m = -infinity` and `s = 0` at first, `m` is the maximum of the elements so far and `s` the sum of
`exp (x j - m)` over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.loops import mentions
from semantics.symbolic.terms import Term

_ADD, _SUB, _MUL, _MAX = core.RealOp.ADD, core.RealOp.SUB, core.RealOp.MUL, core.RealOp.MAX


@dataclass(frozen=True, slots=True)
class Top:
    """A running maximum: what stands for it before and after a round, and its value before a round."""

    before: Term
    after: Term
    value: terms.Largest


def relative_total(start: Term, before: Term, after: Term, tops: Sequence[Top], counter: str) -> Term | None:
    """The sum of exponentials that `before` is before a round; None when a round does not rescale it from one
    of the maxima to the next and add one exponential."""
    if start != terms.Number(Fraction(0)):
        return None
    inner = counter + "r"
    for top in tops:
        scaled = _shifted(top.before, top.after)
        for old, new in _operands(after, _ADD):
            exponent = _exponent(new, top.after)
            if exponent is None or (before, scaled) not in _operands(old, _MUL):
                continue
            if mentions(exponent, before) or mentions(exponent, top.before):
                continue
            element = terms.substitute(exponent, {counter: variable(inner)})
            return terms.Total(inner, variable(counter), _shifted(element, top.value))
    return None


def advanced(value: Term, running: Sequence[terms.Largest]) -> Term:
    """The maximum of a running maximum and its next element is the maximum of one more element."""
    match value:
        case terms.Binary(core.RealOp.MAX, terms.Largest(counter, count, body) as top, element) if (
            top in running and element == terms.substitute(body, {counter: count})
        ):
            return terms.Largest(counter, count.plus(1), body)
        case _:
            return value


def stepped(have: Term, want: Term) -> bool:
    """Whether `have` is a round of the sum `want` relative to a maximum, in the form in which this module
    builds it."""
    match have, want:
        case (
            terms.Binary(
                core.RealOp.ADD,
                terms.Binary(core.RealOp.MUL, terms.Total(_, count, _), terms.Unary(core.RealFn.EXP)),
                terms.Unary(core.RealFn.EXP),
            ),
            terms.Total(_, more, terms.Unary(core.RealFn.EXP, terms.Binary(core.RealOp.SUB, _, top))),
        ):
            return more == count.plus(1) and isinstance(top, terms.Largest) and top.count == more
        case _:
            return False


def _shifted(a: Term, b: Term) -> Term:
    """`exp (a - b)`."""
    return terms.Unary(core.RealFn.EXP, terms.Binary(_SUB, a, b))


def _exponent(t: Term, top: Term) -> Term | None:
    """`a` of `exp (a - top)`."""
    match t:
        case terms.Unary(core.RealFn.EXP, terms.Binary(core.RealOp.SUB, a, b)) if b == top:
            return a
        case _:
            return None


def _operands(t: Term, op: core.RealOp) -> list[tuple[Term, Term]]:
    """The operands of an operation in both orders."""
    match t:
        case terms.Binary(found, a, b) if found is op:
            return [(a, b), (b, a)]
        case _:
            return []
