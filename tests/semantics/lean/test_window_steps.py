from fractions import Fraction

from semantics.core import CmpOp
from semantics.lean import terms as show
from semantics.lean.windows import digit_facts, rewrite
from semantics.symbolic import terms
from semantics.symbolic.linear import choice, literal, quotient, variable
from semantics.symbolic.terms import Cell, Chosen, Number, Term, Total

ZERO = Number(Fraction(0))
LE, LT = CmpOp.LE, CmpOp.LT
_t, _k = variable("t"), variable("k")


def window(count: int) -> tuple[Term, Term]:
    """A bounded sum over three taps at `t`, and the sum over all `count` of them."""
    low = choice(literal(0), literal(1) - _t, True)
    high = choice(literal(3), literal(9) - _t, False)
    at = _t + _k.plus(-1)
    inside = terms.Both(terms.Compare(LE, literal(0), at), terms.Compare(LT, at, literal(8)))
    bounded = Total("k", high - low, terms.substitute(Cell(0, at), {"k": _k + low}))
    return bounded, Total("k", literal(count), Chosen(inside, Cell(0, at), ZERO))


def equal(have: Term, want: Term, ranges: object) -> list[str]:
    return [f"{show.scalar(have)} = {show.scalar(want)}"]


def test_a_bounded_sum_becomes_the_sum_over_the_whole_range() -> None:
    have, want = window(3)
    step = rewrite(have, want, {}, equal)
    assert step is not None and (step.part, step.by) == (have, want)
    assert any("sumI_window" in line for line in step.proof)


def test_a_sum_without_bounds_is_left_alone() -> None:
    _, want = window(3)
    assert rewrite(want, want, {}, equal) is None


def test_nested_digits_become_facts_innermost_first() -> None:
    x = variable("y").scale(8) + variable("x")
    row = quotient(x, 8, False)
    facts = digit_facts(Cell(0, quotient(row + variable("z").scale(4), 4, True)))
    assert [fact.split(" := ")[0] for fact in facts] == [
        "try have : ((y * 8 + x) / 8) = y",
        "try have : ((z * 4 + ((y * 8 + x) / 8)) % 4) = y",
    ]
