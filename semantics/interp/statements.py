"""Statements of the core IR, compiled to functions of a machine and the lanes that execute them.

A statement without barriers and warp operations is a plain function. One with them is a generator that
yields a `Sync` at each; whoever drives it performs the synchronisation (or finds that it cannot be) and
resumes it.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from semantics import core
from semantics.beyond import ShflI, Vote
from semantics.faults import Fault, FaultKind
from semantics.interp import loops
from semantics.interp.expressions import IntFn, compile_cond, compile_real, compile_reduced, is_uniform
from semantics.interp.geometry import halving_steps
from semantics.interp.machine import Lanes, Machine
from semantics.interp.memory import WIDE_ELEMENTS, folded, is_integer, unfolded
from semantics.interp.races import ATOMIC, READ, WRITE, Where
from semantics.interp.values import Array
from semantics.span import Span


@dataclass(frozen=True, slots=True)
class Path:
    """A conditional or loop that execution is inside, the lanes that came to it, and what is around it."""

    span: Span
    lanes: Lanes
    outer: "Path | None"

    def left_by(self, lane: int) -> Span | None:
        """The innermost construct that a lane came to: where it turned away, if it is missing inside."""
        at: Path | None = self
        while at is not None:
            if lane in at.lanes.index:
                return at.span
            at = at.outer
        return None


Synchronising = core.Barrier | core.SyncWarp | core.Shfl | ShflI | Vote


@dataclass(frozen=True, slots=True)
class Sync:
    """`lanes` have arrived at a barrier or a warp operation, by `path`. `argument` evaluates the lane
    argument of a shuffle or the condition of a vote, `mask` which lanes a warp operation names."""

    stmt: Synchronising
    lanes: Lanes
    path: Path | None
    argument: Callable[[Machine, Lanes], Any] | None
    mask: IntFn | None = None


Plain = Callable[[Machine, Lanes], None]
Stepped = Callable[[Machine, Lanes, Path | None], Generator[Sync, None, None]]


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled kernel: `body` yields at synchronisations; `accesses` gives statement and array of an
    access site."""

    kernel: core.Kernel
    body: Stepped
    accesses: tuple[tuple[core.Stmt, core.Array], ...]


def compile_kernel(kernel: core.Kernel) -> Program:
    """Compile once, run for any launch."""
    compiler = _Compiler(kernel)
    body = compiler.stepped_block(kernel.body)
    return Program(kernel, body, tuple(compiler.accesses))


def synchronises(stmt: core.Stmt) -> bool:
    """Whether a statement contains a barrier or a warp operation."""
    match stmt:
        case core.Barrier() | core.SyncWarp() | core.Shfl() | ShflI() | Vote():
            return True
        case core.If(_, then, other):
            return any(map(synchronises, then)) or any(map(synchronises, other))
        case core.While(_, body):
            return any(map(synchronises, body))
        case _:
            return False


class _Compiler:
    def __init__(self, kernel: core.Kernel) -> None:
        self.kernel = kernel
        self.accesses: list[tuple[core.Stmt, core.Array]] = []
        self.halvings = halving_steps(kernel)

    # ---------------------------------------------------------------- blocks

    def plain_block(self, stmts: tuple[core.Stmt, ...]) -> Plain:
        steps = [self.plain(s) for s in stmts]

        def run(m: Machine, lanes: Lanes) -> None:
            for step in steps:
                step(m, lanes)

        return run

    def stepped_block(self, stmts: tuple[core.Stmt, ...]) -> Stepped:
        steps: list[tuple[Plain | None, Stepped | None]] = [
            (None, self.stepped(s)) if synchronises(s) else (self.plain(s), None) for s in stmts
        ]

        def run(m: Machine, lanes: Lanes, path: Path | None) -> Generator[Sync, None, None]:
            for plain, stepped in steps:
                if plain is not None:
                    plain(m, lanes)
                elif stepped is not None:
                    yield from stepped(m, lanes, path)

        return run

    # ---------------------------------------------------------------- statements that synchronise

    def stepped(self, stmt: core.Stmt) -> Stepped:
        match stmt:
            case core.Barrier() | core.SyncWarp() | core.Shfl() | ShflI() | Vote():
                return self._sync(stmt)
            case core.If(_, then, other):
                return self._stepped_if(stmt, self.stepped_block(then), self.stepped_block(other))
            case core.While(_, body):
                return self._stepped_while(stmt, self.stepped_block(body))
            case _:
                raise AssertionError(f"{type(stmt).__name__} does not synchronise")

    def _sync(self, stmt: Synchronising) -> Stepped:
        argument: Callable[[Machine, Lanes], Any] | None = None
        mask = None
        if isinstance(stmt, core.Shfl | ShflI):
            argument = compile_reduced(stmt.arg)
        elif isinstance(stmt, Vote):
            argument = compile_cond(stmt.cond)
        if isinstance(stmt, core.Shfl | ShflI | Vote) and stmt.mask is not None:
            mask = compile_reduced(stmt.mask)

        def run(m: Machine, lanes: Lanes, path: Path | None) -> Generator[Sync, None, None]:
            m.at = stmt
            m.tick()
            yield Sync(stmt, lanes, path, argument, mask)

        return run

    def _stepped_if(self, stmt: core.If, then: Stepped, other: Stepped) -> Stepped:
        cond = compile_cond(stmt.cond)

        def run(m: Machine, lanes: Lanes, path: Path | None) -> Generator[Sync, None, None]:
            m.at = stmt
            m.tick()
            yes, no = split(lanes, cond(m, lanes))
            inner = Path(stmt.span, lanes, path)
            if len(yes):
                yield from then(m, yes, inner)
            if len(no):
                yield from other(m, no, inner)

        return run

    def _stepped_while(self, stmt: core.While, body: Stepped) -> Stepped:
        cond = compile_cond(stmt.cond)
        watching = loops.watch(stmt, self.kernel)

        def run(m: Machine, lanes: Lanes, path: Path | None) -> Generator[Sync, None, None]:
            rounds = 0
            inner = Path(stmt.span, lanes, path)
            while True:
                m.at = stmt
                m.tick()
                lanes = lanes.where(cond(m, lanes))
                if not len(lanes):
                    return
                rounds += 1
                before = watching.snapshot(m, lanes, rounds)
                yield from body(m, lanes, inner)
                watching.compare(m, lanes, before)

        return run

    # ---------------------------------------------------------------- statements that do not

    def plain(self, stmt: core.Stmt) -> Plain:
        match stmt:
            case core.SetI(var, value):
                return self._set_int(stmt, var, value)
            case core.SetR(var, value):
                real = compile_real(value)

                def set_real(m: Machine, lanes: Lanes) -> None:
                    m.at = stmt
                    m.tick()
                    m.set_real(var, lanes, real(m, lanes))

                return set_real
            case core.Load():
                return self._load(stmt)
            case core.Store():
                return self._write(stmt, WRITE)
            case core.AtomicAdd():
                return self._write(stmt, ATOMIC)
            case core.If():
                return self._plain_if(stmt)
            case core.While():
                return self._plain_while(stmt)
            case core.Check(cond, reason):
                return self._check(stmt, cond, FaultKind(reason))
            case _:
                raise AssertionError(f"{type(stmt).__name__} synchronises")

    def _set_int(self, stmt: core.SetI, var: int, value: core.IExpr) -> Plain:
        compute = compile_reduced(value)
        halving = id(stmt) in self.halvings

        def run(m: Machine, lanes: Lanes) -> None:
            m.at = stmt
            m.tick()
            if halving:
                _note_odd_halving(m, lanes, var)
            m.wrapped = None
            m.set_int(var, lanes, compute(m, lanes))
            m.taint(var, lanes)

        return run

    def _plain_if(self, stmt: core.If) -> Plain:
        cond = compile_cond(stmt.cond)
        then, other = self.plain_block(stmt.then), self.plain_block(stmt.other)

        def run(m: Machine, lanes: Lanes) -> None:
            m.at = stmt
            m.tick()
            yes, no = split(lanes, cond(m, lanes))
            if len(yes):
                then(m, yes)
            if len(no):
                other(m, no)

        return run

    def _plain_while(self, stmt: core.While) -> Plain:
        cond, body, watching = (
            compile_cond(stmt.cond),
            self.plain_block(stmt.body),
            loops.watch(stmt, self.kernel),
        )

        def run(m: Machine, lanes: Lanes) -> None:
            rounds = 0
            while True:
                m.at = stmt
                m.tick()
                lanes = lanes.where(cond(m, lanes))
                if not len(lanes):
                    return
                rounds += 1
                before = watching.snapshot(m, lanes, rounds)
                body(m, lanes)
                watching.compare(m, lanes, before)

        return run

    def _check(self, stmt: core.Check, cond: core.BExpr, kind: FaultKind) -> Plain:
        holds = compile_cond(cond)

        def run(m: Machine, lanes: Lanes) -> None:
            m.at = stmt
            m.tick()
            ok = holds(m, lanes)
            if not np.all(ok):
                m.fault(
                    kind,
                    _CHECKS.get(kind, "a condition of the language does not hold"),
                    lanes,
                    np.logical_not(ok),
                )

        return run

    # ---------------------------------------------------------------- memory

    def _site(self, stmt: core.Load | core.Store | core.AtomicAdd) -> int:
        self.accesses.append((stmt, self.kernel.arrays[stmt.array]))
        return len(self.accesses) - 1

    def _load(self, stmt: core.Load) -> Plain:
        site, array, var = self._site(stmt), stmt.array, stmt.var
        declared = self.kernel.arrays[array]
        index = compile_reduced(stmt.index)
        wide = declared.elem in WIDE_ELEMENTS
        assign = Machine.set_int if is_integer(declared.elem) else Machine.set_real

        def run(m: Machine, lanes: Lanes) -> None:
            m.at = stmt
            m.tick()
            inside, at = _address(m, lanes, array, m.as_address(index, lanes), "read")
            if not len(inside):
                assign(m, var, lanes, 0)
                return
            values, missing = m.buffers[array].load(at)
            if missing is not None:
                k = int(np.argmax(missing))
                _never_written(m, inside, missing, declared, int(at[k]) - _base(m, array, inside, k))
            if wide:
                values = unfolded(values)
            _log(m, array, at, inside, READ, site, values)
            if inside is not lanes:
                assign(m, var, lanes, 0)
            assign(m, var, inside, values)

        return run

    def _write(self, stmt: core.Store | core.AtomicAdd, kind: int) -> Plain:
        site, array = self._site(stmt), stmt.array
        declared = self.kernel.arrays[array]
        index = compile_reduced(stmt.index)
        value: Callable[[Machine, Lanes], Any]
        integers = is_integer(declared.elem)
        value = compile_reduced(stmt.value) if integers else compile_real(stmt.value)  # type: ignore[arg-type]

        def run(m: Machine, lanes: Lanes) -> None:
            m.at = stmt
            m.tick()
            stored: Any = folded(value(m, lanes)) if integers else value(m, lanes)
            inside, at = _address(m, lanes, array, m.as_address(index, lanes), "written")
            if not len(inside):
                return
            if inside is not lanes and not is_uniform(stored):
                stored = stored[np.isin(lanes.index, inside.index)]
            stored = np.array(np.broadcast_to(stored, at.shape))
            buffer = m.buffers[array]
            if kind == WRITE:
                buffer.store(at, stored)
            else:
                _, missing = buffer.load(at)
                if missing is not None:
                    k = int(np.argmax(missing))
                    _never_written(m, inside, missing, declared, int(at[k]) - _base(m, array, inside, k))
                    buffer.store(at[missing], np.zeros_like(stored[missing]))
                buffer.add(at, stored)
            _log(m, array, at, inside, kind, site, stored)

        return run


_CHECKS = {FaultKind.MISALIGNED: "a vector access whose address is not a multiple of its size"}


def split(lanes: Lanes, cond: Any) -> tuple[Lanes, Lanes]:
    """Lanes for which a condition holds, and the others."""
    if is_uniform(cond):
        return (lanes, lanes.where(False)) if cond else (lanes.where(False), lanes)
    return lanes.where(cond), lanes.where(~cond)


_FAR = (1 << 63) - 1  # no array has this many elements


def _base(m: Machine, array: int, lanes: Lanes, k: int) -> int:
    offset = m.offset[array]
    return 0 if offset is None else int(offset[lanes.index[k]])


def _address(m: Machine, lanes: Lanes, array: int, index: Any, verb: str) -> tuple[Lanes, Array]:
    """The lanes whose index is in bounds, and their flat addresses; the others are a fault."""
    size = m.sizes[array]
    if is_uniform(index):
        index = np.full(len(lanes), min(int(index), _FAR), np.int64)
    elif index.dtype == object:
        index = np.array([min(v, _FAR) for v in index], np.int64)
    if index.size and (index.min() < 0 or index.max() >= size):
        bad = (index < 0) | (index >= size)
        name, k = m.kernel.arrays[array].name, int(np.argmax(bad))
        text = f"`{name}[{index[k]}]` is {verb}, but `{name}` has {size} element{'' if size == 1 else 's'}"
        m.fault(
            FaultKind.OUT_OF_BOUNDS,
            text,
            lanes,
            bad,
            array=name,
            index=int(index[k]),
            what="read" if verb == "read" else "write",
        )
        lanes, index = lanes.where(~bad), index[~bad]
    offset = m.offset[array]
    if offset is None:
        return lanes, np.array(index) if lanes.full else index
    return lanes, index + (offset if lanes.full else offset[lanes.index])


def _never_written(m: Machine, lanes: Lanes, missing: Array, declared: core.Array, index: int) -> None:
    text = f"`{declared.name}[{index}]` is read, but nothing was ever stored there"
    m.fault(FaultKind.UNINITIALISED_READ, text, lanes, missing, array=declared.name, index=index, what="read")


def _log(m: Machine, array: int, at: Array, lanes: Lanes, kind: int, site: int, value: Array) -> None:
    log = m.logs.get(array)
    if log is None:
        return
    log.add(at, None if lanes.full else lanes.index, where(m), kind, site, m.journal.steps, value)


def where(m: Machine) -> Where:
    """Positions and epochs of all lanes now."""
    return Where(m.thread, m.block_of_lane, m.warp, m.epoch, m.warp_syncs, m.shuffles)


def _note_odd_halving(m: Machine, lanes: Lanes, var: int) -> None:
    values = m.get_int(var, lanes)
    odd = (values > 1) & (values % 2 == 1)
    if odd.any():
        k = int(np.argmax(odd))
        name, value, lane = m.kernel.int_vars[var][0], int(values[k]), int(lanes.index[k])
        text = (
            f"`{name}` is halved from {value}, which drops an element: the tree needs a power of two, "
            f"the block has {m.threads} threads"
        )
        m.journal.note(
            Fault(
                FaultKind.GEOMETRY,
                text,
                m.kernel.name,
                (m.thread_of(lane),),
                (m.block_of(lane),),
                (m.span(),),
                ("halves",),
                (float(value),),
                name,
            )
        )
