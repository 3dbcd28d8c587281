"""Recognises the halving step of a tree reduction, which is right only for powers of two."""

from semantics import core
from semantics.walk import walk


def halving_steps(kernel: core.Kernel) -> frozenset[int]:
    """Identities (`id`) of the statements `s = s / 2` or `s = s >> 1` of loops that also load a shared
    element at an index with `s` in it and store to the same array."""
    found: set[int] = set()
    for stmt in walk(kernel.body):
        if isinstance(stmt, core.While):
            inside = list(walk(stmt.body))
            stored = {s.array for s in inside if isinstance(s, core.Store)}
            for step in inside:
                if isinstance(step, core.SetI) and _halves(step) and _feeds(step.var, inside, stored, kernel):
                    found.add(id(step))
    return frozenset(found)


def _halves(stmt: core.SetI) -> bool:
    value = stmt.value
    while isinstance(value, core.ICast):
        value = value.a
    if not isinstance(value, core.IBin) or _strip(value.a) != stmt.var:
        return False
    amount = value.b
    while isinstance(amount, core.ICast):
        amount = amount.a
    if not isinstance(amount, core.ILit):
        return False
    return (value.op, amount.value) in ((core.IntOp.DIV, 2), (core.IntOp.SHR, 1))


def _strip(e: core.IExpr) -> int | None:
    while isinstance(e, core.ICast):
        e = e.a
    return e.var if isinstance(e, core.IVar) else None


def _feeds(var: int, inside: list[core.Stmt], stored: set[int], kernel: core.Kernel) -> bool:
    return any(
        isinstance(s, core.Load)
        and s.array in stored
        and kernel.arrays[s.array].space is core.Space.SHARED
        and mentions(s.index, var)
        for s in inside
    )


def mentions(e: core.IExpr, var: int) -> bool:
    """Whether an index reads a register."""
    match e:
        case core.IVar(v):
            return v == var
        case core.IBin(_, _, a, b):
            return mentions(a, var) or mentions(b, var)
        case core.ICast(_, a):
            return mentions(a, var)
        case core.ISelect(_, a, b):
            return mentions(a, var) or mentions(b, var)
        case _:
            return False
