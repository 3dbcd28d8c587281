"""Types as written to types of the lowering, template parameters replaced."""

from semantics import ast
from semantics.core import IntType
from semantics.span import Refusal
from semantics.state import State
from semantics.values import BoolTy, PtrTy, RealTy, Ty, VecTy, VoidTy

_INTS = {
    "int": IntType.I32,
    "int32_t": IntType.I32,
    "unsigned": IntType.U32,
    "uint32_t": IntType.U32,
    "long": IntType.I64,
    "long long": IntType.I64,
    "int64_t": IntType.I64,
    "unsigned long": IntType.U64,
    "unsigned long long": IntType.U64,
    "uint64_t": IntType.U64,
    "size_t": IntType.U64,
}
_REALS = {"float": "float", "double": "double", "half": "__half", "__nv_bfloat16": "__nv_bfloat16"}
_HALF = {
    "half2": ("__half", "half2"),
    "__half2": ("__half", "half2"),
    "__nv_bfloat162": ("__nv_bfloat16", "__nv_bfloat162"),
}
RAW = ("char", "unsigned char", "uint8_t")


def scalar_type(base: str) -> Ty | None:
    """A built-in type by its canonical spelling, None for one the lowering does not know."""
    if base in _INTS:
        return _INTS[base]
    if base in _REALS:
        return RealTy(_REALS[base])
    if base == "bool":
        return BoolTy()
    if base == "void":
        return VoidTy()
    if base in _HALF:
        elem, name = _HALF[base]
        return VecTy(RealTy(elem), 2, name)
    if base[:-1] in ("float", "double") and base[-1] in "234":
        return VecTy(RealTy(base[:-1]), int(base[-1]), base)
    if base[:-1] in ("int", "uint") and base[-1] in "234":
        return VecTy(IntType.I32 if base[0] == "i" else IntType.U32, int(base[-1]), base)
    return None


def resolve(st: State, t: ast.CType, value: bool = True) -> Ty:
    """The type with stars applied. `value` refuses references (they are handled where they may stand).
    `volatile` adds nothing: every access of the source is one of the core IR already, and orders no other."""
    if t.reference and value:
        raise Refusal("references are known for parameters of helpers only", t.span)
    ty: Ty | None = None
    for frame in reversed(st.types):
        if t.base in frame:
            ty = frame[t.base]
            break
    if ty is None:
        ty = st.unit.structs.get(t.base) or scalar_type(t.base)
    if ty is None:
        raise Refusal(
            f"type {t.base} is outside the language here",
            t.span,
            "known: float, int, unsigned, long long, bool",
        )
    if t.pointer > 1 or (t.pointer and isinstance(ty, PtrTy)):
        raise Refusal("pointers to pointers are outside the language", t.span)
    return PtrTy(ty, t.const) if t.pointer else ty
