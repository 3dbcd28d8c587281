"""Attacks on kernels that are right with their buffers apart and wrong where the task lets them be one."""

import pytest

from agents.falsifier import Attack, Finding, oracle_of_specs
from kshell import tasks
from semantics.program import load

KERNEL = """__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        %s
        y[i] = fmaxf(x[i], 0.0f);
    }
}

void launch(const float* x, float* y, int n) {
    relu<<<(n + 63) / 64, 64>>>(x, y, n);
}
"""
CLEARS = KERNEL % "y[i] = 0.0f;"
LOOKS_ON = KERNEL % "float next = i + 1 < n ? x[i + 1] : 0.0f;"


def searched(source: str) -> tuple[Finding | None, Attack]:
    task = tasks.get("relu")
    attack = Attack(load(source), source, task, task.workload(), oracle_of_specs(tasks.spec_of))
    return attack.search(), attack


def test_a_cell_cleared_before_it_is_read_is_wrong_in_place() -> None:
    found, _ = searched(CLEARS)
    assert found is not None
    shown = found.counterexample
    assert shown.message.startswith("with `y` in the buffer of `x`: `y[0]` is 0, the reference says ")
    assert shown.axes == {"n": 1}
    assert shown.inputs == "normal, in place"


def test_a_neighbour_read_while_it_is_written_is_a_race_in_place() -> None:
    found, _ = searched(LOOKS_ON)
    assert found is not None
    shown = found.counterexample
    assert shown.fault == "RACE"
    assert shown.message.startswith("with `y` in the buffer of `x`: ")
    assert shown.axes == {"n": 2}
    assert {point.line for point in shown.points} == {4, 5}


def test_its_inputs_are_enough_to_find_it_again() -> None:
    found, attack = searched(CLEARS)
    assert found is not None
    shown = found.counterexample
    again = attack.trial(tasks.get("relu").workload(**shown.axes), shown.inputs, 5.0)
    assert again is not None and again.counterexample == shown


@pytest.mark.parametrize(
    ("source", "task"),
    [
        (KERNEL % "", "relu"),
        (CLEARS.replace("float* x, float* y", "float* __restrict__ x, float* __restrict__ y"), "relu"),
        (CLEARS, "relu_apart"),
    ],
    ids=["right", "restrict", "not-declared"],
)
def test_what_is_right_or_may_not_be_called_so_stands(source: str, task: str) -> None:
    declared = tasks.get("relu")
    if task == "relu_apart":
        declared = declared.model_copy(update={"inplace": {}})
    attack = Attack(
        load(source), source, declared, declared.workload(), oracle_of_specs(tasks.spec_of), seconds=3.0
    )
    assert attack.search() is None
    assert attack.effort.launches > 10
