"""Device cuda against simulated GPUs: stages, faults of the device, several GPUs, counters."""

import asyncio
import errno
import itertools
import math
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from insights_db.records import ProfileResult, ValidationResult
from kshell import tasks
from kshell.harness import cuda, cuda_pool
from kshell.harness.cuda import CudaEvaluator, Timer, measured, paired
from kshell.harness.cuda_link import LostGpu, WorkerLink
from kshell.harness.cuda_pool import Pool, visible_gpus
from kshell.harness.occupancy import Multiprocessor, occupancy, resident_blocks
from kshell.harness.vendor import vendor_call
from kshell.tasks import reference
from tests.kshell.harness.samples import RELU, candidate

TASK = tasks.get("relu")
SIZES = TASK.workload(n=5000)
FAKE = Path(__file__).with_name("fake_worker.py")


def links(folder: Path, *gpus: str) -> list[WorkerLink]:
    return [WorkerLink(gpu, (sys.executable, str(FAKE), str(folder / "log"))) for gpu in gpus]


def log(folder: Path) -> list[list[str]]:
    """Requests so far: GPU, process, request, kernel, when."""
    return [line.split(" ") for line in (folder / "log").read_text().splitlines()]


@pytest.fixture
async def device(tmp_path: Path) -> AsyncIterator[CudaEvaluator]:
    made = CudaEvaluator(reference.compute, links=links(tmp_path, "0"), timer=Timer(samples=20))
    yield made
    await made.close()


def named(name: str) -> str:
    return RELU.replace("relu", name)


async def validated(device: CudaEvaluator, name: str = "relu") -> ValidationResult:
    kernel = candidate(named(name), "relu")
    compiled = await device.compile(kernel, TASK, SIZES)
    assert compiled.ok, compiled.diagnostics
    return await device.validate(kernel, TASK, SIZES, compiled)


async def profiled(device: CudaEvaluator, name: str = "relu", **sizes: int) -> ProfileResult:
    kernel = candidate(named(name), "relu")
    workload = TASK.workload(**sizes) if sizes else SIZES
    return await device.profile(kernel, TASK, workload, await device.compile(kernel, TASK, workload))


async def test_an_honest_kernel_passes_every_stage(device: CudaEvaluator) -> None:
    assert (await validated(device)).ok
    profile = await profiled(device)
    assert profile.ok, profile.reason
    assert (profile.device, profile.baseline, profile.samples) == ("Fake GPU 0", "torch eager", 20)
    assert profile.speedup == pytest.approx(profile.baseline_ms / profile.median_ms)
    assert 0 < profile.roofline < 1
    assert profile.counters["fp16_tensor_flop_per_s"] == 7e14
    assert profile.counters["sm_mhz_after"] == 1980.0
    assert "counted" in profile.source_of_counters


async def test_the_report_has_registers_and_occupancy(device: CudaEvaluator) -> None:
    compiled = await device.compile(candidate(RELU, "relu"), TASK, SIZES)
    assert compiled.report["registers"] == 32
    assert compiled.report["occupancy"] == 1.0


@pytest.mark.parametrize(
    ("kernel", "fault"),
    [("crash_relu", "OUT OF BOUNDS"), ("flaky_relu", "RACE")],
)
async def test_what_the_device_reports_is_a_counterexample(
    device: CudaEvaluator, kernel: str, fault: str
) -> None:
    result = await validated(device, kernel)
    assert result.counterexample is not None
    assert result.counterexample.fault == fault
    assert (await validated(device)).ok, "the session goes on"


@pytest.mark.parametrize(
    ("kernel", "reason"), [("die_relu", "the GPU worker died"), ("poke_relu", "damaged its guard")]
)
async def test_a_kernel_that_kills_its_worker_fails_alone(
    device: CudaEvaluator, kernel: str, reason: str
) -> None:
    result = await validated(device, kernel)
    assert not result.ok
    assert reason in result.reason
    assert (await validated(device)).ok


async def test_a_hung_kernel_is_killed_and_named(
    device: CudaEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    await validated(device)
    monkeypatch.setattr(cuda, "RUN_LIMIT_S", 1.0)
    result = await validated(device, "hang_relu")
    assert result.counterexample is not None
    assert result.counterexample.fault == "NON-TERMINATION"
    monkeypatch.undo()
    assert (await validated(device)).ok


async def test_what_a_dead_worker_started_is_ended_with_it(
    device: CudaEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    await validated(device)
    monkeypatch.setattr(cuda, "RUN_LIMIT_S", 1.0)
    async with asyncio.timeout(60):
        result = await validated(device, "orphan_relu")
        assert not result.ok and result.reason
        assert (await validated(device)).ok


async def test_a_device_that_turns_faulty_while_timing_gives_no_time(device: CudaEvaluator) -> None:
    profile = await profiled(device, "crash_relu")
    assert not profile.ok
    assert "illegal memory access" in profile.reason


async def test_a_lost_gpu_fails_the_candidate_with_the_reason(tmp_path: Path) -> None:
    device = CudaEvaluator(reference.compute, links=links(tmp_path, "lost"))
    compiled = await device.compile(candidate(RELU, "relu"), TASK, SIZES)
    assert compiled.diagnostics.startswith("no usable GPU: cudaErrorNoDevice")
    result = await device.validate(candidate(RELU, "relu"), TASK, SIZES, compiled)
    assert "no usable GPU" in result.reason
    assert device.lanes == 1, "the only GPU is asked again next time"
    await device.close()


async def test_another_gpu_takes_over_from_a_lost_one(tmp_path: Path) -> None:
    device = CudaEvaluator(reference.compute, links=links(tmp_path, "lost", "1"))
    assert (await validated(device)).ok
    assert device.lanes == 1
    assert device.facts["name"] == "Fake GPU 1"
    await device.close()


async def test_a_gpu_that_falls_off_the_bus_fails_one_candidate_only(tmp_path: Path) -> None:
    device = CudaEvaluator(reference.compute, links=links(tmp_path, "leaving", "1"))
    first = await validated(device)
    assert "XID 79" in first.reason
    assert (await validated(device)).ok
    await device.close()


async def test_every_gpu_is_used_and_each_by_one_candidate_at_a_time(tmp_path: Path) -> None:
    device = CudaEvaluator(reference.compute, links=links(tmp_path, "0", "1"), timer=Timer(samples=20))
    assert device.lanes == 2
    names = [f"relu{k}" for k in range(6)]
    results = await asyncio.gather(*(validated(device, name) for name in names))
    assert all(r.ok for r in results)
    seen = log(tmp_path)
    assert {row[0] for row in seen} == {"0", "1"}
    assert len({row[1] for row in seen}) == 2, "one process a GPU"
    for gpu in "01":
        mine = [row for row in seen if row[0] == gpu]
        # The log has the kernel loaded before the request: runs follow their own load.
        for before, after in itertools.pairwise(mine):
            if after[2] == "run":
                assert before[2] in ("load", "run")
    await device.close()


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.3, 0.8])
async def test_cancelling_at_any_moment_takes_less_than_a_second(tmp_path: Path, delay: float) -> None:
    device = CudaEvaluator(reference.compute, links=links(tmp_path, "0"))
    running = asyncio.create_task(validated(device, "hang_relu"))
    await asyncio.sleep(delay)
    started = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - started < 1
    assert (await validated(device)).ok, "its GPU is free again"
    await device.close()


async def test_a_full_disk_fails_the_candidate_with_what_to_do(
    device: CudaEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/0-x.npy")

    monkeypatch.setattr(np, "save", full)
    result = await validated(device)
    assert result.reason == (
        "/tmp/0-x.npy: No space left on device; free some space, or set TMPDIR to a folder on another disk"
    )
    assert "No space left" in (await profiled(device)).reason

    def short(*_: object) -> None:
        raise OSError("Not enough free space to write 16777216 bytes after offset 128")

    monkeypatch.setattr(np, "save", short)
    assert (await validated(device)).reason.endswith("set TMPDIR to a folder on another disk")
    monkeypatch.undo()
    assert (await validated(device)).ok


async def test_outputs_of_a_run_come_back(device: CudaEvaluator) -> None:
    x = np.linspace(-1, 1, 5000, dtype=np.float32)
    found = await device.outputs(RELU, TASK, SIZES, {"x": x})
    assert np.array_equal(found["y"], np.maximum(x, 0))


async def test_no_work_cannot_be_timed(device: CudaEvaluator) -> None:
    profile = await profiled(device, n=1)
    assert not profile.ok
    assert "too short to be timed" in profile.reason


async def test_missing_counters_are_said_once_for_the_fastest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    device = CudaEvaluator(reference.compute, links=links(tmp_path, "0"), timer=Timer(counters=True))
    first, slower = await profiled(device), await profiled(device, "slow_relu")
    assert "no hardware counters: nvcc is not on PATH" in first.source_of_counters
    assert "no hardware counters" not in slower.source_of_counters
    await device.close()


# ---------------------------------------------------------------- the arithmetic of a measurement


CEILINGS = {"copy_bytes_per_s": 4e12, "fp32_flop_per_s": 5e13}


def result_of(own: list[float], eager: list[float], launch: float = 0.003, n: int = 1 << 26) -> ProfileResult:
    answer: dict[str, Any] = {"samples": {"candidate": own, "eager": eager}, "launch_ms": launch}
    return measured(TASK, TASK.workload(n=n), answer, CEILINGS, {"name": "G", "l2_bytes": 1 << 26})


def test_a_time_above_the_roofline_is_refused() -> None:
    refused = result_of([0.01] * 30, [0.2] * 30)
    assert "above the roofline" in refused.reason
    assert (refused.ok, refused.speedup) == (False, 0.0)


def test_a_baseline_quicker_than_an_empty_launch_is_refused() -> None:
    assert "less than an empty launch" in result_of([0.2] * 30, [0.002] * 30).reason


def test_only_a_significant_difference_is_a_win() -> None:
    own = [0.2, 0.2002] * 15
    assert result_of(own, [0.2001] * 30).speedup <= 1.0
    assert result_of(own, [0.25] * 30).speedup == pytest.approx(0.25 / 0.2001)
    assert result_of(own, [0.1] * 30).speedup < 0.6


def test_the_sign_test_counts_pairs() -> None:
    assert paired([1.0] * 16, [2.0] * 16) == 4.0
    assert paired([2.0] * 16, [1.0] * 16) == -4.0
    assert paired([1.0, 2.0], [2.0, 1.0]) == 0.0
    assert paired([1.0], [1.0]) == 0.0


def test_occupancy_follows_the_scarcest_resource() -> None:
    limits = Multiprocessor()
    assert occupancy(32, 0, 256, limits) == 1.0
    assert occupancy(64, 0, 256, limits) == 0.5
    assert occupancy(255, 0, 1024, limits) == 0.0
    assert resident_blocks(32, 100 * 1024, 256, limits) == 2
    assert resident_blocks(16, 0, 32, limits) == 32
    assert math.isclose(occupancy(16, 0, 33, limits), 32 * 64 / 2048)


@pytest.mark.parametrize("name", tasks.names())
def test_vendor_calls_name_inputs_of_their_task(name: str) -> None:
    task = tasks.get(name)
    call = vendor_call(task)
    assert (call is not None) == (task.family in ("matmul", "convolution"))
    assert call is None or set(call.operands) == {t.name for t in task.inputs}


# ---------------------------------------------------------------- who has which GPU


def test_visible_gpus_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-1a2b")
    assert visible_gpus() == ("3", "GPU-1a2b")


def test_gpus_are_counted_by_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(cuda_pool.shutil, "which", lambda _: None)
    assert visible_gpus() == ("0",)
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: A (UUID: x)'\necho 'GPU 1: A (UUID: y)'\n")
    smi.chmod(0o755)
    monkeypatch.setattr(cuda_pool.shutil, "which", lambda _: str(smi))
    assert visible_gpus() == ("0", "1")


async def test_a_pool_without_a_working_gpu_says_so_every_time(tmp_path: Path) -> None:
    pool = Pool(links(tmp_path, "lost", "lost"))

    async def hello(link: WorkerLink) -> dict[str, Any]:
        return await link.ask("hello", 10)

    for _ in range(2):
        with pytest.raises(LostGpu, match="no usable GPU"):
            await pool.run(hello)
    assert pool.lanes == 1


async def test_a_cancelled_stage_gives_its_gpu_back(tmp_path: Path) -> None:
    pool = Pool(links(tmp_path, "0"))

    async def forever(_: WorkerLink) -> None:
        await asyncio.Event().wait()

    async def quick(link: WorkerLink) -> int | str:
        return link.gpu

    first = asyncio.create_task(pool.run(forever))
    second = asyncio.create_task(pool.run(quick))
    await asyncio.sleep(0.05)
    assert not second.done()
    first.cancel()
    async with asyncio.timeout(5):
        assert await second == "0"
