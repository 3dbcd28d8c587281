"""What a lowering keeps while it walks a kernel: registers, arrays, scopes, the statements made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from semantics import ast
from semantics.convert import convert, int_binary, int_cast, to_int, to_real
from semantics.core import (
    Array,
    Barrier,
    BNot,
    CmpOp,
    ICmp,
    IExpr,
    ILit,
    IntOp,
    IntType,
    IVar,
    Load,
    RExpr,
    RVar,
    Scalar,
    SetI,
    SetR,
    Space,
    Stmt,
    Store,
)
from semantics.span import Refusal, Span
from semantics.tidy import mentions
from semantics.values import (
    Bool,
    BoolTy,
    Cell,
    CellRow,
    Entity,
    Int,
    Lost,
    Members,
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
    literal,
    show,
)

Inline = Callable[["State", ast.Function, ast.Call], Value]
LIMIT = 60_000


@dataclass(slots=True)
class Unit:
    """What all kernels of a candidate share."""

    functions: dict[str, ast.Function]
    structs: dict[str, StructTy]
    inline: Inline
    prototypes: dict[str, list[ast.Function]] = field(default_factory=dict)


@dataclass(slots=True)
class Loop:
    """Flags of the loop being lowered, made when needed."""

    broken: int | None = None
    continued: int | None = None


@dataclass(slots=True)
class Frame:
    """The function being lowered: kernel or inlined helper."""

    returns: Ty
    result: Place | None = None
    returned: int | None = None


@dataclass(slots=True)
class State:
    """The kernel under construction."""

    unit: Unit
    arrays: list[Array] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)
    int_vars: list[tuple[str, IntType]] = field(default_factory=list)
    real_vars: list[str] = field(default_factory=list)
    out: list[Stmt] = field(default_factory=list)
    scopes: list[dict[str, Entity]] = field(default_factory=lambda: [{}])
    types: list[dict[str, Ty]] = field(default_factory=lambda: [{}])
    stack: tuple[str, ...] = ()
    instance: tuple[str, ...] = ()
    names: dict[str, int] = field(default_factory=dict)
    size: int = 0
    aligned: set[int] = field(default_factory=set)
    shared: dict[tuple[object, ...], int] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    addressed: set[str] = field(default_factory=set)
    frame: Frame = field(default_factory=lambda: Frame(VoidTy()))
    loops: list[Loop] = field(default_factory=list)
    watched: set[int] = field(default_factory=set)
    depth: int = 0
    rebinds: int = 0
    inlined: int = 0
    temporaries: set[tuple[str, int]] = field(default_factory=set)
    loaded: Load | None = None
    loaded_value: RExpr | IExpr | None = None

    # ---- statements

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the block under construction."""
        self.size += 1
        if self.size > LIMIT:
            raise Refusal(
                f"the kernel lowers to more than {LIMIT} statements", stmt.span, "unroll less, inline less"
            )
        self.out.append(stmt)

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Collect the statements made inside in a list of their own."""
        saved, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = saved

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names declared inside vanish at the end."""
        depth = len(self.scopes)
        self.scopes.append({})
        try:
            yield
        finally:
            del self.scopes[depth:]

    # ---- names

    def find(self, name: str) -> Entity | None:
        """What a name means here, innermost scope first."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def bind(self, name: str, entity: Entity, span: Span) -> None:
        """Declare a name in the innermost scope."""
        if name in self.scopes[-1]:
            raise Refusal(f"{name!r} is declared twice in one scope", span)
        self.scopes[-1][name] = entity

    def fresh(self, name: str) -> str:
        """A display name no other register or array has."""
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if count == 0 else f"{name}_{count}"

    # ---- registers and arrays

    def int_var(self, name: str, kind: IntType) -> int:
        """A new integer register."""
        self.int_vars.append((self.fresh(name), kind))
        return len(self.int_vars) - 1

    def real_var(self, name: str) -> int:
        """A new real register."""
        self.real_vars.append(self.fresh(name))
        return len(self.real_vars) - 1

    def array(
        self,
        name: str,
        space: Space,
        elem: str,
        size: int | None,
        const: bool = False,
        restrict: bool = False,
    ) -> int:
        """A new array; returns its id."""
        self.arrays.append(Array(self.fresh(name), space, elem, size, const, restrict))
        return len(self.arrays) - 1

    def variable(self, name: str, ty: Ty, span: Span, const: bool = False) -> Place:
        """Registers for a variable of a type, uninitialised."""
        match ty:
            case IntType():
                return Register(self.int_var(name, ty), ty, const)
            case BoolTy():
                return Register(self.int_var(name, IntType.I32), ty, const)
            case RealTy():
                return Register(self.real_var(name), ty, const)
            case VecTy(elem, lanes, _):
                items = tuple(self.variable(f"{name}.{'xyzw'[k]}", elem, span) for k in range(lanes))
                return Members(items, ty, const)
            case StructTy(_, fields):
                return Members(tuple(self.variable(f"{name}.{f}", t, span) for f, t in fields), ty, const)
            case PtrTy():
                raise Refusal(
                    f"pointer {name} needs an initialiser", span, "the array it points into must be known"
                )
            case VoidTy():
                raise Refusal(f"variable {name} cannot be void", span)

    # ---- reading and writing places

    def read(self, place: Place, span: Span) -> Value:
        """The value in a place; cells are loaded into fresh registers here, in order."""
        match place:
            case Register(var, BoolTy()):
                return Bool(BNot(ICmp(CmpOp.EQ, IVar(var), ILit(0))))
            case Register(var, IntType() as kind):
                return Int(IVar(var, kind), kind)
            case Register(var, RealTy() as real):
                return Real(RVar(var), real)
            case Cell(array, index, kind):
                return self._load(array, index, kind, span)
            case Members(items, VecTy() as vec):
                return Vec(
                    tuple(i for i in (self.read(p, span) for p in items) if isinstance(i, Int | Real)), vec
                )
            case Members(items, StructTy() as record):
                return Record(tuple(self.read(p, span) for p in items), record)
            case PtrVar(array, var, elem, const, dims):
                return Ptr(array, Int(IVar(var, IntType.I64), IntType.I64), elem, const, dims)
            case CellRow():
                cells = [self.read(c, span) for c in self.row(place)]
                return Vec(tuple(c for c in cells if isinstance(c, Int | Real)), place.type)
            case Lost(before):
                raise Refusal(
                    f"pointer {before.name} may point into different arrays here",
                    span,
                    "keep one pointer for each array",
                )
        raise Refusal("this cannot be read", span)

    def row(self, place: CellRow) -> list[Cell]:
        """The cells under a vector access, lowest address first."""
        out = []
        for lane in range(place.type.lanes):
            index = add(place.offset, literal(lane, place.offset.type))
            out.append(Cell(place.ptr.array, index.expr, place.type.elem, place.ptr.const))
        return out

    def _load(self, array: int, index: IExpr, kind: "RealTy | IntType | BoolTy", span: Span) -> Value:
        name = f"{self.arrays[array].name}_v"
        if isinstance(kind, RealTy):
            var = self.real_var(name)
            self._loaded(Load(var, array, index, span), RVar(var))
            return Real(RVar(var), kind)
        machine = IntType.I32 if isinstance(kind, BoolTy) else kind
        var = self.int_var(name, machine)
        self._loaded(Load(var, array, index, span), IVar(var, machine))
        value = Int(IVar(var, machine), machine)
        return Bool(BNot(ICmp(CmpOp.EQ, value.expr, ILit(0)))) if isinstance(kind, BoolTy) else value

    def _loaded(self, load: Load, value: RExpr | IExpr) -> None:
        self.emit(load)
        self.loaded, self.loaded_value = load, value

    def write(self, place: Place, value: Value, span: Span) -> None:
        """Assign with conversion to the place's type."""
        if isinstance(place, Register | Members) and place.const:
            raise Refusal("assignment to a constant", span, "remove const or use another variable")
        self.initialise(place, value, span)

    def adopt(self, name: str, value: Value, ty: Ty, const: bool) -> Register | None:
        """A temporary that holds the value becomes the variable, when there is one."""
        match value:
            case Real(RVar(var)) if isinstance(ty, RealTy) and ("real", var) in self.temporaries:
                self.temporaries.discard(("real", var))
                self.real_vars[var] = self.fresh(name)
                return Register(var, ty, const)
            case Int(IVar(var, kind)) if kind == ty and ("int", var) in self.temporaries:
                self.temporaries.discard(("int", var))
                self.int_vars[var] = (self.fresh(name), kind)
                return Register(var, kind, const)
            case _:
                return None

    def temporary(self, name: str, ty: Ty, span: Span) -> Place:
        """A variable of the lowering's own, read once: `adopt` may turn it into a named one."""
        place = self.variable(name, ty, span)
        if isinstance(place, Register):
            self.temporaries.add(("real" if isinstance(ty, RealTy) else "int", place.var))
        return place

    def initialise(self, place: Place, value: Value, span: Span) -> None:
        """First assignment: like `write`, and const places accept it."""
        match place:
            case Register(var, RealTy()):
                number = to_real(value, span).expr
                if not self._load_into(var, number):
                    self.emit(SetR(var, number, span))
            case Register(var, BoolTy()):
                truth = convert(value, BoolTy(), span)
                self.emit(SetI(var, to_int(truth, span).expr, span))
            case Register(var, IntType() as kind):
                whole = to_int(value, span, kind).expr
                if not self._load_into(var, whole):
                    self.emit(SetI(var, whole, span))
            case Cell(array, index, kind):
                if place.const:
                    raise Refusal("store through a pointer to const", span, "drop const on the parameter")
                stored = convert(value, kind, span)
                if isinstance(stored, Bool):
                    stored = to_int(stored, span)
                if isinstance(stored, Int | Real):
                    self.emit(Store(array, index, stored.expr, span))
            case Members(items, kind):
                if not isinstance(value, Vec | Record) or value.type != kind:
                    raise Refusal(f"a value of type {show(kind)} is needed here", span)
                parts = (
                    value.items if self._apart(items, value) else [self.copy(v, span) for v in value.items]
                )
                for item, part in zip(items, parts, strict=True):
                    self.initialise(item, part, span)
            case CellRow():
                if not isinstance(value, Vec) or value.type != place.type:
                    raise Refusal(f"a value of type {show(place.type)} is needed here", span)
                for cell, lane in zip(self.row(place), value.items, strict=True):
                    self.initialise(cell, lane, span)
            case PtrVar():
                self._move(place, value, span)
            case Lost(before):
                self._move(before, value, span, rebind=True)

    def _load_into(self, var: int, value: RExpr | IExpr) -> bool:
        """Let the load just made for `value` fill the variable itself."""
        last = self.out[-1] if self.out else None
        if not isinstance(last, Load) or self.loaded is not last or value != self.loaded_value:
            return False
        self.out[-1] = Load(var, last.array, last.index, last.span)
        return True

    def _apart(self, items: tuple[Place, ...], value: Vec | Record) -> bool:
        """Whether no member of the value reads the registers of the members about to be assigned."""
        ints = {p.var for p in items if isinstance(p, Register) and not isinstance(p.type, RealTy)}
        reals = {p.var for p in items if isinstance(p, Register) and isinstance(p.type, RealTy)}
        return not any(mentions(part, ints, reals) for part in value.items)

    def _move(self, place: PtrVar, value: Value, span: Span, rebind: bool = False) -> None:
        if place.fixed:
            raise Refusal("assignment to a constant pointer or array", span)
        if not isinstance(value, Ptr) or value.elem != place.elem or value.dims != place.dims:
            raise Refusal("a pointer of the same type is needed here", span)
        if value.const and not place.const:
            raise Refusal("a pointer to const does not convert to a pointer to non-const", span, "add const")
        offset = int_cast(IntType.I64, value.offset or literal(0, IntType.I64))
        if value.array != place.array or rebind:
            place = replace(place, array=value.array, var=self.int_var(place.name, IntType.I64))
            self._rebind(place)
        self.emit(SetI(place.var, offset.expr, span))

    def _rebind(self, place: PtrVar) -> None:
        """Bind a pointer variable to another array from here on."""
        self.rebinds += 1
        for scope in reversed(self.scopes):
            if place.name in scope:
                scope[place.name] = place
                return

    def check_rebinds(self, before: int, span: Span) -> None:
        """Refuse a pointer that moved to another array in code that may not run."""
        if self.rebinds != before:
            raise Refusal(
                "a pointer moves to another array under a condition or in a loop",
                span,
                "keep one pointer for each array",
            )

    def copy(self, value: Value, span: Span) -> Value:
        """The value in registers of its own, safe from later assignments."""
        match value:
            case Int(IVar() | ILit(), _) if isinstance(value.expr, ILit):
                return value
            case Int(expr, kind):
                var = self.int_var("t", kind)
                self.emit(SetI(var, expr, span))
                return Int(IVar(var, kind), kind)
            case Real(expr, kind):
                var = self.real_var("r")
                self.emit(SetR(var, expr, span))
                return Real(RVar(var), kind)
            case Bool():
                number = self.copy(to_int(value, span), span)
                return convert(number, BoolTy(), span)
            case Vec(items, vec):
                parts = (self.copy(i, span) for i in items)
                return Vec(tuple(p for p in parts if isinstance(p, Int | Real)), vec)
            case Record(items, record):
                return Record(tuple(self.copy(i, span) for i in items), record)
            case Ptr(array, Int() as offset, elem, const, dims):
                kept = self.copy(offset, span)
                return Ptr(array, kept if isinstance(kept, Int) else offset, elem, const, dims)
            case _:
                return value

    def barrier(self, span: Span) -> None:
        """`__syncthreads()`."""
        self.emit(Barrier(span))


def add(a: Int | None, b: Int, flat: bool = False) -> Int:
    """Sum of element offsets. Pointer arithmetic is 64-bit; between indices of one multi-dimensional
    array (`flat`) it stays in their common type, where overflow is out of bounds anyway."""
    if a is None or (isinstance(a.expr, ILit) and a.expr.value == 0):
        return b
    if isinstance(b.expr, ILit) and b.expr.value == 0:
        return a
    kind = a.type if flat and a.type is b.type else IntType.I64
    return int_binary(IntOp.ADD, int_cast(kind, a), int_cast(kind, b), kind)
