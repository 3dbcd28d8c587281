"""Barriers, warp synchronisations and shuffles: performed when every thread they name has arrived."""

from typing import Any

import numpy as np

from semantics import core
from semantics.faults import Fault, FaultKind
from semantics.interp.machine import WARP, Halt, Lanes, Machine
from semantics.interp.statements import Sync
from semantics.interp.values import Array


def perform(m: Machine, sync: Sync) -> None:
    """Synchronise the lanes that have arrived. Raises Halt after a fault: some are missing."""
    m.at = sync.stmt
    match sync.stmt:
        case core.Barrier():
            _require_blocks(m, sync)
            m.epoch = _bumped(m.epoch, sync.lanes)
        case core.SyncWarp():
            _require_warps(m, sync, existing_only=True)
            m.warp_syncs = _bumped(m.warp_syncs, sync.lanes)
            m.shuffles = _bumped(m.shuffles, sync.lanes)
        case core.Shfl():
            _require_warps(m, sync, existing_only=False)
            _exchange(m, sync, sync.stmt)
            m.shuffles = _bumped(m.shuffles, sync.lanes)


def _bumped(counter: Array, lanes: Lanes) -> Array:
    counter = counter.copy()
    counter[lanes.index] += 1
    return counter


# ---------------------------------------------------------------- who is missing


def _require_blocks(m: Machine, sync: Sync) -> None:
    if sync.lanes.full:
        return
    arrived = np.bincount(m.position[sync.lanes.index], minlength=len(m.blocks))
    partial = np.flatnonzero((arrived > 0) & (arrived < m.threads))
    if partial.size:
        start = int(partial[0]) * m.threads
        _missing(m, sync, FaultKind.DIVERGENT_BARRIER, start, start + m.threads, "`__syncthreads()`")


def _require_warps(m: Machine, sync: Sync, *, existing_only: bool) -> None:
    name = "`__syncwarp()`" if existing_only else "the shuffle with the full mask"
    ragged = m.threads % WARP
    if not (sync.lanes.full and (existing_only or not ragged)):
        total = len(m.blocks) * m.warps_per_block
        arrived = np.bincount(m.warp[sync.lanes.index], minlength=total)
        last = np.arange(total) % m.warps_per_block == m.warps_per_block - 1
        present = np.where(last & (ragged > 0), ragged, WARP)
        partial = np.flatnonzero((arrived > 0) & (arrived < present))
        if partial.size:
            block, warp = divmod(int(partial[0]), m.warps_per_block)
            start = block * m.threads + warp * WARP
            end = min(start + WARP, (block + 1) * m.threads)
            _missing(m, sync, FaultKind.BAD_MASK, start, end, name)
        short = np.flatnonzero((arrived > 0) & (present < WARP))
        if short.size and not existing_only:
            text = (
                f"the full mask names 32 lanes, but the last warp of a block of {m.threads} threads "
                f"has {ragged}"
            )
            inside = (m.warp[sync.lanes.index] == short[0]).nonzero()[0]
            m.fault(FaultKind.BAD_MASK, text, Lanes(sync.lanes.index[inside]), True, what="waits")
            raise Halt


def _missing(m: Machine, sync: Sync, kind: FaultKind, start: int, end: int, name: str) -> None:
    """Report the lanes of `[start, end)` that have not arrived."""
    here = np.zeros(m.count, bool)
    here[sync.lanes.index] = True
    waiting = start + np.flatnonzero(here[start:end])
    absent = start + np.flatnonzero(~here[start:end])
    block = m.block_of(start)
    text = (
        f"{_threads(m, waiting)} of block {_point(block)} wait{'s' if waiting.size == 1 else ''} at {name}, "
        f"{_threads(m, absent)} {'is' if absent.size == 1 else 'are'} missing"
    )
    one, other = int(waiting[0]), int(absent[0])
    left = None if sync.path is None else sync.path.left_by(other)
    spans = (m.span(),) if left is None else (m.span(), left)
    m.journal.fault(
        Fault(
            kind,
            text,
            m.kernel.name,
            threads=(m.thread_of(one), m.thread_of(other)),
            blocks=(block, block),
            spans=spans,
            what=("waits", "is missing"),
            values=(None, None),
        )
    )
    raise Halt


def _threads(m: Machine, lanes: Array) -> str:
    """`thread 3`, `threads 0..31`, `threads 1, 3, 5 and 29 more`; three coordinates when not all on x."""
    linear = m.call.block[1] == m.call.block[2] == 1
    names = [str(int(lane) % m.threads) if linear else _point(m.thread_of(int(lane))) for lane in lanes[:3]]
    if lanes.size == 1:
        return f"thread {names[0]}"
    if linear and int(lanes[-1]) - int(lanes[0]) == lanes.size - 1:
        return f"threads {names[0]}..{int(lanes[-1]) % m.threads}"
    if lanes.size <= 3:
        return f"threads {', '.join(names[:-1])} and {names[-1]}"
    return f"threads {', '.join(names)} and {lanes.size - 3} more"


def _point(at: tuple[int, int, int]) -> str:
    return f"({at[0]},{at[1]},{at[2]})"


# ---------------------------------------------------------------- shuffles


def _exchange(m: Machine, sync: Sync, stmt: core.Shfl) -> None:
    lanes = sync.lanes
    assert sync.argument is not None
    argument: Any = sync.argument(m, lanes)
    lane = m.thread[lanes.index] % WARP
    base = lane // stmt.width * stmt.width
    match stmt.kind:
        case core.ShflKind.IDX:
            source = base + (argument & (stmt.width - 1))
        case core.ShflKind.UP:
            source = lane - argument
        case core.ShflKind.DOWN:
            source = lane + argument
        case core.ShflKind.XOR:
            source = lane ^ argument
    low = base if stmt.kind is not core.ShflKind.XOR else 0
    source = np.where((source >= low) & (source < base + stmt.width), source, lane)
    values = np.array(m.get_real(stmt.src, lanes))
    m.set_real(stmt.dst, lanes, values[np.arange(len(lanes)) - lane + source])
