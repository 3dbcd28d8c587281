"""Which variables an expression writes and reads: enough to refuse what C leaves unsequenced."""

from collections.abc import Iterator

from semantics import ast
from semantics.span import Refusal

Functions = dict[str, ast.Function]


def children(e: ast.Expr) -> tuple[ast.Expr, ...]:
    """Direct operands."""
    match e:
        case ast.Member(obj):
            return (obj,)
        case ast.Index(base, index):
            return (base, index)
        case ast.Call(_, _, args) | ast.Cast(_, args):
            return args
        case ast.Unary(_, operand) | ast.Postfix(_, operand):
            return (operand,)
        case ast.Binary(_, left, right) | ast.Assign(_, left, right):
            return (left, right)
        case ast.Ternary(cond, then, other):
            return (cond, then, other)
        case _:
            return ()


def is_effectful(e: ast.Expr) -> bool:
    """Whether evaluating the expression may assign something."""
    if isinstance(e, ast.Assign | ast.Postfix | ast.Call) or (
        isinstance(e, ast.Unary) and e.op in ("++", "--")
    ):
        return True
    return any(is_effectful(c) for c in children(e))


def root(e: ast.Expr) -> str | None:
    """The variable behind an lvalue."""
    match e:
        case ast.Name(name):
            return name
        case ast.Member(inner) | ast.Index(inner, _) | ast.Unary(_, inner) | ast.Assign(_, inner, _):
            return root(inner)
        case ast.Cast(_, args) if args:
            return root(args[0])
        case ast.Binary(_, left, _):
            return root(left)
        case _:
            return None


def writes(e: ast.Expr, functions: Functions) -> set[str]:
    """Variables the expression may assign; arrays count by their name."""
    out: set[str] = set()
    match e:
        case ast.Assign(_, target, _) | ast.Postfix(_, target):
            out |= {r for r in [root(target)] if r}
        case ast.Unary(op, target) if op in ("++", "--"):
            out |= {r for r in [root(target)] if r}
        case ast.Call(name, _, args) if name in functions:
            for param, arg in zip(functions[name].params, args, strict=False):
                written = param.type.reference or (param.type.pointer and not param.type.const)
                out |= {r for r in [root(arg)] if r and written}
        case _:
            pass
    for child in children(e):
        out |= writes(child, functions)
    return out


def reads(e: ast.Expr) -> set[str]:
    """Variables the expression mentions."""
    out = {e.name} if isinstance(e, ast.Name) else set()
    for child in children(e):
        out |= reads(child)
    return out


def touches_memory(e: ast.Expr, functions: Functions) -> bool:
    """Whether evaluating the expression reads or writes array elements."""
    if isinstance(e, ast.Index) or (isinstance(e, ast.Unary) and e.op == "*"):
        return True
    if isinstance(e, ast.Call) and (e.name in functions or e.name.startswith(("__ld", "__st", "atomic"))):
        return True
    return any(touches_memory(c, functions) for c in children(e))


def walk(e: ast.Expr) -> Iterator[ast.Expr]:
    """The expression and everything inside it."""
    pending = [e]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(children(found))


def disturbs(e: ast.Expr, functions: Functions) -> bool:
    """Whether the expression calls a helper that stores to arrays or waits at a barrier.

    Every helper that can be reached is looked at once, however often it is called."""
    seen: set[str] = set()
    pending = _called(e, functions)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for inside in expressions(functions[name].body):
            if any(_stores(x) for x in walk(inside)):
                return True
            pending.extend(_called(inside, functions))
    return False


def _called(e: ast.Expr, functions: Functions) -> list[str]:
    return [x.name for x in walk(e) if isinstance(x, ast.Call) and x.name in functions]


def _stores(e: ast.Expr) -> bool:
    """Whether this node by itself changes memory or orders it."""
    match e:
        case ast.Call(name):
            return name.startswith(("__sync", "__st", "atomic"))
        case ast.Assign(_, target, _) | ast.Postfix(_, target) | ast.Unary("++" | "--", target):
            return not isinstance(target, ast.Name)
        case _:
            return False


def expressions(s: ast.Stmt | None) -> list[ast.Expr]:
    """The expressions of a statement and of the statements inside it."""
    match s:
        case ast.Decl(_, declarators):
            return [e for v in declarators for e in _initial(v.init)]
        case ast.ExprStmt(e):
            return [e]
        case ast.Block(body):
            return [e for b in body for e in expressions(b)]
        case ast.If(cond, then, other):
            return [cond, *expressions(then), *expressions(other)]
        case ast.For(init, cond, step, body):
            own = [e for e in (cond, step) if e is not None]
            return [*expressions(init), *own, *expressions(body)]
        case ast.While(cond, body) | ast.DoWhile(body, cond):
            return [cond, *expressions(body)]
        case ast.Return(value):
            return [] if value is None else [value]
        case _:
            return []


def _initial(init: "ast.Expr | ast.InitList | None") -> list[ast.Expr]:
    if isinstance(init, ast.InitList):
        return [e for item in init.items for e in _initial(item)]
    return [] if init is None else [init]


def addressed(s: ast.Stmt) -> set[str]:
    """Variables whose address the statements take, or that of a member."""
    out: set[str] = set()
    for e in (x for top in expressions(s) for x in walk(top)):
        if isinstance(e, ast.Unary) and e.op == "&":
            target = e.operand
            while isinstance(target, ast.Member):
                target = target.object
            if isinstance(target, ast.Name):
                out.add(target.name)
    return out


def check_sequence(operands: tuple[ast.Expr, ...], functions: Functions) -> None:
    """Refuse operands of one operator or call where one writes what another reads or writes."""
    active = [o for o in operands if is_effectful(o)]
    for one in active:
        if disturbs(one, functions) and any(touches_memory(o, functions) for o in operands if o is not one):
            raise Refusal(
                "a helper that changes memory stands beside another access without an order",
                one.span,
                "split the expression into statements",
            )
        written = writes(one, functions)
        for other in operands:
            clash = written & reads(other) if other is not one else set()
            if clash:
                raise Refusal(
                    f"{min(clash)!r} is changed and used in one expression without an order",
                    one.span,
                    "split the expression into statements",
                )
