"""Pointers during lowering: an array known statically and an offset in its elements."""

from dataclasses import replace

from semantics.convert import int_binary, int_cast
from semantics.core import Check, CmpOp, IBin, ICast, ICmp, IExpr, ILit, IntOp, IntType, Space
from semantics.span import Refusal, Span
from semantics.state import State, add
from semantics.values import (
    BYTE,
    BoolTy,
    Cell,
    CellRow,
    Int,
    Place,
    Ptr,
    PtrTy,
    RealTy,
    VecTy,
    literal,
    show,
    width,
)


def advance(p: Ptr, count: Int, op: str = "+") -> Ptr:
    """The pointer moved by a number of pointees."""
    scale = scale_of(p)
    step = int_cast(IntType.I64, count) if scale != 1 and not p.flat else count
    if scale != 1:
        step = int_binary(IntOp.MUL, step, literal(scale, step.type), step.type)
    if op == "-":
        step = int_cast(IntType.I64, step)
        step = int_binary(IntOp.SUB, literal(0, IntType.I64), step, IntType.I64)
    return Ptr(p.array, add(p.offset, step, p.flat), p.elem, p.const, p.dims, p.flat)


def scale_of(p: Ptr) -> int:
    """Scalar elements of one pointee."""
    size = p.elem.lanes if isinstance(p.elem, VecTy) else 1
    for extent in p.dims:
        size *= extent
    return size


def deref(st: State, p: Ptr, span: Span) -> Place:
    """The place a pointer points at."""
    if p.dims:
        raise Refusal("an array is no value; index all its dimensions", span)
    offset = p.offset or literal(0)
    if isinstance(p.elem, VecTy):
        array = st.arrays[p.array]
        if p.elem.lanes != 3 and array.space is not Space.LOCAL:
            _check_aligned(st, offset, p.elem.lanes, span)
        return CellRow(p, offset, p.elem)
    if p.elem == BYTE:
        raise Refusal(
            "raw shared memory must be cast before it is used",
            span,
            "float* s = reinterpret_cast<float*>(raw);",
        )
    if isinstance(p.elem, IntType | RealTy | BoolTy):
        return Cell(p.array, offset.expr, p.elem, p.const)
    raise Refusal(
        f"access to elements of type {show(p.elem)} is outside the language", span, "use plain arrays"
    )


def _check_aligned(st: State, offset: Int, lanes: int, span: Span) -> None:
    """A check that the access starts at a multiple of its width, unless that is plain to see."""
    if multiple_of(offset, lanes):
        return
    rest = int_binary(IntOp.MOD, offset, literal(lanes, offset.type), offset.type)
    st.emit(Check(ICmp(CmpOp.EQ, rest.expr, literal(0, offset.type).expr), "MISALIGNED", span))


def multiple_of(offset: Int, lanes: int) -> bool:
    """Whether an offset is visibly a multiple: a literal, a product with one, a sum of such."""

    def visible(e: IExpr) -> bool:
        match e:
            case ILit(value):
                return value % lanes == 0
            case ICast(_, inner):
                return visible(inner)
            case IBin(IntOp.MUL, _, a, b):
                return visible(a) or visible(b)
            case IBin(IntOp.ADD | IntOp.SUB, _, a, b):
                return visible(a) and visible(b)
            case _:
                return False

    return visible(offset.expr)


def decay(p: Ptr) -> Ptr:
    """An array as a pointer to its first element."""
    return Ptr(p.array, p.offset, p.elem, p.const, p.dims[1:], p.flat)


def recast(st: State, p: Ptr, ty: PtrTy, span: Span) -> Ptr:
    """A pointer seen with another pointee: scalar to vector of the same scalar and back, and raw
    shared bytes to their first element type."""
    if p.const and not ty.const:
        raise Refusal("a cast must not drop const", span, "cast to a pointer to const")
    array = st.arrays[p.array]
    scalar = ty.elem.elem if isinstance(ty.elem, VecTy) else ty.elem
    own = p.elem.elem if isinstance(p.elem, VecTy) else p.elem
    if own == BYTE:
        return _carve(st, p, ty, span)
    if scalar != own or not isinstance(scalar, RealTy | IntType):
        raise Refusal(
            f"{show(own)}* seen as {show(ty)} is outside the language",
            span,
            "only vectors of the same element type",
        )
    if isinstance(ty.elem, VecTy) and array.space is Space.LOCAL:
        raise Refusal("a local array seen as vectors is outside the language", span, "use its elements")
    if isinstance(ty.elem, VecTy) and array.space is Space.SHARED and p.array not in st.aligned:
        raise Refusal(
            f"shared array {array.name} is not aligned for {show(ty.elem)}",
            span,
            "declare it with __align__(16)",
        )
    return Ptr(p.array, p.offset, ty.elem, ty.const, (), False)


def _carve(st: State, p: Ptr, ty: PtrTy, span: Span) -> Ptr:
    """A typed view of `extern __shared__ char` memory; the first view decides its element type."""
    if not isinstance(ty.elem, RealTy | IntType):
        raise Refusal("raw shared memory must be cast to a pointer to scalars", span)
    name = show(ty.elem)
    array = st.arrays[p.array]
    if array.elem not in ("byte", name):
        raise Refusal(
            f"raw shared memory is used as {array.elem} and as {name}", span, "use one element type"
        )
    offset = None if p.offset is None else _divide(p.offset, width(ty.elem))
    if p.offset is not None and offset is None:
        raise Refusal(
            "a byte offset must be a visible multiple of the element size",
            span,
            "write count * sizeof(float)",
        )
    st.arrays[p.array] = replace(array, elem=name)
    return Ptr(p.array, offset, ty.elem, ty.const)


def _divide(offset: Int, size: int) -> Int | None:
    """A byte offset in elements: literals, products with a literal, sums of such; else None."""

    def divide(e: IExpr) -> IExpr | None:
        match e:
            case ILit(value, kind) if value % size == 0:
                return ILit(value // size, kind)
            case ICast(kind, inner):
                part = divide(inner)
                return None if part is None else ICast(kind, part)
            case IBin(IntOp.MUL, kind, a, ILit(value)) if value % size == 0:
                return a if value == size else IBin(IntOp.MUL, kind, a, ILit(value // size, kind))
            case IBin(IntOp.MUL, kind, ILit(value), a) if value % size == 0:
                return a if value == size else IBin(IntOp.MUL, kind, a, ILit(value // size, kind))
            case IBin(IntOp.ADD, kind, a, b):
                left, right = divide(a), divide(b)
                return None if left is None or right is None else IBin(IntOp.ADD, kind, left, right)
            case _:
                return None

    found = divide(offset.expr)
    return None if found is None else Int(found, offset.type)
