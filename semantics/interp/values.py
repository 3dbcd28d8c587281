"""Number formats of the interpreter: float64, float32 and exact rationals behind one interface.

A real value is a scalar (the same for all threads) or an array with one entry a thread. -infinity is
a value of every format. Every operation returns `(value, bad)`: `bad` marks the threads for which it
is undefined, None when there are none; the value there is zero, so that one fault does not cascade.
"""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from semantics.beyond import RealCall
from semantics.core import CmpOp, RealFn, RealOp
from semantics.interp import functions

Array = NDArray[Any]
Real = Any
Outcome = tuple[Real, Array | None]
NINF = float("-inf")


class Arithmetic(Protocol):
    """A number format."""

    dtype: np.dtype[Any]

    def literal(self, value: Fraction) -> Real: ...
    def negative_infinity(self) -> Real: ...
    def positive_infinity(self) -> Real: ...
    def of_int(self, value: int | Array) -> Real: ...
    def zeros(self, count: int) -> Array: ...
    def convert(self, data: Array) -> Array: ...
    def binary(self, op: RealOp, a: Real, b: Real) -> Outcome: ...
    def unary(self, fn: RealFn, a: Real) -> Outcome: ...
    def call(self, fn: RealCall, a: Real, b: Real | None) -> Outcome: ...
    def compare(self, op: CmpOp, a: Real, b: Real) -> Any: ...


def _compare(op: CmpOp, a: Real, b: Real) -> Any:
    match op:
        case CmpOp.LT:
            return a < b
        case CmpOp.LE:
            return a <= b
        case CmpOp.EQ:
            return a == b


_erf_of_array = np.frompyfunc(math.erf, 1, 1)


def _erf(a: Any) -> Any:
    return _erf_of_array(a) if np.ndim(a) == 0 else _erf_of_array(a).astype(np.float64)


BINARY: dict[RealOp, Callable[[Any, Any], Any]] = {
    RealOp.ADD: lambda a, b: a + b,
    RealOp.SUB: lambda a, b: a - b,
    RealOp.MUL: lambda a, b: a * b,
    RealOp.DIV: lambda a, b: a / b,
    RealOp.MAX: np.maximum,
    RealOp.MIN: np.minimum,
}
# `fmaxf` and `fminf` give the other operand when one is a NaN.
_DEVICE: dict[RealOp, Callable[[Any, Any], Any]] = {RealOp.MAX: np.fmax, RealOp.MIN: np.fmin}
UNARY: dict[RealFn, Callable[[Any], Any]] = {
    RealFn.NEG: np.negative,
    RealFn.ABS: np.abs,
    RealFn.EXP: np.exp,
    RealFn.LOG: np.log,
    RealFn.SQRT: np.sqrt,
    RealFn.RSQRT: lambda a: 1 / np.sqrt(a),
    RealFn.TANH: np.tanh,
    RealFn.ERF: _erf,
    RealFn.SIN: np.sin,
    RealFn.COS: np.cos,
}


class FloatArithmetic:
    """IEEE arithmetic of a width.

    `strict` (float64) stands for real numbers: division by zero, a logarithm of zero and the
    operations on -infinity that have no meaning are undefined. It runs under
    `np.errstate(divide="raise", invalid="raise")`: the exceptional cases are looked for only when the
    processor saw one. Otherwise (float32, as the device computes) nothing is undefined and infinities
    and NaN spread."""

    def __init__(
        self, dtype: Any = np.float64, *, strict: bool = True, negative_infinity: bool = True
    ) -> None:
        self.dtype = np.dtype(dtype)
        self._strict = strict
        self._watch_infinity = strict and negative_infinity

    def literal(self, value: Fraction) -> Real:
        return self.dtype.type(float(value))

    def negative_infinity(self) -> Real:
        return self.dtype.type(NINF)

    def positive_infinity(self) -> Real:
        return self.dtype.type(functions.POSITIVE)

    def of_int(self, value: int | Array) -> Real:
        return value.astype(self.dtype) if isinstance(value, np.ndarray) else self.dtype.type(value)

    def zeros(self, count: int) -> Array:
        return np.zeros(count, self.dtype)

    def convert(self, data: Array) -> Array:
        return data.astype(self.dtype)

    def binary(self, op: RealOp, a: Real, b: Real) -> Outcome:
        if not self._strict:
            return (_DEVICE.get(op) or BINARY[op])(a, b), None
        compute = BINARY[op]
        try:
            value = compute(a, b)
        except FloatingPointError:
            with np.errstate(all="ignore"):
                value = compute(a, b)
                bad = np.isnan(value)
                if op is RealOp.DIV:
                    bad |= np.equal(b, 0)
            return _cleared(value, bad)
        if self._watch_infinity and op not in (RealOp.MAX, RealOp.ADD):
            return _cleared(value, self._meaningless(op, value, a, b))
        return value, None

    @staticmethod
    def _meaningless(op: RealOp, value: Real, a: Real, b: Real) -> Any:
        if op is RealOp.DIV:
            return np.isneginf(a)
        return np.isposinf(value) & (np.isneginf(a) | np.isneginf(b))

    def unary(self, fn: RealFn, a: Real) -> Outcome:
        compute = UNARY[fn]
        if not self._strict:
            return self._narrow(compute(a)), None
        try:
            value = self._narrow(compute(a))
        except FloatingPointError:
            with np.errstate(all="ignore"):
                value = self._narrow(compute(a))
                bad = np.isnan(value)
                if fn in (RealFn.LOG, RealFn.RSQRT):
                    bad |= np.less_equal(a, 0)
            return _cleared(value, bad)
        if self._watch_infinity and fn is not RealFn.EXP:
            return _cleared(value, np.isneginf(a))
        return value, None

    def call(self, fn: RealCall, a: Real, b: Real | None) -> Outcome:
        value = self._narrow(functions.in_floats(fn, a, b))
        if not self._strict:
            return value, None
        return _cleared(value, functions.meaningless(fn, value, a, b))

    def _narrow(self, value: Real) -> Real:
        return value.astype(self.dtype) if isinstance(value, np.ndarray) else self.dtype.type(value)

    def compare(self, op: CmpOp, a: Real, b: Real) -> Any:
        return _compare(op, a, b)


def _cleared(value: Real, bad: Any) -> Outcome:
    if not np.any(bad):
        return value, None
    if np.ndim(bad) == 0:
        return type(value)(0), np.asarray(bad)
    value = np.array(np.broadcast_to(value, bad.shape))
    value[bad] = 0
    return value, bad


# ---------------------------------------------------------------- exact rationals


class ExactUnsupported(Exception):
    """A function that has no rational value and was not asked to be approximated."""


def _exact_div(a: Any, b: Any) -> Any:
    if b == 0 or isinstance(a, float):
        return None
    return Fraction(0) if isinstance(b, float) else a / b


def _exact_mul(a: Any, b: Any) -> Any:
    if functions.POSITIVE in (a, b):
        return None if a <= 0 or b <= 0 else functions.POSITIVE
    if a == NINF or b == NINF:
        return NINF if a > 0 or b > 0 else None
    return a * b


def _exact_add(a: Any, b: Any) -> Any:
    if isinstance(a, float) and isinstance(b, float) and a != b:
        return None
    return a if isinstance(a, float) else b if isinstance(b, float) else a + b


def _exact_sub(a: Any, b: Any) -> Any:
    if isinstance(b, float):
        return NINF if b > 0 and a != b else None
    return a if isinstance(a, float) else a - b


EXACT_BINARY: dict[RealOp, Callable[[Any, Any], Any]] = {
    RealOp.ADD: _exact_add,
    RealOp.SUB: _exact_sub,
    RealOp.MUL: _exact_mul,
    RealOp.DIV: _exact_div,
    RealOp.MAX: max,
    RealOp.MIN: min,
}


def _decimal(a: Fraction) -> Decimal:
    return Decimal(a.numerator) / Decimal(a.denominator)


def _tanh(a: Decimal) -> Decimal:
    if abs(a) > 200:
        return Decimal(1 if a > 0 else -1)
    e = (2 * a).exp()
    return (e - 1) / (e + 1)


def _series(a: Decimal, first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    total, term, n = first, first, 1
    while abs(term) > Decimal(10) ** -60:
        term *= ratio(n)
        total += term
        n += 1
    return total


def _pi() -> Decimal:
    """Machin's formula."""

    def arctan_of_inverse(n: int) -> Decimal:
        power, total, k = Decimal(1) / n, Decimal(0), 0
        while power > Decimal(10) ** -90:
            total += (power if k % 2 == 0 else -power) / (2 * k + 1)
            power /= n * n
            k += 1
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


def _erf_exactly(a: Decimal) -> Decimal:
    if abs(a) > 12:
        return Decimal(1 if a > 0 else -1)
    term = a
    total, n = a, 0
    while abs(term) > Decimal(10) ** -50:
        n += 1
        term = -term * a * a / n
        total += term / (2 * n + 1)
    return 2 * total / _pi().sqrt()


def _sin(a: Decimal) -> Decimal:
    a = a % (2 * _pi())
    return _series(a, a, lambda n: -a * a / ((2 * n) * (2 * n + 1)))


_DECIMAL: dict[RealFn, Callable[[Decimal], Decimal]] = {
    RealFn.EXP: Decimal.exp,
    RealFn.LOG: Decimal.ln,
    RealFn.SQRT: Decimal.sqrt,
    RealFn.RSQRT: lambda a: 1 / a.sqrt(),
    RealFn.TANH: _tanh,
    RealFn.ERF: _erf_exactly,
    RealFn.SIN: _sin,
    RealFn.COS: lambda a: _sin(a + _pi() / 2),
}


def exact_unary(fn: RealFn) -> Callable[[Any], Any]:
    """The function on a Fraction or -infinity: exact where the rationals have a value, else correct to 40
    digits; None where it is undefined."""

    def compute(a: Any) -> Any:
        if isinstance(a, float):
            return (
                Fraction(0) if fn is RealFn.EXP and a == NINF else -a if fn is RealFn.NEG and a > 0 else None
            )
        if fn is RealFn.NEG:
            return -a
        if fn is RealFn.ABS:
            return abs(a)
        if (fn in (RealFn.LOG, RealFn.RSQRT) and a <= 0) or (fn is RealFn.SQRT and a < 0):
            return None
        if a == 0 and fn is RealFn.SQRT:
            return Fraction(0)
        with localcontext() as context:
            context.prec = 80
            value = _DECIMAL[fn](_decimal(a))
            context.prec = 40
            return Fraction(+value)

    return compute


class ExactArithmetic:
    """Rationals: `+ - * / max min` and comparisons without rounding.

    Transcendental functions are correct to 40 digits when `approximate`, otherwise they raise
    `ExactUnsupported`."""

    dtype = np.dtype(object)

    def __init__(self, *, approximate: bool = True) -> None:
        self._approximate = approximate
        self._binary = {op: np.frompyfunc(f, 2, 1) for op, f in EXACT_BINARY.items()}
        self._unary = {fn: np.frompyfunc(exact_unary(fn), 1, 1) for fn in RealFn}

    def literal(self, value: Fraction) -> Real:
        return value

    def negative_infinity(self) -> Real:
        return NINF

    def positive_infinity(self) -> Real:
        return functions.POSITIVE

    def of_int(self, value: int | Array) -> Real:
        if isinstance(value, np.ndarray):
            return np.array([Fraction(int(v)) for v in value], dtype=object)
        return Fraction(value)

    def zeros(self, count: int) -> Array:
        return np.full(count, Fraction(0), dtype=object)

    def convert(self, data: Array) -> Array:
        out = np.empty(data.size, dtype=object)
        out[:] = [v if isinstance(v, Fraction) else _exactly(float(v)) for v in data.ravel()]
        return out

    def binary(self, op: RealOp, a: Real, b: Real) -> Outcome:
        return _without_none(self._binary[op](a, b))

    def unary(self, fn: RealFn, a: Real) -> Outcome:
        if not self._approximate and fn not in (RealFn.NEG, RealFn.ABS):
            raise ExactUnsupported(f"{fn} has no exact rational value")
        return _without_none(self._unary[fn](a))

    def call(self, fn: RealCall, a: Real, b: Real | None) -> Outcome:
        exact = fn in functions.RATIONAL
        if not self._approximate and not exact:
            raise ExactUnsupported(f"{fn} has no exact rational value")
        compute = np.frompyfunc(_exact_call(fn), 1 if b is None else 2, 1)
        return _without_none(compute(a) if b is None else compute(a, b))

    def compare(self, op: CmpOp, a: Real, b: Real) -> Any:
        return _compare(op, a, b)


def _exact_call(fn: RealCall) -> Callable[..., Any]:
    def compute(*operands: Any) -> Any:
        if any(isinstance(x, float) for x in operands):
            return None
        if fn in functions.RATIONAL:
            return functions.RATIONAL[fn](*operands)
        with localcontext() as context:
            context.prec = 60
            try:
                value = functions.power(*operands) if fn is RealCall.POW else None
                if fn is not RealCall.POW:
                    value = functions.in_decimals(fn, _decimal(*operands))
            except (KeyError, TypeError):
                raise ExactUnsupported(f"{fn} is not computed in rationals") from None
            context.prec = 40
            return Fraction(+value) if isinstance(value, Decimal) else value

    return compute


def _exactly(value: float) -> Any:
    if math.isinf(value):
        return value
    return Fraction(value)


def _without_none(value: Real) -> Outcome:
    if value is None:
        return Fraction(0), np.asarray(True)
    if not isinstance(value, np.ndarray):
        return value, None
    bad = np.array([v is None for v in value])
    if not bad.any():
        return value, None
    value[bad] = Fraction(0)
    return value, bad
