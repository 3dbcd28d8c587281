"""The functions of `RealCall` in the number formats of the interpreter."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from semantics.beyond import RealCall

POSITIVE = float("inf")


def _round(a: Any) -> Any:
    """To the nearest integer, halves away from zero."""
    return np.copysign(np.floor(np.abs(a) + 0.5), a)


FLOAT: dict[RealCall, Callable[..., Any]] = {
    RealCall.FLOOR: np.floor,
    RealCall.CEIL: np.ceil,
    RealCall.TRUNC: np.trunc,
    RealCall.ROUND: _round,
    RealCall.RINT: np.rint,
    RealCall.FMOD: np.fmod,
    RealCall.POW: np.power,
    RealCall.EXP2: np.exp2,
    RealCall.EXP10: lambda a: np.power(a.dtype.type(10), a),
    RealCall.LOG2: np.log2,
    RealCall.LOG10: np.log10,
    RealCall.TAN: np.tan,
    RealCall.ASIN: np.arcsin,
    RealCall.ACOS: np.arccos,
    RealCall.ATAN: np.arctan,
    RealCall.ATAN2: np.arctan2,
    RealCall.SINH: np.sinh,
    RealCall.COSH: np.cosh,
    RealCall.CBRT: np.cbrt,
}


def in_floats(fn: RealCall, a: Any, b: Any) -> Any:
    """The IEEE value, NaN or an infinity where there is none. Runs with no exception raised."""
    with np.errstate(all="ignore"):
        return FLOAT[fn](a) if b is None else FLOAT[fn](a, b)


def meaningless(fn: RealCall, value: Any, a: Any, b: Any) -> Any:
    """Where a function of finite reals has no finite value, or an operand is -infinity (whose powers of
    two and ten are zero)."""
    bad = ~np.isfinite(value)
    if fn in (RealCall.EXP2, RealCall.EXP10):
        return np.isnan(value)
    bad = bad | np.isinf(a)
    return bad if b is None else bad | np.isinf(b)


# ---------------------------------------------------------------- exact rationals


def _half_away(a: Fraction) -> Fraction:
    whole = math.floor(abs(a) + Fraction(1, 2))
    return Fraction(whole if a >= 0 else -whole)


def _remainder(a: Fraction, b: Fraction) -> Fraction | None:
    return None if b == 0 else a - b * math.trunc(a / b)


RATIONAL: dict[RealCall, Callable[..., Fraction | None]] = {
    RealCall.FLOOR: lambda a: Fraction(math.floor(a)),
    RealCall.CEIL: lambda a: Fraction(math.ceil(a)),
    RealCall.TRUNC: lambda a: Fraction(math.trunc(a)),
    RealCall.ROUND: _half_away,
    RealCall.RINT: lambda a: Fraction(round(a)),
    RealCall.FMOD: _remainder,
}


def power(a: Fraction, b: Fraction) -> Fraction | Decimal | None:
    """`a` to the power `b`: exact for an integer exponent, 40 digits for a positive base, else None."""
    if b.denominator == 1 and abs(b) <= 64:
        return None if a == 0 and b < 0 else a ** int(b)
    if a <= 0:
        return None if a < 0 or b <= 0 else Fraction(0)
    base = Decimal(a.numerator) / Decimal(a.denominator)
    return (base.ln() * (Decimal(b.numerator) / Decimal(b.denominator))).exp()


def in_decimals(fn: RealCall, a: Decimal) -> Decimal | None:
    """Functions that decimals have, in the precision of the context; KeyError for the others."""
    match fn:
        case RealCall.EXP2:
            return (a * Decimal(2).ln()).exp()
        case RealCall.EXP10:
            return (a * Decimal(10).ln()).exp()
        case RealCall.LOG2:
            return a.ln() / Decimal(2).ln() if a > 0 else None
        case RealCall.LOG10:
            return a.log10() if a > 0 else None
        case RealCall.SINH:
            return (a.exp() - (-a).exp()) / 2
        case RealCall.COSH:
            return (a.exp() + (-a).exp()) / 2
        case RealCall.CBRT:
            root = (abs(a).ln() / 3).exp() if a else Decimal(0)
            return root if a >= 0 else -root
        case _:
            raise KeyError(fn)
