"""Generic walks over schedule spaces."""

import random

import pytest

from kshell import tasks
from scaffolds.families import Family, NoSchedule, Parameter, families_of
from scaffolds.families.space import (
    MAX_SHARED_BYTES,
    MAX_THREADS,
    conservative_schedule,
    enumerate_schedules,
    neighbours,
    random_schedule,
    transplant,
)

RELU = tasks.get("relu")
GEMM = tasks.get("gemm")
EVERY = [(name, family) for name in tasks.names() for family in families_of(tasks.get(name))]


def toy(limit: int) -> Family:
    parameters = (
        Parameter("width", (1, 2, 4, 8), 1, "numbers step"),
        Parameter("style", ("plain", "odd", "wild"), "plain", "names jump"),
    )
    return Family(
        "toy",
        "for tests",
        parameters,
        lambda _t, _w, s: f"{s}",
        lambda _t, _w, s: None if int(s["width"]) <= limit else "too wide",
    )


def test_a_default_must_be_a_choice() -> None:
    with pytest.raises(ValueError, match="is not a choice"):
        Parameter("block", (64, 128), 256, "threads")


def test_enumeration_gives_what_fits() -> None:
    every = list(enumerate_schedules(toy(2), RELU, RELU.workload()))
    assert [s["width"] for s in every] == [1, 1, 1, 2, 2, 2]


def test_neighbours_step_numbers_and_jump_names() -> None:
    near = neighbours(toy(4), RELU, RELU.workload(), {"width": 2, "style": "plain"})
    assert near == [
        {"width": 1, "style": "plain"},
        {"width": 4, "style": "plain"},
        {"width": 2, "style": "odd"},
        {"width": 2, "style": "wild"},
    ]
    edge = neighbours(toy(2), RELU, RELU.workload(), {"width": 2, "style": "plain"})
    assert {"width": 4, "style": "plain"} not in edge


def test_a_complaint_names_the_trouble() -> None:
    family = toy(2)
    ask = lambda schedule: family.complaint(RELU, RELU.workload(), schedule)  # noqa: E731
    assert ask({"width": 3, "style": "odd"}) == "width=3 is not a choice of toy"
    assert ask({"width": 1, "style": "odd", "depth": 2}) == "toy has no parameter 'depth'"
    assert ask({"width": 8, "style": "odd"}) == "too wide"
    assert ask({"width": 2, "style": "odd"}) is None
    with pytest.raises(NoSchedule, match="too wide"):
        family.source(RELU, RELU.workload(), {"width": 8, "style": "odd"})


def test_an_empty_space_is_said_so() -> None:
    for ask in (conservative_schedule, lambda f, t, w: random_schedule(f, t, w, random.Random(0))):
        with pytest.raises(NoSchedule, match="no schedule of toy fits relu"):
            ask(toy(0), RELU, RELU.workload())


def test_a_transplant_takes_what_fits() -> None:
    family = toy(4)
    assert transplant(family, RELU, RELU.workload(), {"width": 3}, {"width": 4, "style": "odd"}) == {
        "width": 4,
        "style": "odd",
    }
    assert transplant(family, RELU, RELU.workload(), {"width": 8, "style": "wild"}) == {
        "width": 1,
        "style": "plain",
    }


@pytest.mark.parametrize(("name", "family"), EVERY, ids=[f"{n}-{f.name}" for n, f in EVERY])
def test_the_conservative_schedule_of_every_family_is_its_defaults_at_the_published_size(
    name: str, family: Family
) -> None:
    task = tasks.get(name)
    plain = conservative_schedule(family, task, task.workload())
    assert family.complaint(task, task.workload(), plain) is None
    assert plain == {p.name: p.default for p in family.parameters}


@pytest.mark.parametrize(("name", "family"), EVERY, ids=[f"{n}-{f.name}" for n, f in EVERY])
def test_every_family_has_something_to_search_and_reaches_it_by_steps(name: str, family: Family) -> None:
    task, work = tasks.get(name), tasks.get(name).workload()
    every = [tuple(s.items()) for s in enumerate_schedules(family, task, work)]
    reached = {tuple(conservative_schedule(family, task, work).items())}
    frontier = list(reached)
    while frontier:
        here = frontier.pop()
        for near in neighbours(family, task, work, dict(here)):
            key = tuple(near.items())
            if key not in reached:
                reached.add(key)
                frontier.append(key)
    assert len(every) >= 3
    assert reached == set(every)


def test_matmul_schedules_keep_cuda_limits() -> None:
    blocked = families_of(GEMM)[3]
    for s in enumerate_schedules(blocked, GEMM, GEMM.workload()):
        number = {name: int(value) for name, value in s.items()}
        threads = number["tile_rows"] * number["tile_cols"] // (number["patch_rows"] * number["patch_cols"])
        assert 32 <= threads <= MAX_THREADS
        assert 4 * number["tile_inner"] * (number["tile_rows"] + number["tile_cols"]) <= MAX_SHARED_BYTES


def test_grids_keep_cuda_limits_at_large_sizes() -> None:
    flat = families_of(RELU)[5]
    large = RELU.workload(n=268_435_456)
    assert flat.complaint(RELU, large, {"block_x": 32, "block_y": 1, "width": 128}) == (
        "a grid of 2097152 blocks along y"
    )
    fitting = conservative_schedule(flat, RELU, large)
    assert flat.complaint(RELU, large, fitting) is None
    batched = tasks.get("batch_matmul")
    with pytest.raises(NoSchedule):
        conservative_schedule(families_of(batched)[1], batched, batched.workload(b=70_000))
