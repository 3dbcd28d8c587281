"""Buffers: the elements of one array and which of them hold a value.

Addresses here are flat: a shared array of `size` elements occupies `[block*size, (block+1)*size)` of
its buffer, a local array likewise by thread.
"""

from typing import Any, Protocol

import numpy as np

from semantics.interp.values import Array

INTEGER_ELEMENTS = frozenset(
    {"int", "unsigned", "unsigned int", "long long", "unsigned long long", "size_t", "bool", "char", "short"}
    | {"int32_t", "uint32_t", "int64_t", "uint64_t", "long", "unsigned long", "unsigned char", "int8_t"}
    | {"uint8_t", "unsigned short", "int16_t", "uint16_t", "signed char"}
)


WIDE_ELEMENTS = frozenset({"unsigned long long", "size_t", "uint64_t", "unsigned long"})


def is_integer(elem: str) -> bool:
    """Whether a C element type holds integers."""
    return elem in INTEGER_ELEMENTS


def folded(value: Any) -> Any:
    """Integers as int64 holds them: 2^63 and above become negative, modulo 2^64."""
    if isinstance(value, int):
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([folded(int(v)) for v in value], np.int64)
    return value


def unfolded(value: Array) -> Array:
    """What `folded` made of unsigned 64-bit integers, as they were."""
    if value.size == 0 or value.min() >= 0:
        return value
    out = np.empty(value.size, object)
    out[:] = [v % (1 << 64) for v in value.tolist()]
    return out


class Buffer(Protocol):
    """Storage of one array."""

    size: int

    def load(self, at: Array) -> tuple[Array, Array | None]:
        """Values, and a mask of the elements that hold none (None when all do)."""
        ...

    def store(self, at: Array, value: Any) -> None: ...
    def add(self, at: Array, value: Any) -> None: ...


class Dense:
    """Every element in memory."""

    def __init__(self, data: Array, *, initialised: bool) -> None:
        self.data = data
        self.size = data.size
        self.ready: Array | None = None if initialised else np.zeros(data.size, bool)

    def load(self, at: Array) -> tuple[Array, Array | None]:
        values = self.data[at]
        if self.ready is None:
            return values, None
        missing = ~self.ready[at]
        return values, missing if missing.any() else None

    def store(self, at: Array, value: Any) -> None:
        self.data[at] = value
        if self.ready is not None:
            self.ready[at] = True

    def add(self, at: Array, value: Any) -> None:
        np.add.at(self.data, at, value)


class Sparse:
    """A tensor too large to hold: only what was stored is kept, every other element of it reads as a
    pseudo-random number in [-1, 1) fixed by its index. For runs of a few blocks at the real sizes.
    Without `keep` stores are dropped: nothing reads them."""

    def __init__(self, size: int, dtype: Any, *, keep: bool = True) -> None:
        self.size = size
        self._keep = keep
        self._dtype = np.dtype(dtype)
        self._stored: dict[int, Any] = {}

    def load(self, at: Array) -> tuple[Array, Array | None]:
        mixed = (at.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
        if self._dtype.kind == "i":
            values = np.zeros(at.size, self._dtype)
        else:
            values = (mixed.astype(np.float64) / 2.0**23 - 1.0).astype(self._dtype)
        if self._stored:
            for k, index in enumerate(at.tolist()):
                if index in self._stored:
                    values[k] = self._stored[index]
        return values, None

    def store(self, at: Array, value: Any) -> None:
        if not self._keep:
            return
        values = np.broadcast_to(value, at.shape)
        self._stored.update(zip(at.tolist(), values.tolist(), strict=True))

    def add(self, at: Array, value: Any) -> None:
        if not self._keep:
            return
        for index, v in zip(at.tolist(), np.broadcast_to(value, at.shape).tolist(), strict=True):
            self._stored[index] = self._stored.get(index, 0) + v
