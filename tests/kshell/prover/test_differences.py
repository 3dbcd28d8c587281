"""Each stated difference between the model and the interpreter is there, on the side that is stated."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kshell.prover.differences import DIFFERENCES
from semantics import core
from semantics.core import IntOp, IntType, RealOp, ShflKind
from semantics.faults import FaultKind
from semantics.interp import run
from semantics.program import load
from tests.lean.collectives import sources
from tests.lean.expressions import Permitted, Rules
from tests.lean.test_differential import interpreted
from tests.semantics.corpus_tasks import make_task

LEAN = (Path(__file__).parents[3] / "lean" / "Tests" / "Semantics.lean").read_text(encoding="utf-8")
EXITED = """__global__ void k(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    y[i] = x[i];
    SYNC;
    y[i] = y[i] + 1.0f;
}
void launch(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
"""


def unsigned(kind: IntType, op: IntOp, a: int, b: int) -> core.IBin:
    return core.IBin(op, kind, core.ILit(a, kind), core.ILit(b, kind))


def test_an_unsigned_value_that_wraps() -> None:
    wraps = unsigned(IntType.U32, IntOp.SUB, 0, 1)
    assert interpreted(wraps) == ("value", 2**32 - 1)
    with pytest.raises(Permitted):
        Rules().int(wraps)
    assert "(IExpr.bin .sub .u32 (.lit 0 .u32) (.lit 1 .u32)).eval env reg = none" in LEAN


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        (RealOp.MUL, core.RLit(Fraction(2)), core.RNegInf(), float("-inf")),
        (RealOp.DIV, core.RLit(Fraction(2)), core.RNegInf(), 0),
    ],
    ids=["product", "quotient"],
)
def test_minus_infinity_in_products(op: RealOp, a: core.RExpr, b: core.RExpr, expected: float) -> None:
    e = core.RBin(op, a, b)
    assert interpreted(e) == ("value", expected)
    with pytest.raises(Permitted):
        Rules().real(e)
    zero = core.RBin(RealOp.MUL, core.RLit(Fraction(0)), core.RNegInf())
    assert interpreted(zero) == ("fault", None)
    assert "(RExpr.bin .mul (.lit 0 1) .ninf).eval env reg = none" in LEAN


def test_shuffles_that_leave_their_segment() -> None:
    crossed = sources(ShflKind.XOR, 8, 8)
    assert crossed is not None
    assert crossed[:10] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    assert "example : ShflKind.xor.source 8 5 8 = none := by rfl" in LEAN
    assert "example : ShflKind.idx.source 32 0 (-1) = none := by rfl" in LEAN


@pytest.mark.parametrize("sync", ["__syncthreads()", "__syncwarp()"])
@pytest.mark.parametrize("n", [32, 20])
def test_exited_threads_at_a_synchronisation(sync: str, n: int) -> None:
    task = make_task("k", {"n": n}, {"x": ("n",)}, {"y": ("n",)})
    faults = run(load(EXITED.replace("SYNC", sync)).plan(task, task.workload()), {"x": np.zeros(n)}).faults
    expected = FaultKind.DIVERGENT_BARRIER if sync == "__syncthreads()" else FaultKind.BAD_MASK
    assert [f.kind for f in faults] == ([] if n == 32 else [expected])
    assert "example : AtBar 1 (fun _ => others (.bar 0 .ret)) 0" in LEAN


def test_every_difference_has_its_test_here() -> None:
    names = {name for name in globals() if name.startswith("test_")}
    assert len(DIFFERENCES) == len(names) - 1
