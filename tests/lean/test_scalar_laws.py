"""Every law of the class `ExactReal` is true of the real numbers, as far as floating point can tell."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

PACKAGE = Path(__file__).resolve().parents[2] / "lean"
BASIC = PACKAGE / "KShell" / "Scalar" / "Basic.lean"
REAL = PACKAGE / "real" / "KShellReal.lean"

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


def laws_of_the_class() -> set[str]:
    text = BASIC.read_text(encoding="utf-8")
    body = text[text.index("class ExactReal") : text.index("attribute [instance]")]
    return set(re.findall(r"^  (\w+) : ∀", body, re.MULTILINE))


def test_every_law_of_the_class_is_listed() -> None:
    assert laws_of_the_class() == set(LAWS)


def test_the_instance_for_the_real_numbers_has_every_law_and_says_that_it_is_not_built_here() -> None:
    text = REAL.read_text(encoding="utf-8")
    given = set(re.findall(r"^  (\w+)(?: \w+)* :=", text[text.index("instance : ExactReal") :], re.MULTILINE))
    assert laws_of_the_class() <= given
    assert "neither the test suite nor the continuous integration of kshell builds it" in " ".join(text.split())
    assert not re.search(r"\b(sorry|admit|axiom|native_decide)\b", text)
    toolchains = {(folder / "lean-toolchain").read_text() for folder in (PACKAGE, REAL.parent)}
    assert len(toolchains) == 1


NUMBERS = st.floats(min_value=-9, max_value=9, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@pytest.mark.parametrize("name", LAWS)
@given(a=NUMBERS, b=NUMBERS)
def test_law_holds_of_floating_point_samples(name: str, a: float, b: float) -> None:
    assert LAWS[name](a, b), (name, a, b)
