"""The exported program: built, run, counted and sanitised with a simulated CUDA toolkit."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.protocols import Verdict
from kshell import tasks, wiring
from kshell.engine.settings import Settings
from kshell.harness import nvrtc, sanitizers
from kshell.harness.cuda import CudaEvaluator, Timer
from kshell.harness.cuda_link import WorkerLink
from kshell.harness.exported import (
    ProgramFailure,
    ToolsMissing,
    build_program,
    counters,
    read_counters,
    run_program,
)
from kshell.harness.sanitizers import AgreementVerifier, SanitizerVerifier, disagreement
from kshell.tasks import reference
from semantics.task import Task, Workload
from tests.kshell.harness import fake_toolkit
from tests.kshell.harness.samples import RELU, candidate

TASK = tasks.get("relu")
SIZES = TASK.workload(n=1000)
X = np.linspace(-3, 4, 1000, dtype=np.float32)


@pytest.fixture(autouse=True)
def toolkit(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_toolkit.install(tmp_path_factory.mktemp("toolkit"), monkeypatch)


def marked(word: str) -> str:
    return f"// {word}\n{RELU}"


async def exact(_source: str, task: Task, workload: Workload, inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"y": np.maximum(inputs["x"], 0)}


async def test_a_program_is_built_with_what_ptxas_says_and_run(tmp_path: Path) -> None:
    built = await build_program(RELU, TASK, SIZES, tmp_path)
    assert built.kernels == ("relu",)
    assert built.report == {"registers": 12.0, "spill_bytes": 12.0, "shared_bytes": 512.0}
    line = (tmp_path / "program.cu").read_text().splitlines()[built.offset]
    assert line == RELU.splitlines()[0]
    outputs, times = await run_program(built, {"x": X}, repeats=3)
    assert np.array_equal(outputs["y"], np.maximum(X, 0))
    assert times == [0.5] * 3


async def test_what_nvcc_complains_about_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailure, match='error: identifier "z" is undefined'):
        await build_program(marked("does_not_build"), TASK, SIZES, tmp_path)


async def test_a_damaged_guard_is_a_failure(tmp_path: Path) -> None:
    built = await build_program(marked("damages_guard"), TASK, SIZES, tmp_path)
    with pytest.raises(ProgramFailure, match="a write outside y damaged its guard"):
        await run_program(built, {"x": X})


async def test_without_the_toolkit_the_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolsMissing, match="nvcc is not on PATH"):
        await build_program(RELU, TASK, SIZES, tmp_path)
    with pytest.raises(ToolsMissing, match="nvcc is not on PATH"):
        await SanitizerVerifier().attack(candidate(RELU, "relu"), TASK, SIZES)


async def test_counters_are_summed_over_the_candidates_launches_only(tmp_path: Path) -> None:
    built = await build_program(RELU, TASK, SIZES, tmp_path)
    found = await counters(built, {"x": X})
    assert found["ncu_launches"] == 2
    assert found["ncu_dram_bytes"] == 2 * 1024
    assert found["ncu_flops"] == 4 * 1024
    assert found["ncu_warps_active_pct"] == 512
    assert read_counters("==PROF== nothing", ("relu",)) == {}


async def test_counters_that_are_not_permitted_say_so(tmp_path: Path) -> None:
    built = await build_program(marked("no_counters"), TASK, SIZES, tmp_path)
    with pytest.raises(ProgramFailure, match="may not read the counters"):
        await counters(built, {"x": X})


async def sanitized(source: str) -> Verdict:
    return await SanitizerVerifier().attack(candidate(source, "relu"), TASK, SIZES)


async def test_the_sanitizer_names_the_candidates_line() -> None:
    found = (await sanitized(marked("reads_past_the_end"))).counterexample
    assert found is not None
    assert (found.fault, found.axes, found.points[0].line) == ("OUT OF BOUNDS", {"n": 1000}, 3)
    assert "memcheck" in found.message


async def test_shared_memory_is_checked_for_unwritten_words_where_the_tool_can() -> None:
    sanitizers._shared_initcheck.cache_clear()
    found = (await sanitized(marked("reads_unwritten_shared"))).counterexample
    assert found is not None and found.fault == "UNINITIALISED READ"


async def test_a_watched_program_is_not_optimised_and_its_outputs_are_not_filled(tmp_path: Path) -> None:
    await build_program(RELU, TASK, SIZES, tmp_path, watched=True)
    said = (tmp_path / "arguments").read_text().split()
    assert {"-G", "-DKSHELL_GUARD=0", "-DKSHELL_FILL=0"} <= set(said)
    await build_program(RELU, TASK, SIZES, tmp_path)
    assert not {"-G", "-DKSHELL_FILL=0"} & set((tmp_path / "arguments").read_text().split())


async def test_the_sanitizer_is_silent_on_an_honest_kernel_at_two_shapes() -> None:
    verdict = await sanitized(RELU)
    assert verdict.counterexample is None
    assert verdict.effort == "4 tools at {'n': 1000}, {'n': 1001}"


async def test_a_candidate_that_does_not_build_is_told() -> None:
    found = (await sanitized(marked("does_not_build"))).counterexample
    assert found is not None
    assert found.fault == "NOT COMPILED"


async def test_the_program_agrees_with_the_worker_to_the_bit() -> None:
    verifier = AgreementVerifier(exact)
    assert (await verifier.attack(candidate(RELU, "relu"), TASK, SIZES)).counterexample is None
    found = (await verifier.attack(candidate(marked("off_by_an_ulp"), "relu"), TASK, SIZES)).counterexample
    assert found is not None
    assert found.message.startswith("y[3] is ")
    assert "(1 of 1000 differ)" in found.message


def test_the_order_of_atomic_additions_may_show() -> None:
    program, worker = {"y": np.array([1.0000001], np.float32)}, {"y": np.array([1.0], np.float32)}
    assert disagreement(program, worker) is not None
    assert disagreement(program, worker, exact=False) is None
    assert "has 1 elements" in (disagreement(program, {"y": np.ones(2, np.float32)}) or "")


async def test_the_fastest_candidate_gets_its_counters(tmp_path: Path) -> None:
    fake = Path(__file__).with_name("fake_worker.py")
    link = WorkerLink("0", (sys.executable, str(fake), str(tmp_path / "log")))
    device = CudaEvaluator(reference.compute, links=[link], timer=Timer(samples=20, counters=True))
    kernel = candidate(RELU, "relu")
    sizes = TASK.workload(n=5000)
    profile = await device.profile(kernel, TASK, sizes, await device.compile(kernel, TASK, sizes))
    assert profile.counters["ncu_dram_bytes"] == 2 * 1024
    assert profile.source_of_counters.startswith("ncu_*: hardware counters")
    await device.close()


def test_a_session_on_a_gpu_host_has_every_verifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))
    device = CudaEvaluator(reference.compute)
    names = [v.name for v in wiring.verifiers(device)]
    assert names[1] == "falsifier and shadow memory (cpu) and exported program and compute-sanitizer"
    on_cpu = wiring.verifiers(wiring.evaluator(Settings(device="cpu")))
    assert [v.name for v in on_cpu][1] == "falsifier and shadow memory (cpu)"


# ---------------------------------------------------------------- NVRTC, where its wheel is installed


TEMPLATE = """
template <int N> __global__ void k(float* a) {
    __shared__ float s[N];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[0] = s[N - 1];
}
"""


def test_nvrtc_compiles_without_a_gpu_or_says_what_to_install() -> None:
    try:
        compiler = nvrtc.find()
    except nvrtc.NoCompiler as missing:
        assert "pip install nvidia-cuda-nvrtc" in str(missing)
        return
    built = compiler.compile(TEMPLATE, ["k<128>"])
    assert built.cubin[:4] == b"\x7fELF"
    assert "k" in built.lowered["k<128>"]
    assert nvrtc.ptxas_report(built.log)["shared_bytes"] == 512
    with pytest.raises(nvrtc.CompileFailure, match=r'kernel.cu\(1\): error: identifier "b" is undefined'):
        compiler.compile("__global__ void k(float* a) { a[0] = b; }", ["k"])
    assert float(compiler.version()) >= 12
