"""Every law of the class `ExactReal` is true of the real numbers, as far as floating point can tell."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

BASIC = Path(__file__).resolve().parents[2] / "lean" / "KShell" / "Scalar" / "Basic.lean"

Law = Callable[[float, float], bool]


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


LAWS: dict[str, Law] = {
    "exp_add": lambda a, b: close(math.exp(a + b), math.exp(a) * math.exp(b)),
    "exp_pos": lambda a, b: math.exp(a) > 0,
    "exp_mono": lambda a, b: not a <= b or math.exp(a) <= math.exp(b),
    "log_mul": lambda a, b: not (a > 0 and b > 0) or close(math.log(a * b), math.log(a) + math.log(b)),
    "sqrt_pos": lambda a, b: not a > 0 or math.sqrt(a) > 0,
    "sqrt_sq": lambda a, b: not a >= 0 or close(math.sqrt(a * a), a),
    "rsqrt_eq": lambda a, b: not a > 0 or close(a**-0.5, 1 / math.sqrt(a)),
    "tanh_exp": lambda a, b: close(math.tanh(a) * (math.exp(a) + math.exp(-a)), math.exp(a) - math.exp(-a)),
    "erf_neg": lambda a, b: close(math.erf(-a), -math.erf(a)),
    "sin_sq_add_cos_sq": lambda a, b: close(math.sin(a) ** 2 + math.cos(a) ** 2, 1),
    "sin_neg": lambda a, b: close(math.sin(-a), -math.sin(a)),
    "cos_neg": lambda a, b: close(math.cos(-a), math.cos(a)),
}


def test_every_law_of_the_class_is_listed() -> None:
    text = BASIC.read_text(encoding="utf-8")
    body = text[text.index("class ExactReal") : text.index("attribute [instance]")]
    assert set(re.findall(r"^  (\w+) : ∀", body, re.MULTILINE)) == set(LAWS)


NUMBERS = st.floats(min_value=-9, max_value=9, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@pytest.mark.parametrize("name", LAWS)
@given(a=NUMBERS, b=NUMBERS)
def test_law_holds_of_floating_point_samples(name: str, a: float, b: float) -> None:
    assert LAWS[name](a, b), (name, a, b)
