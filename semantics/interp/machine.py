"""State of the threads of a few blocks that run together: registers, arrays, sync epochs, faults."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semantics.core import Array as ArrayDecl
from semantics.core import Dim, IntType, Kernel, KernelCall, Space, Special, Stmt
from semantics.faults import Fault, FaultKind, Thread
from semantics.interp.memory import Buffer, Dense, folded, is_integer, unfolded
from semantics.interp.races import AccessLog
from semantics.interp.values import Arithmetic, Array
from semantics.span import NOWHERE, Span

WARP = 32


class Halt(Exception):
    """The run cannot go on: after a fault that leaves no meaningful state, or out of time."""


class Lanes:
    """A set of threads, by their position in the machine, ascending."""

    __slots__ = ("full", "index")

    def __init__(self, index: Array, full: bool = False) -> None:
        self.index = index
        self.full = full

    def __len__(self) -> int:
        return int(self.index.size)

    def where(self, mask: Any) -> "Lanes":
        """The lanes for which `mask` (one entry a lane, or one for all) holds."""
        if not isinstance(mask, np.ndarray) or mask.ndim == 0:
            return self if mask else EMPTY
        picked = self.index[mask]
        if picked.size == self.index.size:
            return self
        return Lanes(picked)


EMPTY = Lanes(np.zeros(0, np.int64))


@dataclass(slots=True)
class Journal:
    """Everything a run reports, and what bounds it. Shared by all launches of a plan."""

    fuel: int
    deadline: float | None = None
    limit: int = 16
    steps: int = 0
    complete: bool = True
    faults: list[tuple[int, Fault]] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)
    _seen: set[tuple[Any, ...]] = field(default_factory=set)

    def fault(self, fault: Fault) -> None:
        """Keep a fault unless its kind was reported at these places. Raises Halt at the limit."""
        if self._new(fault):
            self.faults.append((self.steps, fault))
            if len(self.faults) >= self.limit:
                raise Halt

    def race(self, fault: Fault, step: int) -> None:
        """Keep a race found afterwards; its second access was at `step`."""
        if self._new(fault):
            self.faults.append((step, fault))

    def _new(self, fault: Fault) -> bool:
        key = (fault.kind, fault.kernel, fault.spans, fault.array)
        known = key in self._seen
        self._seen.add(key)
        return not known

    def note(self, note: Fault) -> None:
        key = ("note", note.kind, note.kernel, note.spans, note.array)
        if key not in self._seen:
            self._seen.add(key)
            self.notes.append(note)

    def out_of_time(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline


class Machine:
    """The threads of `blocks` (linear block indices) of one launch.

    A lane is `position * threads + t`, `position` counting `blocks` and `t` being the linear thread
    index. Registers are arrays over lanes."""

    def __init__(
        self,
        call: KernelCall,
        blocks: Array,
        buffers: list[Buffer | None],
        arithmetic: Arithmetic,
        journal: Journal,
        logs: dict[int, AccessLog],
    ) -> None:
        kernel = call.kernel
        self.call = call
        self.kernel: Kernel = kernel
        self.arithmetic = arithmetic
        self.journal = journal
        self.logs = logs
        self.blocks = blocks
        self.threads = call.block[0] * call.block[1] * call.block[2]
        self.count = self.threads * len(blocks)
        self.at: Stmt | None = None
        self.addressing = False
        self.wrap_text = ""
        self.wrapped: tuple[Array, Fault] | None = None
        self._tainted: dict[int, tuple[Array, Fault]] = {}
        lane = np.arange(self.count, dtype=np.int64)
        self.all = Lanes(lane, full=True)
        self.position = lane // self.threads
        self.thread = lane % self.threads
        self.block_of_lane = blocks[self.position]
        self.warps_per_block = -(-self.threads // WARP)
        self.warp = self.position * self.warps_per_block + self.thread // WARP
        self.epoch = np.zeros(self.count, np.int64)
        self.warp_syncs = np.zeros(self.count, np.int64)
        self.shuffles = np.zeros(self.count, np.int64)
        self._special = self._specials()
        self.ints = [np.zeros(self.count, np.int64) for _ in kernel.int_vars]
        self._wide = [type_ is IntType.U64 for _, type_ in kernel.int_vars]
        self.reals = [arithmetic.zeros(self.count) for _ in kernel.real_vars]
        self.int_ready: list[Array | None] = [np.zeros(self.count, bool) for _ in kernel.int_vars]
        self.real_ready: list[Array | None] = [np.zeros(self.count, bool) for _ in kernel.real_vars]
        self.scalars = _scalar_arguments(call, arithmetic)
        self.sizes: list[int] = []
        self.buffers: list[Buffer] = []
        self.offset: list[Array | None] = []
        for declared, bound in zip(kernel.arrays, buffers, strict=True):
            self._add_array(declared, bound)

    def _add_array(self, declared: ArrayDecl, bound: Buffer | None) -> None:
        if bound is not None:
            self.buffers.append(bound)
            self.sizes.append(bound.size)
            self.offset.append(None)
            return
        size = declared.size
        if size is None:
            size = self.call.shared_bytes // element_bytes(declared.elem)
        shared = declared.space is Space.SHARED
        total = size * (len(self.blocks) if shared else self.count)
        data = np.zeros(total, np.int64) if is_integer(declared.elem) else self.arithmetic.zeros(total)
        self.buffers.append(Dense(data, initialised=False))
        self.sizes.append(size)
        self.offset.append((self.position if shared else self.all.index) * size)

    def _specials(self) -> dict[tuple[Special, Dim], int | Array]:
        bx, by, _ = self.call.block
        gx, gy, _ = self.call.grid
        t, b = self.thread, self.block_of_lane
        table: dict[tuple[Special, Dim], int | Array] = {
            (Special.TID, Dim.X): t % bx,
            (Special.TID, Dim.Y): t // bx % by,
            (Special.TID, Dim.Z): t // (bx * by),
            (Special.BID, Dim.X): b % gx,
            (Special.BID, Dim.Y): b // gx % gy,
            (Special.BID, Dim.Z): b // (gx * gy),
        }
        for k, dim in enumerate(Dim):
            table[Special.BDIM, dim] = self.call.block[k]
            table[Special.GDIM, dim] = self.call.grid[k]
        return table

    # ---------------------------------------------------------------- registers

    def special(self, what: Special, dim: Dim, lanes: Lanes) -> int | Array:
        value = self._special[what, dim]
        if isinstance(value, int) or lanes.full:
            return value
        return value[lanes.index]

    def get_int(self, var: int, lanes: Lanes) -> Array:
        self._check_ready(self.int_ready[var], self.kernel.int_vars[var][0], lanes)
        if self._tainted:
            self._recall(var, lanes)
        value = self.ints[var] if lanes.full else self.ints[var][lanes.index]
        return unfolded(value) if self._wide[var] else value

    def get_real(self, var: int, lanes: Lanes) -> Array:
        self._check_ready(self.real_ready[var], self.kernel.real_vars[var], lanes)
        return self.reals[var] if lanes.full else self.reals[var][lanes.index]

    def _check_ready(self, ready: Array | None, name: str, lanes: Lanes) -> None:
        if ready is None:
            return
        missing = ~ready[lanes.index]
        if missing.any():
            kind = FaultKind.UNINITIALISED_READ
            self.fault(kind, f"`{name}` is read before it is assigned", lanes, missing, array=name)

    def set_int(self, var: int, lanes: Lanes, value: int | Array) -> None:
        self._assign(self.ints[var], self.int_ready, var, lanes, folded(value))

    def set_real(self, var: int, lanes: Lanes, value: Any) -> None:
        self._assign(self.reals[var], self.real_ready, var, lanes, value)

    @staticmethod
    def _assign(register: Array, ready: list[Array | None], var: int, lanes: Lanes, value: Any) -> None:
        if lanes.full:
            register[:] = value
            ready[var] = None
            return
        register[lanes.index] = value
        known = ready[var]
        if known is not None:
            known[lanes.index] = True

    # ---------------------------------------------------------------- unsigned values that wrap

    def wraps(self, lanes: Lanes, bad: Any, text: str, value: float) -> None:
        """An unsigned value wraps for some lanes. In an address that is a fault at once; otherwise it
        is remembered for the register that the value goes to, and a fault when an address uses it."""
        text, self.wrap_text = self.wrap_text or text, ""
        fault = self._fault_of(FaultKind.INT_OVERFLOW, text, lanes, bad, value)
        if self.addressing:
            self.journal.fault(fault)
            return
        mask = np.zeros(self.count, bool)
        mask[lanes.index] = bad
        self.wrapped = (mask, fault) if self.wrapped is None else (self.wrapped[0] | mask, self.wrapped[1])

    def taint(self, var: int, lanes: Lanes) -> None:
        """Remember which lanes just assigned a wrapped value to a register."""
        if self.wrapped is None and var not in self._tainted:
            return
        known = self._tainted.pop(var, None)
        mask = np.zeros(self.count, bool) if known is None else known[0]
        fault = None if known is None else known[1]
        mask[lanes.index] = False
        if self.wrapped is not None:
            mask |= self.wrapped[0]
            fault = self.wrapped[1]
        if fault is not None and mask.any():
            self._tainted[var] = mask, fault

    def _recall(self, var: int, lanes: Lanes) -> None:
        known = self._tainted.get(var)
        if known is None or not known[0][lanes.index].any():
            return
        if self.addressing:
            self.journal.fault(known[1])
            return
        mask = np.zeros(self.count, bool)
        mask[lanes.index] = known[0][lanes.index]
        self.wrapped = (mask, known[1]) if self.wrapped is None else (self.wrapped[0] | mask, known[1])

    def as_address(self, compute: Callable[["Machine", Lanes], Any], lanes: Lanes) -> Any:
        """Evaluate an index."""
        self.addressing = True
        try:
            return compute(self, lanes)
        finally:
            self.addressing = False

    def aside(self, compute: Callable[["Machine", Lanes], Any], lanes: Lanes) -> Any:
        """Evaluate a condition inside an expression: what wraps there decides, but is no address."""
        saved = self.addressing, self.wrapped
        self.addressing = False
        try:
            return compute(self, lanes)
        finally:
            self.addressing, self.wrapped = saved

    # ---------------------------------------------------------------- threads and faults

    def thread_of(self, lane: int) -> Thread:
        return _coordinates(lane % self.threads, self.call.block)

    def block_of(self, lane: int) -> Thread:
        return _coordinates(int(self.block_of_lane[lane]), self.call.grid)

    def tick(self) -> None:
        """Count a statement; out of fuel is NON-TERMINATION, out of time ends the run."""
        journal = self.journal
        journal.steps += 1
        if journal.steps >= journal.fuel:
            text = f"still running after {journal.steps} statements"
            journal.fault(Fault(FaultKind.NON_TERMINATION, text, self.kernel.name, spans=(self.span(),)))
            raise Halt
        if journal.steps % 512 == 0 and journal.out_of_time():
            journal.complete = False
            raise Halt

    def span(self) -> Span:
        return self.at.span if self.at is not None else NOWHERE

    def fault(
        self,
        kind: FaultKind,
        message: str,
        lanes: Lanes,
        mask: Any,
        *,
        value: float | None = None,
        what: str = "",
        array: str = "",
        index: int | None = None,
    ) -> None:
        """Report a fault of the first lane for which `mask` holds."""
        self.journal.fault(self._fault_of(kind, message, lanes, mask, value, what, array, index))

    def _fault_of(
        self,
        kind: FaultKind,
        message: str,
        lanes: Lanes,
        mask: Any,
        value: float | None,
        what: str = "",
        array: str = "",
        index: int | None = None,
    ) -> Fault:
        lane = int(lanes.index[first(mask)])
        return Fault(
            kind,
            message,
            self.kernel.name,
            threads=(self.thread_of(lane),),
            blocks=(self.block_of(lane),),
            spans=(self.span(),),
            what=(what,),
            values=(value,),
            array=array,
            index=index,
        )


def first(mask: Any) -> int:
    """Position of the first true entry (0 for a mask that is one value for all)."""
    return int(np.argmax(mask)) if isinstance(mask, np.ndarray) and mask.ndim else 0


def _coordinates(linear: int, extent: tuple[int, int, int]) -> Thread:
    return linear % extent[0], linear // extent[0] % extent[1], linear // (extent[0] * extent[1])


def element_bytes(elem: str) -> int:
    """Size of a C element type in bytes."""
    name = elem.replace("unsigned ", "").replace("signed ", "")
    if name in ("double", "long long", "size_t", "long", "int64_t", "uint64_t"):
        return 8
    if name in ("__half", "half", "__nv_bfloat16", "short", "int16_t", "uint16_t"):
        return 2
    if name in ("char", "bool", "int8_t", "uint8_t"):
        return 1
    return 4


def _scalar_arguments(call: KernelCall, arithmetic: Arithmetic) -> list[Any]:
    """The arguments for `Kernel.scalars`, in its order: ints, or reals of the number format."""
    values: list[Any] = [None] * len(call.kernel.scalars)
    for (kind, number), argument in zip(call.kernel.params, call.args, strict=True):
        if kind != "scalar" or isinstance(argument, str):
            continue
        declared = call.kernel.scalars[number].type
        if declared is None:
            values[number] = arithmetic.literal(_fraction(argument))
        else:
            values[number] = int(argument)
    return values


def _fraction(value: Any) -> Any:
    from fractions import Fraction

    return value if isinstance(value, Fraction) else Fraction(value)
