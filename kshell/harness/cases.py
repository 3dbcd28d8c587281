"""What a candidate is tried on: shapes, distributions, fresh secret seeds, expected outputs.

Expected outputs are computed here, in the judging process, by the reference it was given."""

import os
import random
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from agents import synthesis
from kshell.harness.judge import Expected, reduction_length, slack_of
from semantics.task import Task, Workload

Array = npt.NDArray[Any]
# Task, workload and inputs by name (float32) to outputs by name in float64.
Reference = Callable[[Task, Workload, Mapping[str, Array]], Mapping[str, Array]]

# Shapes beside the task's own are shrunk to about this many floating-point operations.
SIDE_WORK = 20_000_000
# At and below this many operations every check draws fresh inputs; above it a few sets are reused.
CHEAP_WORK = 2_000_000
# Where few values occur, the roundings of a sum in order point the same way: more is lost than at random.
CORRELATED = 4.0
_REUSED_SEEDS = 3
_KEPT_CASES = 96
_KEPT_BYTES = 1 << 29


class CaseFailure(Exception):
    """The task itself cannot be checked: its reference fails or is not finite."""


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs of one workload with the outputs they must give."""

    name: str
    workload: Workload
    distribution: str
    seed: int
    inputs: dict[str, Array]
    expected: dict[str, Expected]

    @property
    def recipe(self) -> str:
        """How to draw the inputs again."""
        return f"distribution={self.distribution} seed={self.seed}"

    @property
    def nbytes(self) -> int:
        """Memory the arrays take."""
        arrays = [*self.inputs.values(), *(e.values for e in self.expected.values())]
        return sum(a.nbytes for a in arrays)


@dataclass(slots=True)
class CaseMaker:
    """Draws cases. `secret` seeds everything of a session; None takes it from the operating system."""

    reference: Reference
    secret: int | None = None
    _cache: "OrderedDict[tuple[object, ...], Case]" = field(default_factory=OrderedDict)
    _bytes: int = 0
    _drawn: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _root: int = 0

    def __post_init__(self) -> None:
        self._root = int.from_bytes(os.urandom(8), "little") if self.secret is None else self.secret

    def random(self, *words: object) -> random.Random:
        """A generator of the session for a purpose."""
        return random.Random(f"{self._root}/{words}")

    def fresh_seed(self, task: Task, workload: Workload) -> int:
        """A seed nobody has seen; for expensive references one of a few of the session."""
        with self._lock:
            self._drawn += 1
            count = self._drawn
        cheap = task.work(workload)[0] <= CHEAP_WORK
        number = count if cheap else count % _REUSED_SEEDS
        return self.random("seed", task.name, number).getrandbits(48)

    def make(self, task: Task, workload: Workload, name: str, distribution: str, seed: int) -> Case:
        """The case of a seed, from the cache when it was made before. Slow; call it in a thread.

        Raises CaseFailure when the reference fails or gives values float32 cannot hold."""
        key = (_task_key(task), tuple(sorted(workload.axes.items())), distribution, seed)
        with self._lock:
            found = self._cache.get(key)
            if found is not None:
                self._cache.move_to_end(key)
        if found is None:
            found = self._compute(task, workload, distribution, seed)
            self._remember(key, found)
        return Case(name, workload, distribution, seed, found.inputs, found.expected)

    def _compute(self, task: Task, workload: Workload, distribution: str, seed: int) -> Case:
        inputs = synthesis.draw(task, workload, distribution, seed)
        exact = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in inputs.items()}
        outputs = self._reference(task, workload, exact)
        reduction = reduction_length(task, workload)
        slack = dict.fromkeys(outputs, 0.0)
        if reduction > 1:
            rng = np.random.default_rng(seed)
            moved = {k: _nudged(rng, v) if v.dtype == np.float64 else v for k, v in exact.items()}
            other = self._reference(task, workload, moved)
            correlated = CORRELATED if distribution == "ties" else 1.0
            slack = {k: correlated * slack_of(outputs[k], other[k], reduction) for k in outputs}
        expected = {k: Expected(v, slack[k]) for k, v in outputs.items()}
        return Case("", workload, distribution, seed, inputs, expected)

    def _reference(self, task: Task, workload: Workload, inputs: Mapping[str, Array]) -> dict[str, Array]:
        try:
            outputs = dict(self.reference(task, workload, inputs))
        except Exception as error:
            line = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CaseFailure(f"the reference of task {task.name} fails: {line}") from error
        limit = float(np.finfo(np.float32).max)
        for name, values in outputs.items():
            if not np.all(np.abs(values) <= limit):
                raise CaseFailure(
                    f"the reference of task {task.name} gives values of {name} that float32 cannot hold"
                )
        return outputs

    def _remember(self, key: tuple[object, ...], case: Case) -> None:
        with self._lock:
            self._cache[key] = case
            self._bytes += case.nbytes
            while self._cache and (len(self._cache) > _KEPT_CASES or self._bytes > _KEPT_BYTES):
                _, old = self._cache.popitem(last=False)
                self._bytes -= old.nbytes


def _task_key(task: Task) -> str:
    return task.model_dump_json(include={"name", "inputs", "outputs", "scalars", "reference", "tolerance"})


def _nudged(rng: np.random.Generator, values: Array) -> Array:
    moved: Array = values * (1.0 + 2.0**-24 * rng.uniform(-1.0, 1.0, values.shape))
    return moved


# ---------------------------------------------------------------- shapes


def _with(workload: Workload, axes: Mapping[str, int]) -> Workload:
    return Workload(axes=dict(axes), seed=workload.seed)


def _moved(task: Task, workload: Workload, change: Callable[[str, int], int]) -> Workload:
    """Every axis changed, one after another, where the constraints allow it."""
    axes = dict(workload.axes)
    for axis, value in workload.axes.items():
        wanted = change(axis, value)
        if wanted != value and task.broken_constraint(_with(workload, {**axes, axis: wanted})) is None:
            axes[axis] = wanted
    return _with(workload, axes)


def shrunk(task: Task, workload: Workload, work: int = SIDE_WORK) -> Workload:
    """The workload with its largest axes halved until one call costs at most `work` operations."""
    axes = dict(workload.axes)
    while task.work(_with(workload, axes))[0] > work:
        axis = max(axes, key=lambda a: axes[a])
        smaller = {**axes, axis: axes[axis] // 2}
        if axes[axis] < 8 or task.broken_constraint(_with(workload, smaller)) is not None:
            break
        axes = smaller
    return _with(workload, axes)


def side_shapes(task: Task, workload: Workload, rng: random.Random) -> list[tuple[str, Workload]]:
    """Ragged and hidden shapes beside the task's own, each different from it and from the others."""
    small = shrunk(task, workload)

    def hidden(_axis: str, value: int) -> int:
        return rng.randint(1, min(value, 70)) if value >= 8 else rng.randint(value, value + 2)

    named = [
        ("ragged +1", _moved(task, small, lambda _a, v: v + 1)),
        ("ragged -3", _moved(task, small, lambda _a, v: v - 3 if v > 3 else v)),
        ("hidden", _moved(task, small, hidden)),
    ]
    seen = [workload.axes]
    kept = []
    for name, shape in named:
        if shape.axes not in seen:
            seen.append(shape.axes)
            kept.append((name, shape))
    return kept
