"""A plain CUDA kernel as the loops its threads make together."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from kshell.tasks.c.shapes import beyond
from semantics import ast
from semantics.span import Span

_AXES = ("x", "y", "z")


def every(node: Any) -> Iterator[Any]:
    """Every node below one."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, tuple):
            stack += one
        elif is_dataclass(one) and not isinstance(one, type):
            yield one
            stack += [getattr(one, f.name) for f in fields(one)]


def rewritten(node: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with `change` applied to every node, the root first."""
    if isinstance(node, tuple):
        return tuple(rewritten(one, change) for one in node)
    if not is_dataclass(node) or isinstance(node, type | Span):
        return node
    node = change(node)
    return replace(node, **{f.name: rewritten(getattr(node, f.name), change) for f in fields(node)})


def as_loops(function: ast.Function) -> ast.Function:
    """A kernel whose threads take one index each (`blockIdx.x * blockDim.x + threadIdx.x`, with a guard)
    or stride over the grid, as a C function with loops; any other function as it is.

    Raises Refusal for other uses of thread indices, barriers and shared memory."""
    if function.kind != "global":
        return function
    body = _strided(_guarded(function.body))
    for node in every(body):
        if isinstance(node, ast.Name) and node.name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            raise beyond("a kernel whose threads do more than take one guarded index each", node.span)
    return replace(function, kind="host", body=body)


def _is_index(expr: ast.Expr | ast.InitList | None) -> bool:
    """`blockIdx.d * blockDim.d + threadIdx.d`, in any order."""
    if not isinstance(expr, ast.Binary) or expr.op != "+":
        return False
    for product, thread in ((expr.left, expr.right), (expr.right, expr.left)):
        for axis in _AXES:
            own = [_member("blockIdx", axis), _member("blockDim", axis)]
            pair = isinstance(product, ast.Binary) and product.op == "*"
            if pair and isinstance(product, ast.Binary) and thread == _member("threadIdx", axis):
                return [product.left, product.right] in (own, own[::-1])
    return False


def _member(name: str, axis: str) -> ast.Member:
    return ast.Member(ast.Name(name), axis)


def _guarded(body: ast.Block) -> ast.Block:
    """Index variables become loops; the guard gives their ends."""
    indices: list[str] = []
    rest: list[ast.Stmt] = []
    for statement in body.body:
        if isinstance(statement, ast.Decl) and all(_is_index(d.init) for d in statement.declarators):
            indices += [d.name for d in statement.declarators]
        else:
            rest.append(statement)
    if not indices:
        return body
    ends: dict[str, ast.Expr] = {}
    inner: list[ast.Stmt] = []
    for place, statement in enumerate(rest):
        if isinstance(statement, ast.If) and statement.other is None:
            leaves = _only(statement.then)
            if isinstance(leaves, ast.Return) and _bounds(statement.cond, "||", (">=",), indices, ends):
                continue
            last = place == len(rest) - 1
            if last and _bounds(statement.cond, "&&", ("<",), indices, ends):
                inner.append(statement.then)
                continue
        inner.append(statement)
    missing = [name for name in indices if name not in ends]
    if missing:
        raise beyond(f"nothing bounds the index {missing[0]}", body.span)
    made: ast.Stmt = ast.Block(tuple(inner), body.span)
    for name in reversed(indices):
        made = loop(name, ends[name], made)
    return ast.Block((made,), body.span)


def _only(statement: ast.Stmt) -> ast.Stmt:
    while isinstance(statement, ast.Block) and len(statement.body) == 1:
        statement = statement.body[0]
    return statement


def _bounds(
    cond: ast.Expr, joint: str, ops: tuple[str, ...], indices: list[str], ends: dict[str, ast.Expr]
) -> bool:
    """Whether a guard is made of comparisons of indices with sizes only; they are then noted."""
    if isinstance(cond, ast.Binary) and cond.op == joint:
        return _bounds(cond.left, joint, ops, indices, ends) and _bounds(
            cond.right, joint, ops, indices, ends
        )
    match cond:
        case ast.Binary(op=op, left=ast.Name(name=name), right=end) if op in ops and name in indices:
            ends[name] = end
            return True
        case _:
            return False


def loop(name: str, end: ast.Expr, body: ast.Stmt) -> ast.For:
    """`for (int name = 0; name < end; name++) body`."""
    declared = ast.Declarator(name, ast.CType("int"), (), ast.IntLit("0"))
    return ast.For(
        ast.Decl((), (declared,)),
        ast.Binary("<", ast.Name(name), end),
        ast.Postfix("++", ast.Name(name)),
        body,
    )


def _strided(body: ast.Block) -> ast.Block:
    """Grid-stride loops as plain loops."""
    found: list[ast.Stmt] = []
    for statement in body.body:
        if isinstance(statement, ast.For) and isinstance(statement.init, ast.Decl):
            one = statement.init.declarators[0]
            cond = statement.cond
            if _is_index(one.init) and isinstance(cond, ast.Binary) and cond.op == "<":
                statement = loop(one.name, cond.right, statement.body)
        found.append(statement)
    return ast.Block(tuple(found), body.span)
