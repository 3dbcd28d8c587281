"""The parent's end of a GPU worker process: requests, time limits, restart after a fault."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from typing import Any

START_S = 120.0


class WorkerFailure(Exception):
    """The worker refused, died or hung; the message is one line. `fatal` means it was (re)started."""

    def __init__(self, reason: str, *, fatal: bool) -> None:
        super().__init__(reason)
        self.fatal = fatal


class LostGpu(WorkerFailure):
    """The worker did not start: no GPU there, or it fell off the bus."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, fatal=True)


@dataclass(slots=True, eq=False)
class WorkerLink:
    """One worker on one GPU, started when first needed. For one request at a time. `gpu` is its number or
    UUID for CUDA_VISIBLE_DEVICES; `command` starts the worker (tests put another there)."""

    gpu: int | str = 0
    command: tuple[str, ...] = (sys.executable, "-m", "kshell.harness.cuda_worker")
    device: dict[str, Any] = field(default_factory=dict)
    _process: asyncio.subprocess.Process | None = None

    async def ask(self, op: str, limit_s: float, **arguments: Any) -> dict[str, Any]:
        """The answer to one request. Raises WorkerFailure; after a fatal one the next call starts a fresh
        process. Cancelling kills the worker, since a kernel cannot be stopped otherwise."""
        try:
            async with asyncio.timeout(limit_s):
                process = await self._alive()
                assert process.stdin is not None
                process.stdin.write((json.dumps({"op": op, **arguments}) + "\n").encode())
                await process.stdin.drain()
                answer = await self._read(process)
        except TimeoutError:
            await self.close()
            raise WorkerFailure(
                f"the GPU did not answer within {limit_s:g} s; the worker was killed", fatal=True
            ) from None
        except (ConnectionError, asyncio.CancelledError) as error:
            await self.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise WorkerFailure("the GPU worker died", fatal=True) from error
        if not answer["ok"]:
            if answer["fatal"]:
                await self.close()
            raise WorkerFailure(str(answer["reason"]), fatal=bool(answer["fatal"]))
        return answer

    async def _alive(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES=str(self.gpu), PYTHONUNBUFFERED="1")
        self._process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            limit=1 << 26,
        )
        try:
            async with asyncio.timeout(START_S):
                hello = await self._read(self._process)
        except (ConnectionError, TimeoutError):
            await self.close()
            raise LostGpu(f"no usable GPU: the worker of GPU {self.gpu} did not start") from None
        if not hello["ok"]:
            await self.close()
            raise LostGpu(str(hello["reason"]))
        self.device = hello
        return self._process

    async def _read(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line:
            raise ConnectionError
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:  # something else wrote to its pipe
            raise ConnectionError from None
        return answer

    async def close(self) -> None:
        """Kill the worker and whatever it started."""
        process, self._process = self._process, None
        if process is None:
            return
        # Also when the worker itself is dead: what it started may live, and hold its pipes open.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
