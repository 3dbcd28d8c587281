from hypothesis import given
from hypothesis import strategies as st

from semantics.symbolic.linear import Linear, choice, literal, quotient, recombined, variable

_i, _j = variable("i"), variable("j")


def value(x: Linear, **names: int) -> int:
    """What a form is for given values of its atoms."""
    result = x.substitute({name: literal(n) for name, n in names.items()})
    assert result.is_constant
    return result.constant


def test_terms_cancel() -> None:
    assert (_i.scale(3) + _j - _i.scale(3)) == _j
    assert (_i - _i).is_constant


@given(st.integers(0, 10_000), st.integers(1, 64), st.integers(1, 64))
def test_a_quotient_of_a_quotient_is_one_quotient(n: int, c: int, d: int) -> None:
    assert value(quotient(quotient(_i, c, False), d, False), i=n) == n // c // d


@given(st.integers(0, 100_000), st.integers(2, 64), st.integers(2, 64))
def test_digits_put_together_again_are_the_number(n: int, width: int, height: int) -> None:
    row = quotient(quotient(_i, width, False), height, True)
    plane = quotient(_i, width * height, False)
    flat = plane.scale(width * height) + row.scale(width) + quotient(_i, width, True)
    assert recombined(flat) == _i
    assert value(flat, i=n) == n


def test_digits_with_other_weights_stay() -> None:
    x = quotient(_i, 8, True) + quotient(_i, 8, False).scale(9)
    assert recombined(x) == x


@given(st.integers(-100, 100), st.integers(-100, 100))
def test_choices_are_minimum_and_maximum(a: int, b: int) -> None:
    assert value(choice(_i, _j, False), i=a, j=b) == min(a, b)
    assert value(choice(_i, _j, True), i=a, j=b) == max(a, b)
