"""Calls: the functions of CUDA and C that the language knows, and helpers, which are inlined."""

from collections.abc import Callable
from fractions import Fraction

from semantics import ast, warp
from semantics.beyond import IOfReal, RCall, RealCall
from semantics.convert import common_int, int_binary, is_real, negate, real_type, to_int, to_real
from semantics.core import (
    AtomicAdd,
    IntOp,
    IntType,
    RBin,
    RealFn,
    RealOp,
    RExpr,
    RFn,
    RLit,
    RNegInf,
)
from semantics.effects import check_sequence
from semantics.elaborate import evaluate
from semantics.pointers import deref
from semantics.span import Refusal
from semantics.state import State
from semantics.types import scalar_type
from semantics.values import Cell, Int, Nothing, Ptr, Real, RealTy, Value, Vec, VecTy

_UNARY = {
    "exp": RealFn.EXP,
    "expf": RealFn.EXP,
    "__expf": RealFn.EXP,
    "log": RealFn.LOG,
    "logf": RealFn.LOG,
    "__logf": RealFn.LOG,
    "sqrt": RealFn.SQRT,
    "sqrtf": RealFn.SQRT,
    "__fsqrt_rn": RealFn.SQRT,
    "rsqrt": RealFn.RSQRT,
    "rsqrtf": RealFn.RSQRT,
    "__frsqrt_rn": RealFn.RSQRT,
    "tanh": RealFn.TANH,
    "tanhf": RealFn.TANH,
    "erf": RealFn.ERF,
    "erff": RealFn.ERF,
    "fabs": RealFn.ABS,
    "fabsf": RealFn.ABS,
    "sin": RealFn.SIN,
    "sinf": RealFn.SIN,
    "__sinf": RealFn.SIN,
    "cos": RealFn.COS,
    "cosf": RealFn.COS,
    "__cosf": RealFn.COS,
}
_BINARY = {
    "fmaxf": RealOp.MAX,
    "fminf": RealOp.MIN,
    "fmax": RealOp.MAX,
    "fmin": RealOp.MIN,
    "__fdividef": RealOp.DIV,
    "fdividef": RealOp.DIV,
    **{
        f"__f{name}_{way}": op
        for name, op in (("div", RealOp.DIV), ("add", RealOp.ADD), ("mul", RealOp.MUL), ("sub", RealOp.SUB))
        for way in ("rn", "rz", "rd", "ru")
    },
    "__hadd": RealOp.ADD,
    "__hsub": RealOp.SUB,
    "__hmul": RealOp.MUL,
    "__hdiv": RealOp.DIV,
    "__hmax": RealOp.MAX,
    "__hmin": RealOp.MIN,
}
_EXACT_CASTS = {
    "__half2float": "float",
    "__float2half": "__half",
    "__float2half_rn": "__half",
    "__bfloat162float": "float",
    "__float2bfloat16": "__nv_bfloat16",
    "__float2bfloat16_rn": "__nv_bfloat16",
    "__int2float_rn": "float",
    "__uint2float_rn": "float",
}
_HINTS = {
    "__threadfence": ("memory fences are outside the language", "use one kernel for each phase"),
    "__threadfence_block": ("memory fences are outside the language", "use __syncthreads()"),
    "__activemask": (
        "which lanes __activemask names is not defined",
        "name them: 0xffffffff, or __ballot_sync of the condition",
    ),
    "__shfl": ("shuffles without a mask are outside the language", "use __shfl_sync(0xffffffff, ...)"),
    "__shfl_up": ("shuffles without a mask are outside the language", "use __shfl_up_sync(0xffffffff, ...)"),
    "__shfl_down": (
        "shuffles without a mask are outside the language",
        "use __shfl_down_sync(0xffffffff, ...)",
    ),
    "__shfl_xor": (
        "shuffles without a mask are outside the language",
        "use __shfl_xor_sync(0xffffffff, ...)",
    ),
    "atomicCAS": ("atomicCAS is outside the language", "only atomicAdd is known"),
    "atomicMax": ("atomicMax is outside the language", "only atomicAdd is known"),
    "atomicExch": ("atomicExch is outside the language", "only atomicAdd is known"),
    "malloc": ("allocation is outside the language", "use KSHELL_WORKSPACE in the launcher"),
    "cudaMalloc": ("host code is outside the language", "use KSHELL_WORKSPACE in the launcher"),
    "printf": ("printf is outside the language", "remove it"),
    "assert": ("assert is outside the language", "remove it"),
    "__trap": ("__trap is outside the language", "remove it"),
    "__int_as_float": ("bit casts are outside the language", "use -INFINITY"),
    "__float_as_int": ("bit casts are outside the language", "compare the floats themselves"),
    "KSHELL_WORKSPACE": ("KSHELL_WORKSPACE belongs in the launcher", ""),
}


_CALLS = {
    RealCall.FLOOR: "floor floorf",
    RealCall.CEIL: "ceil ceilf",
    RealCall.TRUNC: "trunc truncf",
    RealCall.ROUND: "round roundf",
    RealCall.RINT: "rint rintf nearbyint nearbyintf",
    RealCall.EXP2: "exp2 exp2f",
    RealCall.EXP10: "exp10 exp10f __exp10f",
    RealCall.LOG2: "log2 log2f __log2f",
    RealCall.LOG10: "log10 log10f __log10f",
    RealCall.TAN: "tan tanf __tanf",
    RealCall.ASIN: "asin asinf",
    RealCall.ACOS: "acos acosf",
    RealCall.ATAN: "atan atanf",
    RealCall.SINH: "sinh sinhf",
    RealCall.COSH: "cosh coshf",
    RealCall.CBRT: "cbrt cbrtf",
    RealCall.FMOD: "fmod fmodf",
    RealCall.ATAN2: "atan2 atan2f",
}
_CALL_OF = {name: fn for fn, names in _CALLS.items() for name in names.split()}
_TWO = (RealCall.FMOD, RealCall.ATAN2)


def call(st: State, e: ast.Call) -> Value:
    """The value of a call; a helper of the source wins over a built-in of the same name."""
    check_sequence(e.args, st.unit.functions)
    if e.name in st.unit.functions:
        return st.unit.inline(st, st.unit.functions[e.name], e)
    if e.targs:
        raise Refusal(f"unknown template {e.name!r}", e.span)
    if e.name in _HINTS and not (e.name == "__int_as_float" and _is_ninf(e)):
        reason, hint = _HINTS[e.name]
        raise Refusal(reason, e.span, hint)
    handler = _HANDLERS.get(e.name)
    if handler is None:
        raise Refusal(f"unknown function {e.name!r}", e.span, "write it as a __device__ helper")
    return handler(st, e)


def _is_ninf(e: ast.Call) -> bool:
    return len(e.args) == 1 and isinstance(e.args[0], ast.IntLit) and e.args[0].text.lower() == "0xff800000"


def _values(st: State, e: ast.Call, count: int) -> list[Value]:
    if len(e.args) != count:
        raise Refusal(
            f"{e.name} takes {count} argument{'s' if count != 1 else ''}, not {len(e.args)}", e.span
        )
    return [evaluate(st, a) for a in e.args]


def _reals(st: State, e: ast.Call, count: int) -> list[RExpr]:
    return [to_real(v, a.span).expr for v, a in zip(_values(st, e, count), e.args, strict=True)]


def _unary(st: State, e: ast.Call) -> Value:
    return Real(RFn(_UNARY[e.name], _reals(st, e, 1)[0]))


def _binary(st: State, e: ast.Call) -> Value:
    a, b = _reals(st, e, 2)
    return Real(RBin(_BINARY[e.name], a, b))


def _fma(st: State, e: ast.Call) -> Value:
    a, b, c = _reals(st, e, 3)
    return Real(RBin(RealOp.ADD, RBin(RealOp.MUL, a, b), c))


def _exact_cast(st: State, e: ast.Call) -> Value:
    return Real(_reals(st, e, 1)[0], RealTy(_EXACT_CASTS[e.name]))


def _min_max(st: State, e: ast.Call) -> Value:
    a, b = _values(st, e, 2)
    least = e.name == "min"
    if is_real(a) or is_real(b):
        op = RealOp.MIN if least else RealOp.MAX
        return Real(RBin(op, to_real(a, e.span).expr, to_real(b, e.span).expr), real_type(a, b))
    x, y, kind = common_int(to_int(a, e.span), to_int(b, e.span))
    return int_binary(IntOp.MIN if least else IntOp.MAX, x, y, kind)


def _abs(st: State, e: ast.Call) -> Value:
    value = _values(st, e, 1)[0]
    if is_real(value):
        return Real(RFn(RealFn.ABS, to_real(value, e.span).expr))
    number = to_int(value, e.span, IntType.I32)
    minus = negate(number, e.span)
    return int_binary(IntOp.MAX, number, to_int(minus, e.span), IntType.I32)


def _reciprocal(st: State, e: ast.Call) -> Value:
    return Real(RBin(RealOp.DIV, RLit(Fraction(1)), _reals(st, e, 1)[0]))


def _derived(st: State, e: ast.Call) -> Value:
    """Functions that are plain arithmetic over the others."""
    one = RLit(Fraction(1))
    a = _reals(st, e, 1)[0]
    match e.name:
        case "log1p" | "log1pf":
            return Real(RFn(RealFn.LOG, RBin(RealOp.ADD, one, a)))
        case "expm1" | "expm1f":
            return Real(RBin(RealOp.SUB, RFn(RealFn.EXP, a), one))
        case "erfc" | "erfcf":
            return Real(RBin(RealOp.SUB, one, RFn(RealFn.ERF, a)))
        case _:
            return Real(RBin(RealOp.MIN, RBin(RealOp.MAX, a, RLit(Fraction(0))), one))


def _real_call(st: State, e: ast.Call) -> Value:
    fn = _CALL_OF[e.name]
    values = _reals(st, e, 2 if fn in _TWO else 1)
    return Real(RCall(fn, *values))


def _power(st: State, e: ast.Call) -> Value:
    base, exponent = _values(st, e, 2)
    power = to_real(exponent, e.span).expr
    value = to_real(base, e.span)
    if isinstance(power, RLit):
        if power.value == Fraction(1, 2):
            return Real(RFn(RealFn.SQRT, value.expr), value.type)
        if power.value == Fraction(-1, 2):
            return Real(RFn(RealFn.RSQRT, value.expr), value.type)
        if power.value.denominator == 1 and 1 <= power.value <= 8:
            kept = st.copy(value, e.span)
            out = to_real(kept, e.span).expr
            for _ in range(int(power.value) - 1):
                out = RBin(RealOp.MUL, out, to_real(kept, e.span).expr)
            return Real(out, value.type)
    return Real(RCall(RealCall.POW, value.expr, power), value.type)


def _to_int(st: State, e: ast.Call) -> Value:
    """`__float2int_rz` and its kin: rounded as the name says, then converted."""
    a = _reals(st, e, 1)[0]
    way = _ROUNDINGS[e.name.rsplit("_", 1)[1]]
    kind = IntType.U32 if "uint" in e.name else IntType.I32
    return Int(IOfReal(kind, a if way is None else RCall(way, a)), kind)


_ROUNDINGS = {"rz": None, "rn": RealCall.RINT, "rd": RealCall.FLOOR, "ru": RealCall.CEIL}


def _hypot(st: State, e: ast.Call) -> Value:
    a, b = (st.copy(Real(x), e.span) for x in _reals(st, e, 2))
    x, y = to_real(a, e.span).expr, to_real(b, e.span).expr
    return Real(RFn(RealFn.SQRT, RBin(RealOp.ADD, RBin(RealOp.MUL, x, x), RBin(RealOp.MUL, y, y))))


def _positive_part(st: State, e: ast.Call) -> Value:
    """`fdimf`."""
    a, b = _reals(st, e, 2)
    return Real(RBin(RealOp.MAX, RBin(RealOp.SUB, a, b), RLit(Fraction(0))))


def _load(st: State, e: ast.Call) -> Value:
    pointer = _values(st, e, 1)[0]
    if not isinstance(pointer, Ptr):
        raise Refusal(f"{e.name} takes a pointer", e.span)
    return st.read(deref(st, pointer, e.span), e.span)


def _streamed_store(st: State, e: ast.Call) -> Value:
    """`__stcs(p, v)` and its kin: stores with a hint for the cache."""
    pointer, value = _values(st, e, 2)
    if not isinstance(pointer, Ptr):
        raise Refusal(f"{e.name} takes a pointer", e.span)
    st.write(deref(st, pointer, e.span), value, e.span)
    return Nothing()


def _sync(st: State, e: ast.Call) -> Value:
    _values(st, e, 0)
    st.barrier(e.span)
    return Nothing()


def _atomic_add(st: State, e: ast.Call) -> Value:
    if len(e.args) != 2:
        raise Refusal("atomicAdd takes 2 arguments", e.span)
    pointer = evaluate(st, e.args[0])
    value = evaluate(st, e.args[1])
    place = deref(st, pointer, e.span) if isinstance(pointer, Ptr) else None
    if not isinstance(place, Cell) or place.const:
        raise Refusal("atomicAdd takes the address of an element that can be written", e.args[0].span)
    if isinstance(place.type, RealTy):
        st.emit(AtomicAdd(place.array, place.index, to_real(value, e.span).expr, e.span))
    elif isinstance(place.type, IntType):
        st.emit(AtomicAdd(place.array, place.index, to_int(value, e.span, place.type).expr, e.span))
    return Nothing()


def _make_vector(st: State, e: ast.Call) -> Value:
    ty = scalar_type(e.name.removeprefix("make_"))
    if not isinstance(ty, VecTy):
        raise Refusal(f"unknown function {e.name!r}", e.span)
    items: list[Int | Real] = []
    for value, arg in zip(_values(st, e, ty.lanes), e.args, strict=True):
        items.append(
            to_int(value, arg.span, ty.elem) if isinstance(ty.elem, IntType) else to_real(value, arg.span)
        )
    return Vec(tuple(items), ty)


def _negative_infinity(st: State, e: ast.Call) -> Value:
    return Real(RNegInf())


_HANDLERS: dict[str, Callable[[State, ast.Call], Value]] = {
    **dict.fromkeys(_UNARY, _unary),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_EXACT_CASTS, _exact_cast),
    **dict.fromkeys(warp.SHUFFLES, warp.shuffle),
    **dict.fromkeys(warp.VOTES, warp.vote),
    **dict.fromkeys(("fmaf", "fma", "__fmaf_rn"), _fma),
    **dict.fromkeys(("min", "max"), _min_max),
    **dict.fromkeys(_CALL_OF, _real_call),
    **dict.fromkeys(("powf", "pow", "__powf"), _power),
    **dict.fromkeys(("__ldg", "__ldcs", "__ldcg", "__ldca"), _load),
    **dict.fromkeys(
        (f"make_{b}{n}" for b in ("float", "double", "int", "uint") for n in (2, 3, 4)), _make_vector
    ),
    **dict.fromkeys(("log1p", "log1pf", "expm1", "expm1f", "erfc", "erfcf", "__saturatef"), _derived),
    **{f"__float2{k}_{way}": _to_int for k in ("int", "uint") for way in _ROUNDINGS},
    **dict.fromkeys(("hypot", "hypotf"), _hypot),
    **dict.fromkeys(("fdim", "fdimf"), _positive_part),
    **dict.fromkeys(("__stcs", "__stcg", "__stwb", "__stwt"), _streamed_store),
    "abs": _abs,
    "__frcp_rn": _reciprocal,
    "__syncthreads": _sync,
    "__syncwarp": warp.syncwarp,
    "atomicAdd": _atomic_add,
    "__int_as_float": _negative_infinity,
}
BUILTINS = frozenset(_HANDLERS)
