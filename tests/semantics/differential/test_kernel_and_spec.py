"""A kernel of the corpus and the spec of its task are one function of the real numbers: both evaluated in
rational arithmetic, transcendental functions to 40 digits, and in float64."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kshell import tasks
from semantics.interp import run
from semantics.program import load
from semantics.spec_eval import evaluate
from tests.semantics.corpus_tasks import kernels

AXES = {
    "n": 45, "rows": 2, "M": 9, "K": 10, "N": 34, "b": 2, "batch": 2, "hin": 7, "hout": 9, "cin": 2,
    "cout": 3, "c": 2, "H": 5, "k": 3, "pad": 1,
}  # fmt: skip
"""Small sizes that divide by nothing."""


@pytest.mark.parametrize("path", kernels(), ids=lambda p: p.stem)
def test_kernel_and_spec_denote_the_same_numbers(path: Path) -> None:
    task = tasks.get(path.name.split("__")[0])
    workload = task.workload(**{axis: AXES[axis] for axis in task.axes})
    plan = load(path.read_text()).plan(task, workload)
    spec = tasks.spec_of(task, workload)
    rng = np.random.default_rng(7)
    arrays = {n: rng.integers(-40, 41, size=shape) / 16 for n, shape in spec.inputs.items()}
    for exact, limit in ((True, Fraction(1, 10**30)), (False, Fraction(1, 10**11))):
        done = run(plan, arrays, exact=exact)
        assert done.faults == ()
        meant = evaluate(spec, arrays, exact=exact, approximate=exact)
        for out in spec.outputs:
            pairs = zip(done.outputs[out.name], meant[out.name].ravel(), strict=True)
            assert all(abs(Fraction(a) - Fraction(b)) <= limit for a, b in pairs)


def test_a_wrong_constant_is_seen_in_exact_arithmetic() -> None:
    (path,) = [p for p in kernels() if p.stem == "silu__helper"]
    task = tasks.get("silu")
    workload = task.workload(n=45)
    text = path.read_text()
    assert "1.0f" in text
    arrays = {"x": np.arange(45) / 16}
    meant = evaluate(tasks.spec_of(task, workload), arrays, exact=True, approximate=True)["y"]
    for constant, equal in (("1.0f", True), ("1.0000001f", False)):
        done = run(load(text.replace("1.0f", constant)).plan(task, workload), arrays, exact=True)
        close = [abs(a - b) <= Fraction(1, 10**30) for a, b in zip(done.outputs["y"], meant, strict=True)]
        assert all(close) is equal
