"""Device cpu end to end: honest kernels pass, broken ones are named, nothing is left behind."""

import asyncio
import time
from pathlib import Path

import pytest

from insights_db.records import CompileResult, ProfileResult, ValidationResult
from kshell import tasks
from kshell.harness.cpu import CpuEvaluator
from kshell.tasks import reference
from tests.kshell.harness.samples import RELU, SOFTMAX, candidate, changed

RELU_TASK = tasks.get("relu")
SOFTMAX_TASK = tasks.get("softmax")


async def validated(evaluator: CpuEvaluator, source: str, name: str, **axes: int) -> ValidationResult:
    task = tasks.get(name)
    workload = task.workload(**axes)
    compiled = await evaluator.compile(candidate(source, name), task, workload)
    assert compiled.ok, compiled.diagnostics
    return await evaluator.validate(candidate(source, name), task, workload, compiled)


@pytest.mark.parametrize(("source", "name"), [(RELU, "relu"), (SOFTMAX, "softmax")], ids=["relu", "softmax"])
async def test_an_honest_kernel_is_built_validated_and_timed(
    evaluator: CpuEvaluator, source: str, name: str
) -> None:
    task = tasks.get(name)
    workload = task.workload()
    kernel = candidate(source, name)
    compiled = await evaluator.compile(kernel, task, workload)
    assert compiled.ok, compiled.diagnostics
    assert Path(compiled.artifact).is_file()
    result = await evaluator.validate(kernel, task, workload, compiled)
    assert result.ok, result.reason
    kinds = {c.name.split(",")[0] for c in result.cases}
    assert kinds >= {"task shape", "ragged +1", "ragged -3", "hidden", "thread order"}
    profile = await evaluator.profile(kernel, task, workload, compiled)
    assert profile.ok, profile.reason
    assert profile.device == "cpu"
    assert profile.samples > 10
    assert profile.speedup == pytest.approx(profile.baseline_ms / profile.median_ms)
    assert "plain kernel" in profile.baseline


async def test_the_calling_convention_is_kept_with_the_build(evaluator: CpuEvaluator) -> None:
    compiled = await evaluator.compile(candidate(RELU, "relu"), RELU_TASK, RELU_TASK.workload())
    assert "PROGRAM --plan FILE" in Path(compiled.artifact).with_name("build.log").read_text()


async def test_a_second_compile_comes_from_the_cache(evaluator: CpuEvaluator) -> None:
    kernel = candidate(RELU, "relu")
    first = await evaluator.compile(kernel, RELU_TASK, RELU_TASK.workload())
    made = Path(first.artifact).stat().st_mtime_ns
    second = await evaluator.compile(kernel, RELU_TASK, RELU_TASK.workload())
    assert second.artifact == first.artifact
    assert Path(second.artifact).stat().st_mtime_ns == made


async def test_a_missing_artifact_is_built_again(evaluator: CpuEvaluator) -> None:
    kernel = candidate(RELU, "relu")
    lost = CompileResult(ok=True, artifact="/nonexistent/candidate")
    result = await evaluator.validate(kernel, RELU_TASK, RELU_TASK.workload(), lost)
    assert result.ok, result.reason


async def test_a_refusal_is_a_failed_compile_with_a_caret(evaluator: CpuEvaluator) -> None:
    source = changed(RELU, "fmaxf(x[i], 0.0f)", "launder(x[i])")
    result = await evaluator.compile(candidate(source, "relu"), RELU_TASK, RELU_TASK.workload())
    assert not result.ok
    assert ":3:" in result.diagnostics
    assert "^" in result.diagnostics


async def test_a_launcher_that_does_not_fit_the_task_is_a_failed_compile(evaluator: CpuEvaluator) -> None:
    source = RELU.replace("int n", "int m").replace("(n +", "(m +").replace("y, n)", "y, m)")
    source = source.replace("i < n", "i < m")
    result = await evaluator.compile(candidate(source, "relu"), RELU_TASK, RELU_TASK.workload())
    assert not result.ok
    assert "m" in result.diagnostics


BROKEN = {
    "guard off by one": (RELU, "i < n", "i <= n", "relu", "OUT OF BOUNDS"),
    "wrong operator": (RELU, "fmaxf", "fminf", "relu", "WRONG VALUE"),
    "one block missing": (RELU, "(n + threads - 1) / threads", "n / threads", "relu", "WRONG VALUE"),
    "lanes missing from the mask": (SOFTMAX, "BLOCK 256", "BLOCK 200", "softmax", "BAD MASK"),
    "read far away": (RELU, "y[i] = fmaxf(x[i]", "y[i] = fmaxf(x[i + 100000]", "relu", "OUT OF BOUNDS"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_kernel_is_refused_by_name(evaluator: CpuEvaluator, name: str) -> None:
    source, old, new, task, fault = BROKEN[name]
    result = await validated(evaluator, changed(source, old, new), task)
    assert not result.ok
    assert result.counterexample is not None
    assert result.counterexample.fault == fault, result.reason
    assert result.counterexample.axes


async def test_a_barrier_that_threads_miss_is_named_with_its_line(evaluator: CpuEvaluator) -> None:
    source = changed(SOFTMAX, "if (tid < o) s[tid]", "if (tid >= o) return;\n        s[tid]")
    result = await validated(evaluator, source, "softmax")
    assert result.counterexample is not None
    assert result.counterexample.fault == "DIVERGENT BARRIER"
    assert "128 of 256 threads" in result.reason
    assert result.counterexample.points[0].line == 17


async def test_a_missing_barrier_shows_in_the_order_of_threads(evaluator: CpuEvaluator) -> None:
    source = changed(SOFTMAX, "    m = s[0];\n    __syncthreads();\n", "    m = s[0];\n")
    result = await validated(evaluator, source, "softmax")
    assert result.counterexample is not None
    assert result.counterexample.fault in ("RACE", "WRONG VALUE")


async def test_wrong_only_at_ragged_sizes_is_found(evaluator: CpuEvaluator) -> None:
    source = changed(RELU, "(n + threads - 1) / threads", "n / threads")
    result = await validated(evaluator, source, "relu")
    assert result.reason.startswith("ragged +1")
    assert [c.ok for c in result.cases][-1] is False


async def test_an_endless_kernel_is_stopped(evaluator: CpuEvaluator) -> None:
    source = changed(RELU, "    if (i < n)", "    while (i >= 0) { i = i * 1; }\n    if (i < n)")
    started = time.perf_counter()
    result = await validated(evaluator, source, "relu")
    assert not result.ok
    assert "did not end within" in result.reason
    assert time.perf_counter() - started < 15


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.2, 1.0])
async def test_an_evaluation_can_be_cancelled_at_any_moment(evaluator: CpuEvaluator, delay: float) -> None:
    source = changed(
        RELU, "    if (i < n)", f"    while (i >= 0) {{ i = i * {int(delay * 100) + 1}; }}\n    if (i < n)"
    )
    running = asyncio.create_task(validated(evaluator, source, "relu"))
    await asyncio.sleep(delay)
    started = time.perf_counter()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.perf_counter() - started < 1


async def test_many_evaluations_leave_no_descriptors_files_or_processes(
    build_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    evaluator = CpuEvaluator(reference.compute, build_cache)
    task = tasks.get("relu")
    workload = task.workload(n=500)
    kernel = candidate(RELU, "relu")
    compiled = await evaluator.compile(kernel, task, workload)
    await evaluator.validate(kernel, task, workload, compiled)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        result = await evaluator.validate(kernel, task, workload, compiled)
        assert result.ok, result.reason
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
    assert list(tmp_path.iterdir()) == []


async def test_fresh_inputs_for_every_check(evaluator: CpuEvaluator) -> None:
    seeds = {evaluator._maker.fresh_seed(RELU_TASK, RELU_TASK.workload()) for _ in range(50)}
    assert len(seeds) == 50


async def test_a_task_whose_reference_fails_is_told_from_a_wrong_kernel(build_cache: Path) -> None:
    def failing(*_: object) -> dict[str, object]:
        raise RuntimeError("no such operator")

    evaluator = CpuEvaluator(failing, build_cache)  # type: ignore[arg-type]
    result = await validated(evaluator, RELU, "relu")
    assert result.reason == "the reference of task relu fails: no such operator"


async def test_a_kernel_that_turns_wrong_while_timed_gets_no_time(evaluator: CpuEvaluator) -> None:
    source = changed(RELU, "fmaxf(x[i], 0.0f)", "x[i]")
    workload = RELU_TASK.workload()
    kernel = candidate(source, "relu")
    compiled = await evaluator.compile(kernel, RELU_TASK, workload)
    result = await evaluator.profile(kernel, RELU_TASK, workload, compiled)
    assert isinstance(result, ProfileResult)
    assert not result.ok
    assert "the timed outputs are wrong" in result.reason
    assert result.speedup == 0
