"""What Lean is told about denominators."""

from semantics import core
from semantics.lean.equality import positivity_hints
from semantics.symbolic import terms
from semantics.symbolic.linear import literal, variable


def partial_sums(a: terms.Term, b: terms.Term) -> terms.Term:
    inner = terms.Total("j", literal(8), terms.Binary(core.RealOp.MUL, a, b))
    return terms.Total("k", literal(4), inner)


def test_a_sum_of_partial_sums_of_squares_is_not_negative() -> None:
    cell = terms.Cell(0, variable("j").scale(4) + variable("k"))
    (hint,) = positivity_hints(partial_sums(cell, cell))
    assert hint.startswith("sumI_nonneg (f := (fun k : Int => ")
    assert hint.endswith("(n := 4) (fun _ _ _ => sumI_nonneg (fun _ _ _ => sq_nonneg _))")


def test_nothing_is_said_of_a_sum_of_other_products() -> None:
    a, b = terms.Cell(0, variable("j")), terms.Cell(1, variable("j"))
    assert positivity_hints(partial_sums(a, b)) == []
