"""Runs the checker on one file at a time: limits, cancellation, messages as they come.

One Lean process works at a time on a machine (each takes over a gigabyte), by a lock file that every
kshell process shares; runners of other slots have locks of their own. `prepare` starts and instantiates
the next process of the embedded build, which saves its start-up time where it is known that one will be
needed."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kshell.lean import confine
from kshell.lean.locks import hold_async
from kshell.lean.messages import Message, is_noise, parse
from kshell.lean.toolchain import Kind, Toolchain, store

MEMORY_MB = 3072
SECONDS = 600.0
EMBEDDED_OPTIONS = ("-DElab.async=false",)
"""A thread of the embedded build takes a second or two of processor time to start, far more than one theorem:
theorems are checked one after the other there."""


@dataclass(frozen=True, slots=True)
class Check:
    """How one run ended. `ok` needs exit status 0 and no error message; a crash, a kill or a time-out is
    never `ok`. `seconds` is wall time without waiting for the lock. `lines` are those that the checked file
    printed with the prefix `kshell:`."""

    status: int
    messages: tuple[Message, ...]
    noise: str
    seconds: float
    timed_out: bool = False
    lines: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out and not self.errors

    @property
    def errors(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.is_error)

    @property
    def reason(self) -> str:
        """One line saying why it is not ok; empty when it is."""
        if self.ok:
            return ""
        if self.timed_out:
            return f"Lean ran into the limit of {self.seconds:.0f} s"
        if self.errors:
            first = self.errors[0]
            return f"{Path(first.file).name}:{first.line}:{first.column}: {first.text.splitlines()[0]}"
        tail = self.noise.strip().splitlines()
        return f"Lean ended with status {self.status}" + (f": {tail[-1]}" if tail else " and said nothing")


@dataclass(slots=True)
class LeanRunner:
    """Runs `toolchain`. Not for use from two tasks at once."""

    toolchain: Toolchain
    slot: int = 0
    _next: asyncio.subprocess.Process | None = field(default=None, repr=False)

    @property
    def lock(self) -> Path:
        """The file whose lock is held while Lean works for this slot."""
        return store() / (f"run-{self.slot}.lock" if self.slot else "run.lock")

    async def check(
        self,
        file: Path,
        package: Path | None = None,
        *,
        output: Path | None = None,
        on_message: Callable[[Message], None] | None = None,
        seconds: float = SECONDS,
        memory_mb: int = MEMORY_MB,
        waiting: Callable[[], None] | None = None,
        writable: tuple[Path, ...] | None = None,
    ) -> Check:
        """Check `file`; modules it imports are found in `package` (a tree of .olean files) and beside it.
        `output` writes the .olean files of the module. No run can reach the network or start programs;
        `writable` are the folders that it may change, for text that is not ours (see `confine`).
        Cancelling kills the process."""
        async with hold_async(self.lock, waiting):
            started = asyncio.get_running_loop().time()
            process = await self.start(file, package, output, memory_mb, writable)
            try:
                return await collect(process, on_message, seconds, started)
            finally:
                await kill(process)

    async def prepare(self) -> None:
        """Start the next process of the embedded build now."""
        if self.toolchain.kind is Kind.EMBEDDED and (self._next is None or self._next.returncode is not None):
            self._next = await self._spawn_embedded()

    async def close(self) -> None:
        """End the process that stands by."""
        if self._next is not None:
            await kill(self._next)
            self._next = None

    async def start(
        self,
        file: Path,
        package: Path | None,
        output: Path | None = None,
        memory_mb: int = MEMORY_MB,
        writable: tuple[Path, ...] | None = None,
    ) -> asyncio.subprocess.Process:
        """Start a process on `file`, see `check`; the caller reads what it says and ends it."""
        if self.toolchain.kind is Kind.NATIVE:
            args = ["--json", f"--memory={memory_mb}"]
            if output is not None:
                args += ["-o", str(output)]
            paths = os.pathsep.join(str(path) for path in (package, file.parent) if path is not None)
            return await asyncio.create_subprocess_exec(
                *confine.command(writable),
                self.toolchain.program,
                *args,
                str(file),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=file.parent,
                env=_environment(LEAN_PATH=paths),
                start_new_session=True,
                limit=1 << 26,
            )
        process = None if writable is not None else self._next
        if process is self._next:
            self._next = None
        if process is None or process.returncode is not None:
            process = await self._spawn_embedded(writable)
        mounts = [[str(file.parent), "/work"]]
        if package is not None:
            mounts.append([str(package), "/package"])
        args = ["--json", *EMBEDDED_OPTIONS]
        if output is not None:
            mounts.append([str(output.parent), "/out"])
            args += ["-o", f"/out/{output.name}"]
        request = {"args": [*args, f"/work/{file.name}"], "mounts": mounts, "cwd": "/work"}
        assert process.stdin is not None
        process.stdin.write((json.dumps(request) + "\n").encode())
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        return process

    async def _spawn_embedded(self, writable: tuple[Path, ...] | None = None) -> asyncio.subprocess.Process:
        tool = self.toolchain
        assert tool.script is not None and tool.library is not None
        return await asyncio.create_subprocess_exec(
            *confine.command(writable),
            tool.program,
            tool.script,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=tool.script.parent,
            env=_environment(KSHELL_LEAN_LIBRARY=str(tool.library)),
            start_new_session=True,
            limit=1 << 26,
        )


async def collect(
    process: asyncio.subprocess.Process,
    on_message: Callable[[Message], None] | None,
    seconds: float,
    started: float,
    until: str = "",
) -> Check:
    """Read what the process says until it ends, says the line `until` (status 0 then) or its time is over."""
    messages: list[Message] = []
    lines: list[str] = []
    noise: list[str] = []
    timed_out = False
    assert process.stdout is not None
    status = -1
    try:
        async with asyncio.timeout(seconds):
            while raw := await process.stdout.readline():
                line = raw.decode("utf-8", "replace").rstrip("\n")
                message = parse(line)
                if message is not None:
                    messages.append(message)
                    if message.severity == "information":
                        lines += [part for part in message.text.splitlines() if part.startswith("kshell:")]
                    if on_message is not None:
                        on_message(message)
                elif until and line == until:
                    status = 0
                    break
                elif line.startswith("kshell:"):
                    lines.append(line)
                elif not is_noise(line):
                    noise.append(line[:2000])
            else:
                await process.wait()
    except TimeoutError:
        timed_out = True
        await kill(process)
    took = asyncio.get_running_loop().time() - started
    if process.returncode is not None:
        status = process.returncode
    return Check(status, tuple(messages), "\n".join(noise[-40:]), took, timed_out, tuple(lines))


async def kill(process: asyncio.subprocess.Process) -> None:
    """Kill the process and whatever it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _environment(**extra: str) -> dict[str, str]:
    """A small environment: nothing of the person's secrets reaches a checker process."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "TMPDIR", "LANG", "ELAN_HOME")
        if name in os.environ
    }
    return {**kept, "LLVM_PROFILE_FILE": os.devnull, **extra}
