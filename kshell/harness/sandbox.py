"""Running a program that may spin, sleep, fork or flood.

Every program leads its own process group, under limits on processor time, address space, file size and
core dumps (POSIX `ulimit`, so that nothing runs between fork and exec in a threaded parent), with a
minimal environment and no input. The group is killed when the program ends, runs too long, writes too
much, or the caller is cancelled; processes that left the group are found by a token in their
environment. The network is not cut off here: the runtime of device `cpu` forbids itself sockets, new
processes and exec before it enters the candidate's code, and a compiler needs none."""

import asyncio
import contextlib
import os
import signal
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_TOKEN = "KSHELL_SANDBOX"
_SHELL = "/bin/sh"
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")


class Ending(StrEnum):
    """How a run ended. `EXITED` covers signals the program died of by itself."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    FLOOD = "flood"


@dataclass(frozen=True, slots=True)
class Limits:
    """`wall_s` and `cpu_s` in seconds, the rest in bytes; `output_bytes` counts stdout and stderr."""

    wall_s: float = 30.0
    cpu_s: int = 60
    memory_bytes: int = 16 << 30
    file_bytes: int = 2 << 30
    output_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Finished:
    """`code` is the exit status, negative for a signal. The texts are cut at the output limit."""

    ending: Ending
    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Ended by itself with status 0."""
        return self.ending is Ending.EXITED and self.code == 0

    def reason(self, limits: Limits) -> str:
        """One line saying why it is not ok."""
        if self.ending is Ending.TIMEOUT:
            return f"did not end within {limits.wall_s:g} s and was killed"
        if self.ending is Ending.FLOOD:
            return f"wrote more than {limits.output_bytes} bytes of output and was killed"
        if self.code < 0:
            with contextlib.suppress(ValueError):
                return f"died of {signal.Signals(-self.code).name}"
        return f"ended with status {self.code}"


async def run(
    command: Sequence[str],
    *,
    cwd: Path,
    limits: Limits | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command to its end, or to a limit. Cancelling kills every process it started.

    Raises FileNotFoundError when `cwd` is missing; a missing program ends with status 127."""
    limits = limits or Limits()
    token = uuid.uuid4().hex
    variables = {k: os.environ[k] for k in _KEPT_VARIABLES if k in os.environ}
    variables |= {"LC_ALL": "C", **(env or {}), _TOKEN: token}
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        _SHELL,
        "-c",
        _limit_script(limits),
        "sh",
        *command,
        cwd=cwd,
        env=variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    flood = asyncio.Event()
    budget = _Budget(limits.output_bytes, flood)
    readers = [asyncio.create_task(_collect(s, budget)) for s in (process.stdout, process.stderr)]
    waits = [asyncio.create_task(process.wait()), asyncio.create_task(flood.wait())]
    ending = Ending.EXITED
    clean = False
    try:
        done, _ = await asyncio.wait(waits, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED)
        if waits[0] not in done:
            ending = Ending.FLOOD if waits[1] in done else Ending.TIMEOUT
        clean = ending is Ending.EXITED
    finally:
        _kill_group(process.pid)
        if not clean:
            _kill_strays(token)
        waits[1].cancel()
        # The group is dead, so these end at once; shielding keeps a second cancel from leaving a zombie.
        await asyncio.shield(_reap(waits[0], readers))
    texts = [r.result().decode("utf-8", "replace") if not r.cancelled() else "" for r in readers]
    seconds = time.perf_counter() - started
    if ending is Ending.EXITED and flood.is_set():
        ending = Ending.FLOOD
    return Finished(ending, process.returncode or 0, texts[0], texts[1], seconds)


def _limit_script(limits: Limits) -> str:
    kib = max(1, limits.memory_bytes // 1024)
    blocks = max(1, limits.file_bytes // 512)
    return f'ulimit -c 0; ulimit -t {max(1, limits.cpu_s)}; ulimit -v {kib}; ulimit -f {blocks}; exec "$@"'


class _Budget:
    """Bytes of output still allowed; `full` is set when a reader asks for more."""

    def __init__(self, size: int, full: asyncio.Event) -> None:
        self.left = size
        self.full = full

    def take(self, data: bytes) -> bytes:
        kept = data[: self.left]
        self.left -= len(kept)
        if len(kept) < len(data):
            self.full.set()
        return kept


async def _collect(stream: asyncio.StreamReader, budget: _Budget) -> bytes:
    parts = []
    while data := await stream.read(65536):
        parts.append(budget.take(data))
    return b"".join(parts)


async def _reap(waiting: "asyncio.Task[int]", readers: "list[asyncio.Task[bytes]]") -> None:
    await waiting
    _, hanging = await asyncio.wait(readers, timeout=0.5)
    for reader in hanging:  # a stray process still holds the pipe
        reader.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _kill_strays(token: str) -> None:
    """Kill processes of this run that left its group (Linux; elsewhere there is no way to find them)."""
    mark = f"{_TOKEN}={token}".encode()
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                if mark in Path(entry.path, "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
