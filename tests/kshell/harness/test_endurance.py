"""Device cpu over a long time and on a full disk: nothing leaks, a candidate fails with a reason."""

import errno
import os
import resource
import tempfile
from pathlib import Path

import numpy as np
import pytest

from kshell import tasks
from kshell.harness import build, sandbox
from kshell.harness.build import build as built_by
from kshell.harness.cpu import CpuEvaluator
from kshell.harness.runs import RunRequest, execute
from kshell.harness.toolchain import find
from kshell.tasks import reference
from scaffolds.program import cpu_program
from semantics.program import load
from tests.kshell.harness.samples import RELU, candidate

TASK = tasks.get("relu")
SIZES = TASK.workload(n=500)


def children() -> int:
    """Processes whose parent is this one, ended or not."""
    found = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            found += int(text.rsplit(")", 1)[1].split()[1]) == os.getpid()
    return found


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_hundred_evaluations_leave_no_processes_files_or_memory(
    build_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = load(RELU)
    made = await built_by(find(), cpu_program(program.module), build_cache)
    x = np.linspace(-1, 1, 500, dtype=np.float32)
    request = RunRequest(Path(made.artifact), TASK, program.plan(TASK, SIZES), [{"x": x}])

    async def rounds(count: int) -> tuple[int, int, int]:
        for _ in range(count):
            result = await execute(request)
            assert not result.failure, result.failure
        return open_files(), children(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    files, processes, memory = await rounds(20)
    after = await rounds(100)
    assert after[0] <= files + 2
    assert after[1] <= processes
    assert after[2] - memory < 20_000, "kilobytes"
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file this process writes as bytes or text is one too many."""

    def no_room(self: Path, *_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_text", no_room)


async def test_a_full_disk_fails_the_compile_with_what_to_do(tmp_path: Path, full: None) -> None:
    evaluator = CpuEvaluator(reference.compute, tmp_path)
    compiled = await evaluator.compile(candidate(RELU, "relu"), TASK, SIZES)
    assert not compiled.ok
    assert "No space left on device; free some space" in compiled.diagnostics


async def test_a_full_disk_fails_validation_and_measurement_with_what_to_do(
    build_cache: Path, request: pytest.FixtureRequest
) -> None:
    evaluator = CpuEvaluator(reference.compute, build_cache)
    kernel = candidate(RELU, "relu")
    compiled = await evaluator.compile(kernel, TASK, SIZES)
    assert compiled.ok, compiled.diagnostics
    request.getfixturevalue("full")
    validation = await evaluator.validate(kernel, TASK, SIZES, compiled)
    profile = await evaluator.profile(kernel, TASK, SIZES, compiled)
    for reason in (validation.reason, profile.reason):
        assert "No space left on device; free some space" in reason
        assert "\n" not in reason


async def test_a_program_that_fills_its_files_is_stopped(tmp_path: Path) -> None:
    limits = sandbox.Limits(wall_s=20, file_bytes=1 << 20)
    finished = await sandbox.run(
        ["sh", "-c", "head -c 100000000 /dev/zero > big"], cwd=tmp_path, limits=limits
    )
    assert not finished.ok
    assert (tmp_path / "big").stat().st_size <= 1 << 20


def test_old_builds_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "KEPT_BUILDS", 2)
    for k in range(4):
        (tmp_path / f"build{k}").mkdir()
        os.utime(tmp_path / f"build{k}", (k, k))
    build._forget_old(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["build2", "build3"]
