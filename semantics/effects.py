"""Which variables an expression writes and reads: enough to refuse what C leaves unsequenced."""

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


def check_sequence(operands: tuple[ast.Expr, ...], functions: Functions) -> None:
    """Refuse operands of one operator or call where one writes what another reads or writes."""
    active = [o for o in operands if is_effectful(o)]
    for one in active:
        written = writes(one, functions)
        for other in operands:
            clash = written & reads(other) if other is not one else set()
            if clash:
                raise Refusal(
                    f"{min(clash)!r} is changed and used in one expression without an order",
                    one.span,
                    "split the expression into statements",
                )
