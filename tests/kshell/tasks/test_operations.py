"""Every operation of the table means what PyTorch computes: on random inputs, in float64, and, where it
stays in the rationals, exactly."""

from dataclasses import dataclass

import numpy as np
import pytest

from kshell.tasks import reference
from kshell.tasks.operations import OPERATIONS
from kshell.tasks.trace import spec_of
from semantics.spec import Bin, MaxOver, SExpr, Spec, Sum, Un, Where
from semantics.spec_eval import NotExact, evaluate
from semantics.task import Roofline, Task, Tensor


@dataclass(frozen=True)
class Case:
    """An expression of `x` and more inputs, their shapes, and the shape of the result."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    positive: bool = False


VECTOR = ((6,),)
TWO = ((2, 5), (5,))
CUBE = ((2, 3, 4),)


def same(text: str, positive: bool = False) -> Case:
    """An elementwise expression of `x`."""
    return Case(text, VECTOR, VECTOR[0], positive)


def two(text: str, positive: bool = False) -> Case:
    """An elementwise expression of `x` and a broadcast `z`."""
    return Case(text, TWO, TWO[0], positive)


CASES: dict[str, tuple[Case, ...]] = {
    "add": (two("x + z"), two("torch.add(x, z)"), same("x + 0.1"), same("x + 3")),
    "sub": (two("x - z"), same("torch.sub(x, 2.5)")),
    "mul": (two("x * z"), two("torch.mul(z, x)"), same("x * 0.7")),
    "truediv": (two("x / z", True), same("x / 3")),
    "div": (two("torch.div(x, z)", True),),
    "radd": (same("1.5 + x"),),
    "rsub": (same("1 - x"), two("torch.rsub(x, z)")),
    "rmul": (same("2 * x"),),
    "iadd": (two("inplace(x, z, '+')"),),
    "isub": (two("inplace(x, z, '-')"),),
    "imul": (two("inplace(x, z, '*')"),),
    "itruediv": (two("inplace(x, z, '/')", True),),
    "maximum": (two("torch.maximum(x, z)"),),
    "minimum": (two("torch.minimum(x, z)"),),
    "neg": (same("-x"), same("torch.neg(x)")),
    "abs": (same("torch.abs(x)"), same("x.abs()")),
    "exp": (same("torch.exp(x)"),),
    "log": (same("torch.log(x)", True),),
    "sqrt": (same("torch.sqrt(x)", True),),
    "rsqrt": (same("torch.rsqrt(x)", True),),
    "tanh": (same("torch.tanh(x)"),),
    "erf": (same("torch.erf(x)"),),
    "sin": (same("torch.sin(x)"),),
    "cos": (same("torch.cos(x)"),),
    "relu": (same("torch.relu(x)"), same("nn.functional.relu(x)"), same("x.relu()")),
    "sigmoid": (same("torch.sigmoid(x)"), same("x.sigmoid()")),
    "silu": (same("nn.functional.silu(x)"),),
    "gelu": (same("nn.functional.gelu(x)"), same("nn.functional.gelu(x, approximate='tanh')")),
    "square": (same("torch.square(x)"),),
    "pow": (same("x ** 3"), same("torch.pow(x, 2)"), same("x.pow(1)"), same("x ** 0.5", True)),
    "sum": (
        Case("x.sum()", CUBE, ()),
        Case("torch.sum(x, 1)", CUBE, (2, 4)),
        Case("x.sum(dim=(0, 2), keepdim=True)", CUBE, (1, 3, 1)),
    ),
    "mean": (
        Case("x.mean()", CUBE, ()),
        Case("torch.mean(x, -1)", CUBE, (2, 3)),
        Case("x.mean(dim=(0, -1), keepdim=True)", CUBE, (1, 3, 1)),
    ),
    "amax": (
        Case("x.amax()", CUBE, ()),
        Case("torch.amax(x, (1, 2))", CUBE, (2,)),
        Case("x.amax(dim=1, keepdim=True)", CUBE, (2, 1, 4)),
    ),
    "softmax": (
        Case("torch.softmax(x, 1)", CUBE, CUBE[0]),
        Case("nn.functional.softmax(x, dim=-1)", CUBE, CUBE[0]),
    ),
    "layer_norm": (
        Case("nn.functional.layer_norm(x, (4,))", CUBE, CUBE[0]),
        Case(
            "nn.functional.layer_norm(x, (3, 4), z, w, eps=0.01)", (*CUBE, (3, 4), (3, 4)), CUBE[0]
        ),
    ),
    "matmul": (
        Case("torch.matmul(x, z)", ((2, 3, 4), (4, 5)), (2, 3, 5)),
        Case("x @ z", ((3,), (3,)), ()),
        Case("x @ z", ((4,), (2, 4, 3)), (2, 3)),
        Case("torch.matmul(x, z)", ((2, 1, 3, 4), (5, 4, 2)), (2, 5, 3, 2)),
    ),
    "mm": (Case("torch.mm(x, z)", ((3, 4), (4, 2)), (3, 2)),),
    "bmm": (Case("torch.bmm(x, z)", ((2, 3, 4), (2, 4, 5)), (2, 3, 5)),),
    "mv": (Case("torch.mv(x, z)", ((3, 4), (4,)), (3,)),),
    "linear": (
        Case("nn.functional.linear(x, z)", ((3, 4), (5, 4)), (3, 5)),
        Case("nn.functional.linear(x, z, w)", ((2, 3, 4), (5, 4), (5,)), (2, 3, 5)),
    ),
    "conv2d": (
        Case("torch.conv2d(x, z)", ((2, 3, 5, 6), (4, 3, 2, 3)), (2, 4, 4, 4)),
        Case(
            "nn.functional.conv2d(x, z, w, stride=2, padding=(1, 2), dilation=(2, 1))",
            ((1, 2, 7, 6), (3, 2, 3, 3), (3,)),
            (1, 3, 3, 4),
        ),
        Case("torch.conv2d(x, z, padding=1, groups=2)", ((1, 4, 4, 4), (6, 2, 3, 3)), (1, 6, 4, 4)),
    ),
    "transpose": (
        Case("x.transpose(0, 2)", CUBE, (4, 3, 2)),
        Case("torch.transpose(x, -1, 1)", CUBE, (2, 4, 3)),
    ),
    "t": (Case("x.t()", ((2, 3),), (3, 2)), Case("torch.t(x)", ((2, 3),), (3, 2))),
    "getattr": (Case("x.T", ((2, 3),), (3, 2)), Case("x / x.shape[1]", ((2, 3),), (2, 3))),
    "getitem": (Case("x * x.shape[0]", ((3, 2),), (3, 2)),),
    "size": (Case("x * x.size(1)", ((3, 2),), (3, 2)), Case("x + x.size()[0]", ((3, 2),), (3, 2))),
    "unsqueeze": (
        Case("x.unsqueeze(1)", ((2, 3),), (2, 1, 3)),
        Case("torch.unsqueeze(x, -1)", ((2, 3),), (2, 3, 1)),
    ),
    "contiguous": (Case("x.transpose(0, 1).contiguous()", ((2, 3),), (3, 2)),),
}  # fmt: skip

REFERENCE = """import torch
import torch.nn as nn

def inplace(a, b, op):
    c = a * 1
    if op == '+':
        c += b
    elif op == '-':
        c -= b
    elif op == '*':
        c *= b
    else:
        c /= b
    return c

class Model(nn.Module):
    def forward(self, {names}):
        return {text}

def get_inputs():
    return [{made}]

def get_init_inputs():
    return []
"""
NAMES = ("x", "z", "w")


def task_of(case: Case) -> Task:
    names = NAMES[: len(case.shapes)]
    made = ", ".join(f"torch.rand({', '.join(map(str, shape))})" for shape in case.shapes)
    return Task(
        name="probe",
        title="probe",
        family="test",
        axes={"n": 1},
        inputs=tuple(Tensor(name=n, shape=s) for n, s in zip(names, case.shapes, strict=True)),
        outputs=(Tensor(name="y", shape=case.result),),
        reference=REFERENCE.format(names=", ".join(names), text=case.text, made=made),
        roofline=Roofline(flops="1", bytes="1"),
    )


def arrays_of(case: Case, seed: int) -> dict[str, np.ndarray]:
    """Eighths, so that exact and floating sums start from the same numbers; away from zero if positive."""
    rng = np.random.default_rng(seed)
    low = 1 if case.positive else -24
    return {
        name: rng.integers(low, 25, size=shape).astype(np.float32) / 8
        for name, shape in zip(NAMES, case.shapes, strict=False)
    }


def test_every_operation_of_the_table_has_a_case() -> None:
    assert CASES.keys() == OPERATIONS.keys()


@pytest.mark.parametrize(
    ("name", "case"),
    [(n, c) for n, cases in CASES.items() for c in cases],
    ids=lambda v: getattr(v, "text", v),
)
def test_operation_means_what_pytorch_computes(name: str, case: Case) -> None:
    task = task_of(case)
    spec = spec_of(task, task.workload())
    for seed in range(3):
        arrays = arrays_of(case, seed)
        expected = reference.compute(task, task.workload(), arrays)["y"]
        got = evaluate(spec, arrays)["y"]
        assert got.shape == case.result
        np.testing.assert_allclose(got, expected, rtol=2e-7, atol=2e-7)
        try:
            exact = evaluate(spec, arrays, exact=True)["y"]
        except NotExact:
            assert not rational(spec)
            continue
        assert rational(spec), name
        np.testing.assert_allclose(exact.astype(np.float64), got, rtol=1e-12, atol=1e-12)


def rational(spec: Spec) -> bool:
    """Whether no function of a spec leaves the rational numbers."""

    def inside(e: SExpr) -> bool:
        match e:
            case Un(fn, a):
                return fn in ("neg", "abs") and inside(a)
            case Bin(_, a, b) | Where(_, a, b):
                return inside(a) and inside(b)
            case Sum(_, _, a) | MaxOver(_, _, a):
                return inside(a)
            case _:
                return True

    return all(inside(out.body) for out in spec.outputs)
