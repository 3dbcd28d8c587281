"""Integer arithmetic of a C type, checked: a result outside the type is a fault.

A value is a Python int (the same for all threads) or an int64 array. After a fault the value wraps,
as the machine's would.
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
_BITWISE = (IntOp.SHL, IntOp.SHR, IntOp.AND, IntOp.OR, IntOp.XOR)


def binary(m: Machine, lanes: Lanes, op: IntOp, type_: IntType, a: Int, b: Int) -> Int:
    """`a op b` in `type_`."""
    if op in (IntOp.DIV, IntOp.MOD):
        return _divide(m, lanes, op, type_, a, b)
    if op in _BITWISE:
        a, b = _non_negative(m, lanes, op, type_, a, b)
    if isinstance(a, int) and isinstance(b, int):
        return _fit(m, lanes, _plain(op, a, b), type_, op, a, b)
    if op in (IntOp.MIN, IntOp.MAX):
        least: Array = np.minimum(a, b) if op is IntOp.MIN else np.maximum(a, b)
        return least
    if op in (IntOp.AND, IntOp.OR, IntOp.XOR, IntOp.SHR):
        bits: Array = _array(op, a, b)
        return bits
    wide = type_.bits == 64 or op is IntOp.SHL or (op is IntOp.MUL and not type_.signed)
    if wide and not _safe(op, a, b):
        return _exact(m, lanes, op, type_, a, b)
    return _fit(m, lanes, _array(op, a, b), type_, op, a, b)


def cast(m: Machine, lanes: Lanes, type_: IntType, value: Int) -> Int:
    """Conversion to `type_`."""
    return _fit(m, lanes, value, type_, None, value, None)


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


def _safe(op: IntOp, a: Int, b: Int) -> bool:
    """Whether no element of the result can leave int64."""
    corners = [_plain(op, x, y) for x in _range(a) for y in _range(b)]
    return _INT64.low <= min(corners) and max(corners) <= _INT64.high


def _exact(m: Machine, lanes: Lanes, op: IntOp, type_: IntType, a: Int, b: Int) -> Int:
    """The slow way round int64: Python integers, element by element."""
    shape = (len(lanes),)
    left, right = np.broadcast_to(np.asarray(a), shape), np.broadcast_to(np.asarray(b), shape)
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    values = np.array([_plain(op, x, y) for x, y in pairs], dtype=object)
    return _fit(m, lanes, values, type_, op, a, b)


def _fit(
    m: Machine, lanes: Lanes, value: Any, type_: IntType, op: IntOp | None, a: Int, b: Int | None
) -> Int:
    high = min(type_.high, _INT64.high)
    if isinstance(value, int):
        if type_.low <= value <= type_.high and value <= high:
            return value
        _overflow(m, lanes, np.asarray(True), value, type_, op, a, b)
        return _wrap(value, type_)
    if value.size == 0 or (value.max() <= high and value.min() >= type_.low):
        result: Array = value if value.dtype != object else value.astype(np.int64)
        return result
    bad = ((value > high) | (value < type_.low)).astype(bool)
    _overflow(m, lanes, bad, value, type_, op, a, b)
    return np.array([_wrap(int(v), type_) for v in value], np.int64)


def _wrap(value: int, type_: IntType) -> int:
    wrapped = (value - type_.low) % (1 << type_.bits) + type_.low
    return wrapped if wrapped <= _INT64.high else wrapped - (1 << 64)


def _overflow(
    m: Machine, lanes: Lanes, bad: Any, value: Any, type_: IntType, op: IntOp | None, a: Int, b: Int | None
) -> None:
    k = first(bad)
    result = _pick(value, k)
    if op is None or b is None:
        text = f"{result} does not fit `{_DECLARED[type_]}`"
    else:
        text = f"{_term(op, _pick(a, k), _pick(b, k))} = {result} does not fit `{_DECLARED[type_]}`"
    if not type_.signed:
        text += " and wraps"
    m.fault(FaultKind.INT_OVERFLOW, text, lanes, bad, value=float(result))


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
        huge = np.equal(a, type_.low) & np.equal(b, -1)
        if np.any(huge):
            m.fault(FaultKind.UNDEFINED, f"{type_.low} % -1", lanes, huge, value=0.0)
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return _fit(m, lanes, quotient if op is IntOp.DIV else a - quotient * b, type_, op, a, b)
    if not type_.signed or (np.min(a) >= 0 and np.min(b) > 0):
        return a // b if op is IntOp.DIV else a % b
    quotients = np.abs(a) // np.abs(b) * np.where(np.less(a, 0) == np.less(b, 0), 1, -1)
    return _fit(m, lanes, quotients if op is IntOp.DIV else a - quotients * b, type_, op, a, b)


def _non_negative(m: Machine, lanes: Lanes, op: IntOp, type_: IntType, a: Int, b: Int) -> tuple[Int, Int]:
    bad = np.less(a, 0) | np.less(b, 0)
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
