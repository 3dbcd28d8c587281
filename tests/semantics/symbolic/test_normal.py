from fractions import Fraction

import pytest

from semantics import core
from semantics.symbolic import normal, terms
from semantics.symbolic.linear import Linear, literal, quotient, variable
from semantics.symbolic.terms import Binary, Cell, Number, OfInt, Term, Total, Unary

ADD, SUB, MUL, DIV = core.RealOp.ADD, core.RealOp.SUB, core.RealOp.MUL, core.RealOp.DIV


def cell(index: Linear) -> Term:
    return Cell(0, index)


def total(counter: str, count: int, body: Term) -> Term:
    return Total(counter, literal(count), body)


def test_a_division_is_carried_out_where_the_ranges_decide_it() -> None:
    x = variable("t").scale(16) + variable("k")
    ranges = {"t": (0, 7), "k": (0, 15)}
    assert normal.index(quotient(x, 16, False), ranges) == variable("t")
    assert normal.index(quotient(x, 16, True), ranges) == variable("k")
    assert normal.index(quotient(x, 16, True), {"t": (0, 7)}) != variable("k")


def test_a_variable_with_one_value_is_that_value() -> None:
    assert normal.index(variable("t").scale(5) + variable("k"), {"t": (0, 0)}) == variable("k")


def test_guards_narrow_ranges() -> None:
    guard = terms.Compare(core.CmpOp.LT, variable("t").scale(4) + variable("k"), literal(9))
    found = normal.known({"t": 100}, ("k",), (guard,))
    assert found == {"t": (0, 2), "k": (0, 8)}


def test_a_guard_that_holds_nothing_back_leaves_the_ranges() -> None:
    guard = terms.CompareReal(core.CmpOp.LT, Number(Fraction(0)), Number(Fraction(1)))
    assert normal.known({"t": 4}, (), (guard,)) == {"t": (0, 3)}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Binary(MUL, cell(literal(1)), cell(literal(2))), Binary(MUL, cell(literal(2)), cell(literal(1)))),
        (OfInt(literal(4)), Number(Fraction(4))),
        (
            Binary(DIV, cell(literal(1)), OfInt(literal(4))),
            Binary(MUL, Number(Fraction(1, 4)), cell(literal(1))),
        ),
        (total("k", 8, cell(variable("k"))), total("j", 8, cell(variable("j")))),
        (
            total("k", 8, Binary(MUL, cell(literal(3)), cell(variable("k")))),
            Binary(MUL, cell(literal(3)), total("k", 8, cell(variable("k")))),
        ),
        (
            total("k", 8, Binary(ADD, cell(variable("k")), Number(Fraction(2)))),
            Binary(ADD, total("k", 8, cell(variable("k"))), Number(Fraction(16))),
        ),
    ],
    ids=["commuted", "integer", "quotient", "renamed", "factor", "constant"],
)
def test_equal_values_have_one_normal_form(left: Term, right: Term) -> None:
    assert normal.same(left, right, {})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (cell(literal(1)), cell(literal(2))),
        (Unary(core.RealFn.EXP, cell(literal(1))), Unary(core.RealFn.SIN, cell(literal(1)))),
        (total("k", 8, cell(variable("k"))), total("k", 9, cell(variable("k")))),
        (Binary(SUB, cell(literal(1)), cell(literal(2))), Binary(SUB, cell(literal(2)), cell(literal(1)))),
    ],
    ids=["cells", "functions", "lengths", "order"],
)
def test_different_values_have_different_normal_forms(left: Term, right: Term) -> None:
    assert not normal.same(left, right, {})


def test_the_counter_of_an_inner_sum_hides_an_outer_one_of_its_name() -> None:
    inner = total("k", 4, cell(variable("k")))
    assert terms.substitute(inner, {"k": literal(9)}) == inner
    assert normal.same(total("k", 2, inner), Binary(MUL, Number(Fraction(2)), inner), {})
