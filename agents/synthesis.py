"""Input data synthesis: arrays by the name of a distribution and a seed. It never sees a candidate."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from semantics.task import Task, Workload

Array = npt.NDArray[Any]
_Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

# Drawn for every task; a tensor may name more.
COMMON = ("normal", "shifted", "uniform", "ties", "outliers", "denormal")


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def _shifted(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """N(5, 10): a mean that is not zero, both signs."""
    return rng.normal(5.0, 10.0, shape)


def _uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(-1.0, 1.0, shape)


def _large(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Magnitudes up to 1e4, where exp overflows."""
    return rng.uniform(-1e4, 1e4, shape)


def _ties(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Integers from -3 to 3: most values occur many times."""
    return rng.integers(-3, 4, shape).astype(np.float64)


def _outliers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """N(0, 1) with a few elements near 120, too few for a sample of the input to find them."""
    values = rng.standard_normal(shape)
    flat = values.reshape(-1)
    places = rng.integers(0, max(1, flat.size), 1 + flat.size // 4096)
    if flat.size:
        flat[places] = rng.uniform(110.0, 130.0, places.size)
    return values


def _equal_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One value a row (zero variance), of few bits so that sums of a row are exact."""
    values = rng.choice([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0, 5.0], shape[:-1] or (1,))
    return np.broadcast_to(values[..., None] if len(shape) > 1 else values, shape).copy()


def _denormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Below the least normal float32."""
    return rng.uniform(-1e-38, 1e-38, shape)


def _very_negative(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """All far below zero: a maximum that starts at 0, or exp without it, goes wrong."""
    return rng.uniform(-2000.0, -1000.0, shape)


def _ascending(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """The maximum comes last."""
    return np.sort(rng.standard_normal(shape), axis=-1)


_DRAWS: dict[str, _Draw] = {
    "normal": _normal,
    "shifted": _shifted,
    "uniform": _uniform,
    "large": _large,
    "ties": _ties,
    "outliers": _outliers,
    "equal_rows": _equal_rows,
    "denormal": _denormal,
    "very_negative": _very_negative,
    "ascending": _ascending,
}

names = tuple(_DRAWS)


def distributions(task: Task) -> tuple[str, ...]:
    """Distributions to check a task with: the common ones, then what its inputs ask for.

    Raises ValueError for a name that is not known."""
    wanted = dict.fromkeys(COMMON)
    for tensor in task.inputs:
        for name in tensor.distributions:
            if name not in _DRAWS:
                raise ValueError(
                    f"task {task.name}: input {tensor.name} names the distribution {name!r}; "
                    f"known: {', '.join(names)}"
                )
            wanted[name] = None
    return tuple(wanted)


def draw(task: Task, workload: Workload, distribution: str, seed: int) -> dict[str, Array]:
    """Every input by name, float32 (int32 for integer tensors), at the workload's shapes.

    A common distribution applies to every input, a special one to the inputs that name it; the other
    inputs are then N(0, 1). The same arguments give the same arrays. Raises ValueError for an unknown
    name."""
    if distribution not in _DRAWS:
        raise ValueError(f"no distribution named {distribution!r}; known: {', '.join(names)}")
    shapes = task.shapes(workload)
    arrays = {}
    for tensor in task.inputs:
        applies = distribution in COMMON or distribution in tensor.distributions
        rng = np.random.default_rng(_seed_of(seed, task.name, tensor.name, distribution))
        values = _DRAWS[distribution if applies else "normal"](rng, shapes[tensor.name])
        arrays[tensor.name] = values.astype(np.int32 if tensor.dtype.startswith("int") else np.float32)
    return arrays


def _seed_of(seed: int, *words: str) -> list[int]:
    digest = hashlib.sha256("/".join((str(seed), *words)).encode()).digest()
    return [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
