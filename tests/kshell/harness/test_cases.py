"""Shapes and inputs a candidate is tried on."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from kshell import tasks
from kshell.harness.cases import SIDE_WORK, CaseFailure, CaseMaker, shrunk, side_shapes
from kshell.harness.judge import judge
from kshell.tasks import reference
from semantics.task import Task, Workload


@pytest.mark.parametrize("name", tasks.names())
def test_side_shapes_differ_from_the_task_and_keep_its_constraints(name: str) -> None:
    task = tasks.get(name)
    shapes = side_shapes(task, task.workload(), random.Random(1))
    assert len(shapes) == 3
    for _, shape in shapes:
        assert shape.axes != task.axes
        assert task.broken_constraint(shape) is None
        assert task.work(shape)[0] < 3 * SIDE_WORK


def test_ragged_shapes_add_one_and_subtract_three() -> None:
    task = tasks.get("softmax")
    shapes = dict(side_shapes(task, task.workload(rows=9, n=1000), random.Random(1)))
    assert shapes["ragged +1"].axes == {"rows": 10, "n": 1001}
    assert shapes["ragged -3"].axes == {"rows": 6, "n": 997}


def test_constraints_hold_back_the_axes_they_name() -> None:
    task = tasks.get("softmax").model_copy(update={"constraints": ("n % 4 == 0",)})
    for _, shape in side_shapes(task, task.workload(rows=9, n=1000), random.Random(1)):
        assert shape.axes["n"] % 4 == 0


def test_heavy_workloads_are_shrunk_for_the_side_shapes() -> None:
    task = tasks.get("batch_matmul")
    small = shrunk(task, task.workload())
    assert task.work(small)[0] <= SIDE_WORK < task.work(task.workload())[0]
    assert shrunk(task, small) == small


def test_hidden_shapes_depend_on_the_secret() -> None:
    task = tasks.get("gemm")
    hidden = {
        str(dict(side_shapes(task, task.workload(), random.Random(seed)))["hidden"].axes) for seed in range(8)
    }
    assert len(hidden) > 4


def test_a_case_holds_the_reference_in_float64_and_slack_for_reductions_only() -> None:
    maker = CaseMaker(reference.compute, secret=1)
    relu, softmax = tasks.get("relu"), tasks.get("softmax")
    case = maker.make(relu, relu.workload(n=100), "case", "normal", 5)
    assert np.array_equal(case.expected["y"].values, np.maximum(case.inputs["x"].astype(np.float64), 0))
    assert case.expected["y"].slack == 0
    other = maker.make(softmax, softmax.workload(rows=2, n=100), "case", "normal", 5)
    assert other.expected["y"].values.dtype == np.float64
    assert 0 < other.expected["y"].slack < 1e-6


def test_a_sum_in_order_of_few_values_is_within_its_slack() -> None:
    maker = CaseMaker(reference.compute, secret=1)
    task = tasks.get("layernorm")
    for seed in range(6):
        case = maker.make(task, task.workload(rows=1, n=16381), "case", "ties", seed)
        x, n = case.inputs["x"], np.float32(16381)
        centred = x - np.add.accumulate(x, axis=1)[:, -1:] / n
        variance = np.add.accumulate(centred * centred, axis=1)[:, -1:] / n
        y = centred / np.sqrt(variance + np.float32(1e-5)) * case.inputs["weight"] + case.inputs["bias"]
        assert y.dtype == np.float32
        assert judge(y, case.expected["y"], task.tolerance).wrong is None


def test_the_same_seed_is_computed_once() -> None:
    calls = 0

    def counting(task: Task, workload: Workload, arrays: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        return reference.compute(task, workload, arrays)

    maker = CaseMaker(counting, secret=1)
    task = tasks.get("relu")
    first = maker.make(task, task.workload(n=50), "a", "normal", 7)
    second = maker.make(task, task.workload(n=50), "b", "normal", 7)
    assert (calls, first.inputs is second.inputs, second.name) == (1, True, "b")


def test_cheap_tasks_never_see_a_seed_twice_and_expensive_ones_few() -> None:
    maker = CaseMaker(reference.compute)
    relu, heavy = tasks.get("relu"), tasks.get("batch_matmul")
    assert len({maker.fresh_seed(relu, relu.workload()) for _ in range(40)}) == 40
    assert len({maker.fresh_seed(heavy, heavy.workload()) for _ in range(40)}) == 3


def test_two_sessions_draw_different_secrets() -> None:
    task = tasks.get("relu")
    seeds = {CaseMaker(reference.compute).fresh_seed(task, task.workload()) for _ in range(4)}
    assert len(seeds) == 4


def test_a_reference_that_is_not_finite_fails_the_task() -> None:
    task = tasks.get("relu")
    maker = CaseMaker(lambda _t, _w, arrays: {"y": arrays["x"] * np.inf}, secret=1)
    with pytest.raises(CaseFailure, match="float32 cannot hold"):
        maker.make(task, task.workload(n=10), "case", "normal", 1)
