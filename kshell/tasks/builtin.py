"""The built-in tasks: the Level-1 suite at its published sizes, and two small elementwise extras."""

from functools import cache
from importlib import resources

from semantics.task import Roofline, Task, Tensor, Tolerance

_ELEMENTWISE = Tolerance(atol=1e-6, rtol=1e-5, norm_rtol=1e-6)
_REDUCTION = Tolerance(atol=1e-5, rtol=1e-4, norm_rtol=1e-5, reduction="n")


def _reference(name: str) -> str:
    return resources.files("kshell.tasks.level1").joinpath(f"{name}.py").read_text(encoding="utf-8")


def _elementwise(name: str, title: str, flops: int, inputs: tuple[str, ...] = ("x",)) -> Task:
    return Task(
        name=name,
        title=title,
        family="elementwise",
        axes={"n": 16384},
        inputs=tuple(Tensor(name=i, shape=("n",), distributions=("ties", "large")) for i in inputs),
        outputs=(Tensor(name="y", shape=("n",)),),
        inplace={"y": "x"},
        reference=_reference(name),
        tolerance=_ELEMENTWISE,
        roofline=Roofline(flops=f"{flops}*n", bytes=f"{4 * (len(inputs) + 1)}*n"),
    )


def _row(name: str, title: str, flops: int, weights: tuple[str, ...], special: tuple[str, ...]) -> Task:
    return Task(
        name=name,
        title=title,
        family="row_reduction",
        axes={"rows": 1, "n": 16384},
        inputs=(
            Tensor(name="x", shape=("rows", "n"), distributions=special),
            *(Tensor(name=w, shape=("n",)) for w in weights),
        ),
        outputs=(Tensor(name="y", shape=("rows", "n")),),
        reference=_reference(name),
        tolerance=_REDUCTION,
        roofline=Roofline(flops=f"{flops}*rows*n", bytes=f"8*rows*n + {4 * len(weights)}*n"),
    )


def _matrix(
    name: str,
    title: str,
    axes: dict[str, int],
    inputs: dict[str, tuple[str, ...]],
    output: tuple[str, tuple[str, ...]],
    reduction: str,
    flops: str,
) -> Task:
    sizes = [*inputs.values(), output[1]]
    return Task(
        name=name,
        title=title,
        family="matmul",
        axes=axes,
        inputs=tuple(Tensor(name=k, shape=v) for k, v in inputs.items()),
        outputs=(Tensor(name=output[0], shape=output[1]),),
        reference=_reference(name),
        tolerance=Tolerance(atol=1e-5, rtol=1e-4, norm_rtol=1e-5, reduction=reduction),
        roofline=Roofline(flops=flops, bytes=" + ".join("4*" + "*".join(s) for s in sizes)),
    )


def _conv(name: str, title: str, channels: dict[str, int], weight: tuple[str | int, ...], out: str) -> Task:
    ins = "cin" if "cin" in channels else "c"
    side = "(H + 2*pad - k + 1)"
    reduction = "cin*k*k" if "cin" in channels else "k*k"
    return Task(
        name=name,
        title=title,
        family="convolution",
        axes={"batch": 1, **channels, "H": 32, "k": 3, "pad": 1},
        constraints=("k <= H + 2*pad", "pad >= 0"),
        inputs=(
            Tensor(name="x", shape=("batch", ins, "H", "H")),
            Tensor(name="weight", shape=weight),
            Tensor(name="bias", shape=(out,)),
        ),
        outputs=(Tensor(name="y", shape=("batch", out, side, side)),),
        reference=_reference(name),
        tolerance=Tolerance(atol=1e-5, rtol=1e-4, norm_rtol=1e-5, reduction=reduction),
        roofline=Roofline(
            flops=f"2*batch*{out}*{side}*{side}*{reduction}",
            bytes=f"4*batch*{ins}*H*H + 4*{out}*{reduction} + 4*{out} + 4*batch*{out}*{side}*{side}",
        ),
    )


@cache
def tasks() -> dict[str, Task]:
    """Every built-in task by name, in the order of the suite."""
    every = (
        _elementwise("relu", "ReLU: max(x, 0)", 1),
        _elementwise("silu", "SiLU: x * sigmoid(x)", 4),
        _elementwise("gelu", "GELU with the error function", 5),
        _elementwise("gelu_tanh", "GELU in its tanh form", 9),
        _row("softmax", "Softmax over the rows", 4, (), ("very_negative", "equal_rows", "ties", "large")),
        _row(
            "layernorm", "LayerNorm over the rows, affine, eps 1e-5", 8, ("weight", "bias"), ("equal_rows",)
        ),
        _row("rmsnorm", "RMSNorm over the rows, weight, eps 1e-6", 4, ("weight",), ("equal_rows",)),
        _matrix(
            "gemv",
            "Matrix times vector",
            {"M": 512, "N": 1024},
            {"A": ("M", "N"), "x": ("N",)},
            ("y", ("M",)),
            "N",
            "2*M*N",
        ),
        _matrix(
            "gemm",
            "Matrix times matrix",
            {"M": 64, "K": 256, "N": 512},
            {"A": ("M", "K"), "B": ("K", "N")},
            ("C", ("M", "N")),
            "K",
            "2*M*K*N",
        ),
        _matrix(
            "linear",
            "Linear layer: x @ weight.T + bias",
            {"batch": 64, "hin": 256, "hout": 512},
            {"x": ("batch", "hin"), "weight": ("hout", "hin"), "bias": ("hout",)},
            ("y", ("batch", "hout")),
            "hin",
            "2*batch*hin*hout + batch*hout",
        ),
        _matrix(
            "batch_matmul",
            "A batch of matrix products",
            {"b": 32, "M": 64, "K": 256, "N": 512},
            {"A": ("b", "M", "K"), "B": ("b", "K", "N")},
            ("C", ("b", "M", "N")),
            "K",
            "2*b*M*K*N",
        ),
        _conv(
            "conv2d",
            "2-D convolution with bias",
            {"cin": 16, "cout": 32},
            ("cout", "cin", "k", "k"),
            "cout",
        ),
        _conv("depthwise_conv", "Depthwise 2-D convolution with bias", {"c": 32}, ("c", 1, "k", "k"), "c"),
        _elementwise("scale", "Every element times a half", 1),
        _elementwise("add", "Sum of two vectors", 1, ("x", "z")),
    )
    return {task.name: task for task in every}
