"""What the corpus kernels have to compute, in plain NumPy, and the tasks they are bound to."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from semantics.task import Roofline, Task, Tensor

CORPUS = Path(__file__).parent / "corpus"
Arrays = dict[str, Any]

_erf = np.vectorize(math.erf)


def make_task(
    name: str,
    axes: dict[str, int],
    inputs: dict[str, tuple[str | int, ...]],
    outputs: dict[str, tuple[str | int, ...]],
    scalars: dict[str, float] | None = None,
) -> Task:
    """A task with just what binding a launcher needs."""
    return Task(
        name=name,
        title=name,
        family="test",
        axes=axes,
        inputs=tuple(Tensor(name=n, shape=s) for n, s in inputs.items()),
        outputs=tuple(Tensor(name=n, shape=s) for n, s in outputs.items()),
        scalars=scalars or {},
        reference="",
        roofline=Roofline(flops="1", bytes="1"),
    )


def elementwise(name: str, n: int = 1000) -> Task:
    """x to y over n elements."""
    return make_task(name, {"n": n}, {"x": ("n",)}, {"y": ("n",)})


_CONV_AXES = {"batch": 2, "cin": 2, "cout": 3, "H": 7, "k": 3, "pad": 1}
_OUT = "H + 2*pad - k + 1"

TASKS: dict[str, Task] = {
    **{name: elementwise(name) for name in ("relu", "silu", "gelu", "gelu_tanh")},
    "softmax": make_task("softmax", {"rows": 3, "n": 301}, {"x": ("rows", "n")}, {"y": ("rows", "n")}),
    "layernorm": make_task(
        "layernorm",
        {"rows": 3, "n": 301},
        {"x": ("rows", "n"), "weight": ("n",), "bias": ("n",)},
        {"y": ("rows", "n")},
    ),
    "rmsnorm": make_task(
        "rmsnorm", {"rows": 3, "n": 301}, {"x": ("rows", "n"), "weight": ("n",)}, {"y": ("rows", "n")}
    ),
    "gemv": make_task("gemv", {"M": 13, "N": 301}, {"A": ("M", "N"), "x": ("N",)}, {"y": ("M",)}),
    "gemm": make_task(
        "gemm", {"M": 19, "K": 21, "N": 37}, {"A": ("M", "K"), "B": ("K", "N")}, {"C": ("M", "N")}
    ),
    "linear": make_task(
        "linear",
        {"batch": 5, "hin": 11, "hout": 37},
        {"x": ("batch", "hin"), "weight": ("hout", "hin"), "bias": ("hout",)},
        {"y": ("batch", "hout")},
    ),
    "batch_matmul": make_task(
        "batch_matmul",
        {"b": 2, "M": 9, "K": 13, "N": 10},
        {"A": ("b", "M", "K"), "B": ("b", "K", "N")},
        {"C": ("b", "M", "N")},
    ),
    "conv2d": make_task(
        "conv2d",
        _CONV_AXES,
        {"x": ("batch", "cin", "H", "H"), "weight": ("cout", "cin", "k", "k"), "bias": ("cout",)},
        {"y": ("batch", "cout", _OUT, _OUT)},
    ),
    "depthwise_conv": make_task(
        "depthwise_conv",
        {"batch": 2, "c": 3, "H": 7, "k": 3, "pad": 1},
        {"x": ("batch", "c", "H", "H"), "weight": ("c", 1, "k", "k"), "bias": ("c",)},
        {"y": ("batch", "c", _OUT, _OUT)},
    ),
}


def _softmax(a: Arrays) -> Any:
    e = np.exp(a["x"] - a["x"].max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _layernorm(a: Arrays) -> Any:
    x = a["x"]
    d = x - x.mean(axis=1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * a["weight"] + a["bias"]


def _rmsnorm(a: Arrays) -> Any:
    x = a["x"]
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * a["weight"]


def _windows(a: Arrays) -> Any:
    x = np.pad(a["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))


def _conv2d(a: Arrays) -> Any:
    y = np.einsum("bchwij,ocij->bohw", _windows(a), a["weight"])
    return y + a["bias"][None, :, None, None]


def _depthwise(a: Arrays) -> Any:
    y = np.einsum("bchwij,cij->bchw", _windows(a), a["weight"][:, 0])
    return y + a["bias"][None, :, None, None]


def _gelu_tanh(a: Arrays) -> Any:
    x = a["x"]
    return 0.5 * x * (1 + np.tanh(0.7978846 * (x + 0.044715 * x**3)))


REFERENCES: dict[str, Callable[[Arrays], Any]] = {
    "relu": lambda a: np.maximum(a["x"], 0),
    "silu": lambda a: a["x"] / (1 + np.exp(-a["x"])),
    "gelu": lambda a: 0.5 * a["x"] * (1 + _erf(a["x"] * 0.70710677)),
    "gelu_tanh": _gelu_tanh,
    "softmax": _softmax,
    "layernorm": _layernorm,
    "rmsnorm": _rmsnorm,
    "gemv": lambda a: a["A"] @ a["x"],
    "gemm": lambda a: a["A"] @ a["B"],
    "linear": lambda a: a["x"] @ a["weight"].T + a["bias"],
    "batch_matmul": lambda a: a["A"] @ a["B"],
    "conv2d": _conv2d,
    "depthwise_conv": _depthwise,
}


def inputs_of(task: Task, seed: int = 0) -> Arrays:
    """Normal inputs of the task's default shapes, float64 values of float32 numbers."""
    rng = np.random.default_rng(seed)
    shapes = task.shapes(task.workload())
    return {
        t.name: rng.normal(size=shapes[t.name]).astype(np.float32).astype(np.float64) for t in task.inputs
    }


def kernels() -> list[Path]:
    """Every file of the corpus."""
    return sorted(CORPUS.glob("*.cu"))


def task_of(path: Path) -> Task:
    """The task a corpus file is for: the part of its name before `__`."""
    return TASKS[path.name.split("__")[0]]
