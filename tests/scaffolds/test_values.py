"""What the families compute, by the interpreter of the language: right values and no fault, at even and
at ragged sizes. The interpreter also finds races, uninitialised reads and overflow."""

import random
from functools import cache

import numpy as np
import pytest

from agents.rewrite import variants
from kshell import tasks
from kshell.tasks import reference
from scaffolds.families import Family, families_of
from scaffolds.families.space import conservative_schedule, random_schedule
from semantics.interp import run
from semantics.program import load
from semantics.task import Workload
from tests.scaffolds.sizes import EVEN, RAGGED, small

EVERY = [(name, family) for name in tasks.names() for family in families_of(tasks.get(name))]
IDS = [f"{n}-{f.name}" for n, f in EVERY]
Arrays = dict[str, np.ndarray]


@cache
def _case(name: str, workload_json: str) -> tuple[Arrays, Arrays]:
    """Inputs, N(5, 10), and the reference's outputs."""
    task, work = tasks.get(name), Workload.model_validate_json(workload_json)
    rng = np.random.default_rng(7)
    shapes = task.shapes(work)
    arrays = {t.name: rng.normal(5, 10, shapes[t.name]).astype(np.float32) for t in task.inputs}
    return arrays, reference.compute(task, work, arrays)


def check(name: str, source: str, work: Workload) -> None:
    """The source gives the reference's outputs at `work` and meets no fault."""
    task = tasks.get(name)
    arrays, expected = _case(name, work.model_dump_json())
    result = run(load(source).plan(task, work), dict(arrays))
    assert not result.faults, (str(result.faults[0]), source)
    for output, wanted in expected.items():
        got = np.asarray(result.outputs[output], dtype=np.float64).reshape(wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5, err_msg=source)


@pytest.mark.parametrize(("name", "family"), EVERY, ids=IDS)
def test_the_conservative_schedule_is_right(name: str, family: Family) -> None:
    task = tasks.get(name)
    source = family.source(task, task.workload(), conservative_schedule(family, task, task.workload()))
    for sizes in (EVEN, RAGGED):
        check(name, source, small(task, sizes))


@pytest.mark.parametrize(("name", "family"), EVERY, ids=IDS)
def test_random_schedules_are_right_at_ragged_sizes(name: str, family: Family) -> None:
    task, rng = tasks.get(name), random.Random(f"{name}/{family.name}/values")
    for _ in range(2):
        schedule = random_schedule(family, task, task.workload(), rng)
        check(name, family.source(task, task.workload(), schedule), small(task, RAGGED))


@pytest.mark.parametrize("name", ["softmax", "layernorm", "gemm", "conv2d"])
def test_rewrites_keep_the_values(name: str) -> None:
    task, rng = tasks.get(name), random.Random(name)
    for family in families_of(task):
        schedule = conservative_schedule(family, task, task.workload())
        found = variants(family.source(task, task.workload(), schedule))
        for variant in rng.sample(found, min(3, len(found))):
            check(name, variant.source, small(task, RAGGED))
