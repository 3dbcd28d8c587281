"""Expressions of the surface AST to values of the core IR.

Every load, assignment and call becomes a statement of its own, in evaluation order (C++17: the right
side of an assignment before the left, `&&`, `||`, `?:` and `,` left first). What C leaves unsequenced
is refused when the order would matter."""

from semantics import ast
from semantics.convert import (
    binary,
    common_int,
    complement,
    convert,
    int_type,
    is_real,
    logic,
    negate,
    real_type,
    select,
    to_bool,
    to_int,
    to_real,
    type_of,
)
from semantics.core import (
    BLit,
    BNot,
    Dim,
    IntType,
    ISpecial,
    RLit,
    Stmt,
)
from semantics.core import If as CoreIf
from semantics.effects import check_sequence, is_effectful
from semantics.known import CONSTANTS, REAL_CONSTANTS, SPECIALS
from semantics.literals import int_literal, real_literal
from semantics.pointers import advance, decay, deref, recast
from semantics.span import NullAccess, Refusal, Span
from semantics.state import State
from semantics.types import resolve
from semantics.values import (
    FLOAT,
    Bool,
    BoolTy,
    Cell,
    CellRow,
    Index3,
    Int,
    Lost,
    Members,
    Nothing,
    Null,
    Place,
    Ptr,
    PtrTy,
    PtrVar,
    Real,
    RealTy,
    Record,
    Register,
    StructTy,
    Ty,
    Value,
    Vec,
    VecTy,
    VoidTy,
    constant,
    literal,
    show,
    width,
)

_MEMBERS = "xyzw"


def evaluate(st: State, e: ast.Expr) -> Value:
    """The value of an expression; statements it needs are emitted first."""
    match e:
        case ast.IntLit(text, span):
            try:
                number, kind = int_literal(text)
            except ValueError as error:
                raise Refusal(str(error), span) from None
            return literal(number, kind)
        case ast.FloatLit(text, span):
            return real_number(text, span)
        case ast.BoolLit(value):
            return Bool(BLit(value))
        case ast.Name() | ast.Index() | ast.Member():
            return _read(st, e)
        case ast.Unary():
            return _unary(st, e)
        case ast.Postfix(op, operand, span):
            place = locate(st, operand)
            old = st.copy(st.read(place, span), span)
            st.write(place, _step(op, old, span), span)
            return old
        case ast.Binary(op, left, right, span):
            if op == ",":
                evaluate(st, left)
                return evaluate(st, right)
            if op in ("&&", "||"):
                return _short_circuit(st, op, left, right, span)
            check_sequence((left, right), st.unit.functions)
            a = evaluate(st, left)
            return arithmetic(op, a, evaluate(st, right), span)
        case ast.Assign():
            return assign(st, e)[1]
        case ast.Ternary():
            return _ternary(st, e)
        case ast.Cast():
            return _cast(st, e)
        case ast.SizeOf(kind, span):
            ty = resolve(st, kind)
            if isinstance(ty, StructTy):
                raise Refusal("sizeof of a struct is outside the language", span, "padding is the compiler's")
            return literal(width(ty), IntType.U64)
        case ast.SameType(left, right):
            return Bool(BLit(resolve(st, left) == resolve(st, right)))
        case ast.Call():
            from semantics.intrinsics import call

            return call(st, e)


def real_number(text: str, span: Span) -> Real:
    """A float literal."""
    try:
        return Real(RLit(real_literal(text)), FLOAT if text[-1] in "fF" else RealTy("double"))
    except ValueError as error:
        raise Refusal(str(error), span) from None


def arithmetic(op: str, a: Value, b: Value, span: Span) -> Value:
    """A binary operator, pointer arithmetic included."""
    if op in ("==", "!=") and isinstance(a, Ptr | Null) and Null in (type(a), type(b)):
        if not isinstance(b, Ptr | Null):
            raise Refusal("a pointer is compared with a number", span, "compare it with nullptr")
        return Bool(BLit((type(a) is type(b)) == (op == "==")))
    if isinstance(a, Ptr) and op in ("+", "-") and not isinstance(b, Ptr):
        return advance(a, to_int(b, span), op)
    if isinstance(b, Ptr) and op == "+":
        return advance(b, to_int(a, span), op)
    if isinstance(a, Ptr) or isinstance(b, Ptr):
        raise Refusal(
            f"`{op}` on pointers is outside the language", span, "compare or subtract indices instead"
        )
    return binary(op, a, b, span)


# ---------------------------------------------------------------- places


def locate(st: State, e: ast.Expr) -> Place:
    """The place an lvalue denotes; its index is evaluated here."""
    match e:
        case ast.Name(name, span):
            found = st.find(name)
            if isinstance(found, Place):
                return found
            if found is None and name not in SPECIALS and name not in CONSTANTS:
                raise _unknown(name, span)
            raise Refusal(f"{name} cannot be assigned", span, "it is a constant or an array")
        case ast.Index(base, index, span):
            check_sequence((base, index), st.unit.functions)
            pointer = pointer_of(st, base)
            return deref(st, subscript(st, pointer, index), span)
        case ast.Unary("*", operand, span):
            return deref(st, pointer_of(st, operand), span)
        case ast.Member(obj, field, span):
            place = locate(st, obj)
            return member_place(st, place, field, span)
        case ast.Cast(_, _, "reinterpret_cast") | ast.Cast(_, _, "c"):
            raise Refusal("a cast is no place", e.span, "cast the address: *reinterpret_cast<float4*>(p)")
        case ast.Unary("++" | "--", operand, span):
            evaluate(st, e)
            return locate(st, operand)
        case ast.Assign():
            return assign(st, e)[0]
        case _:
            raise Refusal("this is no place that can be assigned", e.span)


def member_place(st: State, place: Place, field: str, span: Span) -> Place:
    """A member of a vector or struct place."""
    if isinstance(place, CellRow):
        lane = _lane(place.type, field, span)
        return st.row(place)[lane]
    if isinstance(place, Members) and isinstance(place.type, VecTy):
        return _as_const(place.items[_lane(place.type, field, span)], place.const)
    if isinstance(place, Members) and isinstance(place.type, StructTy):
        for item, (name, _) in zip(place.items, place.type.fields, strict=True):
            if name == field:
                return _as_const(item, place.const)
        raise Refusal(f"{place.type.name} has no member {field!r}", span)
    raise Refusal(f"`.{field}` on a value without members", span)


def _as_const(place: Place, const: bool) -> Place:
    if const and isinstance(place, Register):
        return Register(place.var, place.type, True)
    return place


def _lane(ty: VecTy, field: str, span: Span) -> int:
    if len(field) != 1 or field not in _MEMBERS[: ty.lanes]:
        raise Refusal(
            f"{ty.name} has no member {field!r}", span, f"members are {', '.join(_MEMBERS[: ty.lanes])}"
        )
    return _MEMBERS.index(field)


def pointer_of(st: State, e: ast.Expr) -> Ptr:
    """The pointer value of an expression. Refuses what is no pointer."""
    value = evaluate(st, e)
    if isinstance(value, Null):
        raise NullAccess("a null pointer is used here", e.span, "test it before")
    if not isinstance(value, Ptr):
        raise Refusal("only arrays and pointers can be indexed or dereferenced", e.span)
    return value


def subscript(st: State, p: Ptr, index: ast.Expr) -> Ptr:
    """`&p[index]`."""
    return advance(p, to_int(evaluate(st, index), index.span))


# ---------------------------------------------------------------- reading


def _read(st: State, e: ast.Name | ast.Index | ast.Member) -> Value:
    match e:
        case ast.Name(name, span):
            return _name(st, name, span)
        case ast.Member(obj, field, span):
            return _member(st, obj, field, span)
        case ast.Index(base, index, span):
            check_sequence((base, index), st.unit.functions)
            pointer = subscript(st, pointer_of(st, base), index)
            if pointer.dims:
                return decay(pointer)
            return st.read(deref(st, pointer, span), span)


def _name(st: State, name: str, span: Span) -> Value:
    found = st.find(name)
    if found is None:
        if name in SPECIALS:
            return Index3(SPECIALS[name])
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in REAL_CONSTANTS:
            return real_number(REAL_CONSTANTS[name], span)
        raise _unknown(name, span)
    if isinstance(found, Place):
        return st.read(found, span)
    return found


def _unknown(name: str, span: Span) -> Refusal:
    if name in ("printf", "assert", "clock", "clock64"):
        return Refusal(f"{name} is outside the language", span, "remove it")
    return Refusal(f"unknown name {name!r}", span, "declare it, or pass it as a parameter")


def _member(st: State, obj: ast.Expr, field: str, span: Span) -> Value:
    if isinstance(obj, ast.Name) and st.find(obj.name) is None and obj.name in SPECIALS:
        if field not in ("x", "y", "z"):
            raise Refusal(f"{obj.name} has no member {field!r}", span)
        return Int(ISpecial(SPECIALS[obj.name], Dim(field)), IntType.U32)
    found = st.find(obj.name) if isinstance(obj, ast.Name) else None
    if isinstance(obj, ast.Name | ast.Member) and not isinstance(found, Value):
        return st.read(member_place(st, locate(st, obj), field, span), span)
    value = evaluate(st, obj)
    if isinstance(value, Vec):
        return value.items[_lane(value.type, field, span)]
    if isinstance(value, Record):
        for item, (name, _) in zip(value.items, value.type.fields, strict=True):
            if name == field:
                return item
    raise Refusal(f"no member {field!r} here", span)


# ---------------------------------------------------------------- operators


def _unary(st: State, e: ast.Unary) -> Value:
    op, operand, span = e.op, e.operand, e.span
    if op in ("++", "--"):
        return step(st, operand, op, span)[1]
    if op == "&":
        return address(st, operand, span)
    if op == "*":
        return st.read(deref(st, pointer_of(st, operand), span), span)
    value = evaluate(st, operand)
    match op:
        case "!":
            return _not(to_bool(value, span))
        case "-":
            return negate(value, span)
        case "~":
            return complement(value, span)
        case _:
            return to_int(value, span) if isinstance(value, Bool) else value


def _not(value: Bool) -> Bool:
    if isinstance(value.expr, BLit):
        return Bool(BLit(not value.expr.value))
    return Bool(value.expr.a if isinstance(value.expr, BNot) else BNot(value.expr))


def address(st: State, e: ast.Expr, span: Span) -> Ptr:
    """`&e` for an element of an array."""
    if isinstance(e, ast.Index):
        check_sequence((e.base, e.index), st.unit.functions)
        return subscript(st, pointer_of(st, e.base), e.index)
    if isinstance(e, ast.Unary) and e.op == "*":
        return pointer_of(st, e.operand)
    place = locate(st, e) if isinstance(e, ast.Name | ast.Member) else None
    if isinstance(place, Cell):
        return Ptr(place.array, Int(place.index, int_type(place.index)), place.type, place.const)
    if isinstance(place, CellRow):
        return Ptr(place.ptr.array, place.offset, place.type, place.ptr.const)
    raise Refusal(
        "the address of this is outside the language", span, "take that of a variable or an array element"
    )


def _step(op: str, value: Value, span: Span) -> Value:
    return arithmetic(op[0], value, literal(1), span)


def step(st: State, operand: ast.Expr, op: str, span: Span) -> tuple[Place, Value]:
    """`++x` or `--x`; returns the place and its new value."""
    place = locate(st, operand)
    value = _step(op, st.read(place, span), span)
    st.write(place, value, span)
    return place, after(st, place, value, span)


def after(st: State, place: Place, value: Value, span: Span) -> Value:
    """The value of an assignment: a register is read again, memory is not."""
    if isinstance(place, Cell):
        return convert(value, place.type, span)
    return value if isinstance(place, CellRow | PtrVar | Lost) else st.read(place, span)


def assign(st: State, e: ast.Assign) -> tuple[Place, Value]:
    """Carry out an assignment; returns the place and the value assigned."""
    value = evaluate(st, e.value)
    if is_effectful(e.target):
        value = st.copy(value, e.span)
    place = locate(st, e.target)
    if e.op != "=":
        value = arithmetic(e.op[:-1], st.read(place, e.target.span), value, e.span)
    st.write(place, value, e.span)
    return place, after(st, place, value, e.span)


def _short_circuit(st: State, op: str, left: ast.Expr, right: ast.Expr, span: Span) -> Value:
    a = to_bool(evaluate(st, left), left.span)
    rebinds = st.rebinds
    known = constant(a)
    with st.block() as extra:
        try:
            b = to_bool(evaluate(st, right), right.span)
        except NullAccess:
            if known is None or bool(known) == (op == "&&"):
                raise
            return a
        st.check_rebinds(rebinds, right.span)
        if not extra:
            return logic(op, a, b)
        if known is not None:
            dead = bool(known) != (op == "&&")
            body: list[Stmt] = [] if dead else list(extra)
        else:
            out = st.int_var("c", IntType.I32)
            result = Register(out, BoolTy())
            st.initialise(result, b, span)
            body = list(extra)
    if known is not None:
        st.out.extend(body)
        return a if dead else b
    with st.block() as skipped:
        st.initialise(result, Bool(BLit(op == "||")), span)
    then, other = (body, skipped) if op == "&&" else (skipped, body)
    st.emit(CoreIf(a.expr, tuple(then), tuple(other), span))
    return st.read(result, span)


def _ternary(st: State, e: ast.Ternary) -> Value:
    cond = to_bool(evaluate(st, e.cond), e.cond.span)
    rebinds = st.rebinds
    known = constant(cond)
    with st.block() as then:
        a = _side(st, e.then, known != 0)
    with st.block() as other:
        b = _side(st, e.other, not known)
    st.check_rebinds(rebinds, e.span)
    if a is None or b is None:
        st.out.extend(then if known else other)
        return a or b or Nothing()
    if known is not None:
        st.out.extend(then if known else other)
        chosen = a if known else b
        return chosen if isinstance(chosen, Nothing) else convert(chosen, _common(a, b, e.span), e.span)
    if isinstance(a, Nothing) and isinstance(b, Nothing):
        st.emit(CoreIf(cond.expr, tuple(then), tuple(other), e.span))
        return a
    if not then and not other and not isinstance(a, Record):
        return select(cond, a, b, e.span)
    common = _common(a, b, e.span)
    if isinstance(common, PtrTy):
        if then or other:
            raise Refusal("a pointer chosen by a condition with effects is outside the language", e.span)
        return select(cond, a, b, e.span)
    place = st.temporary("sel", common, e.span)
    with st.block() as then_set:
        st.initialise(place, a, e.then.span)
    with st.block() as other_set:
        st.initialise(place, b, e.other.span)
    st.emit(CoreIf(cond.expr, (*then, *then_set), (*other, *other_set), e.span))
    return st.read(place, e.span)


def _side(st: State, e: ast.Expr, alive: bool) -> Value | None:
    """One side of `? :`; None when it uses a null pointer and is never chosen."""
    try:
        return evaluate(st, e)
    except NullAccess:
        if alive:
            raise
        return None


def _common(a: Value, b: Value, span: Span) -> Ty:
    if isinstance(a, Bool) and isinstance(b, Bool):
        return BoolTy()
    if is_real(a) or is_real(b):
        to_real(a, span), to_real(b, span)
        return real_type(a, b)
    if isinstance(a, Int | Bool) and isinstance(b, Int | Bool):
        return common_int(to_int(a, span), to_int(b, span))[2]
    left, right = type_of(a, span), type_of(b, span)
    if left != right or isinstance(left, VoidTy):
        raise Refusal("both sides of `? :` need the same type", span)
    return left


# ---------------------------------------------------------------- casts


def _cast(st: State, e: ast.Cast) -> Value:
    ty = resolve(st, e.type)
    if e.style == "call" and isinstance(ty, VecTy | StructTy):
        raise Refusal(f"{show(ty)}(...) is outside the language", e.span, "use make_float4 or members")
    if len(e.args) != 1:
        raise Refusal(f"a conversion to {show(ty)} takes one value", e.span)
    value = evaluate(st, e.args[0])
    if isinstance(ty, PtrTy):
        if not isinstance(value, Ptr):
            raise Refusal(f"a conversion of a number to {show(ty)} is outside the language", e.span)
        if e.style == "c" and value.const and not ty.const:
            ty = PtrTy(ty.elem, True)
        return recast(st, value, ty, e.span)
    if isinstance(value, Ptr):
        raise Refusal("a conversion of a pointer to a number is outside the language", e.span)
    if e.style == "reinterpret_cast":
        raise Refusal("reinterpret_cast is known for pointers only", e.span)
    return convert(value, ty, e.span)
