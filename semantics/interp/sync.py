"""Barriers and warp operations: performed when every thread they name has arrived."""

from typing import Any

import numpy as np

from semantics import core
from semantics.beyond import ShflI, Vote, VoteKind
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
        case core.Shfl() | ShflI() | Vote():
            if sync.mask is None:
                _require_warps(m, sync, existing_only=False)
                everyone = np.full(len(sync.lanes), _ALL, np.int64)
            else:
                everyone = masks(m, sync)
                _require_named(m, sync, everyone)
            if isinstance(sync.stmt, Vote):
                _vote(m, sync, sync.stmt, everyone)
            else:
                _exchange(m, sync, sync.stmt, everyone)
            if sync.mask is None:
                m.shuffles = _bumped(m.shuffles, sync.lanes)


_ALL = 0xFFFFFFFF


def masks(m: Machine, sync: Sync) -> Array:
    """The mask that each arrived lane gives."""
    assert sync.mask is not None
    return np.broadcast_to(np.asarray(sync.mask(m, sync.lanes), np.int64), (len(sync.lanes),)) & _ALL


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


def _require_named(m: Machine, sync: Sync, given: Array) -> None:
    """Every lane names itself, and all the lanes that it names have arrived with the same mask."""
    index = sync.lanes.index
    lane = m.thread[index] % WARP
    strange = (given >> lane) & 1 == 0
    if strange.any():
        text = f"the mask {int(given[int(np.argmax(strange))]):#x} does not name the thread's own lane"
        m.fault(FaultKind.BAD_MASK, text, sync.lanes, strange, what="waits")
        raise Halt
    mine = np.zeros(m.count + WARP, np.int64)
    mine[index] = given
    start = index - lane
    for k in range(WARP):
        named = (given >> k) & 1 == 1
        present = (m.thread[index] - lane + k < m.threads) & (mine[start + k] == given)
        absent = named & ~present
        if absent.any():
            first = int(np.argmax(absent))
            name = f"the warp operation with the mask {int(given[first]):#x}"
            low = int(start[first])
            end = min(low + WARP, (low // m.threads + 1) * m.threads)
            if low + k >= end:
                text = f"the mask {int(given[first]):#x} names lane {k}, which the warp does not have"
                m.fault(FaultKind.BAD_MASK, text, sync.lanes, absent, what="waits")
                raise Halt
            _missing(m, sync, FaultKind.BAD_MASK, low, end, name)


def _missing(m: Machine, sync: Sync, kind: FaultKind, start: int, end: int, name: str) -> None:
    """Report the lanes of `[start, end)` that have not arrived."""
    here = np.zeros(m.count, bool)
    here[sync.lanes.index] = True
    waiting = start + np.flatnonzero(here[start:end])
    absent = start + np.flatnonzero(~here[start:end])
    if not absent.size:
        text = f"{_threads(m, waiting)} of block {_point(m.block_of(start))} give {name} different masks"
        m.fault(kind, text, sync.lanes, np.isin(sync.lanes.index, waiting), what="waits")
        raise Halt
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


def _exchange(m: Machine, sync: Sync, stmt: core.Shfl | ShflI, given: Array) -> None:
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
    outside = (given >> source) & 1 == 0
    if outside.any():
        k = int(np.argmax(outside))
        reads = f"lane {int(lane[k])} reads lane {int(source[k])}"
        text = f"{reads}, which the mask {int(given[k]):#x} does not name"
        m.fault(FaultKind.BAD_MASK, text, lanes, outside, what="waits")
        source = np.where(outside, lane, source)
    place = np.zeros(m.count, np.int64)
    place[lanes.index] = np.arange(len(lanes))
    taken = place[lanes.index - lane + source]
    if isinstance(stmt, ShflI):
        m.set_int(stmt.dst, lanes, np.array(m.get_int(stmt.src, lanes))[taken])
    else:
        m.set_real(stmt.dst, lanes, np.array(m.get_real(stmt.src, lanes))[taken])


def _vote(m: Machine, sync: Sync, stmt: Vote, given: Array) -> None:
    lanes = sync.lanes
    assert sync.argument is not None
    holds = np.broadcast_to(np.asarray(sync.argument(m, lanes), bool), (len(lanes),))
    index = lanes.index
    lane = m.thread[index] % WARP
    keys, group = np.unique(np.stack([m.warp[index], given]), axis=1, return_inverse=True)
    ballots = np.zeros(keys.shape[1], np.int64)
    np.bitwise_or.at(ballots, group, np.where(holds, 1 << lane, 0))
    present = np.zeros(keys.shape[1], np.int64)
    np.bitwise_or.at(present, group, 1 << lane)
    match stmt.kind:
        case VoteKind.BALLOT:
            value = ballots
        case VoteKind.ANY:
            value = (ballots != 0).astype(np.int64)
        case VoteKind.ALL:
            value = (ballots == present).astype(np.int64)
    m.set_int(stmt.dst, lanes, value[group])
