"""Running a program that may spin, sleep, fork or flood.

Every program leads its own process group, under limits on processor time, address space, file size and
core dumps (POSIX `ulimit`, so that nothing runs between fork and exec in a threaded parent), with a
minimal environment and no input. The group is killed when the program ends, runs too long, writes too
much, or the caller is cancelled; processes that left the group are found by a token in their
environment. The network is not cut off here: the runtime of device `cpu` forbids itself sockets, new
processes and exec before it enters the candidate's code, and a compiler needs none."""

import asyncio
import contextlib
import errno
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
            return f"did not end within {limits.wall_s:.3g} s and was killed"
        if self.ending is Ending.FLOOD:
            return f"wrote more than {limits.output_bytes} bytes of output and was killed"
        if self.code < 0:
            with contextlib.suppress(ValueError):
                return f"died of {signal.Signals(-self.code).name}"
        return f"ended with status {self.code}"


def disk_reason(error: OSError) -> str:
    """One line for a file that could not be written or read, with what to do when the disk is full."""
    where = f"{error.filename}: " if error.filename else ""
    text = f"{where}{error.strerror or error}"
    # numpy reports a short write in its own words, without a number.
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or "free space" in text:
        return f"{text}; free some space, or set TMPDIR to a folder on another disk"
    return text


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
    loop = asyncio.get_running_loop()
    spawning = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: _Watch(limits.output_bytes),
            *(_SHELL, "-c", _limit_script(limits), "sh", *command),
            cwd=cwd,
            env=variables,
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    )
    try:
        # A cancelled start would only kill the leader, and then wait for whoever holds its pipes.
        transport, watch = await asyncio.shield(spawning)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(_abandon(spawning, token)))
        raise
    group = transport.get_pid()
    clean = False
    try:
        events = (watch.exited, watch.flooded)
        await asyncio.wait(events, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED)
        ending = _ending(watch)
        clean = ending is Ending.EXITED
    finally:
        _kill_group(group)
        if not clean:
            _kill_strays(token)
        # The group is dead, so this is quick; shielding keeps a second cancel from leaving a zombie.
        await asyncio.shield(_reap(transport, watch))
    seconds = time.perf_counter() - started
    if watch.flooded.done():
        ending = Ending.FLOOD
    return Finished(ending, transport.get_returncode() or 0, watch.text(1), watch.text(2), seconds)


class _Watch(asyncio.SubprocessProtocol):
    """Keeps the output up to a number of bytes and notes what happens, as futures.

    `exited` does not wait for the pipes, which a child left behind may hold open; `closed` does."""

    def __init__(self, output_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.flooded: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._left = output_bytes
        self._parts: dict[int, list[bytes]] = {1: [], 2: []}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = data[: self._left]
        self._left -= len(kept)
        self._parts[fd].append(kept)
        if len(kept) < len(data) and not self.flooded.done():
            self.flooded.set_result(None)

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)

    def text(self, fd: int) -> str:
        """What was written to stdout (1) or stderr (2)."""
        return b"".join(self._parts[fd]).decode("utf-8", "replace")


def _ending(watch: _Watch) -> Ending:
    if watch.exited.done():
        return Ending.EXITED
    return Ending.FLOOD if watch.flooded.done() else Ending.TIMEOUT


async def _abandon(
    spawning: "asyncio.Future[tuple[asyncio.SubprocessTransport, _Watch]]", token: str
) -> None:
    """Kill a program as soon as it has started."""
    transport, watch = await spawning
    _kill_group(transport.get_pid())
    _kill_strays(token)
    await _reap(transport, watch)


async def _reap(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    await watch.exited
    await asyncio.wait([watch.closed], timeout=0.5)
    transport.close()  # only matters when a stray process still holds a pipe


def _limit_script(limits: Limits) -> str:
    kib = max(1, limits.memory_bytes // 1024)
    blocks = max(1, limits.file_bytes // 512)
    return f'ulimit -c 0; ulimit -t {max(1, limits.cpu_s)}; ulimit -v {kib}; ulimit -f {blocks}; exec "$@"'


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
