"""The interpreter and the compiled program of the `cpu` device agree: on every corpus kernel, and on
kernels generated at random."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from kshell.harness.build import build
from kshell.harness.runs import RunRequest, execute
from kshell.harness.toolchain import find
from scaffolds.program import cpu_program
from semantics.interp import run
from semantics.program import load
from semantics.task import Task
from tests.semantics.corpus_tasks import inputs_of, kernels, task_of
from tests.semantics.random_kernels import TASK, inputs_of_seed, random_kernel


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("builds")


def both(
    source: str, task: Task, inputs: dict[str, np.ndarray], folder: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of the interpreter in float32 and of the compiled program, concatenated."""
    program = load(source)
    plan = program.plan(task, task.workload())
    interpreted = run(plan, inputs, precision="float32")
    assert interpreted.faults == ()

    async def compiled() -> dict[str, np.ndarray]:
        built = await build(find(), cpu_program(program.module), folder)
        assert built.ok, built.diagnostics
        arrays = {name: np.asarray(a, np.float32) for name, a in inputs.items()}
        done = await execute(RunRequest(Path(built.artifact), task, plan, [arrays]))
        assert done.failure == ""
        return done.outputs[0]

    outputs = asyncio.run(compiled())
    names = [t.name for t in task.outputs]
    return (
        np.concatenate([interpreted.outputs[n] for n in names]),
        np.concatenate([outputs[n].ravel() for n in names]),
    )


@pytest.mark.parametrize("path", kernels(), ids=lambda p: p.stem)
def test_corpus_kernel_gives_the_same_on_both(path: Path, builds: Path) -> None:
    task = task_of(path)
    mine, theirs = both(path.read_text(), task, inputs_of(task), builds)
    np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("seed", range(14))
def test_random_kernel_gives_the_same_on_both(seed: int, builds: Path) -> None:
    mine, theirs = both(random_kernel(seed, more=seed >= 4), TASK, inputs_of_seed(seed), builds)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    assert len(set(mine.tolist())) > 1
