"""Elementwise functions as C text."""

from fractions import Fraction

import pytest

from kshell import tasks
from scaffolds.families.pointwise import literal, pointwise_of_spec, pointwise_of_task
from semantics.core import RealFn, RealOp
from semantics.spec import Bin, Const, IxLit, IxVar, OutputSpec, Read, SExpr, Spec, Sum, Un

I = IxVar("i")  # noqa: E741
X, Z = Read("x", (I,)), Read("z", (I,))


def text(body: SExpr) -> str:
    spec = Spec({"x": (8,), "z": (8,)}, (OutputSpec("y", ("i",), (8,), body),))
    function = pointwise_of_spec(spec)
    assert function is not None
    return function.text(**{name: name for name in function.inputs})


def test_parentheses_follow_precedence() -> None:
    add = Bin(RealOp.ADD, X, Z)
    assert text(Bin(RealOp.MUL, add, Z)) == "(x + z) * z"
    assert text(Bin(RealOp.ADD, X, Bin(RealOp.MUL, X, Z))) == "x + x * z"
    assert text(Bin(RealOp.SUB, X, Bin(RealOp.SUB, Z, X))) == "x - (z - x)"
    assert text(Bin(RealOp.DIV, X, Bin(RealOp.DIV, Z, X))) == "x / (z / x)"
    assert text(Bin(RealOp.SUB, Bin(RealOp.SUB, X, Z), X)) == "x - z - x"


def test_functions_negation_and_literals() -> None:
    assert text(Un(RealFn.EXP, Un(RealFn.NEG, X))) == "expf(-x)"
    assert text(Un(RealFn.NEG, Bin(RealOp.ADD, X, Z))) == "-(x + z)"
    assert text(Bin(RealOp.MAX, X, Const(Fraction(0)))) == "fmaxf(x, 0.0f)"
    assert text(Bin(RealOp.SUB, X, Const(Fraction(-1, 2)))) == "x - (-0.5f)"


def test_a_literal_is_the_exact_decimal_or_refused() -> None:
    assert literal(Fraction("0.044715")) == "0.044715f"
    with pytest.raises(ValueError, match="no short decimal"):
        literal(Fraction(1, 3))


@pytest.mark.parametrize(
    "body",
    [Read("x", (IxLit(0),)), Sum("k", 8, Read("x", (IxVar("k"),))), Const(Fraction(1))],
    ids=["fixed index", "sum", "no input"],
)
def test_a_spec_that_is_not_elementwise_gives_none(body: SExpr) -> None:
    assert pointwise_of_spec(Spec({"x": (8,)}, (OutputSpec("y", ("i",), (8,), body),))) is None


def test_built_in_functions_use_the_tensors_of_the_task() -> None:
    function = pointwise_of_task(tasks.get("add"))
    assert function is not None
    assert function.text(x="a", z="b") == "a + b"
    assert pointwise_of_task(tasks.get("softmax")) is None
