"""Other interleavings: groups of threads run one after another in a random order.

A group runs until it has to wait at a barrier, a warp synchronisation or a shuffle; which group runs
next is drawn at random. A race-free launch gives the same result in every order.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from semantics import core
from semantics.interp.machine import WARP, Lanes, Machine
from semantics.interp.statements import Program, Sync
from semantics.interp.sync import masks, perform


@dataclass(frozen=True, slots=True)
class Schedule:
    """A seed for the order, and whether warps or single threads take turns."""

    seed: int
    grain: Literal["warp", "thread"] = "warp"


class _Group:
    def __init__(
        self, m: Machine, program: Program, index: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    ) -> None:
        lanes = Lanes(index, full=index.size == m.count)
        self.steps: Generator[Sync, None, None] = program.body(m, lanes, None)
        self.waits: Sync | None = None


def drive(m: Machine, program: Program, schedule: Schedule) -> None:
    """Run all threads of a machine in a random order of groups. Raises Halt as lockstep does."""
    random = np.random.default_rng(schedule.seed)
    key = m.warp if schedule.grain == "warp" else m.all.index
    bounds = np.flatnonzero(np.diff(key)) + 1
    groups = [_Group(m, program, part) for part in np.split(m.all.index, bounds)]
    waiting = np.full(m.count, -1, np.int64)
    owner = np.empty(m.count, object)
    syncs: dict[int, Sync] = {}
    ready = list(groups)
    while ready or syncs:
        if not ready:
            _stuck(m, syncs, waiting)
            return
        group = ready.pop(int(random.integers(len(ready))))
        sync = next(group.steps, None)
        group.waits = sync
        if sync is None:
            continue
        syncs[id(group)] = sync
        waiting[sync.lanes.index] = id(sync.stmt)
        owner[sync.lanes.index] = group
        for unit in _units(m, sync):
            if not (waiting[unit] == id(sync.stmt)).all():
                continue
            perform(m, replace(sync, lanes=Lanes(unit, full=unit.size == m.count)))
            waiting[unit] = -1
            for member in set(owner[unit]):
                assert member.waits is not None
                if (waiting[member.waits.lanes.index] == -1).all():
                    del syncs[id(member)]
                    ready.append(member)


def _units(m: Machine, sync: Sync) -> "list[np.ndarray[tuple[int], np.dtype[np.int64]]]":
    """Sets of lanes that must arrive together: the block at a barrier, the warp at a warp operation, or
    the lanes that each mask names."""
    lane = int(sync.lanes.index[0])
    block = lane // m.threads * m.threads
    if isinstance(sync.stmt, core.Barrier):
        return [np.arange(block, block + m.threads)]
    start = block + lane % m.threads // WARP * WARP
    warp = np.arange(start, min(start + WARP, block + m.threads))
    if sync.mask is None:
        return [warp]
    return [warp[(mask >> np.arange(warp.size)) & 1 == 1] for mask in np.unique(masks(m, sync))]


def _stuck(m: Machine, syncs: dict[int, Sync], waiting: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> None:
    """No group can run: report the first synchronisation that some threads never reach."""
    sync = next(iter(syncs.values()))
    arrived = np.flatnonzero(waiting == id(sync.stmt))
    perform(m, replace(sync, lanes=Lanes(arrived)))
