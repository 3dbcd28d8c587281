"""Integer arithmetic of a C type, checked.

A value is a Python int (the same for all threads) or an array: of int64, or of Python ints when one of
them is 2^63 or more. A signed result outside its type is a fault; the value then wraps, as the machine's
would. Unsigned sums, differences and products are kept as they are in the integers until something
depends on the wrapped value: legal C like `(unsigned)i < n` or `int j = threadIdx.x - 1` is no fault, but
a wrapped value in an address is, directly or through a variable (see `Machine.wraps`).
"""

from typing import Any

import numpy as np

from semantics.core import IntOp, IntType
from semantics.faults import FaultKind
from semantics.interp.machine import Lanes, Machine, first
from semantics.interp.values import Array

Int = int | Array
_SIGN = {
    IntOp.ADD: "+",
    IntOp.SUB: "-",
    IntOp.MUL: "*",
    IntOp.DIV: "/",
    IntOp.MOD: "%",
    IntOp.SHL: "<<",
    IntOp.SHR: ">>",
    IntOp.AND: "&",
    IntOp.OR: "|",
    IntOp.XOR: "^",
}
_DECLARED = {
    IntType.I32: "int",
    IntType.U32: "unsigned int",
    IntType.I64: "long long",
    IntType.U64: "unsigned long long",
}
_INT64 = IntType.I64
_RING = (IntOp.ADD, IntOp.SUB, IntOp.MUL)
_BITWISE = (IntOp.SHL, IntOp.SHR, IntOp.AND, IntOp.OR, IntOp.XOR)


def binary(m: Machine, lanes: Lanes, op: IntOp, type_: IntType, a: Int, b: Int) -> Int:
    """`a op b` in `type_`. The result of an unsigned `ADD`, `SUB` or `MUL` is not reduced yet."""
    if not type_.signed:
        if op in _RING:
            return _unreduced(m, lanes, op, type_, a, b)
        a, b = reduced(m, lanes, type_, a), reduced(m, lanes, type_, b)
    if op in (IntOp.DIV, IntOp.MOD):
        return _divide(m, lanes, op, type_, a, b)
    if op in _BITWISE:
        a, b = _non_negative(m, lanes, op, type_, a, b)
    if isinstance(a, int) and isinstance(b, int):
        return _fit(m, lanes, _plain(op, a, b), type_, op, a, b)
    if op in (IntOp.MIN, IntOp.MAX):
        p, q = operands(a, b)
        least: Array = np.minimum(p, q) if op is IntOp.MIN else np.maximum(p, q)
        return least
    if op in (IntOp.AND, IntOp.OR, IntOp.XOR, IntOp.SHR):
        bits: Array = _array(op, *operands(a, b))
        return bits
    if (type_.bits == 64 or op is IntOp.SHL) and not (
        _small(a) and _small(b) and _inside(_corners(op, a, b), _INT64)
    ):
        return _fit(m, lanes, _exact(lanes, op, a, b), type_, op, a, b)
    return _fit(m, lanes, _array(op, a, b), type_, op, a, b)


def cast(m: Machine, lanes: Lanes, source: IntType, type_: IntType, value: Int) -> Int:
    """Conversion from `source` to `type_`. To an unsigned type it is not reduced yet."""
    if not source.signed and type_.bits > source.bits:
        value = reduced(m, lanes, source, value)
    if not type_.signed:
        return value
    return _fit(m, lanes, value, type_, None, value, None)


def reduced(m: Machine, lanes: Lanes, type_: IntType, value: Int) -> Int:
    """The value in the range of its type: what a register, a comparison or an address sees. Unsigned
    values that wrap here are reported to the machine."""
    if type_.signed:
        return value
    high = type_.high
    if isinstance(value, int):
        if 0 <= value <= high:
            return value
        m.wraps(lanes, np.asarray(True), f"{value} does not fit `{_DECLARED[type_]}` and wraps", value)
        return _wrap(value, type_)
    if value.size == 0 or (value.min() >= 0 and value.max() <= high):
        return value
    bad = _beyond(value, 0, high)
    worst = int(value[first(bad)])
    m.wraps(lanes, bad, f"{worst} does not fit `{_DECLARED[type_]}` and wraps", worst)
    return packed([_wrap(int(v), type_) for v in value])


def packed(values: list[int]) -> Array:
    """An array of integers: of int64 where all fit, else of Python ints."""
    if all(_INT64.low <= v <= _INT64.high for v in values):
        return np.array(values, np.int64)
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _beyond(value: Array, low: int, high: int) -> Array:
    """Which entries lie outside `[low, high]`; bounds beyond int64 hold for every int64."""
    if value.dtype != object:
        low, high = max(low, _INT64.low), min(high, _INT64.high)
    bad: Array = ((value < low) | (value > high)).astype(bool)
    return bad


def _small(value: Int) -> bool:
    """Whether int64 arithmetic can take the value as it is."""
    if isinstance(value, int):
        return _INT64.low <= value <= _INT64.high
    return value.dtype != object


def operands(a: Int, b: Int) -> tuple[Any, Any]:
    """Both as numpy takes them together: arrays of Python ints when one of them exceeds int64."""
    if _small(a) and _small(b):
        return a, b
    return np.asarray(a, object), np.asarray(b, object)


def _unreduced(m: Machine, lanes: Lanes, op: IntOp, type_: IntType, a: Int, b: Int) -> Int:
    corners = _corners(op, a, b)
    inside = _small(a) and _small(b) and _inside(corners, _INT64)
    value: Any
    if isinstance(a, int) and isinstance(b, int):
        value = _plain(op, a, b)
    else:
        value = _array(op, a, b) if inside else _exact(lanes, op, a, b)
    if not _inside(corners, type_):
        bad = _beyond(np.atleast_1d(np.asarray(value)), type_.low, type_.high)
        if np.any(bad):
            k = first(bad)
            m.wrap_text = _overflow_text(type_, op, _pick(a, k), _pick(b, k), _pick(value, k))
    if inside:
        return value  # type: ignore[no-any-return]
    if isinstance(value, int):
        return reduced(m, lanes, type_, value)
    bad = _beyond(value, type_.low, type_.high)
    if bad.any():
        m.wraps(lanes, bad, "", float(value[first(bad)]))
    return packed([_wrap(int(v), type_) for v in value])


def _plain(op: IntOp, a: int, b: int) -> int:
    match op:
        case IntOp.ADD:
            return a + b
        case IntOp.SUB:
            return a - b
        case IntOp.MUL:
            return a * b
        case IntOp.MIN:
            return min(a, b)
        case IntOp.MAX:
            return max(a, b)
        case IntOp.SHL:
            return a << b
        case IntOp.SHR:
            return a >> b
        case IntOp.AND:
            return a & b
        case IntOp.OR:
            return a | b
        case _:
            return a ^ b


def _array(op: IntOp, a: Any, b: Any) -> Any:
    match op:
        case IntOp.ADD:
            return a + b
        case IntOp.SUB:
            return a - b
        case IntOp.MUL:
            return a * b
        case IntOp.SHL:
            return a << b
        case IntOp.SHR:
            return a >> b
        case IntOp.AND:
            return a & b
        case IntOp.OR:
            return a | b
        case _:
            return a ^ b


def _range(value: Int) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value.min()), int(value.max()))


def _corners(op: IntOp, a: Int, b: Int) -> list[int]:
    """Results at the extremes of the operands; for these operations all others lie between."""
    return [_plain(op, x, y) for x in _range(a) for y in _range(b)]


def _inside(values: list[int], type_: IntType) -> bool:
    return type_.low <= min(values) and max(values) <= type_.high


def _exact(lanes: Lanes, op: IntOp, a: Int, b: Int) -> Array:
    """The slow way round int64: Python integers, element by element."""
    shape = (len(lanes),)
    left, right = np.broadcast_to(np.asarray(a), shape), np.broadcast_to(np.asarray(b), shape)
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return np.array([_plain(op, x, y) for x, y in pairs], dtype=object)


def _fit(
    m: Machine, lanes: Lanes, value: Any, type_: IntType, op: IntOp | None, a: Int, b: Int | None
) -> Int:
    if isinstance(value, int):
        if type_.low <= value <= type_.high:
            return value
        _overflow(m, lanes, np.asarray(True), value, type_, op, a, b)
        return _wrap(value, type_)
    if value.size == 0 or (value.max() <= type_.high and value.min() >= type_.low):
        return value if value.dtype != object else packed(value.tolist())
    bad = _beyond(value, type_.low, type_.high)
    _overflow(m, lanes, bad, value, type_, op, a, b)
    return packed([_wrap(int(v), type_) for v in value])


def _wrap(value: int, type_: IntType) -> int:
    """The value modulo the type."""
    return (value - type_.low) % (1 << type_.bits) + type_.low


def _overflow(
    m: Machine, lanes: Lanes, bad: Any, value: Any, type_: IntType, op: IntOp | None, a: Int, b: Int | None
) -> None:
    k = first(bad)
    result = _pick(value, k)
    if op is None or b is None:
        text = f"{result} does not fit `{_DECLARED[type_]}`"
    else:
        text = _overflow_text(type_, op, _pick(a, k), _pick(b, k), result)
    m.fault(FaultKind.INT_OVERFLOW, text, lanes, bad, value=float(result))


def _overflow_text(type_: IntType, op: IntOp, a: int, b: int, result: int) -> str:
    text = f"{_term(op, a, b)} = {result} does not fit `{_DECLARED[type_]}`"
    return text if type_.signed else f"{text} and wraps"


def _term(op: IntOp, a: int, b: int) -> str:
    if op in (IntOp.MIN, IntOp.MAX):
        return f"{op}({a}, {b})"
    return f"{a} {_SIGN[op]} {b}"


def _pick(value: Any, k: int) -> int:
    return int(value) if np.ndim(value) == 0 else int(value[k])


def _divide(m: Machine, lanes: Lanes, op: IntOp, type_: IntType, a: Int, b: Int) -> Int:
    zero = np.equal(b, 0)
    if np.any(zero):
        k = first(zero)
        m.fault(FaultKind.UNDEFINED, f"{_pick(a, k)} {_SIGN[op]} 0", lanes, zero, value=0.0)
        b = np.where(zero, 1, b) if isinstance(b, np.ndarray) else 1
    if op is IntOp.MOD and type_.signed:
        huge = np.logical_and(np.equal(a, type_.low), np.equal(b, -1))
        if np.any(huge):
            m.fault(FaultKind.UNDEFINED, f"{type_.low} % -1", lanes, huge, value=0.0)
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return _fit(m, lanes, quotient if op is IntOp.DIV else a - quotient * b, type_, op, a, b)
    if not type_.signed or (np.min(a) >= 0 and np.min(b) > 0):
        p, q = operands(a, b)
        return p // q if op is IntOp.DIV else p % q  # type: ignore[no-any-return]
    quotients = np.abs(a) // np.abs(b) * np.where(np.less(a, 0) == np.less(b, 0), 1, -1)
    return _fit(m, lanes, quotients if op is IntOp.DIV else a - quotients * b, type_, op, a, b)


def of_real(m: Machine, lanes: Lanes, type_: IntType, value: Any) -> Int:
    """Conversion of a real toward zero; what does not fit `type_` is a fault, and zero then."""
    parts = np.atleast_1d(np.asarray(value))
    if parts.dtype == object:
        whole = [None if isinstance(x, float) else int(x) for x in parts]
    else:
        whole = [int(x) if np.isfinite(x) else None for x in parts.tolist()]
    bad = np.array([x is None or not type_.low <= x <= type_.high for x in whole], bool)
    if bad.any():
        worst = float(parts[first(bad)])
        mask = bad if np.ndim(value) else np.asarray(True)
        text = f"{worst:.6g} does not fit `{_DECLARED[type_]}`"
        m.fault(FaultKind.INT_OVERFLOW, text, lanes, mask, value=worst)
    kept = [0 if wrong or x is None else x for x, wrong in zip(whole, bad, strict=True)]
    return packed(kept) if np.ndim(value) else kept[0]


def _non_negative(m: Machine, lanes: Lanes, op: IntOp, type_: IntType, a: Int, b: Int) -> tuple[Int, Int]:
    bad: Any = np.logical_or(np.less(a, 0), np.less(b, 0))
    what = "of a negative number"
    if op in (IntOp.SHL, IntOp.SHR):
        far = np.greater_equal(b, type_.bits)
        if np.any(far) and not np.any(bad):
            what = f"shifts by the width of `{_DECLARED[type_]}` or more"
        bad = bad | far
    if not np.any(bad):
        return a, b
    k = first(bad)
    m.fault(FaultKind.UNDEFINED, f"{_term(op, _pick(a, k), _pick(b, k))} {what}", lanes, bad)
    if isinstance(a, int) and isinstance(b, int):
        return 0, 0
    return np.where(bad, 0, a), np.where(bad, 0, b)
