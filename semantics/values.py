"""Types and values during lowering: what an expression of the source has become in the core IR."""

from dataclasses import dataclass

from semantics.core import BExpr, BLit, IExpr, ILit, IntType, RExpr, RLit, RNegInf, Special

# ---------------------------------------------------------------- types


@dataclass(frozen=True, slots=True)
class RealTy:
    """A floating type; arithmetic is exact whatever the name."""

    name: str = "float"


@dataclass(frozen=True, slots=True)
class BoolTy:
    """`bool`."""


@dataclass(frozen=True, slots=True)
class VoidTy:
    """`void`."""


@dataclass(frozen=True, slots=True)
class VecTy:
    """`float4` and its like: `lanes` members of one type."""

    elem: "RealTy | IntType"
    lanes: int
    name: str


@dataclass(frozen=True, slots=True)
class StructTy:
    """A plain struct."""

    name: str
    fields: tuple[tuple[str, "Ty"], ...]


@dataclass(frozen=True, slots=True)
class PtrTy:
    """Pointer to elements."""

    elem: "Ty"
    const: bool = False


Ty = RealTy | BoolTy | VoidTy | VecTy | StructTy | PtrTy | IntType
FLOAT = RealTy("float")
BYTE = RealTy("byte")

C_INT = {
    IntType.I32: "int",
    IntType.U32: "unsigned int",
    IntType.I64: "long long",
    IntType.U64: "unsigned long long",
}


def show(ty: Ty) -> str:
    """The type as a person writes it."""
    match ty:
        case IntType():
            return C_INT[ty]
        case BoolTy():
            return "bool"
        case VoidTy():
            return "void"
        case PtrTy(elem, const):
            return f"{'const ' if const else ''}{show(elem)}*"
        case RealTy(name) | VecTy(_, _, name) | StructTy(name, _):
            return name


def width(ty: Ty) -> int:
    """Size in bytes."""
    match ty:
        case IntType():
            return ty.bits // 8
        case BoolTy():
            return 1
        case PtrTy():
            return 8
        case RealTy(name):
            return {"float": 4, "double": 8}.get(name, 2)
        case VecTy(elem, lanes, _):
            return width(elem) * lanes
        case StructTy(_, fields):
            return sum(width(t) for _, t in fields)
        case VoidTy():
            return 1


# ---------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class Int:
    """An integer of a C type."""

    expr: IExpr
    type: IntType


@dataclass(frozen=True, slots=True)
class Real:
    """A real; `type` only names the C type it came from."""

    expr: RExpr
    type: RealTy = FLOAT


@dataclass(frozen=True, slots=True)
class Bool:
    """A truth value."""

    expr: BExpr


@dataclass(frozen=True, slots=True)
class Vec:
    """Members of a vector type."""

    items: "tuple[Int | Real, ...]"
    type: VecTy


@dataclass(frozen=True, slots=True)
class Record:
    """Members of a struct, in order."""

    items: "tuple[Value, ...]"
    type: StructTy


@dataclass(frozen=True, slots=True)
class Ptr:
    """A pointer into an array known statically.

    `offset` counts the array's scalar elements (None is zero); `elem` is the pointee type, `dims` the
    extents of a pointee that is itself an array; `flat` says that the offset comes from indices of
    a multi-dimensional array, whose arithmetic stays in the type of the indices."""

    array: int
    offset: Int | None
    elem: Ty
    const: bool = False
    dims: tuple[int, ...] = ()
    flat: bool = False


@dataclass(frozen=True, slots=True)
class Index3:
    """`threadIdx` and its like before the member is taken."""

    what: Special


@dataclass(frozen=True, slots=True)
class Infinity:
    """`INFINITY`, before a sign is applied."""


@dataclass(frozen=True, slots=True)
class Null:
    """`nullptr`: different from every array, equal to itself."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The value of a void expression."""


Value = Int | Real | Bool | Vec | Record | Ptr | Index3 | Infinity | Null | Nothing


# ---------------------------------------------------------------- places


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar variable; a bool lives in an I32 register as 0 or 1."""

    var: int
    type: "IntType | RealTy | BoolTy"
    const: bool = False


@dataclass(frozen=True, slots=True)
class Members:
    """A vector or struct variable: one place a member."""

    items: "tuple[Place, ...]"
    type: VecTy | StructTy
    const: bool = False


@dataclass(frozen=True, slots=True)
class PtrVar:
    """A pointer variable: the array is known where it is used, the offset is an I64 register. `name` is
    the variable's, so that an assignment from another array can bind it anew."""

    array: int
    var: int
    elem: Ty
    const: bool
    dims: tuple[int, ...] = ()
    fixed: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A pointer variable after branches that left it in different arrays; only assignment helps."""

    before: PtrVar


@dataclass(frozen=True, slots=True)
class Cell:
    """One scalar element of an array."""

    array: int
    index: IExpr
    type: "RealTy | IntType | BoolTy"
    const: bool = False


@dataclass(frozen=True, slots=True)
class CellRow:
    """Adjacent elements of an array seen as one vector, with the offset of the first."""

    ptr: Ptr
    offset: Int
    type: VecTy


Place = Register | Members | PtrVar | Cell | CellRow | Lost
Entity = Place | Value


def constant(value: Value) -> int | None:
    """The value of an integer or bool known now, else None."""
    if isinstance(value, Int) and isinstance(value.expr, ILit):
        return value.expr.value
    if isinstance(value, Bool) and isinstance(value.expr, BLit):
        return int(value.expr.value)
    return None


def is_constant(value: Value) -> bool:
    """Whether the value is a literal of the core IR."""
    if isinstance(value, Real):
        return isinstance(value.expr, RLit | RNegInf)
    return constant(value) is not None


def literal(value: int, kind: IntType = IntType.I32) -> Int:
    """An integer literal."""
    return Int(ILit(value, kind), kind)
