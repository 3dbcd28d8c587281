"""Tasks that no judge could judge are refused with the reason; the built-in ones are not."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kshell import tasks
from kshell.harness.gate import refusal
from kshell.tasks import reference
from semantics.task import Roofline, Task, Tensor, Tolerance, Workload

Arrays = Mapping[str, npt.NDArray[Any]]
SCALE = Task(
    name="scaled",
    title="a*x",
    family="elementwise",
    axes={"n": 300},
    inputs=(Tensor(name="x", shape=("n",)), Tensor(name="a", shape=("n",))),
    outputs=(Tensor(name="y", shape=("n",)),),
    reference="",
    roofline=Roofline(flops="n", bytes="12*n"),
)
HERE = SCALE.workload()


def product(_task: Task, _workload: Workload, arrays: Arrays) -> dict[str, Any]:
    return {"y": arrays["x"] * arrays["a"]}


@pytest.mark.parametrize("name", tasks.names())
def test_every_built_in_task_passes(name: str) -> None:
    task = tasks.get(name)
    assert refusal(task, task.workload(), reference.compute) is None


def test_an_honest_reference_passes() -> None:
    assert refusal(SCALE, HERE, product) is None


def test_an_input_that_does_nothing_is_named() -> None:
    reason = refusal(SCALE, HERE, lambda _t, _w, arrays: {"y": arrays["x"] * 2.0})
    assert reason is not None
    assert "no output depends on the input a" in reason


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x, a: 1.0 + 1e-3 * np.tanh(x * a), "ones"),
        (lambda x, a: 4.0 + 1e-3 * np.tanh(x * a), "constants"),
        (lambda x, a: x + 1e-3 * np.tanh(a), "copies of x"),
    ],
    ids=["ones", "constants", "copies"],
)
def test_a_tolerance_that_lets_a_fake_pass_is_refused(function: Any, what: str) -> None:
    loose = SCALE.model_copy(update={"tolerance": Tolerance(atol=1e-2, rtol=1e-2, norm_rtol=1e-1)})

    def compute(_task: Task, _workload: Workload, arrays: Arrays) -> dict[str, Any]:
        return {"y": function(arrays["x"], arrays["a"])}

    reason = refusal(loose, HERE, compute)
    assert reason is not None
    assert f"{what} pass as y" in reason


def test_a_reference_with_a_random_part_is_refused() -> None:
    rng = np.random.default_rng(0)
    reason = refusal(SCALE, HERE, lambda _t, _w, a: {"y": a["x"] * a["a"] + rng.standard_normal(300)})
    assert reason is not None
    assert "different y for the same inputs" in reason


def test_a_reference_that_fails_or_overflows_is_refused() -> None:
    def failing(*_: object) -> dict[str, Any]:
        raise RuntimeError("shapes do not match")

    assert refusal(SCALE, HERE, failing) == "the reference of task scaled fails: shapes do not match"
    reason = refusal(SCALE, HERE, lambda _t, _w, a: {"y": a["x"] * a["a"] * 1e300})
    assert reason is not None
    assert "float32 cannot hold" in reason


def test_sizes_against_a_constraint_are_refused() -> None:
    odd = SCALE.model_copy(update={"constraints": ("n % 7 == 0",)})
    assert refusal(odd, HERE, product) == "task scaled: the sizes violate its constraint n % 7 == 0"
