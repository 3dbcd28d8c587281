"""Expressions of the core IR, compiled to functions of a machine and the lanes that evaluate them.

The result is one value for all lanes (a Python int, a scalar of the number format, a bool) or an
array with one entry a lane. An array may be a register itself: use it before the next assignment. An
unsigned result of `compile_int` may lie outside its type (see `integers`); `compile_reduced` gives the
value that a register, a comparison or an address sees.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from semantics import core
from semantics.beyond import IOfReal, RCall, RealCall, RPosInf
from semantics.faults import FaultKind
from semantics.interp import integers
from semantics.interp.machine import Lanes, Machine, first
from semantics.interp.values import NINF, Array

IntFn = Callable[[Machine, Lanes], int | Array]
RealFn = Callable[[Machine, Lanes], Any]
CondFn = Callable[[Machine, Lanes], Any]


def compile_int(e: core.IExpr) -> IntFn:
    """A function that evaluates an integer expression."""
    match e:
        case core.ILit(value):
            return lambda m, lanes: value
        case core.IVar(var):
            return lambda m, lanes: m.get_int(var, lanes)
        case core.IParam(param):
            return lambda m, lanes: int(m.scalars[param])
        case core.ISpecial(what, dim):
            return lambda m, lanes: m.special(what, dim, lanes)
        case core.IBin(op, type_, a, b):
            left, right = compile_int(a), compile_int(b)
            return lambda m, lanes: integers.binary(m, lanes, op, type_, left(m, lanes), right(m, lanes))
        case core.ICast(type_, a):
            inner, source = compile_int(a), type_of(a)
            return lambda m, lanes: integers.cast(m, lanes, source, type_, inner(m, lanes))
        case core.ISelect(cond, a, b):
            return _select(compile_cond(cond), compile_int(a), compile_int(b), integer=True)
        case IOfReal(type_, c):
            real = compile_real(c)
            return lambda m, lanes: integers.of_real(m, lanes, type_, real(m, lanes))


def compile_reduced(e: core.IExpr) -> IntFn:
    """A function that evaluates an integer expression to a value in the range of its type."""
    raw, type_ = compile_int(e), type_of(e)
    if type_.signed:
        return raw
    return lambda m, lanes: integers.reduced(m, lanes, type_, raw(m, lanes))


def type_of(e: core.IExpr) -> core.IntType:
    """The type of an integer expression."""
    while isinstance(e, core.ISelect):
        e = e.a
    return e.type


def compile_real(e: core.RExpr) -> RealFn:
    """A function that evaluates a real expression."""
    match e:
        case core.RLit(value):
            return lambda m, lanes: m.arithmetic.literal(value)
        case core.RNegInf():
            return lambda m, lanes: m.arithmetic.negative_infinity()
        case RPosInf():
            return lambda m, lanes: m.arithmetic.positive_infinity()
        case RCall(call, c, d):
            return _real_call(call, compile_real(c), None if d is None else compile_real(d))
        case core.RVar(var):
            return lambda m, lanes: m.get_real(var, lanes)
        case core.RParam(param):
            return lambda m, lanes: m.scalars[param]
        case core.ROfInt(a):
            inner = compile_reduced(a)
            return lambda m, lanes: m.arithmetic.of_int(inner(m, lanes))
        case core.RBin(op, a, b):
            return _real_binary(op, compile_real(a), compile_real(b))
        case core.RFn(fn, a):
            return _real_unary(fn, compile_real(a))
        case core.RSelect(cond, a, b):
            return _select(compile_cond(cond), compile_real(a), compile_real(b), integer=False)


def compile_cond(e: core.BExpr) -> CondFn:
    """A function that evaluates a condition."""
    match e:
        case core.BLit(value):
            return lambda m, lanes: value
        case core.ICmp(op, a, b):
            return _int_compare(op, compile_reduced(a), compile_reduced(b))
        case core.RCmp(op, a, b):
            x, y = compile_real(a), compile_real(b)
            return lambda m, lanes: m.arithmetic.compare(op, x(m, lanes), y(m, lanes))
        case core.BAnd(a, b):
            return _short_circuit(compile_cond(a), compile_cond(b), stop_at=False)
        case core.BOr(a, b):
            return _short_circuit(compile_cond(a), compile_cond(b), stop_at=True)
        case core.BNot(a):
            inner = compile_cond(a)
            return lambda m, lanes: np.logical_not(inner(m, lanes))


def _int_compare(op: core.CmpOp, x: IntFn, y: IntFn) -> CondFn:
    compare = {core.CmpOp.LT: operator.lt, core.CmpOp.LE: operator.le, core.CmpOp.EQ: operator.eq}[op]

    def evaluate(m: Machine, lanes: Lanes) -> Any:
        a, b = integers.operands(x(m, lanes), y(m, lanes))
        return compare(a, b)

    return evaluate


def is_uniform(value: Any) -> bool:
    """Whether a value is one for all lanes."""
    return not isinstance(value, np.ndarray) or value.ndim == 0


def _short_circuit(left: CondFn, right: CondFn, *, stop_at: bool) -> CondFn:
    def evaluate(m: Machine, lanes: Lanes) -> Any:
        a = left(m, lanes)
        if is_uniform(a):
            return a if bool(a) is stop_at else right(m, lanes)
        undecided = ~a if stop_at else a
        rest = lanes.where(undecided)
        if not len(rest):
            return a
        b = right(m, rest)
        if rest is lanes:
            return np.broadcast_to(b, a.shape)
        out = np.array(a)
        out[undecided] = b
        return out

    return evaluate


def _select(cond: CondFn, left: Callable[..., Any], right: Callable[..., Any], *, integer: bool) -> RealFn:
    def evaluate(m: Machine, lanes: Lanes) -> Any:
        chosen = m.aside(cond, lanes)
        if is_uniform(chosen):
            return left(m, lanes) if chosen else right(m, lanes)
        yes, no = lanes.where(chosen), lanes.where(~chosen)
        if not len(no):
            return left(m, lanes)
        if not len(yes):
            return right(m, lanes)
        a, b = left(m, yes), right(m, no)
        if integer:
            a, b = integers.operands(a, b)
        wide = integer and isinstance(a, np.ndarray) and a.dtype == object
        out = np.empty(len(lanes), object if wide else np.int64 if integer else m.arithmetic.dtype)
        out[chosen] = a
        out[~chosen] = b
        return out

    return evaluate


_SYMBOL = {core.RealOp.ADD: "+", core.RealOp.SUB: "-", core.RealOp.MUL: "*", core.RealOp.DIV: "/"}


def _real_binary(op: core.RealOp, left: RealFn, right: RealFn) -> RealFn:
    def evaluate(m: Machine, lanes: Lanes) -> Any:
        a, b = left(m, lanes), right(m, lanes)
        value, bad = m.arithmetic.binary(op, a, b)
        if bad is not None:
            k = first(bad)
            x, y = entry(a, k), entry(b, k)
            text = f"{show(x)} {_SYMBOL.get(op, op)} {show(y)} has no value"
            m.fault(FaultKind.UNDEFINED, text, lanes, bad)
        return value

    return evaluate


def _real_unary(fn: core.RealFn, inner: RealFn) -> RealFn:
    def evaluate(m: Machine, lanes: Lanes) -> Any:
        a = inner(m, lanes)
        value, bad = m.arithmetic.unary(fn, a)
        if bad is not None:
            text = f"{fn}({show(entry(a, first(bad)))}) has no value"
            m.fault(FaultKind.UNDEFINED, text, lanes, bad)
        return value

    return evaluate


def _real_call(fn: RealCall, left: RealFn, right: RealFn | None) -> RealFn:
    def evaluate(m: Machine, lanes: Lanes) -> Any:
        a = left(m, lanes)
        b = None if right is None else right(m, lanes)
        value, bad = m.arithmetic.call(fn, a, b)
        if bad is not None:
            k = first(bad)
            shown = [show(entry(x, k)) for x in (a, b) if x is not None]
            m.fault(FaultKind.UNDEFINED, f"{fn}({', '.join(shown)}) has no value", lanes, bad)
        return value

    return evaluate


def entry(value: Any, k: int) -> Any:
    """The value of one lane."""
    return value if is_uniform(value) else value[k]


def show(value: Any) -> str:
    """A number as people read it."""
    number = float(value)
    if number in (NINF, -NINF):
        return "-inf" if number < 0 else "inf"
    return f"{number:.6g}"
