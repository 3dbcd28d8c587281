"""Removal of what a lowering left behind: registers that nothing uses."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from semantics.beyond import ShflI, Vote
from semantics.core import If, IVar, Kernel, Load, RVar, SetI, SetR, Shfl, Stmt, While


def mentions(node: Any, ints: set[int], reals: set[int]) -> bool:
    """Whether an expression reads one of the registers."""
    if isinstance(node, IVar):
        return node.var in ints
    if isinstance(node, RVar):
        return node.var in reals
    if is_dataclass(node):
        return any(mentions(getattr(node, f.name), ints, reals) for f in fields(node))
    return False


def compact(kernel: Kernel) -> Kernel:
    """The kernel without registers that no statement mentions; the others keep their order."""
    ints: set[int] = set()
    reals: set[int] = set()
    real_arrays = [a.elem not in _INT_NAMES for a in kernel.arrays]

    def visit(node: Any) -> None:
        match node:
            case IVar(var):
                ints.add(var)
            case RVar(var):
                reals.add(var)
            case SetI(var, value):
                ints.add(var)
                visit(value)
            case SetR(var, value):
                reals.add(var)
                visit(value)
            case Load(var, array, index):
                (reals if real_arrays[array] else ints).add(var)
                visit(index)
            case Shfl():
                reals.update((node.dst, node.src))
                visit((node.arg, node.mask))
            case ShflI():
                ints.update((node.dst, node.src))
                visit((node.arg, node.mask))
            case Vote():
                ints.add(node.dst)
                visit((node.cond, node.mask))
            case tuple():
                for item in node:
                    visit(item)
            case _ if is_dataclass(node):
                for f in fields(node):
                    if f.name != "span":
                        visit(getattr(node, f.name))

    visit(kernel.body)
    if len(ints) == len(kernel.int_vars) and len(reals) == len(kernel.real_vars):
        return kernel
    int_map = {old: new for new, old in enumerate(sorted(ints))}
    real_map = {old: new for new, old in enumerate(sorted(reals))}

    def expr(node: Any) -> Any:
        match node:
            case IVar(var, kind):
                return IVar(int_map[var], kind)
            case RVar(var):
                return RVar(real_map[var])
            case _ if is_dataclass(node) and not isinstance(node, type):
                changed = {f.name: expr(getattr(node, f.name)) for f in fields(node) if f.name != "span"}
                return replace(node, **changed)
            case _:
                return node

    def stmt(s: Stmt) -> Stmt:
        match s:
            case SetI(var, value, span):
                return SetI(int_map[var], expr(value), span)
            case SetR(var, value, span):
                return SetR(real_map[var], expr(value), span)
            case Load(var, array, index, span):
                chosen = real_map if real_arrays[array] else int_map
                return Load(chosen[var], array, expr(index), span)
            case Shfl():
                return replace(
                    s, dst=real_map[s.dst], src=real_map[s.src], arg=expr(s.arg), mask=expr(s.mask)
                )
            case ShflI():
                return replace(s, dst=int_map[s.dst], src=int_map[s.src], arg=expr(s.arg), mask=expr(s.mask))
            case Vote():
                return replace(s, dst=int_map[s.dst], cond=expr(s.cond), mask=expr(s.mask))
            case If(cond, then, other, span):
                return If(expr(cond), tuple(map(stmt, then)), tuple(map(stmt, other)), span)
            case While(cond, body, span):
                return While(expr(cond), tuple(map(stmt, body)), span)
            case _:
                changed: Stmt = expr(s)
                return changed

    return replace(
        kernel,
        int_vars=tuple(kernel.int_vars[v] for v in sorted(ints)),
        real_vars=tuple(kernel.real_vars[v] for v in sorted(reals)),
        body=tuple(map(stmt, kernel.body)),
    )


_INT_NAMES = frozenset({"int", "unsigned int", "long long", "unsigned long long", "bool"})
