"""Finds loops that cannot end.

The condition of a loop depends on a set of integer registers: those it reads, those their
assignments in the body read, and those that decide whether the assignments happen. When no memory,
shuffle or real number is among the causes and a whole round changes none of them, the loop goes on
forever.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semantics import core
from semantics.beyond import IOfReal, ShflI, Vote
from semantics.faults import FaultKind
from semantics.interp.machine import Halt, Lanes, Machine
from semantics.interp.memory import is_integer
from semantics.interp.values import Array


@dataclass(slots=True)
class Watch:
    """Watches one loop. Looked at in the rounds that are powers of two from 64 on."""

    stmt: core.While
    causes: list[int] | None

    def snapshot(self, m: Machine, lanes: Lanes, rounds: int) -> list[Array] | None:
        """The causes before a round, None when this round is not looked at."""
        if self.causes is None or rounds < 64 or rounds & (rounds - 1):
            return None
        return [m.ints[var][lanes.index] for var in self.causes]

    def compare(self, m: Machine, lanes: Lanes, before: list[Array] | None) -> None:
        """Report NON-TERMINATION and halt when a round changed nothing that the condition sees."""
        if before is None or self.causes is None:
            return
        same = np.ones(len(lanes), bool)
        for var, old in zip(self.causes, before, strict=True):
            same &= old == m.ints[var][lanes.index]
        if same.any():
            m.at = self.stmt
            names = ", ".join(f"`{m.kernel.int_vars[var][0]}`" for var in self.causes[:3])
            text = f"a round of the loop does not change {names or 'its condition'}: it never ends"
            m.fault(FaultKind.NON_TERMINATION, text, lanes, same)
            raise Halt


def watch(stmt: core.While, kernel: core.Kernel) -> Watch:
    """The watch for a loop; it never reports when the loop depends on memory or real numbers."""
    wanted: set[int] = set()
    if not _reads(stmt.cond, wanted):
        return Watch(stmt, None)
    assigned: dict[int, list[set[int] | None]] = {}
    _assignments(kernel, stmt.body, set(), assigned)
    todo = list(wanted)
    while todo:
        for causes in assigned.get(todo.pop(), []):
            if causes is None:
                return Watch(stmt, None)
            todo += causes - wanted
            wanted |= causes
    return Watch(stmt, sorted(wanted & assigned.keys()))


def _assignments(
    kernel: core.Kernel,
    stmts: tuple[core.Stmt, ...],
    guards: set[int] | None,
    found: dict[int, list[set[int] | None]],
) -> None:
    """For each integer register, the registers each of its assignments depends on (None: memory)."""
    for stmt in stmts:
        match stmt:
            case core.SetI(var, value):
                causes = None if guards is None else set(guards)
                if causes is not None and not _reads(value, causes):
                    causes = None
                found.setdefault(var, []).append(causes)
            case core.Load(var, array) if is_integer(kernel.arrays[array].elem):
                found.setdefault(var, []).append(None)
            case ShflI(_, var) | Vote(_, var):
                found.setdefault(var, []).append(None)
            case core.If(cond, then, other):
                inner = _guarded(cond, guards)
                _assignments(kernel, then, inner, found)
                _assignments(kernel, other, inner, found)
            case core.While(cond, body):
                _assignments(kernel, body, _guarded(cond, guards), found)
            case _:
                pass


def _guarded(cond: core.BExpr, guards: set[int] | None) -> set[int] | None:
    if guards is None:
        return None
    inner = set(guards)
    return inner if _reads(cond, inner) else None


def _reads(node: Any, found: set[int]) -> bool:
    """Add the integer registers of an expression; False when it has a real part."""
    match node:
        case core.IVar(var):
            found.add(var)
            return True
        case core.RCmp() | IOfReal():
            return False
        case tuple():
            return all(_reads(part, found) for part in node)
    names = getattr(node, "__dataclass_fields__", ())
    return all(_reads(getattr(node, n), found) for n in names if n not in ("type", "op", "what", "dim"))
