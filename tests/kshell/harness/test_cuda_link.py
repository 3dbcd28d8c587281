"""The parent's end of a GPU worker, against workers that misbehave (no GPU needed)."""

import asyncio
import os
import sys
import textwrap
import time
from pathlib import Path

import pytest

from insights_db.records import Candidate
from kshell import tasks
from kshell.harness.cuda import CudaEvaluator
from kshell.harness.cuda_link import WorkerFailure, WorkerLink
from kshell.harness.sanitizers import read_report
from kshell.tasks import reference

HELLO = 'print(json.dumps({"ok": True, "name": "Fake GPU", "pid": os.getpid()}), flush=True)'


def worker(folder: Path, body: str, hello: str = HELLO) -> WorkerLink:
    """A link to a worker whose loop body is `body`; `ask` is the parsed request."""
    loop = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    text = (
        f"import json, os, sys, time\n{hello}\nfor line in sys.stdin:\n    ask = json.loads(line)\n{loop}\n"
    )
    path = folder / "worker.py"
    path.write_text(text)
    return WorkerLink(command=(sys.executable, str(path)))


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_answers_come_back_and_closing_ends_the_process(tmp_path: Path) -> None:
    link = worker(tmp_path, 'print(json.dumps({"ok": True, "twice": 2 * ask["n"]}), flush=True)')
    assert (await link.ask("double", 10, n=21))["twice"] == 42
    assert link.device["name"] == "Fake GPU"
    pid = link.device["pid"]
    await link.close()
    assert gone(pid)


async def test_a_refusal_keeps_the_worker_and_a_fault_replaces_it(tmp_path: Path) -> None:
    body = """
    fatal = ask["op"] == "crash"
    print(json.dumps({"ok": False, "fatal": fatal, "reason": ask["op"]}), flush=True)
    """
    link = worker(tmp_path, body)
    with pytest.raises(WorkerFailure, match="refuse") as caught:
        await link.ask("refuse", 10)
    first = link.device["pid"]
    assert not caught.value.fatal
    with pytest.raises(WorkerFailure, match="crash") as caught:
        await link.ask("crash", 10)
    assert caught.value.fatal
    assert gone(first)
    with pytest.raises(WorkerFailure, match="refuse"):
        await link.ask("refuse", 10)
    assert link.device["pid"] != first
    await link.close()


async def test_a_hung_kernel_is_killed_at_its_limit(tmp_path: Path) -> None:
    link = worker(tmp_path, "time.sleep(60)")
    started = time.monotonic()
    with pytest.raises(WorkerFailure, match=r"within 1 s; the worker was killed"):
        await link.ask("spin", 1)
    assert time.monotonic() - started < 5
    assert gone(link.device["pid"])


async def test_a_worker_that_dies_is_a_failure_not_a_hang(tmp_path: Path) -> None:
    link = worker(tmp_path, "os._exit(9)")
    with pytest.raises(WorkerFailure, match="died") as caught:
        await link.ask("anything", 10)
    assert caught.value.fatal


async def test_cancelling_kills_the_worker_at_once(tmp_path: Path) -> None:
    link = worker(tmp_path, "time.sleep(60)")
    task = asyncio.create_task(link.ask("spin", 60))
    async with asyncio.timeout(20):
        while not link.device:  # noqa: ASYNC110 (the link has no event for it)
            await asyncio.sleep(0.01)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 1
    assert gone(link.device["pid"])


async def test_no_gpu_is_said_in_one_line() -> None:
    if Path("/dev/nvidia0").exists():
        link = WorkerLink()
        assert (await link.ask("hello", 120))["name"]
        await link.close()
        return
    task = tasks.get("relu")
    candidate = Candidate(
        id="a",
        source=(
            "__global__ void k(const float* x, float* y, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) y[i] = fmaxf(x[i], 0.0f);\n}\n"
            "void launch(const float* x, float* y, int n) {\n    k<<<(n + 255) / 256, 256>>>(x, y, n);\n}\n"
        ),
        task="relu",
        round=1,
        index=0,
        proposer="test",
    )
    result = await CudaEvaluator(reference.compute).compile(candidate, task, task.workload())
    assert not result.ok
    assert result.diagnostics.startswith("no usable GPU: ")
    assert "\n" not in result.diagnostics


MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at relu(const float *, float *, int)+0x1f0 in program.cu:47
=========     by thread (1,0,0) in block (0,0,0)
========= ERROR SUMMARY: 3 errors
"""


def test_a_sanitizer_report_becomes_a_counterexample_at_the_candidates_line() -> None:
    found = read_report("memcheck", MEMCHECK, 40)
    assert found is not None
    assert found.fault == "OUT OF BOUNDS"
    assert found.points[0].line == 7
    clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
    assert read_report("memcheck", clean, 40) is None
    died = read_report("racecheck", "Segmentation fault", 40)
    assert died is not None
    assert "did not finish" in died.message
