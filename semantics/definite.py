"""Definite assignment: a variable declared without a value inside a loop is indeterminate again in
every iteration, while a register would still hold the old value. Such a variable must be assigned on
every path before it is read; what cannot be seen to be so is refused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from semantics import ast
from semantics.effects import children, reads, root
from semantics.flow import assigned, completes, escapes
from semantics.span import Refusal, Span

Parts = frozenset[str]
Constant = Callable[[ast.Expr], int | None]


@dataclass(frozen=True, slots=True)
class Subject:
    """The variable: `parts` are its members, `{""}` for a scalar; elements `#0`, `#1`, ... for an array,
    whose `extents` are given."""

    name: str
    parts: Parts
    extents: tuple[int, ...]
    constant: Constant
    functions: dict[str, ast.Function]


def check_assigned(subject: Subject, rest: Sequence[ast.Stmt]) -> None:
    """Refuse when a statement of the rest of its scope may read the variable before it is assigned."""
    _statements(subject, rest, frozenset())


def _fault(subject: Subject, span: Span) -> Refusal:
    return Refusal(
        f"{subject.name!r} may be read before it is assigned in this iteration",
        span,
        "initialise it where it is declared, or declare it outside the loop",
    )


# ---------------------------------------------------------------- expressions


def _expr(v: Subject, e: ast.Expr | ast.InitList | None, done: Parts) -> Parts:
    """Parts assigned after the expression. Raises Refusal at a read of an unassigned part."""
    match e:
        case None:
            return done
        case ast.InitList(items):
            for item in items:
                done = _expr(v, item, done)
            return done
        case ast.Name(name, span):
            if name == v.name and not v.parts <= done:
                raise _fault(v, span)
            return done
        case ast.Member(ast.Name(name), part, span) if name == v.name:
            if part not in done:
                raise _fault(v, span)
            return done
        case ast.Index(_, _, span) if v.extents and root(e) == v.name:
            done, element = _element(v, e, done)
            if not v.parts <= done and element not in done:
                raise _fault(v, span)
            return done
        case ast.Assign(op, target, value):
            done = _expr(v, value, done)
            return _target(v, op, target, done)
        case ast.Binary("&&" | "||", left, right):
            after = _expr(v, left, done)
            _expr(v, right, after)
            return after
        case ast.Ternary(cond, then, other):
            after = _expr(v, cond, done)
            return _expr(v, then, after) & _expr(v, other, after)
        case _:
            for child in children(e):
                done = _expr(v, child, done)
            return done


def _element(v: Subject, e: ast.Expr, done: Parts) -> tuple[Parts, str]:
    """Parts after the indices of an access, and the element's name when they are all literals."""
    flat: int | None = 0
    indices: list[ast.Expr] = []
    while isinstance(e, ast.Index):
        indices.insert(0, e.index)
        e = e.base
    for k, index in enumerate(indices):
        done = _expr(v, index, done)
        number = v.constant(index) if flat is not None else None
        flat = None if number is None or flat is None or k >= len(v.extents) else flat * v.extents[k] + number
    whole = isinstance(e, ast.Name) and len(indices) == len(v.extents)
    return done, f"#{flat}" if flat is not None and whole else ""


def _target(v: Subject, op: str, target: ast.Expr, done: Parts) -> Parts:
    if root(target) != v.name or op != "=":
        return _expr(v, target, done)
    match target:
        case ast.Name():
            return v.parts
        case ast.Member(ast.Name(), part):
            return done | {part}
        case ast.Index():
            done, element = _element(v, target, done)
            return done | {element} if element else done
        case _:
            return _expr(v, target, done)


# ---------------------------------------------------------------- statements


def _statements(v: Subject, body: Sequence[ast.Stmt], done: Parts) -> Parts:
    for s in body:
        if isinstance(s, ast.Decl) and any(d.name == v.name for d in s.declarators):
            return v.parts
        done = _statement(v, s, done)
    return done


def _statement(v: Subject, s: ast.Stmt, done: Parts) -> Parts:
    match s:
        case ast.Decl(_, declarators):
            for d in declarators:
                done = _expr(v, d.init, done)
            return done
        case ast.ExprStmt(e):
            return _expr(v, e, done)
        case ast.Block(body):
            return _statements(v, body, done)
        case ast.If(cond, then, other):
            after = _expr(v, cond, done)
            left = _statement(v, then, after)
            right = _statement(v, other, after) if other else after
            left = left if completes(then) else v.parts
            right = right if other is None or completes(other) else v.parts
            return left & right
        case ast.Return(value):
            return _expr(v, value, done)
        case ast.For():
            return _for(v, s, done)
        case ast.While(cond, body):
            after = _expr(v, cond, done)
            _statement(v, body, after)
            return after
        case ast.DoWhile(body, cond):
            after = _statement(v, body, done)
            return _expr(v, cond, after if completes(body) else done)
        case _:
            return done


def _for(v: Subject, s: ast.For, done: Parts) -> Parts:
    if v.extents and _fills(v, s, done):
        return v.parts
    if isinstance(s.init, ast.Decl | ast.ExprStmt):
        done = _statement(v, s.init, done)
    done = _expr(v, s.cond, done)
    after = _statement(v, s.body, done)
    _expr(v, s.step, after)
    return after if _count(v, s) else done


def _count(v: Subject, s: ast.For) -> int:
    """Trip count of `for (int i = a; i < b; ++i)` with literal bounds; 0 for any other loop or one that
    may be left early."""
    match s.init, s.cond, s.step:
        case (
            ast.Decl(_, (ast.Declarator(name, _, (), ast.IntLit() as first),)),
            ast.Binary("<", ast.Name(left), last),
            ast.Unary("++", ast.Name(right)) | ast.Postfix("++", ast.Name(right)),
        ) if name == left == right:
            low, high = v.constant(first), v.constant(last)
            if low is None or high is None or escapes(s.body) or name in assigned(s.body, v.functions):
                return 0
            return max(0, high - low) if low == 0 else 0
        case _:
            return 0


def _fills(v: Subject, s: ast.For, done: Parts) -> bool:
    """Whether nested loops store every element of the array: `for i: for j: a[i][j] = value`. Raises Refusal
    when they do and another statement in them reads what is not in `done`."""
    names: list[str] = []
    body: ast.Stmt = s
    beside: list[ast.Stmt] = []
    for extent in v.extents:
        if not isinstance(body, ast.For) or _count(v, body) != extent or not isinstance(body.init, ast.Decl):
            return False
        names.append(body.init.declarators[0].name)
        inner = body.body
        statements = inner.body if isinstance(inner, ast.Block) else (inner,)
        if any(isinstance(x, ast.Decl) and any(d.name == v.name for d in x.declarators) for x in statements):
            return False
        body = next((x for x in statements if isinstance(x, ast.For) or _stores(v, x)), inner)
        beside += [x for x in statements if x is not body]
    simple = len(set(names)) == len(v.extents) and _indices(v, body) == names
    if not simple or not _stores(v, body) or _reads(v, body):
        return False
    for x in beside:
        _statement(v, x, done)
    return True


def _stores(v: Subject, s: ast.Stmt) -> bool:
    return isinstance(s, ast.ExprStmt) and isinstance(s.expr, ast.Assign) and root(s.expr.target) == v.name


def _indices(v: Subject, s: ast.Stmt) -> list[str]:
    out: list[str] = []
    target = s.expr.target if isinstance(s, ast.ExprStmt) and isinstance(s.expr, ast.Assign) else None
    while isinstance(target, ast.Index):
        out.insert(0, target.index.name if isinstance(target.index, ast.Name) else "")
        target = target.base
    return out


def _reads(v: Subject, s: ast.Stmt) -> bool:
    if not (isinstance(s, ast.ExprStmt) and isinstance(s.expr, ast.Assign)):
        return True
    return s.expr.op != "=" or v.name in reads(s.expr.value)
