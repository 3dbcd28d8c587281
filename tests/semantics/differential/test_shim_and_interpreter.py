"""The interpreter and the compiled program of the `cpu` device agree: on every corpus kernel, and on
kernels generated at random."""

import asyncio
import random
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
from tests.semantics.corpus_tasks import inputs_of, kernels, make_task, task_of


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


TASK = make_task("random", {"n": 100}, {"x": ("n",)}, {"y": ("n",)})


def random_kernel(seed: int) -> str:
    """A race-free kernel: phases that read any slot of a shared array and, past a barrier, write the
    own slot; between them integer and real arithmetic, conditionals, loops, shuffles."""
    rng = random.Random(seed)
    lines = []

    def index() -> str:
        k = rng.randint(1, 63)
        return rng.choice([f"(t + {k}) % 64", f"(t ^ {k})", "63 - t", f"(t * {k} + 3) % 64", f"{k}"])

    def value(depth: int = 2) -> str:
        if depth == 0:
            return rng.choice(["v", "w", f"{rng.randint(-9, 9)}.5f", "(float)(t % 7)", "(float)k"])
        a, b = value(depth - 1), value(depth - 1)
        return rng.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"(0.25f * {a})",
                f"fmaxf({a}, {b})",
                f"fminf({a}, {b})",
                f"(t % {rng.randint(2, 5)} == 0 ? {a} : {b})",
                f"({a} < {b} ? {a} : {b})",
            ]
        )

    for _ in range(rng.randint(3, 7)):
        match rng.randint(0, 4):
            case 0:
                lines += [f"w = s[{index()}];", "__syncthreads();", f"s[t] = {value()};", "__syncthreads();"]
            case 1:
                lines.append(f"for (int j = 0; j < {rng.randint(1, 4)}; j++) v = 0.5f * v + {value(1)};")
            case 2:
                kind = rng.choice(["__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync"])
                lines.append(f"v = {kind}(0xffffffff, v, {rng.choice([1, 2, 8, 16])});")
            case 3:
                lines.append(f"if (t < {rng.randint(1, 63)}) {{ v = {value()}; k = k * 3 + 1; }}")
            case _:
                lines.append(f"k = (k + t) % {rng.randint(3, 50)} - {rng.randint(0, 5)};")
    body = "\n    ".join(lines)
    return f"""
__global__ void mix(const float* x, float* y, int n) {{
    __shared__ float s[64];
    int t = threadIdx.x;
    int i = blockIdx.x * 64 + t;
    int k = t / 3;
    float v = 0.0f;
    if (i < n) v = x[i];
    float w = v;
    s[t] = v;
    __syncthreads();
    {body}
    if (i < n) y[i] = v + w + s[t] + (float)k;
}}
void launch(const float* x, float* y, int n) {{ mix<<<(n + 63) / 64, 64>>>(x, y, n); }}
"""


@pytest.mark.parametrize("seed", range(12))
def test_random_kernel_gives_the_same_on_both(seed: int, builds: Path) -> None:
    x = np.random.default_rng(seed).integers(-40, 40, 100).astype(np.float32) / 8
    mine, theirs = both(random_kernel(seed), TASK, {"x": x}, builds)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    assert len(set(mine.tolist())) > 1
