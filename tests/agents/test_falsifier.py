"""The falsifier finds small counterexamples quickly and leaves right kernels alone."""

import asyncio
import hashlib
import time
from collections.abc import Mapping

import numpy as np
import pytest

from agents.falsifier import WRONG_VALUE, Array, Arrays, Attack, Falsifier
from agents.sizes import small_workloads, smaller
from insights_db.records import Candidate
from semantics.program import load
from semantics.task import Roofline, Task, Tensor, Workload

ROW_SUM = Task(
    name="row_sum",
    title="Sum of each row",
    family="row_reduction",
    axes={"rows": 4, "n": 1000},
    inputs=(Tensor(name="x", shape=("rows", "n"), distributions=("very_negative", "large")),),
    outputs=(Tensor(name="y", shape=("rows",)),),
    reference="",
    roofline=Roofline(flops="rows*n", bytes="4*rows*n"),
)


def oracle(task: Task, workload: Workload, arrays: Mapping[str, Array]) -> Arrays:
    return {"y": arrays["x"].astype(np.float64).sum(axis=-1)}


def row_max(task: Task, workload: Workload, arrays: Mapping[str, Array]) -> Arrays:
    return {"y": arrays["x"].astype(np.float64).max(axis=-1)}


THREAD = """
__global__ void row_sum(const float* x, float* y, int n) {{
    float sum = {start};
    for (int i = 0; i < n; i++) sum = {combine};
    y[blockIdx.x] = sum;
}}
void launch(const float* x, float* y, int rows, int n) {{ row_sum<<<rows, 1>>>(x, y, n); }}
"""
RIGHT = THREAD.format(start="0.0f", combine="sum + x[blockIdx.x * n + i]")
MAX = THREAD.format(start="0.0f", combine="fmaxf(sum, x[blockIdx.x * n + i])")


def attack(source: str, task: Task = ROW_SUM, reference: object = oracle, **axes: int) -> Attack:
    return Attack(load(source), source, task, task.workload(**axes), reference, seconds=60.0)  # type: ignore[arg-type]


def test_a_right_kernel_gives_no_counterexample() -> None:
    tried = attack(RIGHT)
    assert tried.search() is None
    assert tried.effort.launches > 20
    assert tried.effort.sizes > 10


def test_a_kernel_wrong_only_past_a_size_is_shrunk_to_it() -> None:
    source = RIGHT.replace("i < n;", "i < min(n, 77);")
    finding = attack(source).search()
    assert finding is not None
    found = finding.counterexample
    assert (found.fault, found.axes, found.output, found.index) == (WRONG_VALUE, {"rows": 1, "n": 78}, "y", 0)
    assert found.expected is not None
    assert found.got is not None


def test_a_maximum_that_starts_at_zero_is_found() -> None:
    finding = attack(MAX, reference=row_max).search()
    assert finding is not None
    assert finding.counterexample.fault == WRONG_VALUE
    assert finding.counterexample.got == 0.0


def test_overflow_in_float32_only_is_found() -> None:
    """exp(3x) / exp(3x) of x near 30: 1 over the reals, not a number in float32."""
    power = "expf(3.0f * x[blockIdx.x * n + i])"
    source = THREAD.format(start="0.0f", combine=f"sum + {power} / {power}")

    def count(task: Task, workload: Workload, arrays: Mapping[str, Array]) -> Arrays:
        return {"y": np.full(workload.axes["rows"], float(workload.axes["n"]))}

    task = ROW_SUM.model_copy(update={"inputs": (Tensor(name="x", shape=("rows", "n")),)})
    finding = attack(source, task, count).search()
    assert finding is not None
    assert finding.counterexample.inputs.endswith(", in float32")
    assert finding.counterexample.fault == WRONG_VALUE


def test_an_output_never_stored_is_found() -> None:
    source = RIGHT.replace("y[blockIdx.x] = sum;", "if (blockIdx.x != 2) y[blockIdx.x] = sum;")
    finding = attack(source).search()
    assert finding is not None
    assert finding.counterexample.message == "`y[2]` is never stored"
    assert finding.counterexample.axes["rows"] == 3


def test_an_overflow_at_the_real_size_only_is_found_with_its_threshold() -> None:
    source = RIGHT.replace("i < n;", "i < min(n, 4);").replace("blockIdx.x * n", "(int)blockIdx.x * n")
    task = ROW_SUM.model_copy(update={"axes": {"rows": 70000, "n": 32768}})

    def four(task: Task, workload: Workload, arrays: Mapping[str, Array]) -> Arrays:
        return {"y": arrays["x"][:, :4].astype(np.float64).sum(axis=-1)}

    finding = attack(source, task, four).search()
    assert finding is not None
    found = finding.counterexample
    assert (found.fault, found.points[0].line) == ("INT OVERFLOW", 4)
    assert found.axes == {"rows": 65537, "n": 32768}


def test_a_slow_kernel_is_not_called_endless() -> None:
    source = RIGHT.replace(
        "sum = sum + x[blockIdx.x * n + i];",
        "for (int k = 0; k < 40; k++) { if (k == 7) sum = sum + x[blockIdx.x * n + i]; }",
    )
    tried = attack(source)
    tried.seconds = 3.0
    assert tried.search() is None
    assert tried.effort.steps > 10_000


@pytest.mark.parametrize(
    "source", [RIGHT, RIGHT.replace("float sum = 0.0f;", "float sum;")], ids=["right", "uninitialised"]
)
async def test_attack_answers_the_protocol(source: str) -> None:
    candidate = Candidate(
        id=hashlib.sha256(source.encode()).hexdigest()[:12],
        source=source,
        task="row_sum",
        round=1,
        index=0,
        proposer="test",
    )
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    verdict = await Falsifier(oracle, seconds=1.0).attack(candidate, ROW_SUM, ROW_SUM.workload())
    heart.cancel()
    assert verdict.verifier == "falsifier"
    if source is RIGHT:
        assert verdict.counterexample is None
        assert "runs at" in verdict.effort
        assert beats > 5
    else:
        assert verdict.counterexample is not None
        assert verdict.counterexample.fault == "UNINITIALISED READ"


async def test_cancelling_an_attack_stops_its_thread() -> None:
    falsifier = Falsifier(oracle, seconds=30.0)
    candidate = Candidate(id="0" * 12, source=RIGHT, task="row_sum", round=1, index=0, proposer="test")
    work = asyncio.create_task(falsifier.attack(candidate, ROW_SUM, ROW_SUM.workload()))
    await asyncio.sleep(0.1)
    work.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert time.monotonic() - started < 1.0


def test_small_workloads_are_small_ragged_and_distinct() -> None:
    sizes = list(small_workloads(ROW_SUM, ROW_SUM.workload(), 100_000))
    values = [tuple(w.axes.values()) for w in sizes]
    assert len(set(values)) == len(values)
    assert {n for _, n in values} >= {1, 33, 100, 257, 1000}
    assert all(rows * n <= 100_000 for rows, n in values)


def test_constraints_of_a_task_hold_at_every_small_size() -> None:
    task = ROW_SUM.model_copy(update={"constraints": ("n % 4 == 0",)})
    sizes = [w.axes["n"] for w in small_workloads(task, task.workload(), 100_000)]
    assert sizes
    assert all(n % 4 == 0 for n in sizes)


def test_smaller_reduces_one_axis() -> None:
    reduced = [w.axes for w in smaller(ROW_SUM.workload(rows=2, n=5))]
    assert {"rows": 1, "n": 5} in reduced
    assert {"rows": 2, "n": 4} in reduced
    assert all(sum(axes.values()) < 7 for axes in reduced)
