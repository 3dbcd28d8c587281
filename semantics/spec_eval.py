"""The denotation of a spec, computed: float64 with NumPy, or exact rationals.

Every bound variable gets an axis of its own, so a reduction that does not depend on an outer index
is computed once. Long outputs are computed in slices of the first index.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from semantics.core import CmpOp, RealFn
from semantics.interp.values import BINARY, UNARY, exact_unary
from semantics.spec import (
    Bin,
    Const,
    Ix,
    IxAll,
    IxBin,
    IxCond,
    IxLit,
    IxOp,
    IxVar,
    MaxOver,
    OutputSpec,
    Read,
    SExpr,
    Spec,
    Sum,
    Un,
    Where,
)  # fmt: skip

Array = npt.NDArray[Any]

_LIMIT = 1 << 24
"""Elements of the largest intermediate array."""

Function = Callable[[Array], Any]
_APPROXIMATE: dict[RealFn, Function] = {fn: np.frompyfunc(exact_unary(fn), 1, 1) for fn in RealFn}
_INDEX: dict[IxOp, Callable[[Array, Array], Array]] = {
    IxOp.ADD: np.add,
    IxOp.SUB: np.subtract,
    IxOp.MUL: np.multiply,
    IxOp.DIV: np.floor_divide,
    IxOp.MOD: np.remainder,
}
_COMPARE: dict[CmpOp, Callable[[Array, Array], Array]] = {
    CmpOp.LT: np.less,
    CmpOp.LE: np.less_equal,
    CmpOp.EQ: np.equal,
}


class NotExact(ValueError):
    """Exact evaluation met a function that leaves the rationals."""


def _bound(expression: SExpr) -> dict[str, int]:
    match expression:
        case Sum(var=var, extent=extent, body=body) | MaxOver(var=var, extent=extent, body=body):
            return {var: extent, **_bound(body)}
        case Un(a=a):
            return _bound(a)
        case Bin(a=a, b=b) | Where(a=a, b=b):
            return {**_bound(a), **_bound(b)}
        case _:
            return {}


class _Evaluation:
    def __init__(
        self, spec: Spec, arrays: Mapping[str, Array], exact: bool, functions: Mapping[RealFn, Function]
    ) -> None:
        self.shapes = spec.inputs
        self.exact = exact
        self.functions = functions
        kind: Any = object if exact else np.float64
        self.arrays = {
            name: _prepare(arrays[name], shape, kind, exact) for name, shape in spec.inputs.items()
        }
        self.axis: dict[str, int] = {}
        self.values: dict[str, Array] = {}

    def index(self, ix: Ix) -> Array:
        match ix:
            case IxLit(value=value):
                return np.array(value)
            case IxVar(name=name):
                return self.values[name]
            case IxBin(op=op, a=a, b=b):
                return _INDEX[op](self.index(a), self.index(b))

    def cond(self, cond: IxCond) -> Array:
        if isinstance(cond, IxAll):
            result = np.array(True)
            for part in cond.parts:
                result = np.logical_and(result, self.cond(part))
            return result
        return _COMPARE[cond.op](self.index(cond.a), self.index(cond.b))

    def value(self, e: SExpr, clip: bool = False) -> Array:
        match e:
            case Const(value=value):
                return np.array(value if self.exact else float(value), dtype=object if self.exact else None)
            case Read(input=name, at=at):
                return self.read(name, at, clip)
            case Un(fn=fn, a=a):
                if fn not in self.functions:
                    raise NotExact(f"{fn.value} has no exact rational value")
                return np.asarray(self.functions[fn](self.value(a, clip)))
            case Bin(op=op, a=a, b=b):
                return np.asarray(BINARY[op](self.value(a, clip), self.value(b, clip)))
            case Where(cond=cond, a=a, b=b):
                return np.where(self.cond(cond), self.value(a, True), self.value(b, True))
            case Sum(var=var, extent=extent, body=body):
                inner = self.value(body, clip)
                axis = self.axis[var]
                if np.ndim(inner) == 0 or inner.shape[axis] == 1:
                    return inner * extent
                return np.asarray(np.sum(inner, axis=axis, keepdims=True))
            case MaxOver(var=var, body=body):
                inner = self.value(body, clip)
                if np.ndim(inner) == 0:
                    return inner
                return np.asarray(np.max(inner, axis=self.axis[var], keepdims=True))

    def read(self, name: str, at: tuple[Ix, ...], clip: bool) -> Array:
        places = [self.index(i) for i in at]
        if clip:
            places = [np.clip(p, 0, s - 1) for p, s in zip(places, self.shapes[name], strict=True)]
        return np.asarray(self.arrays[name][tuple(places)])

    def output(self, out: OutputSpec) -> Array:
        bound = _bound(out.body)
        names = [*out.vars, *bound]
        rank = len(names)
        self.axis = {name: d for d, name in enumerate(names)}
        extents = dict(zip(out.vars, out.extents, strict=True)) | bound
        for name, extent in extents.items():
            shape = [1] * rank
            shape[self.axis[name]] = extent
            self.values[name] = np.arange(extent).reshape(shape)
        result = np.empty(out.extents, dtype=object if self.exact else np.float64)
        full = (*out.extents, *[1] * (rank - len(out.vars)))
        if not out.vars:
            result[()] = self.value(out.body).reshape(())
            return result
        rows = max(1, out.extents[0] * _LIMIT // max(1, math.prod(extents.values())))
        first = self.values[out.vars[0]]
        for start in range(0, out.extents[0], rows):
            self.values[out.vars[0]] = first[start : start + rows]
            part = np.broadcast_to(self.value(out.body), (len(first[start : start + rows]), *full[1:]))
            result[start : start + rows] = part.reshape(-1, *out.extents[1:])
        return result


def _prepare(array: Array, shape: tuple[int, ...], kind: Any, exact: bool) -> Array:
    shaped = np.asarray(array).reshape(shape)
    if not exact:
        return shaped.astype(kind)
    flat = [v if isinstance(v, Fraction) else Fraction(float(v)) for v in shaped.reshape(-1)]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(shape)


def evaluate(
    spec: Spec, arrays: Mapping[str, Array], *, exact: bool = False, approximate: bool = False
) -> dict[str, Array]:
    """Every output by name, float64 at the spec's shapes (`exact`: object arrays of Fraction).

    `arrays` holds every input by name, any dtype, with the number of elements the spec says. The
    operations are those of the interpreter, by the same tables. Raises NotExact when `exact` meets a
    function that leaves the rationals, unless `approximate` takes it to 40 digits."""
    functions: Mapping[RealFn, Function] = UNARY
    if exact:
        functions = _APPROXIMATE if approximate else {fn: _APPROXIMATE[fn] for fn in (RealFn.NEG, RealFn.ABS)}
    with np.errstate(all="ignore"):
        evaluation = _Evaluation(spec, arrays, exact, functions)
        return {out.name: evaluation.output(out) for out in spec.outputs}
