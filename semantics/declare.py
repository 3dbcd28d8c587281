"""Declarations: constants, registers, pointers, local and shared arrays."""

from dataclasses import replace

from semantics import ast
from semantics.convert import convert, fold_real, to_bool, to_int, to_real, type_of
from semantics.core import CmpOp, IBin, ICast, ICmp, ILit, IntOp, IntType, IVar, RLit, SetI, Space, While
from semantics.elaborate import evaluate, locate
from semantics.span import Refusal, Span
from semantics.state import State
from semantics.types import RAW, resolve
from semantics.values import (
    BYTE,
    BoolTy,
    Cell,
    CellRow,
    Infinity,
    Int,
    Nothing,
    Null,
    Place,
    Ptr,
    PtrTy,
    PtrVar,
    Real,
    RealTy,
    Record,
    StructTy,
    Ty,
    Value,
    Vec,
    VecTy,
    constant,
    is_constant,
    literal,
    show,
)

_ELEMENTS = 1 << 16
_STORES = 64


def declare(st: State, d: ast.Decl) -> None:
    """Lower a declaration inside a function."""
    for v in d.declarators:
        if "shared" in " ".join(d.storage):
            _shared(st, d, v)
        elif set(d.storage) - {"constexpr"} and d.storage != ("static", "constexpr"):
            raise Refusal(
                f"`{d.storage[0]}` variables are outside the language here", d.span, "use a plain local"
            )
        elif v.extents:
            _local_array(st, d, v)
        else:
            _variable(st, v, "constexpr" in d.storage)


def global_constant(st: State, d: ast.Decl) -> None:
    """A declaration at file scope: constants only."""
    if set(d.storage) - {"static", "constexpr", "__device__", "__constant__"}:
        raise Refusal(
            "variables at file scope are outside the language", d.span, "pass a tensor, or use constexpr"
        )
    for v in d.declarators:
        fixed = v.type.const or "constexpr" in d.storage or "__constant__" in d.storage
        if v.extents or v.type.pointer or not fixed:
            raise Refusal(
                "only scalar constants may stand at file scope", v.span, "make it constexpr, or pass a tensor"
            )
        _variable(st, v, True)


def check_static(st: State, s: ast.StaticAssert) -> None:
    """`static_assert`: the condition is known and true."""
    known = constant(to_bool(evaluate(st, s.cond), s.cond.span))
    if known is None:
        raise Refusal("the condition of static_assert is not known at compile time", s.cond.span)
    if not known:
        raise Refusal(f"static_assert fails{': ' + s.message if s.message else ''}", s.span)


def global_item(st: State, item: ast.Item) -> None:
    """A constant, alias or `static_assert` at file scope; functions and structs are no statements."""
    if isinstance(item, ast.Decl):
        global_constant(st, item)
    elif isinstance(item, ast.StaticAssert):
        check_static(st, item)
    elif isinstance(item, ast.Alias):
        alias(st, item)


def alias(st: State, a: ast.Alias) -> None:
    """A type's other name, known from here to the end of the function or file."""
    written = a.type
    while isinstance(written, ast.Conditional):
        known = constant(to_bool(evaluate(st, written.cond), written.span))
        if known is None:
            raise Refusal("the condition of std::conditional is not known at compile time", written.span)
        written = written.then if known else written.other
    ty = resolve(st, written)
    frame = st.types[-1]
    if frame.get(a.name, ty) != ty:
        raise Refusal(f"{a.name} already names another type", a.span, "choose another name")
    frame[a.name] = ty


# ---------------------------------------------------------------- scalars, vectors, pointers


def _variable(st: State, v: ast.Declarator, constexpr: bool) -> None:
    if v.type.reference:
        if v.init is None or isinstance(v.init, ast.InitList):
            raise Refusal("a reference needs a place to refer to", v.span)
        st.bind(v.name, freeze(st, locate(st, v.init), v.span), v.span)
        return
    init = v.init
    if isinstance(init, ast.InitList) and v.call_init and len(init.items) == 1:
        init = init.items[0]
    if init is None:
        if constexpr or v.type.const:
            raise Refusal(f"constant {v.name} needs a value", v.span)
        if v.type.base == "auto":
            raise Refusal("auto needs an initialiser", v.span)
        ty = resolve(st, v.type)
        place = addressable(st, v.name, ty, False) or st.variable(v.name, ty, v.span)
        st.bind(v.name, place, v.span)
        return
    value, ty = initial_value(st, v.type, init)
    if isinstance(value, Ptr):
        _pointer(st, v, value)
        return
    if isinstance(value, Infinity):
        value = to_real(value, v.span)
    if isinstance(value, Null):
        raise Refusal("a variable holds no null pointer", v.span, "the array it points into must be known")
    if isinstance(value, Nothing):
        raise Refusal("this has no value a variable can hold", v.span)
    folded = fold_real(value.expr) if constexpr and isinstance(value, Real) else None
    if folded is not None and isinstance(value, Real):
        value = Real(RLit(folded), value.type)
    const = v.type.const or constexpr
    home = addressable(st, v.name, ty, const)
    if home is not None:
        st.initialise(_writable(home), value, v.span)
        st.bind(v.name, home, v.span)
        return
    if is_constant(value) and (const or v.name not in st.assigned):
        st.bind(v.name, value, v.span)
        return
    if constexpr:
        raise Refusal(f"the value of constexpr {v.name} is not known at compile time", v.span, "use const")
    own: Place | None = st.adopt(v.name, value, ty, const)
    if own is None:
        own = st.variable(v.name, ty, v.span, const)
        st.initialise(own, value, v.span)
    st.bind(v.name, own, v.span)


def addressable(st: State, name: str, ty: Ty, const: bool) -> Cell | CellRow | None:
    """A place with an address for a variable whose address is taken: a local array of its members."""
    if name not in st.addressed:
        return None
    if isinstance(ty, IntType | RealTy | BoolTy):
        return Cell(st.array(name, Space.LOCAL, show(ty), 1), ILit(0), ty, const)
    if isinstance(ty, VecTy):
        array = st.array(name, Space.LOCAL, show(ty.elem), ty.lanes)
        return CellRow(Ptr(array, None, ty, const), literal(0), ty)
    return None


def _writable(place: Cell | CellRow) -> Cell | CellRow:
    if isinstance(place, Cell):
        return replace(place, const=False)
    return replace(place, ptr=replace(place.ptr, const=False))


def initial_value(st: State, declared: ast.CType, init: ast.Expr | ast.InitList) -> tuple[Value, Ty]:
    """The converted value of an initialiser, and the declared type with `auto` resolved."""
    if declared.base == "auto":
        if isinstance(init, ast.InitList):
            raise Refusal("auto needs one value", init.span)
        value = evaluate(st, init)
        ty = type_of(value, init.span)
        if declared.pointer and not isinstance(ty, PtrTy):
            raise Refusal("auto* needs a pointer", init.span)
        return value, ty
    ty = resolve(st, declared)
    return typed(st, ty, init), ty


def typed(st: State, ty: Ty, init: ast.Expr | ast.InitList) -> Value:
    """An initialiser converted to a type; missing members are zero."""
    if not isinstance(init, ast.InitList):
        return convert(evaluate(st, init), ty, init.span)
    match ty:
        case VecTy(elem, lanes, _):
            members: tuple[Ty, ...] = (elem,) * lanes
        case StructTy(_, fields):
            members = tuple(t for _, t in fields)
        case _:
            if len(init.items) > 1:
                raise Refusal(f"one value is needed for {show(ty)}", init.span)
            return typed(st, ty, init.items[0]) if init.items else zero(ty, init.span)
    if len(init.items) > len(members):
        raise Refusal(f"too many values for {show(ty)}", init.span)
    items = [typed(st, t, i) for t, i in zip(members, init.items, strict=False)]
    items += [zero(t, init.span) for t in members[len(items) :]]
    if isinstance(ty, VecTy):
        return Vec(tuple(i for i in items if isinstance(i, Int | Real)), ty)
    return Record(tuple(items), ty)


def zero(ty: Ty, span: Span) -> Value:
    """The value of `{}`."""
    match ty:
        case IntType() | RealTy() | BoolTy():
            return convert(literal(0), ty, span)
        case VecTy(elem, lanes, _):
            part = convert(literal(0), elem, span)
            return Vec(tuple(part for _ in range(lanes) if isinstance(part, Int | Real)), ty)
        case StructTy(_, fields):
            return Record(tuple(zero(t, span) for _, t in fields), ty)
        case _:
            raise Refusal(f"{{}} is no value of type {show(ty)}", span)


def _pointer(st: State, v: ast.Declarator, value: Ptr) -> None:
    if v.name not in st.assigned:
        kept = st.copy(value, v.span)
        st.bind(v.name, kept if isinstance(kept, Ptr) else value, v.span)
        return
    var = st.int_var(v.name, IntType.I64)
    fixed = v.type.const_pointer
    place = PtrVar(value.array, var, value.elem, value.const, value.dims)
    st.initialise(place, value, v.span)
    st.bind(v.name, replace(place, fixed=fixed, name=v.name), v.span)


def freeze(st: State, place: Place, span: Span) -> Place:
    """A place whose index no longer depends on variables that may change."""
    if isinstance(place, Cell) and not isinstance(place.index, ILit):
        var = st.int_var("at", IntType.I64)
        st.emit(SetI(var, ICast(IntType.I64, place.index), span))
        return Cell(place.array, IVar(var, IntType.I64), place.type, place.const)
    return place


# ---------------------------------------------------------------- arrays


def extents(st: State, v: ast.Declarator) -> tuple[int, ...]:
    """Array extents, all literal and positive."""
    out = []
    for e in v.extents:
        size = None if e is None else constant(to_int(evaluate(st, e), e.span))
        if size is None or size < 1:
            raise Refusal(f"extent of array {v.name} is not a positive constant", e.span if e else v.span)
        out.append(size)
    total = 1
    for size in out:
        total *= size
    if total > _ELEMENTS:
        raise Refusal(f"array {v.name} has more than {_ELEMENTS} elements", v.span)
    return tuple(out)


def _element(st: State, v: ast.Declarator) -> tuple[Ty, Ty]:
    ty = resolve(st, v.type)
    scalar = ty.elem if isinstance(ty, VecTy) else ty
    if not isinstance(scalar, IntType | RealTy | BoolTy):
        raise Refusal(f"arrays of {show(ty)} are outside the language", v.span, "use arrays of scalars")
    return ty, scalar


def _whole(array: int, ty: Ty, sizes: tuple[int, ...], const: bool = False) -> Ptr:
    return Ptr(array, None, ty, const, sizes[1:], len(sizes) > 1)


def _local_array(st: State, d: ast.Decl, v: ast.Declarator) -> None:
    ty, scalar = _element(st, v)
    lanes = ty.lanes if isinstance(ty, VecTy) else 1
    if v.extents[0] is None and isinstance(v.init, ast.InitList) and len(v.extents) == 1:
        sizes: tuple[int, ...] = (len(v.init.items),)
    else:
        sizes = extents(st, v)
    total = lanes
    for size in sizes:
        total *= size
    array = st.array(v.name, Space.LOCAL, show(scalar), total)
    if isinstance(v.init, ast.InitList):
        flat = _flatten(st, v.init, sizes, ty)
        for k, value in enumerate(flat):
            st.initialise(Cell(array, ILit(k), _scalar(scalar)), value, v.span)
        _zero_rest(st, array, scalar, len(flat), total, v.span)
    elif v.init is not None:
        raise Refusal("an array is initialised with {...}", v.span)
    const = v.type.const or "constexpr" in d.storage
    st.bind(v.name, _whole(array, ty, sizes, const), v.span)


def _flatten(st: State, init: ast.InitList, sizes: tuple[int, ...], ty: Ty) -> list[Value]:
    """Element values of an initialiser in row-major order, up to the last one written."""
    inner = 1
    for size in sizes[1:]:
        inner *= size
    if len(init.items) > sizes[0] * (1 if any(isinstance(i, ast.InitList) for i in init.items) else inner):
        raise Refusal("too many values in the initialiser", init.span)
    out: list[Value] = []
    for item in init.items:
        if len(sizes) > 1 and isinstance(item, ast.InitList):
            out += _pad(st, item, sizes[1:], ty)
        else:
            value = typed(st, ty, item)
            out += value.items if isinstance(value, Vec) else [value]
    return out


def _pad(st: State, init: ast.InitList, sizes: tuple[int, ...], ty: Ty) -> list[Value]:
    """`_flatten` filled up with zeros to the whole of a row."""
    out = _flatten(st, init, sizes, ty)
    total = ty.lanes if isinstance(ty, VecTy) else 1
    for size in sizes:
        total *= size
    scalar = ty.elem if isinstance(ty, VecTy) else ty
    return out + [zero(scalar, init.span)] * (total - len(out))


def _zero_rest(st: State, array: int, scalar: Ty, first: int, total: int, span: Span) -> None:
    """Store zeros from an element to the end of a local array: a loop when they are many."""
    kind = _scalar(scalar)
    if total - first <= _STORES:
        for k in range(first, total):
            st.initialise(Cell(array, ILit(k), kind), zero(scalar, span), span)
        return
    var = st.int_var("zero", IntType.I32)
    st.emit(SetI(var, ILit(first), span))
    with st.block() as body:
        st.initialise(Cell(array, IVar(var), kind), zero(scalar, span), span)
        st.emit(SetI(var, IBin(IntOp.ADD, IntType.I32, IVar(var), ILit(1)), span))
    st.emit(While(ICmp(CmpOp.LT, IVar(var), ILit(total)), tuple(body), span))


def _shared(st: State, d: ast.Decl, v: ast.Declarator) -> None:
    if v.init is not None:
        raise Refusal("shared memory has no initialiser", v.span, "store, then __syncthreads()")
    if set(d.storage) - {"static", "extern", "__shared__"}:
        raise Refusal("these specifiers do not go together", d.span)
    dynamic = "extern" in d.storage
    key = ("extern",) if dynamic else (*st.instance, v.name, v.span)
    found = st.shared.get(key)
    raw = dynamic and v.type.base in RAW
    ty, scalar = (BYTE, BYTE) if raw else _element(st, v)
    sizes: tuple[int, ...] = (0,)
    size: int | None = None
    if dynamic:
        if len(v.extents) != 1 or v.extents[0] is not None:
            raise Refusal("extern __shared__ needs the form `name[]`", v.span)
    else:
        sizes = extents(st, v)
        size = ty.lanes if isinstance(ty, VecTy) else 1
        for extent in sizes:
            size *= extent
    elem = show(scalar)
    if found is None:
        found = st.array(v.name, Space.SHARED, elem, size)
        st.shared[key] = found
    elif dynamic and "byte" not in (elem, st.arrays[found].elem) and st.arrays[found].elem != elem:
        raise Refusal("dynamic shared memory is declared twice with different types", v.span, "use one type")
    if d.align is not None:
        if (constant(evaluate(st, d.align)) or 0) % 16 == 0:
            st.aligned.add(found)
    elif isinstance(ty, VecTy):
        st.aligned.add(found)
    if not v.extents:
        if isinstance(ty, VecTy) or isinstance(scalar, PtrTy):
            raise Refusal("a shared vector is outside the language", v.span, "use a shared array")
        st.bind(v.name, Cell(found, ILit(0), _scalar(scalar)), v.span)
        return
    st.bind(v.name, _whole(found, ty, sizes), v.span)


def _scalar(ty: Ty) -> RealTy | IntType | BoolTy:
    assert isinstance(ty, RealTy | IntType | BoolTy)
    return ty
