"""Data races from a log of accesses.

Two accesses of one element by different threads, one of them a write, race unless something orders
them: a barrier between (same block), a `__syncwarp` between (same warp), or, when the first is a read,
a shuffle between (same warp: the read was complete when its lane took part). Nothing orders blocks of
one launch. Atomic additions do not race with each other. Lanes of one warp that write equal values
are noted, not reported. The verdict does not depend on the order in which the interpreter ran.

Entries are sorted by element and synchronisation epoch, and whole groups are cleared by vector
operations; only groups that may hold a race are looked at pair by pair.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from semantics.interp.values import Array

READ, WRITE, ATOMIC = 0, 1, 2
_MAX_GROUPS = 400
_MAX_GROUP = 512
_MAX_REPORTS = 8


@dataclass(frozen=True, slots=True)
class Where:
    """Positions of lanes in the launch and their synchronisation epochs at one moment."""

    thread: Array
    block: Array
    warp: Array
    epoch: Array
    warp_syncs: Array
    shuffles: Array


@dataclass(frozen=True, slots=True)
class Access:
    """One access of one thread. `thread` is linear in the block, `site` an access statement."""

    cell: int
    thread: int
    block: int
    warp: int
    epoch: int
    warp_syncs: int
    shuffles: int
    kind: int
    site: int
    step: int
    value: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that nothing orders, the earlier in the interpreter's order first. `benign`: lanes
    of one warp write equal values."""

    first: Access
    second: Access
    benign: bool


class AccessLog:
    """Accesses of one buffer. `shared`: elements belong to one block, so blocks cannot meet."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared
        self.count = 0
        self._chunks: list[tuple[Array, Array | None, Where, int, int, int, Array]] = []

    def add(
        self,
        cell: Array,
        lanes: Array | None,
        where: Where,
        kind: int,
        site: int,
        step: int,
        value: Array,
    ) -> None:
        """One access by each of `lanes` (None: all). The arrays are kept: pass no views of registers."""
        self._chunks.append((cell, lanes, where, kind, site, step, value))
        self.count += cell.size

    def drain(self) -> list[Conflict]:
        """The conflicts among everything logged so far, a few for each pair of places; empties the log."""
        if not self._chunks:
            return []
        table = _Table(self._chunks)
        self._chunks, self.count = [], 0
        found = _Found()
        if not self.shared:
            table.across(("cell",), "block", found)
        table.across(("cell", "block", "epoch"), "warp", found)
        table.inside_warps(found)
        return found.conflicts


class _Found:
    """Conflicts, at most one for each pair of places and kinds."""

    def __init__(self) -> None:
        self.conflicts: list[Conflict] = []
        self._seen: set[tuple[int, int, bool]] = set()

    def add(self, a: Access, b: Access, *, benign: bool = False) -> None:
        if b.step < a.step:
            a, b = b, a
        key = (a.site, b.site, benign)
        if key not in self._seen:
            self._seen.add(key)
            self.conflicts.append(Conflict(a, b, benign))

    @property
    def enough(self) -> bool:
        return len(self.conflicts) >= _MAX_REPORTS


class _Table:
    """The log as parallel columns."""

    def __init__(self, chunks: list[tuple[Array, Array | None, Where, int, int, int, Array]]) -> None:
        lengths = [chunk[0].size for chunk in chunks]

        def column(name: str) -> Array:
            parts = [getattr(c[2], name) if c[1] is None else getattr(c[2], name)[c[1]] for c in chunks]
            return np.concatenate(parts)

        def constant(position: int) -> Array:
            return np.repeat(np.array([c[position] for c in chunks], np.int64), lengths)

        self.columns: dict[str, Array] = {
            "cell": np.concatenate([c[0] for c in chunks]),
            "kind": constant(3),
            "site": constant(4),
            "step": constant(5),
            "value": np.concatenate([np.asarray(c[6], np.float64) for c in chunks]),
        }
        for name in ("thread", "block", "warp", "epoch", "warp_syncs", "shuffles"):
            self.columns[name] = column(name)

    def _groups(self, names: tuple[str, ...], rows: Array | None = None) -> tuple[Array, Array]:
        """Rows in an order that puts equal keys together, and the starts of the groups."""
        keys = [self.columns[name] if rows is None else self.columns[name][rows] for name in names]
        order = _sorted_by(keys)
        changed = np.zeros(order.size, bool)
        changed[0] = True
        for key in keys:
            ordered = key[order]
            changed[1:] |= ordered[1:] != ordered[:-1]
        return (order if rows is None else rows[order]), np.flatnonzero(changed)

    def _suspects(self, order: Array, starts: Array, owner: str) -> Array:
        """Groups with a write, something that is not atomic, and two different owners."""
        kind = self.columns["kind"][order]
        who = self.columns[owner][order]
        wrote = np.maximum.reduceat(kind, starts) > READ
        plain = np.minimum.reduceat(kind, starts) < ATOMIC
        several = np.minimum.reduceat(who, starts) != np.maximum.reduceat(who, starts)
        return np.asarray(wrote & plain & several)

    def across(self, key: tuple[str, ...], owner: str, found: _Found) -> None:
        """Conflicts between different owners (blocks, or warps of a block) in groups of equal key:
        every suspect group holds one."""
        order, starts = self._groups(key)
        ends = np.append(starts[1:], order.size)
        suspects = np.flatnonzero(self._suspects(order, starts, owner))
        for group in suspects[:_MAX_GROUPS]:
            rows = [self._access(r) for r in np.sort(order[starts[group] : ends[group]])[:_MAX_GROUP]]
            for a, b in _pairs(rows):
                if getattr(a, owner) != getattr(b, owner):
                    found.add(a, b)
                    break
            if found.enough:
                return

    def inside_warps(self, found: _Found) -> None:
        """Conflicts between lanes of a warp with neither a barrier nor a `__syncwarp` between."""
        order, starts = self._groups(("cell", "block", "epoch", "warp", "warp_syncs"))
        suspect = self._suspects(order, starts, "thread")
        if not suspect.any():
            return
        ends = np.append(starts[1:], order.size)
        kind = self.columns["kind"][order]
        reads = kind == READ
        shuffles = self.columns["shuffles"][order]
        thread = self.columns["thread"][order]
        value = self.columns["value"][order]
        big = np.iinfo(np.int64).max
        last_read = np.maximum.reduceat(np.where(reads, shuffles, -1), starts)
        first_write = np.minimum.reduceat(np.where(reads, big, shuffles), starts)
        low = np.minimum.reduceat(np.where(reads, big, thread), starts)
        high = np.maximum.reduceat(np.where(reads, -1, thread), starts)
        least = np.fmin.reduceat(np.where(reads, np.inf, value), starts)
        most = np.fmax.reduceat(np.where(reads, -np.inf, value), starts)
        all_plain = np.maximum.reduceat(kind, starts) < ATOMIC
        equal = (least == most) & all_plain
        ordered = last_read < first_write
        clear = ordered & ((low == high) | equal)
        for group in np.flatnonzero(suspect & clear & (low != high))[:1]:
            writes = [r for r in np.sort(order[starts[group] : ends[group]]) if self.columns["kind"][r]]
            a = self._access(writes[0])
            found.add(a, next(x for x in map(self._access, writes) if x.thread != a.thread), benign=True)
        for group in np.flatnonzero(suspect & ~clear)[:_MAX_GROUPS]:
            rows = [self._access(r) for r in np.sort(order[starts[group] : ends[group]])[:_MAX_GROUP]]
            for a, b in _pairs(rows):
                if a.thread == b.thread or (a.kind == READ and a.shuffles < b.shuffles):
                    continue
                if b.kind == READ and b.shuffles < a.shuffles:
                    continue
                benign = a.kind == b.kind == WRITE and a.value == b.value
                found.add(a, b, benign=benign)
                if not benign:
                    break
            if found.enough:
                return

    def _access(self, row: int) -> Access:
        pick = {name: column[row].item() for name, column in self.columns.items()}
        return Access(**pick)


def _pairs(rows: list[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs, earlier first, with a write that are not both atomic."""
    for k, b in enumerate(rows):
        for a in rows[:k]:
            if (a.kind != READ or b.kind != READ) and not a.kind == b.kind == ATOMIC:
                yield a, b


def _sorted_by(keys: list[Array]) -> Array:
    """Stable order by several non-negative integer keys, the first most significant."""
    packed, room = np.zeros(keys[0].size, np.int64), 1
    for key in keys:
        extent = int(key.max()) + 1
        room *= extent
        if room >= 1 << 62:
            return np.asarray(np.lexsort(keys[::-1]))
        packed = packed * extent + key
    return np.argsort(packed, kind="stable")
