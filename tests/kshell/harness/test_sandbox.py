"""Programs that misbehave are stopped and leave nothing."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from kshell.harness.sandbox import Ending, Limits, run

QUICK = Limits(wall_s=0.4, cpu_s=5, memory_bytes=4 << 30)


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


async def gone(pids: list[int]) -> bool:
    for _ in range(100):
        if not any(alive(p) for p in pids):
            return True
        await asyncio.sleep(0.01)
    return False


async def read_pids(path: Path, count: int) -> list[int]:
    for _ in range(300):
        if path.exists() and len(words := path.read_text().split()) >= count:
            return [int(w) for w in words]
        await asyncio.sleep(0.01)
    raise AssertionError("the program never wrote its process ids")


async def test_a_program_that_ends_gives_its_status_and_output(tmp_path: Path) -> None:
    finished = await run(["sh", "-c", "echo out; echo err >&2; exit 3"], cwd=tmp_path)
    assert (finished.ending, finished.code) == (Ending.EXITED, 3)
    assert (finished.stdout, finished.stderr) == ("out\n", "err\n")
    assert finished.reason(Limits()) == "ended with status 3"


async def test_a_missing_program_is_a_status_not_an_exception(tmp_path: Path) -> None:
    finished = await run(["./no-such-program"], cwd=tmp_path)
    assert finished.code == 127


@pytest.mark.parametrize("script", ["while :; do :; done", "sleep 1000"], ids=["spinning", "sleeping"])
async def test_a_program_that_does_not_end_is_killed(tmp_path: Path, script: str) -> None:
    started = time.perf_counter()
    finished = await run(["sh", "-c", f"echo $$ > pids; {script}"], cwd=tmp_path, limits=QUICK)
    assert finished.ending is Ending.TIMEOUT
    assert time.perf_counter() - started < 3
    assert await gone([int((tmp_path / "pids").read_text())])


async def test_children_of_a_killed_program_die_with_it(tmp_path: Path) -> None:
    script = "for i in 1 2 3; do sleep 1000 & echo $! >> pids; done; wait"
    finished = await run(["sh", "-c", script], cwd=tmp_path, limits=QUICK)
    assert finished.ending is Ending.TIMEOUT
    assert await gone([int(w) for w in (tmp_path / "pids").read_text().split()])


async def test_children_left_behind_by_a_program_that_ends_are_killed(tmp_path: Path) -> None:
    finished = await run(["sh", "-c", "sleep 1000 & echo $! > pids"], cwd=tmp_path)
    assert finished.ending is Ending.EXITED
    assert await gone([int((tmp_path / "pids").read_text())])


async def test_a_child_that_left_the_group_is_found_on_timeout(tmp_path: Path) -> None:
    script = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    open('pids', 'w').write(str(os.getpid()))\n"
        "time.sleep(1000)\n"
    )
    limits = Limits(wall_s=1.5, cpu_s=5)
    finished = await run([sys.executable, "-S", "-c", script], cwd=tmp_path, limits=limits)
    assert finished.ending is Ending.TIMEOUT
    assert await gone([int((tmp_path / "pids").read_text())])


async def test_a_flood_of_output_is_cut_and_the_program_killed(tmp_path: Path) -> None:
    limits = Limits(wall_s=20, output_bytes=10_000)
    finished = await run(
        ["sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxx; done"], cwd=tmp_path, limits=limits
    )
    assert finished.ending is Ending.FLOOD
    assert len(finished.stdout) == 10_000
    assert "more than 10000 bytes" in finished.reason(limits)


async def test_a_file_cannot_grow_past_its_limit(tmp_path: Path) -> None:
    script = "open('big', 'wb').write(b'x' * 5_000_000)"
    finished = await run(
        [sys.executable, "-S", "-c", script], cwd=tmp_path, limits=Limits(file_bytes=1 << 20)
    )
    assert not finished.ok
    assert (tmp_path / "big").stat().st_size <= 1 << 20


async def test_memory_is_limited(tmp_path: Path) -> None:
    script = "x = bytearray(1 << 30)"
    limits = Limits(memory_bytes=512 << 20)
    finished = await run([sys.executable, "-S", "-c", script], cwd=tmp_path, limits=limits)
    assert "MemoryError" in finished.stderr


async def test_cancelling_kills_everything_within_a_second(tmp_path: Path) -> None:
    script = "sleep 1000 & echo $! >> pids; echo $$ >> pids; wait"
    task = asyncio.create_task(run(["sh", "-c", script], cwd=tmp_path))
    pids = await read_pids(tmp_path / "pids", 2)
    started = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - started < 1
    assert await gone(pids)


async def test_cancelling_while_the_program_starts_leaves_nothing(tmp_path: Path) -> None:
    script = "sleep 1000 & echo $! >> pids; wait"
    for turns in range(12):
        task = asyncio.create_task(run(["sh", "-c", script], cwd=tmp_path))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
    pids = tmp_path / "pids"
    assert await gone([int(w) for w in pids.read_text().split()] if pids.exists() else [])


async def test_the_environment_is_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "1")
    finished = await run(["env"], cwd=tmp_path)
    assert "SECRET_OF_THE_PARENT" not in finished.stdout


async def test_many_runs_leave_no_descriptors(tmp_path: Path) -> None:
    await run(["true"], cwd=tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(30):
        await run(["true"], cwd=tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
