"""C's conversions and arithmetic on lowered values: everything implicit becomes explicit here."""

from fractions import Fraction
from math import trunc

from semantics.beyond import IOfReal, RPosInf
from semantics.core import (
    BAnd,
    BExpr,
    BLit,
    BNot,
    BOr,
    CmpOp,
    IBin,
    ICast,
    ICmp,
    IExpr,
    ILit,
    IntOp,
    IntType,
    ISelect,
    RBin,
    RCmp,
    RealFn,
    RealOp,
    RExpr,
    RFn,
    RLit,
    RNegInf,
    ROfInt,
    RSelect,
)
from semantics.span import Refusal, Span
from semantics.values import (
    FLOAT,
    Bool,
    BoolTy,
    Index3,
    Infinity,
    Int,
    Nothing,
    Null,
    Ptr,
    PtrTy,
    Real,
    RealTy,
    Record,
    Ty,
    Value,
    Vec,
    VoidTy,
    literal,
    show,
)

_INT_OPS = {
    "+": IntOp.ADD,
    "-": IntOp.SUB,
    "*": IntOp.MUL,
    "/": IntOp.DIV,
    "%": IntOp.MOD,
    "<<": IntOp.SHL,
    ">>": IntOp.SHR,
    "&": IntOp.AND,
    "|": IntOp.OR,
    "^": IntOp.XOR,
}
_REAL_OPS = {"+": RealOp.ADD, "-": RealOp.SUB, "*": RealOp.MUL, "/": RealOp.DIV}
_RANK = [IntType.I32, IntType.U32, IntType.I64, IntType.U64]


def type_of(value: Value, span: Span) -> Ty:
    """The C type of a value."""
    match value:
        case Int(_, kind) | Real(_, kind) | Vec(_, kind) | Record(_, kind):
            return kind
        case Bool():
            return BoolTy()
        case Ptr(_, _, elem, const):
            return PtrTy(elem, const)
        case Nothing():
            return VoidTy()
        case Null():
            return PtrTy(VoidTy())
        case Infinity():
            return FLOAT
        case Index3():
            raise Refusal("a built-in index needs .x, .y or .z", span)


# ---------------------------------------------------------------- conversions


def int_type(e: IExpr) -> IntType:
    """The type an integer expression of the core IR carries."""
    while isinstance(e, ISelect):
        e = e.a
    return e.type


def int_cast(kind: IntType, value: Int) -> Int:
    """The value in another integer type; a literal that fits stays a literal."""
    if kind is value.type:
        return value
    if isinstance(value.expr, ILit) and kind.low <= value.expr.value <= kind.high:
        return literal(value.expr.value, kind)
    return Int(ICast(kind, value.expr), kind)


def to_int(value: Value, span: Span, kind: IntType | None = None) -> Int:
    """An integer, after promotion; converted to `kind` where one is asked for, which a real needs."""
    if kind is not None and isinstance(value, Real):
        return _of_real(value, kind)
    match value:
        case Int():
            out = value
        case Bool(BLit(truth)):
            out = literal(int(truth))
        case Bool(cond):
            out = Int(ISelect(cond, ILit(1), ILit(0)), IntType.I32)
        case Real() | Infinity():
            raise Refusal("an integer is needed here, not a float", span, "convert it: (int)x")
        case _:
            raise Refusal(f"an integer is needed here, not {_what(value, span)}", span)
    return int_cast(kind, out) if kind else out


def _of_real(value: Real, kind: IntType) -> Int:
    """Conversion toward zero; a literal that fits is converted now."""
    if isinstance(value.expr, RLit):
        whole = trunc(value.expr.value)
        if kind.low <= whole <= kind.high:
            return literal(whole, kind)
    if isinstance(value.expr, ROfInt):
        return int_cast(kind, Int(value.expr.a, int_type(value.expr.a)))
    return Int(IOfReal(kind, value.expr), kind)


def to_real(value: Value, span: Span) -> Real:
    """A real."""
    match value:
        case Real():
            return value
        case Int(ILit(number)):
            return Real(RLit(Fraction(number)))
        case Int(expr, _):
            return Real(ROfInt(expr))
        case Bool():
            return Real(ROfInt(to_int(value, span).expr))
        case Infinity():
            return Real(RPosInf())
        case _:
            raise Refusal(f"a number is needed here, not {_what(value, span)}", span)


def to_bool(value: Value, span: Span) -> Bool:
    """A truth value: non-zero is true."""
    match value:
        case Bool():
            return value
        case Int(ILit(number)):
            return Bool(BLit(number != 0))
        case Int(ISelect(cond, ILit(1), ILit(0))):
            return Bool(cond)
        case Int(expr, kind):
            return Bool(BNot(ICmp(CmpOp.EQ, expr, ILit(0, kind))))
        case Real(expr):
            return Bool(BNot(RCmp(CmpOp.EQ, expr, RLit(Fraction(0)))))
        case Ptr():
            return Bool(BLit(True))
        case Null():
            return Bool(BLit(False))
        case _:
            raise Refusal(f"a condition is needed here, not {_what(value, span)}", span)


def convert(value: Value, ty: Ty, span: Span) -> Value:
    """Implicit conversion of a value to a declared type."""
    match ty:
        case IntType():
            return to_int(value, span, ty)
        case RealTy():
            return Real(to_real(value, span).expr, ty)
        case BoolTy():
            return to_bool(value, span)
        case VoidTy():
            return Nothing()
        case PtrTy() if isinstance(value, Null):
            return value
        case PtrTy(elem, const):
            if isinstance(value, Ptr) and not value.dims and value.elem == elem:
                if value.const and not const:
                    raise Refusal(
                        "a pointer to const does not convert to a pointer to non-const", span, "add const"
                    )
                return Ptr(value.array, value.offset, elem, const, (), value.flat)
            raise Refusal(
                f"{_what(value, span)} does not convert to {show(ty)}", span, "use reinterpret_cast"
            )
        case _:
            if type_of(value, span) == ty:
                return value
            raise Refusal(f"{_what(value, span)} does not convert to {show(ty)}", span)


def _what(value: Value, span: Span) -> str:
    return "a built-in index" if isinstance(value, Index3) else show(type_of(value, span))


# ---------------------------------------------------------------- arithmetic


def common_int(a: Int, b: Int) -> tuple[Int, Int, IntType]:
    """Both operands in C's common type."""
    kind = max(a.type, b.type, key=_RANK.index)
    return int_cast(kind, a), int_cast(kind, b), kind


def fold_real(e: RExpr) -> Fraction | None:
    """The exact value of an expression of literals, None when it has another part."""
    match e:
        case RLit(value):
            return value
        case ROfInt(ILit(number)):
            return Fraction(number)
        case RFn(RealFn.NEG, a):
            inner = fold_real(a)
            return None if inner is None else -inner
        case RBin(op, a, b):
            x, y = fold_real(a), fold_real(b)
            if x is None or y is None or (op is RealOp.DIV and y == 0):
                return None
            match op:
                case RealOp.ADD:
                    return x + y
                case RealOp.SUB:
                    return x - y
                case RealOp.MUL:
                    return x * y
                case RealOp.DIV:
                    return x / y
                case RealOp.MAX:
                    return max(x, y)
                case RealOp.MIN:
                    return min(x, y)
        case _:
            return None


def is_real(value: Value) -> bool:
    """Whether the value counts as floating in C's usual arithmetic conversions."""
    return isinstance(value, Real | Infinity)


def real_type(a: Value, b: Value) -> RealTy:
    """The wider of two floating types, for display and template deduction."""
    names = [v.type for v in (a, b) if isinstance(v, Real)]
    return max(names, key=lambda t: {"double": 3, "float": 2}.get(t.name, 1), default=FLOAT)


def int_binary(op: IntOp, a: Int, b: Int, kind: IntType) -> Int:
    """Operation in `kind`; two literals fold where the result is in range, so that C agrees."""
    if isinstance(a.expr, ILit) and isinstance(b.expr, ILit):
        folded = fold(op, a.expr.value, b.expr.value, kind)
        if folded is not None:
            return literal(folded, kind)
    return Int(IBin(op, kind, a.expr, b.expr), kind)


def fold(op: IntOp, a: int, b: int, kind: IntType) -> int | None:
    """The value of an operation on literals, None where it is a fault or outside `kind`."""
    match op:
        case IntOp.ADD:
            out = a + b
        case IntOp.SUB:
            out = a - b
        case IntOp.MUL:
            out = a * b
        case IntOp.MIN:
            out = min(a, b)
        case IntOp.MAX:
            out = max(a, b)
        case IntOp.DIV | IntOp.MOD:
            if b == 0:
                return None
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            out = quotient if op is IntOp.DIV else a - b * quotient
        case IntOp.SHL | IntOp.SHR:
            if a < 0 or not 0 <= b < kind.bits:
                return None
            out = a << b if op is IntOp.SHL else a >> b
        case _:
            if a < 0 or b < 0:
                return None
            out = a & b if op is IntOp.AND else a | b if op is IntOp.OR else a ^ b
    return out if kind.low <= out <= kind.high else None


def binary(op: str, a: Value, b: Value, span: Span) -> Value:
    """A binary operator with C's conversions; comparisons and logic give Bool."""
    if op in ("==", "!=", "<", ">", "<=", ">="):
        return compare(op, a, b, span)
    if op in ("&&", "||"):
        return logic(op, to_bool(a, span), to_bool(b, span))
    if is_real(a) or is_real(b):
        if op not in _REAL_OPS:
            raise Refusal(f"`{op}` needs integers", span, "use fmodf-free code" if op == "%" else "")
        return Real(RBin(_REAL_OPS[op], to_real(a, span).expr, to_real(b, span).expr), real_type(a, b))
    left, right = to_int(a, span), to_int(b, span)
    if op in ("<<", ">>"):
        return int_binary(_INT_OPS[op], left, int_cast(left.type, right), left.type)
    if op == "&":
        masked = _and_not(left, right)
        if masked is not None:
            return masked
    left, right, kind = common_int(left, right)
    if op in ("/", "%") and isinstance(right.expr, ILit) and right.expr.value == 0:
        raise Refusal("division by zero", span)
    return int_binary(_INT_OPS[op], left, right, kind)


def _and_not(a: Int, b: Int) -> Int | None:
    """`x & ~m` for a literal m >= 0 as `x - (x & m)`, equal for every x >= 0 (the domain of `&`)."""
    if isinstance(a.expr, ILit) and not isinstance(b.expr, ILit):
        a, b = b, a
    if not (isinstance(b.expr, ILit) and b.expr.value < 0 and b.type.signed):
        return None
    mask = literal(-1 - b.expr.value, b.type)
    left, right, kind = common_int(a, mask)
    return int_binary(IntOp.SUB, left, int_binary(IntOp.AND, left, right, kind), kind)


def compare(op: str, a: Value, b: Value, span: Span) -> Bool:
    """A comparison."""
    left: IExpr | RExpr
    right: IExpr | RExpr
    if is_real(a) or is_real(b):
        left, right = to_real(a, span).expr, to_real(b, span).expr
        return Bool(_ordered(op, left, right, RCmp))
    x, y, _ = common_int(to_int(a, span), to_int(b, span))
    if isinstance(x.expr, ILit) and isinstance(y.expr, ILit):
        p, q = x.expr.value, y.expr.value
        return Bool(
            BLit({"==": p == q, "!=": p != q, "<": p < q, ">": p > q, "<=": p <= q, ">=": p >= q}[op])
        )
    return Bool(_ordered(op, x.expr, y.expr, ICmp))


def _ordered(op: str, a: "IExpr | RExpr", b: "IExpr | RExpr", make: "type[ICmp] | type[RCmp]") -> BExpr:
    match op:
        case "<":
            return make(CmpOp.LT, a, b)  # type: ignore[arg-type]
        case ">":
            return make(CmpOp.LT, b, a)  # type: ignore[arg-type]
        case "<=":
            return make(CmpOp.LE, a, b)  # type: ignore[arg-type]
        case ">=":
            return make(CmpOp.LE, b, a)  # type: ignore[arg-type]
        case "==":
            return make(CmpOp.EQ, a, b)  # type: ignore[arg-type]
        case _:
            return BNot(make(CmpOp.EQ, a, b))  # type: ignore[arg-type]


def logic(op: str, a: Bool, b: Bool) -> Bool:
    """`&&` and `||` of values without effects; a literal left side decides."""
    if isinstance(a.expr, BLit):
        return b if a.expr.value == (op == "&&") else a
    return Bool(BAnd(a.expr, b.expr) if op == "&&" else BOr(a.expr, b.expr))


def negate(value: Value, span: Span) -> Value:
    """Unary minus."""
    match value:
        case Infinity():
            return Real(RNegInf())
        case Real(RLit(number), kind):
            return Real(RLit(-number), kind)
        case Real(RNegInf(), kind):
            return Real(RPosInf(), kind)
        case Real(RPosInf(), kind):
            return Real(RNegInf(), kind)
        case Real(expr, kind):
            return Real(RFn(RealFn.NEG, expr), kind)
    whole = to_int(value, span)
    return int_binary(IntOp.SUB, literal(0, whole.type), whole, whole.type)


def complement(value: Value, span: Span) -> Value:
    """`~x` as `-1 - x` for signed and as `max - x` for unsigned types: equal, and never out of range."""
    number = to_int(value, span)
    ones = literal(-1 if number.type.signed else number.type.high, number.type)
    return int_binary(IntOp.SUB, ones, number, number.type)


def select(cond: Bool, a: Value, b: Value, span: Span) -> Value:
    """`cond ? a : b` of values without effects, in the common type."""
    if isinstance(a, Bool) and isinstance(b, Bool):
        x, y = to_int(a, span), to_int(b, span)
        return to_bool(Int(ISelect(cond.expr, x.expr, y.expr), IntType.I32), span)
    if is_real(a) or is_real(b):
        return Real(RSelect(cond.expr, to_real(a, span).expr, to_real(b, span).expr), real_type(a, b))
    if isinstance(a, Ptr) and isinstance(b, Ptr):
        if a.array != b.array or a.elem != b.elem or a.dims != b.dims:
            raise Refusal(
                "a pointer chosen between two arrays is outside the language",
                span,
                "branch around the access",
            )
        zero = literal(0, IntType.I64)
        x = int_cast(IntType.I64, a.offset or zero)
        y = int_cast(IntType.I64, b.offset or zero)
        offset = Int(ISelect(cond.expr, x.expr, y.expr), IntType.I64)
        return Ptr(a.array, offset, a.elem, a.const or b.const, a.dims)
    if isinstance(a, Vec) and isinstance(b, Vec) and a.type == b.type:
        items = tuple(select(cond, p, q, span) for p, q in zip(a.items, b.items, strict=True))
        return Vec(tuple(i for i in items if isinstance(i, Int | Real)), a.type)
    x, y, kind = common_int(to_int(a, span), to_int(b, span))
    return Int(ISelect(cond.expr, x.expr, y.expr), kind)
