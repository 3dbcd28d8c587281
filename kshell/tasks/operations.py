"""The table of operations: PyTorch functions as index functions over exact scalars."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from semantics.core import CmpOp, RealFn, RealOp
from semantics.literals import real_literal
from semantics.span import Refusal
from semantics.spec import (
    Bin,
    Const,
    Ix,
    IxAll,
    IxBin,
    IxCmp,
    IxLit,
    IxOp,
    IxVar,
    MaxOver,
    SExpr,
    Sum,
    Un,
    Where,
)  # fmt: skip

At = tuple[Ix, ...]


@dataclass(frozen=True)
class Sym:
    """A tensor as its shape and its element at an index."""

    shape: tuple[int, ...]
    at: Callable[[At], SExpr]


class Tracer:
    """Gives out the names of bound index variables."""

    def __init__(self) -> None:
        self._count = 0

    def fresh(self) -> IxVar:
        """A new bound variable."""
        self._count += 1
        return IxVar(f"k{self._count}")


# ---------------------------------------------------------------- indices and scalars


def ix(op: IxOp, a: Ix, b: Ix) -> Ix:
    """Index arithmetic with the trivial cases folded."""
    if isinstance(a, IxLit) and isinstance(b, IxLit) and not (op in (IxOp.DIV, IxOp.MOD) and b.value == 0):
        x, y = a.value, b.value
        value = {IxOp.ADD: x + y, IxOp.SUB: x - y, IxOp.MUL: x * y}.get(op)
        return IxLit(value if value is not None else x // y if op is IxOp.DIV else x % y)
    if op in (IxOp.ADD, IxOp.SUB) and b == IxLit(0):
        return a
    if op is IxOp.ADD and a == IxLit(0):
        return b
    if op is IxOp.MUL and IxLit(1) in (a, b):
        return b if a == IxLit(1) else a
    if op is IxOp.DIV and b == IxLit(1):
        return a
    return IxBin(op, a, b)


def constant(value: float | int) -> Sym:
    """A Python number: integers exactly, floats by the float32 rule of literals."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Refusal(f"the constant {value} has no meaning in the spec language")
    number = Fraction(value) if isinstance(value, int) else real_literal(value)
    return Sym((), lambda _at: Const(number))


def _sym(value: Any) -> Sym:
    if isinstance(value, Sym):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refusal(f"the reference passes {value!r} where a tensor or a number is expected")
    return constant(value)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    for x, y in zip(left, right, strict=True):
        if x != y and 1 not in (x, y):
            raise Refusal(f"shapes {a} and {b} do not broadcast")
    return tuple(y if x == 1 else x for x, y in zip(left, right, strict=True))


def _part(value: Sym, at: At) -> SExpr:
    """Element of a broadcast operand."""
    own = at[len(at) - len(value.shape) :]
    return value.at(tuple(IxLit(0) if s == 1 else i for s, i in zip(value.shape, own, strict=True)))


def _binary(op: RealOp) -> Callable[..., Sym]:
    def apply(_t: Tracer, a: Any, b: Any, **rest: Any) -> Sym:
        if rest:
            raise Refusal(f"{op.value} with {', '.join(rest)} has no meaning in the spec language")
        x, y = _sym(a), _sym(b)
        return Sym(_broadcast(x.shape, y.shape), lambda at: Bin(op, _part(x, at), _part(y, at)))

    return apply


def _map(f: Callable[[SExpr], SExpr]) -> Callable[..., Sym]:
    def apply(_t: Tracer, a: Any, inplace: bool = False) -> Sym:
        x = _sym(a)
        return Sym(x.shape, lambda at: f(x.at(at)))

    return apply


def _un(fn: RealFn) -> Callable[..., Sym]:
    return _map(lambda a: Un(fn, a))


def _const(value: float | int) -> Const:
    return Const(Fraction(value) if isinstance(value, int) else real_literal(value))


def _add(a: SExpr, b: SExpr) -> SExpr:
    return Bin(RealOp.ADD, a, b)


def _mul(a: SExpr, b: SExpr) -> SExpr:
    return Bin(RealOp.MUL, a, b)


def _div(a: SExpr, b: SExpr) -> SExpr:
    return Bin(RealOp.DIV, a, b)


def _sigmoid(a: SExpr) -> SExpr:
    return _div(_const(1), _add(_const(1), Un(RealFn.EXP, Un(RealFn.NEG, a))))


def _silu(a: SExpr) -> SExpr:
    return _div(a, _add(_const(1), Un(RealFn.EXP, Un(RealFn.NEG, a))))


def _gelu(_t: Tracer, a: Any, approximate: str = "none") -> Sym:
    x = _sym(a)
    half, one = _const(0.5), _const(1)

    def erf_form(v: SExpr) -> SExpr:
        return _mul(_mul(half, v), _add(one, Un(RealFn.ERF, _mul(v, _const(math.sqrt(0.5))))))

    def tanh_form(v: SExpr) -> SExpr:
        inner = _mul(_const(math.sqrt(2 / math.pi)), _add(v, _mul(_const(0.044715), _mul(_mul(v, v), v))))
        return _mul(_mul(half, v), _add(one, Un(RealFn.TANH, inner)))

    form = {"none": erf_form, "tanh": tanh_form}.get(approximate)
    if form is None:
        raise Refusal(f"gelu with approximate={approximate!r} is unknown")
    return Sym(x.shape, lambda at: form(x.at(at)))


def _pow(_t: Tracer, a: Any, exponent: Any) -> Sym:
    x = _sym(a)
    if exponent == 0.5:
        return Sym(x.shape, lambda at: Un(RealFn.SQRT, x.at(at)))
    if not isinstance(exponent, int | float) or exponent != int(exponent) or not 1 <= exponent <= 8:
        raise Refusal(f"pow with exponent {exponent!r} has no meaning in the spec language (1 to 8, or 0.5)")

    def power(at: At) -> SExpr:
        value = x.at(at)
        result = value
        for _ in range(int(exponent) - 1):
            result = _mul(result, value)
        return result

    return Sym(x.shape, power)


# ---------------------------------------------------------------- reductions


def _axes(dim: Any, rank: int) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(rank))
    dims = dim if isinstance(dim, tuple) else (dim,)
    if any(not isinstance(d, int) or not -rank <= d < rank for d in dims):
        raise Refusal(f"dimension {dim!r} of a tensor of rank {rank}")
    return tuple(sorted({d % rank for d in dims}))


def _reduce(tracer: Tracer, x: Sym, dim: Any, keepdim: bool, kind: type[Sum] | type[MaxOver]) -> Sym:
    axes = _axes(dim, len(x.shape))
    kept = [d for d in range(len(x.shape)) if d not in axes]
    shape = (
        tuple(1 if d in axes else s for d, s in enumerate(x.shape))
        if keepdim
        else tuple(x.shape[d] for d in kept)
    )

    def at(index: At) -> SExpr:
        own = [i for d, i in enumerate(index) if d not in axes] if keepdim else list(index)
        bound = {d: tracer.fresh() for d in axes}
        place = dict(zip(kept, own, strict=True))
        body = x.at(tuple(bound[d] if d in bound else place[d] for d in range(len(x.shape))))
        for d in reversed(axes):
            body = kind(bound[d].name, x.shape[d], body)
        return body

    return Sym(shape, at)


def _sum(tracer: Tracer, a: Any, dim: Any = None, keepdim: bool = False) -> Sym:
    return _reduce(tracer, _sym(a), dim, keepdim, Sum)


def _mean(tracer: Tracer, a: Any, dim: Any = None, keepdim: bool = False) -> Sym:
    x = _sym(a)
    total = _reduce(tracer, x, dim, keepdim, Sum)
    count = math.prod(x.shape[d] for d in _axes(dim, len(x.shape)))
    return Sym(total.shape, lambda at: _div(total.at(at), _const(count)))


def _amax(tracer: Tracer, a: Any, dim: Any = None, keepdim: bool = False) -> Sym:
    return _reduce(tracer, _sym(a), dim, keepdim, MaxOver)


def _softmax(tracer: Tracer, a: Any, dim: Any = None, dtype: Any = None, **_rest: Any) -> Sym:
    """exp(x - max) / sum exp(x - max)."""
    x = _sym(a)
    if dim is None or dtype is not None:
        raise Refusal("softmax needs its dim and no dtype")
    largest = _reduce(tracer, x, dim, True, MaxOver)
    shifted = Sym(x.shape, lambda at: Un(RealFn.EXP, Bin(RealOp.SUB, x.at(at), _part(largest, at))))
    total = _reduce(tracer, shifted, dim, True, Sum)
    return Sym(x.shape, lambda at: _div(shifted.at(at), _part(total, at)))


def _layer_norm(
    tracer: Tracer, a: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Sym:
    """(x - mean) * rsqrt(variance + eps) * weight + bias, variance about the mean, over trailing axes."""
    x = _sym(a)
    rank = len(normalized_shape) if isinstance(normalized_shape, tuple) else 1
    dims = tuple(range(len(x.shape) - rank, len(x.shape)))
    mean = _mean(tracer, x, dims, True)
    centred = Sym(x.shape, lambda at: Bin(RealOp.SUB, x.at(at), _part(mean, at)))
    squared = Sym(x.shape, lambda at: _mul(centred.at(at), centred.at(at)))
    variance = _mean(tracer, squared, dims, True)

    def at(index: At) -> SExpr:
        inverse = Un(RealFn.RSQRT, _add(_part(variance, index), _const(eps)))
        value = _mul(centred.at(index), inverse)
        if weight is not None:
            value = _mul(value, _part(_sym(weight), index))
        return value if bias is None else _add(value, _part(_sym(bias), index))

    return Sym(x.shape, at)


# ---------------------------------------------------------------- products


def _matmul(tracer: Tracer, a: Any, b: Any) -> Sym:
    """torch.matmul: vectors, matrices, batches with broadcasting of the batch dimensions."""
    x, y = _sym(a), _sym(b)
    if not x.shape or not y.shape:
        raise Refusal("matmul needs tensors of rank at least 1")
    left = x if len(x.shape) > 1 else Sym((1, *x.shape), lambda at: x.at(at[1:]))
    right = y if len(y.shape) > 1 else Sym((*y.shape, 1), lambda at: y.at(at[:-1]))
    inner = left.shape[-1]
    if right.shape[-2] != inner:
        raise Refusal(f"matmul of shapes {x.shape} and {y.shape}")
    batch = _broadcast(left.shape[:-2], right.shape[:-2])

    def own(operand: Sym, lead: At) -> At:
        size = operand.shape[:-2]
        part = lead[len(lead) - len(size) :]
        return tuple(IxLit(0) if s == 1 else i for s, i in zip(size, part, strict=True))

    def at(index: At) -> SExpr:
        rest = list(index)
        column: Ix = rest.pop() if len(y.shape) > 1 else IxLit(0)
        row: Ix = rest.pop() if len(x.shape) > 1 else IxLit(0)
        lead = tuple(rest)
        k = tracer.fresh()
        product = _mul(left.at((*own(left, lead), row, k)), right.at((*own(right, lead), k, column)))
        return Sum(k.name, inner, product)

    rows = left.shape[-2:-1] if len(x.shape) > 1 else ()
    columns = right.shape[-1:] if len(y.shape) > 1 else ()
    return Sym((*batch, *rows, *columns), at)


def _linear(tracer: Tracer, a: Any, weight: Any, bias: Any = None) -> Sym:
    """x @ weight.T + bias."""
    w = _sym(weight)
    turned = Sym(tuple(reversed(w.shape)), lambda at: w.at(tuple(reversed(at))))
    product = _matmul(tracer, a, turned)
    if bias is None:
        return product
    b = _sym(bias)
    return Sym(product.shape, lambda at: _add(product.at(at), _part(b, at)))


def _pair(value: Any) -> tuple[int, int]:
    pair = value if isinstance(value, tuple) else (value, value)
    if len(pair) == 1:
        pair = pair * 2
    if any(not isinstance(v, int) for v in pair):
        raise Refusal(f"a convolution parameter {value!r} that is not an integer")
    return pair[0], pair[1]


def _conv2d(
    tracer: Tracer, a: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Sym:  # fmt: skip
    """Cross-correlation, NCHW, zero padding, as torch.nn.functional.conv2d defines it."""
    x, w = _sym(a), _sym(weight)
    (sh, sw), (ph, pw), (dh, dw) = _pair(stride), _pair(padding), _pair(dilation)
    batch, channels, height, width = x.shape
    out, per_group, kh, kw = w.shape
    if channels != per_group * groups or out % groups:
        raise Refusal(f"conv2d of shapes {x.shape} and {w.shape} in {groups} groups")
    oh = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    ow = (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1

    def place(out_index: Ix, tap: Ix, step: int, dilate: int, pad: int) -> Ix:
        moved = ix(IxOp.ADD, ix(IxOp.MUL, out_index, IxLit(step)), ix(IxOp.MUL, tap, IxLit(dilate)))
        return ix(IxOp.SUB, moved, IxLit(pad))

    def at(index: At) -> SExpr:
        n, o, i, j = index
        c, r, s = tracer.fresh(), tracer.fresh(), tracer.fresh()
        row, column = place(i, r, sh, dh, ph), place(j, s, sw, dw, pw)
        group = ix(IxOp.MUL, ix(IxOp.DIV, o, IxLit(out // groups)), IxLit(per_group))
        first: Ix = IxLit(0) if groups == 1 else group
        channel: Ix = first if per_group == 1 else ix(IxOp.ADD, first, c)
        tap: Ix = IxLit(0) if per_group == 1 else c
        value = x.at((n, channel, row, column))
        inside = IxAll(
            (
                IxCmp(CmpOp.LE, IxLit(0), row), IxCmp(CmpOp.LT, row, IxLit(height)),
                IxCmp(CmpOp.LE, IxLit(0), column), IxCmp(CmpOp.LT, column, IxLit(width)),
            )
        )  # fmt: skip
        padded = Where(inside, value, Const(Fraction(0))) if ph or pw else value
        body: SExpr = Sum(s.name, kw, _mul(padded, w.at((o, tap, r, s))))
        body = Sum(r.name, kh, body)
        body = body if per_group == 1 else Sum(c.name, per_group, body)
        return body if bias is None else _add(body, _sym(bias).at((o,)))

    return Sym((batch, out, oh, ow), at)


# ---------------------------------------------------------------- views


def _transpose(_t: Tracer, a: Any, dim0: int, dim1: int) -> Sym:
    x = _sym(a)
    order = list(range(len(x.shape)))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return Sym(tuple(x.shape[d] for d in order), lambda at: x.at(tuple(at[d] for d in order)))


def _turned(tracer: Tracer, a: Any) -> Sym:
    return _transpose(tracer, a, 0, 1)


def _getattr(tracer: Tracer, a: Any, name: str) -> Any:
    if name == "shape":
        return _sym(a).shape
    if name == "T":
        return _turned(tracer, a)
    raise Refusal(f"the attribute {name!r} has no meaning in the spec language")


def _getitem(_t: Tracer, a: Any, index: Any) -> Any:
    if isinstance(a, tuple) and isinstance(index, int):
        return a[index]
    raise Refusal("indexing a tensor has no meaning in the spec language yet")


def _size(_t: Tracer, a: Any, dim: int | None = None) -> Any:
    shape = _sym(a).shape
    return shape if dim is None else shape[dim]


def _unsqueeze(_t: Tracer, a: Any, dim: int) -> Sym:
    x = _sym(a)
    place = dim % (len(x.shape) + 1)
    return Sym((*x.shape[:place], 1, *x.shape[place:]), lambda at: x.at((*at[:place], *at[place + 1 :])))


def _same(_t: Tracer, a: Any, *_rest: Any, **_named: Any) -> Sym:
    return _sym(a)


_ADD, _SUB, _MUL, _DIV = (_binary(o) for o in (RealOp.ADD, RealOp.SUB, RealOp.MUL, RealOp.DIV))


def _reversed(apply: Callable[..., Sym]) -> Callable[..., Sym]:
    return lambda tracer, a, b: apply(tracer, b, a)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": _ADD, "sub": _SUB, "mul": _MUL, "truediv": _DIV, "div": _DIV,
    "radd": _reversed(_ADD), "rsub": _reversed(_SUB), "rmul": _reversed(_MUL),
    "iadd": _ADD, "isub": _SUB, "imul": _MUL, "itruediv": _DIV,
    "maximum": _binary(RealOp.MAX), "minimum": _binary(RealOp.MIN),
    "neg": _un(RealFn.NEG), "abs": _un(RealFn.ABS), "exp": _un(RealFn.EXP), "log": _un(RealFn.LOG),
    "sqrt": _un(RealFn.SQRT), "rsqrt": _un(RealFn.RSQRT), "tanh": _un(RealFn.TANH), "erf": _un(RealFn.ERF),
    "sin": _un(RealFn.SIN), "cos": _un(RealFn.COS),
    "relu": _map(lambda a: Bin(RealOp.MAX, a, _const(0))),
    "sigmoid": _map(_sigmoid), "silu": _map(_silu), "gelu": _gelu,
    "square": _map(lambda a: _mul(a, a)), "pow": _pow,
    "sum": _sum, "mean": _mean, "amax": _amax,
    "softmax": _softmax, "layer_norm": _layer_norm,
    "matmul": _matmul, "mm": _matmul, "bmm": _matmul, "mv": _matmul, "linear": _linear, "conv2d": _conv2d,
    "transpose": _transpose, "t": _turned, "getattr": _getattr, "getitem": _getitem, "size": _size,
    "unsqueeze": _unsqueeze, "contiguous": _same,
}  # fmt: skip
