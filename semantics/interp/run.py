"""Runs a plan on concrete data and reports its outputs and every fault it meets."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from semantics import core
from semantics.aliasing import bound, restricted, stored
from semantics.faults import Fault, FaultKind
from semantics.interp.machine import Halt, Journal, Machine, element_bytes
from semantics.interp.memory import Buffer, Dense, Sparse, is_integer
from semantics.interp.races import READ, Access, AccessLog, Conflict
from semantics.interp.schedule import Schedule, drive
from semantics.interp.statements import Program, compile_kernel
from semantics.interp.sync import perform
from semantics.interp.values import Arithmetic, Array, ExactArithmetic, FloatArithmetic
from semantics.walk import walk

Precision = Literal["float64", "float32", "exact"]
_LANES = 1 << 15
_ELEMENTS = 1 << 25  # of shared and local arrays held at once
_LOG_LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class Run:
    """What a run gave.

    `outputs`: every buffer that is not a workspace and that a kernel stores to, flat, in the number
    format of the run (elements never stored are NaN, or None when exact). `faults` in the order
    they were met. `notes` are remarks that are no faults. `steps` counts statements executed.
    `complete` is False when the time, the block limit or the memory for shared and local arrays cut
    the run short. `unwritten` gives for each output the first element that nothing was stored to."""

    outputs: dict[str, Array]
    faults: tuple[Fault, ...]
    notes: tuple[Fault, ...]
    steps: int
    complete: bool = True
    unwritten: dict[str, int] = field(default_factory=dict)


def run(
    plan: core.Plan,
    arrays: dict[str, Array],
    *,
    fuel: int = 2_000_000,
    exact: bool = False,
    precision: Precision = "float64",
    schedule: Schedule | None = None,
    max_blocks: int | None = None,
    sparse: bool = False,
    seconds: float | None = None,
    fault_limit: int = 16,
) -> Run:
    """Run every call of a plan.

    `arrays` gives the inputs by name (any shape, row-major; the element counts must be the plan's);
    buffers not given start without values. Arithmetic is float64 with the undefined cases of the
    reals as faults; `precision` "float32" rounds every operation as a device would; "exact" (or
    `exact`) computes with rationals. `schedule` runs warps or threads in a random order instead of
    in lockstep. `max_blocks` runs only that many blocks of each call, first and last among them.
    `sparse` gives every tensor made-up contents and holds only what is stored, for real sizes.
    `fuel` bounds the statements executed, `seconds` the time; the run ends at the `fault_limit`-th
    fault other than a race. Raises ValueError for arrays that do
    not fit the plan."""
    chosen: Precision = "exact" if exact else precision
    journal = Journal(fuel, None if seconds is None else time.monotonic() + seconds, fault_limit)
    buffers = _buffers(plan, arrays, chosen, sparse=sparse, partial=max_blocks is not None)
    written: set[str] = set()
    programs: dict[int, Program] = {}
    errors: Any = "raise" if chosen == "float64" else "ignore"
    with np.errstate(divide=errors, invalid=errors, over="ignore", under="ignore"):
        try:
            for call in plan.calls:
                kernel = call.kernel
                program = programs.get(id(kernel)) or programs.setdefault(id(kernel), compile_kernel(kernel))
                written |= {bound(call)[k] for k in stored(kernel) if k in bound(call)}
                arithmetic = _arithmetic(chosen, kernel, arrays)
                _Launch(program, call, buffers, arithmetic, journal, schedule, max_blocks).run()
        except Halt:
            pass
    outputs = {n: b for n, b in buffers.items() if n in written and n not in plan.workspaces}
    faults = [f for _, f in sorted(journal.faults, key=lambda entry: entry[0])]
    return Run(
        {name: _values(b) for name, b in outputs.items() if isinstance(b, Dense)},
        tuple(faults),
        tuple(journal.notes),
        journal.steps,
        journal.complete and max_blocks is None,
        _unwritten(plan, buffers, arrays),
    )


def _arithmetic(precision: Precision, kernel: core.Kernel, arrays: dict[str, Array]) -> Arithmetic:
    if precision == "exact":
        return ExactArithmetic()
    if precision == "float32":
        return FloatArithmetic(np.float32, strict=False)
    infinite = _uses_negative_infinity(kernel) or any(
        a.dtype.kind == "f" and np.isneginf(a).any() for a in arrays.values()
    )
    return FloatArithmetic(negative_infinity=infinite)


def _uses_negative_infinity(node: Any) -> bool:
    if isinstance(node, core.RNegInf):
        return True
    if isinstance(node, tuple):
        return any(map(_uses_negative_infinity, node))
    names = getattr(node, "__dataclass_fields__", ())
    return any(_uses_negative_infinity(getattr(node, n)) for n in names if n not in ("span", "type"))


def _buffers(
    plan: core.Plan, arrays: dict[str, Array], precision: Precision, *, sparse: bool, partial: bool
) -> dict[str, Buffer]:
    real: Arithmetic = (
        ExactArithmetic()
        if precision == "exact"
        else FloatArithmetic(np.float32 if precision == "float32" else np.float64)
    )
    buffers: dict[str, Buffer] = {}
    reused = _touched(plan, core.Load) & _touched(plan, core.Store, core.AtomicAdd)
    for name, (count, elem) in plan.buffers.items():
        integers = is_integer(elem)
        if sparse:
            buffers[name] = Sparse(count, np.int64 if integers else real.dtype, keep=name in reused)
        elif name in arrays:
            data = np.asarray(arrays[name]).ravel()
            if data.size != count:
                raise ValueError(f"`{name}` has {data.size} elements, the launch needs {count}")
            buffers[name] = Dense(data.astype(np.int64) if integers else real.convert(data), initialised=True)
        else:
            zeros = np.zeros(count, np.int64) if integers else real.zeros(count)
            buffers[name] = Dense(zeros, initialised=partial)
    return buffers


def _values(buffer: Dense) -> Array:
    if buffer.ready is None or buffer.ready.all():
        return buffer.data
    if buffer.data.dtype == object:
        data = buffer.data.copy()
        data[~buffer.ready] = None
        return data
    data = buffer.data.astype(np.float64) if buffer.data.dtype.kind == "i" else buffer.data.copy()
    data[~buffer.ready] = np.nan
    return data


def _unwritten(plan: core.Plan, buffers: dict[str, Buffer], arrays: dict[str, Array]) -> dict[str, int]:
    """The first element of each output that nothing was stored to."""
    out: dict[str, int] = {}
    for name, buffer in buffers.items():
        if name in arrays or name in plan.workspaces or not isinstance(buffer, Dense) or buffer.ready is None:
            continue
        if not buffer.ready.all():
            out[name] = int(np.argmin(buffer.ready))
    return out


def _touched(plan: core.Plan, *kinds: type) -> set[str]:
    """Buffers that a statement of these kinds accesses, in any call."""
    found: set[str] = set()
    for call in plan.calls:
        names = bound(call)
        arrays = {s.array for s in walk(call.kernel.body) if isinstance(s, kinds)}  # type: ignore[union-attr]
        found |= {names[k] for k in arrays & names.keys()}
    return found


@dataclass(slots=True)
class _Launch:
    """One call of a plan."""

    program: Program
    call: core.KernelCall
    buffers: dict[str, Buffer]
    arithmetic: Arithmetic
    journal: Journal
    schedule: Schedule | None
    max_blocks: int | None
    logs: dict[str, AccessLog] = field(default_factory=dict)

    def run(self) -> None:
        self._aliases()
        names = bound(self.call)
        self.logs = {names[k]: AccessLog(shared=False) for k in stored(self.call.kernel) if k in names}
        try:
            for blocks in self._batches():
                self._run_blocks(blocks, names)
        finally:
            for name, log in self.logs.items():
                size = self.buffers[name].size
                for conflict in log.drain():
                    self._report(conflict, size)

    def _batches(self) -> Iterator[Array]:
        grid, block = self.call.grid, self.call.block
        total, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
        if total < 1 or threads < 1:
            return
        private = self._private_elements(threads)
        if private > _ELEMENTS:
            self.journal.complete = False
            return
        step = max(1, min(_LANES // threads, _ELEMENTS // max(1, private)))
        if self.max_blocks is not None and self.max_blocks < total:
            chosen = np.unique(np.linspace(0, total - 1, max(2, self.max_blocks)).astype(np.int64))
            for k in range(0, chosen.size, step):
                yield chosen[k : k + step]
            return
        for start in range(0, total, step):
            yield np.arange(start, min(start + step, total), dtype=np.int64)

    def _private_elements(self, threads: int) -> int:
        """Elements of the shared and local arrays of one block."""
        total = 0
        for a in self.call.kernel.arrays:
            if a.space is core.Space.SHARED:
                total += a.size if a.size is not None else self.call.shared_bytes // element_bytes(a.elem)
            elif a.space is core.Space.LOCAL:
                total += (a.size or 0) * threads
        return total

    def _run_blocks(self, blocks: Array, names: dict[int, str]) -> None:
        arrays = self.call.kernel.arrays
        logs = {k: self.logs[name] for k, name in names.items() if name in self.logs}
        written = stored(self.call.kernel)
        shared = {k: AccessLog(shared=True) for k in written if arrays[k].space is core.Space.SHARED}
        buffers = [self.buffers[names[k]] if k in names else None for k in range(len(arrays))]
        m = Machine(self.call, blocks, buffers, self.arithmetic, self.journal, logs | shared)
        try:
            if self.schedule is not None:
                drive(m, self.program, self.schedule)
                return
            for sync in self.program.body(m, m.all, None):
                perform(m, sync)
                if isinstance(sync.stmt, core.Barrier) and sync.lanes.full:
                    self._drain(m, shared, at_least=_LOG_LIMIT)
        finally:
            self._drain(m, shared, at_least=0)

    def _drain(self, m: Machine, logs: dict[int, AccessLog], at_least: int) -> None:
        for k, log in logs.items():
            if log.count >= at_least:
                for conflict in log.drain():
                    self._report(conflict, m.sizes[k])

    # ---------------------------------------------------------------- reports

    def _report(self, conflict: Conflict, size: int) -> None:
        a, b = conflict.first, conflict.second
        declared = self.program.accesses[a.site][1]
        index = a.cell % size if declared.space is core.Space.SHARED else a.cell
        name = f"`{declared.name}[{index}]`"
        threads = self._thread(a), self._thread(b)
        blocks = self._block(a), self._block(b)
        text = (
            f"{_verb(a)} of {name} by thread {_point(threads[0])} and {_verb(b)} by thread "
            f"{_point(threads[1])}{_where(a, b, blocks)}: {_why(a, b, self.call.kernel)}"
        )
        if conflict.benign:
            text = f"lanes of a warp store the same value to {name}; any order gives the same result"
        fault = Fault(
            FaultKind.RACE,
            text,
            self.call.kernel.name,
            threads=threads,
            blocks=blocks,
            spans=(self.program.accesses[a.site][0].span, self.program.accesses[b.site][0].span),
            what=(_verb(a), _verb(b)),
            values=(a.value, b.value),
            array=declared.name,
            index=index,
        )
        if conflict.benign:
            self.journal.note(fault)
        else:
            self.journal.race(fault, b.step)

    def _thread(self, a: Access) -> tuple[int, int, int]:
        bx, by, _ = self.call.block
        return a.thread % bx, a.thread // bx % by, a.thread // (bx * by)

    def _block(self, a: Access) -> tuple[int, int, int]:
        gx, gy, _ = self.call.grid
        return a.block % gx, a.block // gx % gy, a.block // (gx * gy)

    def _aliases(self) -> None:
        """Two parameters of a call on one buffer, one `__restrict__`, and a store through either."""
        for name, first, second, written in restricted(self.call):
            self._alias(name, first, second, written)

    def _alias(self, name: str, first: core.Array, second: core.Array, written: set[int]) -> None:
        kernel = self.call.kernel
        stores = [s.span for s in walk(kernel.body) if isinstance(s, core.Store) and s.array in written]
        text = (
            f"`{first.name}` and `{second.name}` of `{kernel.name}` are both `{name}`, "
            f"one is `__restrict__` and the kernel stores through it"
        )
        self.journal.fault(
            Fault(
                FaultKind.ALIAS,
                text,
                kernel.name,
                spans=(self.call.span, *stores[:1]),
                what=("launch", "write")[: 1 + len(stores[:1])],
                array=name,
            )
        )


def _point(at: tuple[int, int, int]) -> str:
    return f"({at[0]},{at[1]},{at[2]})"


def _verb(a: Access) -> str:
    return ("read", "write", "atomic add")[a.kind]


def _where(a: Access, b: Access, blocks: tuple[tuple[int, int, int], tuple[int, int, int]]) -> str:
    if a.block != b.block:
        return f" of blocks {_point(blocks[0])} and {_point(blocks[1])}"
    return f" of block {_point(blocks[0])}"


def _why(a: Access, b: Access, kernel: core.Kernel) -> str:
    if a.block != b.block:
        return "nothing orders the blocks of a launch"
    if a.warp == b.warp:
        if a.kind != READ and a.shuffles < b.shuffles:
            return "a shuffle orders no memory, `__syncwarp()` does"
        return "no `__syncwarp()` or `__syncthreads()` between"
    if any(isinstance(s, core.SyncWarp) for s in walk(kernel.body)):
        return "no `__syncthreads()` between; `__syncwarp()` orders one warp only"
    return "no `__syncthreads()` between"
