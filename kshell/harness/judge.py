"""Whether outputs are right: the tolerance rule, and what the guards around buffers say.

An element passes when |y - ref| <= atol + rtol*|ref| + slack, an output when ||y - ref|| <= norm_rtol*||ref||
+ slack*sqrt(n). `atol` never exceeds a hundredth of the output's typical size, so that zeros do not pass on
tiny outputs. `slack` is zero for elementwise tasks; for a reduction over R terms it is the effect that
rounding every input to float32 has on the reference (measured, not assumed) times 4*sqrt(R): what a
backward-stable float32 sum may lose on these very inputs, and no more. A NaN or an infinity where the
reference is finite fails, and so does an element that was never written."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scaffolds.program import POISON, RED_ZONE
from semantics.axes import evaluate
from semantics.task import Task, Tolerance, Workload

Array = npt.NDArray[Any]

_SMALLEST_NORMAL = 1.2e-38
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_DIGEST_PRIME = 0x100000001B3
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Expected:
    """A reference output in float64 and the slack its conditioning earns."""

    values: Array
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Wrong:
    """The first of the worst elements of an output that fails."""

    index: int
    got: float
    expected: float
    allowed: float
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """`max_abs` and `max_rel` are over the finite elements of all outputs."""

    max_abs: float
    max_rel: float
    wrong: Wrong | None


def reduction_length(task: Task, workload: Workload) -> int:
    """Terms behind one output element."""
    return max(1, evaluate(task.tolerance.reduction, workload.axes))


def slack_of(reference: Array, perturbed: Array, reduction: int) -> float:
    """The slack of an output from a second reference on inputs moved by half a unit in the last place."""
    if reduction <= 1 or reference.size == 0:
        return 0.0
    moved = float(np.sqrt(np.mean(np.square(perturbed - reference))))
    return 4.0 * math.sqrt(reduction) * moved if math.isfinite(moved) else 0.0


def judge(got: Array, expected: Expected, tolerance: Tolerance) -> Judgement:
    """Compare one output (float32, any shape) with its reference."""
    reference = expected.values.reshape(-1)
    y = got.reshape(-1).astype(np.float64)
    poisoned = got.reshape(-1).view(np.uint32) == np.uint32(POISON)
    typical = float(np.sqrt(np.mean(np.square(reference)))) if reference.size else 0.0
    atol = max(min(tolerance.atol, 1e-2 * typical), _SMALLEST_NORMAL)
    allowed = atol + tolerance.rtol * np.abs(reference) + expected.slack
    finite = np.isfinite(y)
    error = np.where(finite, np.abs(np.where(finite, y, 0.0) - reference), np.inf)
    max_abs = float(np.max(error[finite], initial=0.0))
    scale = np.maximum(np.abs(reference), atol)
    max_rel = float(np.max((error / scale)[finite], initial=0.0))
    excess = error - allowed
    if reference.size and not bool(np.all(excess <= 0)):
        for worst_first in (poisoned, ~finite, excess):
            if worst_first is excess or worst_first.any():
                break
        worst = int(np.argmax(worst_first))
        reason = _reason(bool(poisoned[worst]), float(y[worst]), int(poisoned.sum()), reference.size)
        found = Wrong(worst, float(y[worst]), float(reference[worst]), float(allowed[worst]), reason)
        return Judgement(max_abs, max_rel, found)
    norm, off = _norm(reference), _norm(error)
    bound = tolerance.norm_rtol * norm + (expected.slack + atol) * math.sqrt(max(1, reference.size))
    if off > bound:
        worst = int(np.argmax(error))
        reason = f"the norm of the error, {off:.3g}, exceeds {bound:.3g}: precision was lost everywhere"
        found = Wrong(worst, float(y[worst]), float(reference[worst]), bound, reason)
        return Judgement(max_abs, max_rel, found)
    return Judgement(max_abs, max_rel, None)


def _norm(values: Array) -> float:
    # Not numpy.linalg.norm: its BLAS wakes a thread pool for every call.
    return math.sqrt(float(np.sum(np.square(values))))


def _reason(poisoned: bool, value: float, unwritten: int, size: int) -> str:
    if poisoned:
        return f"never written ({unwritten} of {size} elements)"
    if math.isnan(value):
        return "NaN where the reference is finite"
    if math.isinf(value):
        return "infinity where the reference is finite"
    return "outside the tolerance"


# ---------------------------------------------------------------- files of a run


@dataclass(frozen=True, slots=True)
class Dump:
    """A buffer as the program wrote it: one array of raw bytes a set, and the first damaged guard byte
    (negative: before the buffer; None: intact)."""

    sets: tuple[npt.NDArray[np.uint8], ...]
    damage: int | None


def read_dump(raw: bytes, size: int) -> Dump:
    """Split a file of sets with their guards. Raises ValueError when it has another length."""
    each = size + 2 * RED_ZONE
    if not raw or len(raw) % each:
        raise ValueError(f"an output file has {len(raw)} bytes, not a multiple of {each}")
    data = np.frombuffer(raw, np.uint8).reshape(-1, each)
    pattern = np.full(RED_ZONE // 4, POISON, np.uint32).view(np.uint8)
    damage = None
    for row in data:
        before = np.flatnonzero(row[:RED_ZONE] != pattern)
        # Behind the data the pattern goes on at the word the buffer ends in.
        after = np.flatnonzero(row[RED_ZONE + size :] != np.roll(pattern, -(size % 4)))
        if before.size:
            damage = int(before[-1]) - RED_ZONE
        elif after.size:
            damage = size + int(after[0])
        if damage is not None:
            break
    return Dump(tuple(row[RED_ZONE : RED_ZONE + size] for row in data), damage)


def digest(outputs: list[npt.NDArray[np.uint8]]) -> str:
    """The digest the runtime prints for outputs of these bytes, in their order."""
    total = 0
    with np.errstate(over="ignore"):
        for data in outputs:
            words = data[: len(data) // 4 * 4].view(np.uint32).astype(np.uint64)
            index = np.arange(1, words.size + 1, dtype=np.uint64)
            part = int(np.sum((words + _GOLDEN * index) * (words | np.uint64(1)), dtype=np.uint64))
            total = (total * _DIGEST_PRIME + part) & _MASK
    return f"{total:016x}"
