"""The families on device `cpu`: built by the C++ compiler, judged on hidden inputs, and searched."""

import asyncio
import hashlib
import random
from pathlib import Path

import pytest

from agents.builtin import BuiltinGenerator
from insights_db.records import Candidate
from kshell import tasks
from kshell.bench.kernels import Trial
from kshell.harness.cpu import CpuEvaluator
from kshell.tasks import reference
from scaffolds.families import families_of
from scaffolds.families.space import random_schedule
from tests.scaffolds.sizes import RAGGED, small

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> CpuEvaluator:
    cache: Path = tmp_path_factory.mktemp("builds")
    return CpuEvaluator(reference.compute, cache)


@pytest.mark.parametrize("name", tasks.names())
def test_two_families_of_every_task_are_valid_on_the_device(name: str, evaluator: CpuEvaluator) -> None:
    task, rng = tasks.get(name), random.Random(f"{name}/cpu")
    work = small(task, RAGGED)

    async def check() -> None:
        for family in rng.sample(families_of(task), 2):
            schedule = random_schedule(family, task, task.workload(), rng)
            source = family.source(task, task.workload(), schedule)
            candidate = Candidate(
                id=hashlib.sha256(source.encode()).hexdigest()[:12],
                source=source,
                task=name,
                round=1,
                index=0,
                proposer="test",
            )
            compiled = await evaluator.compile(candidate, task, work)
            assert compiled.ok, compiled.diagnostics
            valid = await evaluator.validate(candidate, task, work, compiled)
            assert valid.ok, f"{family.name} {schedule}: {valid.reason}"

    asyncio.run(check())


def test_the_search_finds_a_faster_kernel_than_the_plain_one(evaluator: CpuEvaluator) -> None:
    task = tasks.get("gemv")
    trial = Trial(task, task.workload(M=64, N=1024), evaluator)
    asyncio.run(trial.search("builtin", BuiltinGenerator(), 4, 4, 0))
    (outcome,) = trial.outcomes()
    assert outcome.failures == 0
    assert outcome.speedup is not None
    assert outcome.speedup > 1.3
    assert outcome.best_ms is not None
    assert outcome.first_ms is not None
    assert outcome.best_ms <= outcome.first_ms
