"""Inputs are reproducible by name and seed, and cover what the distributions promise."""

import numpy as np
import pytest

from agents import synthesis
from semantics.task import Roofline, Task, Tensor

TASK = Task(
    name="rows",
    title="rows",
    family="row_reduction",
    axes={"rows": 3, "n": 500},
    inputs=(
        Tensor(name="x", shape=("rows", "n"), distributions=("equal_rows", "very_negative")),
        Tensor(name="w", shape=("n",)),
    ),
    outputs=(Tensor(name="y", shape=("rows", "n")),),
    reference="",
    roofline=Roofline(flops="rows*n", bytes="8*rows*n"),
)
HERE = TASK.workload()


def test_a_task_gets_the_common_distributions_and_what_its_inputs_name() -> None:
    assert synthesis.distributions(TASK) == (*synthesis.COMMON, "equal_rows", "very_negative")


@pytest.mark.parametrize("name", synthesis.names)
def test_arrays_have_the_shapes_of_the_task_and_are_finite_float32(name: str) -> None:
    arrays = synthesis.draw(TASK, HERE, name, 1)
    assert {k: (v.shape, v.dtype) for k, v in arrays.items()} == {
        "x": ((3, 500), np.float32),
        "w": ((500,), np.float32),
    }
    assert all(np.isfinite(a).all() for a in arrays.values())


@pytest.mark.parametrize("name", synthesis.names)
def test_a_seed_gives_the_same_arrays_and_another_seed_others(name: str) -> None:
    first, again, other = (synthesis.draw(TASK, HERE, name, s)["x"] for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_inputs_of_one_draw_are_independent() -> None:
    arrays = synthesis.draw(TASK, HERE, "normal", 1)
    assert not np.array_equal(arrays["x"][0], arrays["w"])


def test_a_special_distribution_applies_to_the_inputs_that_name_it() -> None:
    arrays = synthesis.draw(TASK, HERE, "very_negative", 1)
    assert arrays["x"].max() <= -1000
    assert np.abs(arrays["w"]).max() < 10


def test_equal_rows_have_no_variance_within_a_row() -> None:
    x = synthesis.draw(TASK, HERE, "equal_rows", 3)["x"]
    assert np.all(x == x[:, :1])


def test_outliers_are_rare_and_large() -> None:
    x = synthesis.draw(TASK, HERE, "outliers", 1)["x"]
    assert 1 <= (x > 100).sum() <= 3


def test_denormals_are_below_the_least_normal_number() -> None:
    x = synthesis.draw(TASK, HERE, "denormal", 1)["x"]
    assert 0 < np.abs(x).max() < np.finfo(np.float32).tiny


def test_an_unknown_distribution_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"no distribution named 'bogus'; known: normal, "):
        synthesis.draw(TASK, HERE, "bogus", 1)
    odd = TASK.model_copy(update={"inputs": (Tensor(name="x", shape=("n",), distributions=("bogus",)),)})
    with pytest.raises(ValueError, match="input x names the distribution 'bogus'"):
        synthesis.distributions(odd)
