"""Statements and functions of the surface AST to a core kernel.

Structured control only: an early `return` puts the rest of the function in the other branch; `break`,
`continue` and returns that cannot be placed so set a flag that guards what follows."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from semantics import ast
from semantics.convert import convert, to_bool
from semantics.core import (
    BAnd,
    BExpr,
    BLit,
    CmpOp,
    ICmp,
    If,
    ILit,
    IntType,
    ISelect,
    IVar,
    SetI,
    Stmt,
    While,
)
from semantics.declare import alias, check_static, declare
from semantics.definite import Subject, check_assigned
from semantics.elaborate import evaluate, step
from semantics.flow import completes, escapes
from semantics.pointers import scale_of
from semantics.span import NOWHERE, NullAccess, Refusal, Span
from semantics.state import Frame, Loop, State
from semantics.values import (
    CellRow,
    Entity,
    Lost,
    Members,
    Ptr,
    PtrVar,
    StructTy,
    Value,
    VecTy,
    VoidTy,
    constant,
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Begin or end of a scope among statements to lower."""

    opens: bool


OPEN, CLOSE = Mark(True), Mark(False)
Item = ast.Stmt | Mark


def function_body(st: State, body: Sequence[ast.Stmt], frame: Frame) -> None:
    """Lower a whole body in the frame of its function; emits the flag's initialisation if it is read."""
    saved = st.frame, st.loops
    st.frame, st.loops = frame, []
    with st.block() as out, st.scope():
        sequence(st, list(body))
    st.frame, st.loops = saved
    statements = tuple(out)
    flag = frame.returned
    if flag is not None and flag in st.watched:
        st.emit(SetI(flag, ILit(0), body[0].span if body else NOWHERE))
    elif flag is not None:
        statements = without(statements, flag)
    for s in statements:
        st.out.append(s)


def sequence(st: State, items: list[Item]) -> None:
    """Lower statements in order; a statement that may jump decides where the rest goes."""
    for k, item in enumerate(items):
        rest = items[k + 1 :]
        if isinstance(item, Mark):
            if item.opens:
                st.scopes.append({})
            else:
                st.scopes.pop()
            continue
        jumps = escapes(item)
        if not jumps:
            statement(st, item)
            if isinstance(item, ast.Decl) and st.depth:
                _check_assigned(st, item, rest)
            continue
        match item:
            case ast.Block(body):
                sequence(st, [OPEN, *body, CLOSE, *rest])
            case ast.If():
                _branch(st, item, rest)
            case ast.Return() | ast.Break() | ast.Continue():
                _jump(st, item)
                _check_dead(st, rest)
            case _:
                statement(st, item)
                _guarded(st, jumps, rest, item.span)
        return


def _check_assigned(st: State, d: ast.Decl, rest: list[Item]) -> None:
    """Variables declared without a value inside a loop are assigned before they are read."""
    scope: list[ast.Stmt] = []
    depth = 0
    for item in rest:
        if isinstance(item, Mark):
            depth += 1 if item.opens else -1
            if depth < 0:
                break
        else:
            scope.append(item)
    for v in d.declarators:
        if v.init is not None or v.type.pointer or "__shared__" in d.storage:
            continue
        entity = st.find(v.name)
        extents: tuple[int, ...] = ()
        parts = frozenset({""})
        if isinstance(entity, Ptr):
            extents = ((st.arrays[entity.array].size or 0) // scale_of(entity), *entity.dims)
            parts = frozenset(f"#{k}" for k in range(st.arrays[entity.array].size or 0))
        elif isinstance(entity, Members | CellRow) and isinstance(entity.type, VecTy):
            parts = frozenset("xyzw"[: entity.type.lanes])
        elif isinstance(entity, Members) and isinstance(entity.type, StructTy):
            parts = frozenset(name for name, _ in entity.type.fields)
        check_assigned(Subject(v.name, parts, extents, lambda e: _constant(st, e), st.unit.functions), scope)


def _constant(st: State, e: ast.Expr) -> int | None:
    """The value of an integer expression known at compile time."""
    try:
        with st.block() as out:
            value = constant(evaluate(st, e))
    except Refusal:
        return None
    return value if not out else None


def statement(st: State, s: ast.Stmt) -> None:
    """Lower one statement that nothing jumps out of (loops may return through their flag)."""
    match s:
        case ast.Decl():
            declare(st, s)
        case ast.ExprStmt(e):
            effect(st, e)
        case ast.Block(body):
            with st.scope():
                sequence(st, list(body))
        case ast.Empty():
            pass
        case ast.StaticAssert():
            check_static(st, s)
        case ast.Alias():
            alias(st, s)
        case ast.If():
            _branch(st, s, [])
        case ast.For():
            with st.scope():
                if isinstance(s.init, ast.Decl):
                    declare(st, s.init)
                elif s.init is not None:
                    effect(st, s.init.expr)
                _loop(st, s.cond, s.step, s.body, s.span)
        case ast.While(cond, body):
            _loop(st, cond, None, body, s.span)
        case ast.DoWhile(body, cond):
            _do(st, body, cond, s.span)
        case ast.Launch():
            raise Refusal(
                "a kernel is launched in the launcher only",
                s.span,
                "dynamic parallelism is outside the language",
            )
        case _:
            raise Refusal("this statement may not stand here", s.span)


def effect(st: State, e: ast.Expr) -> None:
    """Evaluate an expression for its effect only."""
    match e:
        case ast.Postfix(op, operand, span):
            step(st, operand, op, span)
        case ast.Binary(",", left, right):
            effect(st, left)
            effect(st, right)
        case _:
            evaluate(st, e)


# ---------------------------------------------------------------- branches and jumps


def _branch(st: State, s: ast.If, rest: list[Item]) -> None:
    cond = to_bool(evaluate(st, s.cond), s.cond.span)
    known = constant(cond)
    other: list[Item] = [OPEN, s.other, CLOSE] if s.other else []
    then: list[Item] = [OPEN, s.then, CLOSE]
    if s.constexpr and known is None:
        raise Refusal("the condition of `if constexpr` is not known at compile time", s.cond.span)
    if known is not None:
        if not s.constexpr:
            _check_dead(st, other if known else then)
        sequence(st, [*(then if known else other), *rest])
        return
    jumps = escapes(s)
    after: list[Item] = []
    if jumps and not completes(s.then):
        other = [*other, *rest]
    elif jumps and s.other is not None and not completes(s.other):
        then = [*then, *rest]
    else:
        after = rest
    first, second = _branches(st, then, other)
    st.emit(If(cond.expr, first, second, s.span))
    if jumps:
        _guarded(st, jumps, after, s.span)


def _branches(st: State, *lists: list[Item]) -> list[tuple[Stmt, ...]]:
    """Lower alternatives from one state of the scopes; a pointer that one of them moved to another
    array is lost afterwards."""
    saved = st.scopes
    moved: list[tuple[int, str, PtrVar]] = []
    bodies: list[tuple[Stmt, ...]] = []
    for items in lists:
        st.scopes = [dict(scope) for scope in saved]
        try:
            with st.block() as out:
                sequence(st, items)
            for level, (old, new) in enumerate(zip(saved, st.scopes, strict=False)):
                for name, entity in old.items():
                    if isinstance(entity, PtrVar) and new[name] is not entity:
                        moved.append((level, name, entity))
        finally:
            st.scopes = saved
        bodies.append(tuple(out))
    for level, name, entity in moved:
        saved[level][name] = Lost(entity)
    return bodies


def _branch_body(st: State, items: list[Item]) -> tuple[Stmt, ...]:
    return _branches(st, items)[0]


def _check_dead(st: State, items: list[Item]) -> None:
    """Lower code that never runs, for its refusals only; nothing of it stays. It may use a pointer that is
    null: the test before it is what makes it dead."""
    statements = [i for i in items if not isinstance(i, Mark)]
    if not statements:
        return
    kept = list(st.arrays), list(st.int_vars), list(st.real_vars), dict(st.names), dict(st.shared), st.size
    flags = st.frame.returned, st.frame.result, [(loop.broken, loop.continued) for loop in st.loops]
    watched = set(st.watched)
    scopes, rebinds = [dict(scope) for scope in st.scopes], st.rebinds
    outer = st.depth, st.frame, st.loops
    with suppress(NullAccess):
        _branch_body(st, items)
    st.depth, st.frame, st.loops = outer
    st.scopes, st.rebinds, st.watched = scopes, rebinds, watched
    st.arrays, st.int_vars, st.real_vars, st.names, st.shared, st.size = kept
    st.frame.returned, st.frame.result, loops = flags
    for loop, (broken, continued) in zip(st.loops, loops, strict=True):
        loop.broken, loop.continued = broken, continued


def _guarded(st: State, jumps: frozenset[str], rest: list[Item], span: Span) -> None:
    """Lower what follows a statement that may have jumped."""
    if not any(not isinstance(i, Mark) for i in rest):
        for item in rest:
            if isinstance(item, Mark):
                st.scopes.append({}) if item.opens else st.scopes.pop()
        return
    body = _branch_body(st, rest)
    cond = _clear(st, jumps)
    if cond is None:
        for s in body:
            st.out.append(s)
    else:
        st.emit(If(cond, body, (), span))


def _clear(st: State, jumps: frozenset[str]) -> BExpr | None:
    """The condition that none of the jumps was taken; marks their flags as read."""
    flags: list[int] = []
    if "return" in jumps and st.frame.returned is not None:
        flags.append(st.frame.returned)
    if st.loops:
        if "break" in jumps and st.loops[-1].broken is not None:
            flags.append(st.loops[-1].broken)
        if "continue" in jumps and st.loops[-1].continued is not None:
            flags.append(st.loops[-1].continued)
    cond: BExpr | None = None
    for flag in flags:
        st.watched.add(flag)
        test = ICmp(CmpOp.EQ, IVar(flag), ILit(0))
        cond = test if cond is None else BAnd(cond, test)
    return cond


def _jump(st: State, s: ast.Return | ast.Break | ast.Continue) -> None:
    match s:
        case ast.Return(value):
            _return_value(st, value, s.span)
            if st.frame.returned is None:
                st.frame.returned = st.int_var("returned", IntType.I32)
            flag = st.frame.returned
        case ast.Break():
            if not st.loops:
                raise Refusal("`break` outside a loop", s.span)
            if st.loops[-1].broken is None:
                st.loops[-1].broken = st.int_var("broken", IntType.I32)
            flag = st.loops[-1].broken
        case ast.Continue():
            if not st.loops:
                raise Refusal("`continue` outside a loop", s.span)
            if st.loops[-1].continued is None:
                st.loops[-1].continued = st.int_var("continued", IntType.I32)
            flag = st.loops[-1].continued
    st.emit(SetI(flag, ILit(1), s.span))


def _return_value(st: State, value: ast.Expr | None, span: Span) -> None:
    frame = st.frame
    if isinstance(frame.returns, VoidTy):
        if value is not None:
            effect(st, value) if isinstance(value, ast.Call) else _no_value(span)
        return
    if value is None:
        raise Refusal("this function must return a value", span)
    out: Value = convert(evaluate(st, value), frame.returns, span)
    if frame.result is None:
        frame.result = st.temporary("result", frame.returns, span)
    st.initialise(frame.result, out, span)


def _no_value(span: Span) -> None:
    raise Refusal("a void function returns no value", span)


# ---------------------------------------------------------------- loops


def _loop(st: State, cond: ast.Expr | None, after: ast.Expr | None, body: ast.Stmt, span: Span) -> None:
    """`for` and `while`: condition first, then body and step."""
    loop = Loop()
    scopes = [dict(scope) for scope in st.scopes]
    test, before = _condition(st, cond)
    st.loops.append(loop)
    inner = _loop_body(st, body)
    with st.block() as tail:
        if after is not None:
            effect(st, after)
        tail.extend(before)
    leaves = _clear(st, escapes_of(body) & {"break", "return"})
    inner = _strip(st, loop.continued, inner, span)
    inner += (If(leaves, tuple(tail), (), span),) if leaves is not None and tail else tuple(tail)
    st.loops.pop()
    if loop.broken is not None:
        st.emit(SetI(loop.broken, ILit(0), span))
    st.out.extend(before)
    st.emit(While(test if leaves is None else BAnd(leaves, test), inner, span))
    _check_pointers(st, scopes, span)


def _check_pointers(st: State, before: list[dict[str, Entity]], span: Span) -> None:
    """A pointer from outside a loop stays in its array: the next iteration would find it moved."""
    for old, new in zip(before, st.scopes, strict=False):
        for name, entity in old.items():
            if isinstance(entity, PtrVar | Lost) and new.get(name) is not entity:
                raise Refusal(
                    f"pointer {name} moves to another array in a loop",
                    span,
                    "keep one pointer for each array",
                )


def _condition(st: State, cond: ast.Expr | None) -> tuple[BExpr, list[Stmt]]:
    with st.block() as before:
        test = BLit(True) if cond is None else to_bool(evaluate(st, cond), cond.span).expr
    return test, before


def _loop_body(st: State, body: ast.Stmt) -> tuple[Stmt, ...]:
    st.depth += 1
    out = _branch_body(st, [OPEN, body, CLOSE])
    st.depth -= 1
    return out


def escapes_of(body: ast.Stmt) -> frozenset[str]:
    """Jumps in a loop's body, `break` and `continue` of this loop included."""
    return escapes(body)


def _strip(st: State, flag: int | None, body: tuple[Stmt, ...], span: Span) -> tuple[Stmt, ...]:
    """Reset a `continue` flag at the start of the body, or drop it when nothing reads it."""
    if flag is None:
        return body
    if flag in st.watched:
        return (SetI(flag, ILit(0), span), *body)
    return without(body, flag)


def _do(st: State, body: ast.Stmt, cond: ast.Expr, span: Span) -> None:
    """`do body while (cond);` through a register that says whether to go on."""
    loop = Loop()
    scopes = [dict(scope) for scope in st.scopes]
    st.loops.append(loop)
    inner = _loop_body(st, body)
    test, before = _condition(st, cond)
    leaves = _clear(st, escapes_of(body) & {"break", "return"})
    inner = _strip(st, loop.continued, inner, span)
    st.loops.pop()
    _check_pointers(st, scopes, span)
    if isinstance(test, BLit) and not test.value and leaves is None:
        st.out.extend(inner)
        return
    if loop.broken is not None:
        st.emit(SetI(loop.broken, ILit(0), span))
    go = st.int_var("again", IntType.I32)
    st.emit(SetI(go, ILit(1), span))
    decide: tuple[Stmt, ...] = (*before, SetI(go, ISelect(test, ILit(1), ILit(0)), span))
    if leaves is not None:
        decide = (If(leaves, decide, (SetI(go, ILit(0), span),), span),)
    st.emit(While(ICmp(CmpOp.EQ, IVar(go), ILit(1)), (*inner, *decide), span))


def without(body: tuple[Stmt, ...], flag: int) -> tuple[Stmt, ...]:
    """The statements less the assignments of a flag that nothing reads."""
    out: list[Stmt] = []
    for s in body:
        match s:
            case SetI(var) if var == flag:
                continue
            case If(cond, then, other, span):
                out.append(If(cond, without(then, flag), without(other, flag), span))
            case While(cond, inner, span):
                out.append(While(cond, without(inner, flag), span))
            case _:
                out.append(s)
    return tuple(out)
