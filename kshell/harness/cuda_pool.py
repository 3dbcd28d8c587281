"""The GPUs of this host, one worker process each, and who is using which.

A stage of an evaluation holds a GPU from its first request to its last, so that nothing else runs there
while it is timed and no other candidate is loaded in between."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kshell.harness.cuda_link import LostGpu, WorkerLink

T = TypeVar("T")


def visible_gpus() -> tuple[str, ...]:
    """Names of the GPUs this process may use, as CUDA_VISIBLE_DEVICES writes them; at least one."""
    told = os.environ.get("CUDA_VISIBLE_DEVICES")
    if told:
        return tuple(part.strip() for part in told.split(",") if part.strip()) or ("0",)
    program = shutil.which("nvidia-smi")
    if program is None:
        return ("0",)
    try:
        done = subprocess.run([program, "--list-gpus"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ("0",)
    count = sum(line.startswith("GPU ") for line in done.stdout.splitlines())
    return tuple(str(k) for k in range(max(1, count)))


class Pool:
    """Hands out workers. One whose GPU is lost is left out while others remain."""

    def __init__(self, links: Sequence[WorkerLink]) -> None:
        self._idle = list(reversed(links))
        self._busy: list[WorkerLink] = []
        self._lost: list[WorkerLink] = []
        self._changed = asyncio.Condition()

    @property
    def lanes(self) -> int:
        """How many stages can run at once."""
        return len(self._idle) + len(self._busy)

    @property
    def device(self) -> dict[str, object]:
        """What the worker used last said about its GPU; empty before the first start."""
        return next((link.device for link in reversed((*self._idle, *self._busy)) if link.device), {})

    async def run(self, stage: Callable[[WorkerLink], Awaitable[T]]) -> T:
        """A stage on a free GPU, waiting for one; again on another when the worker does not start there.

        Raises LostGpu when no GPU is left, and whatever the stage raises."""
        while True:
            link = await self._take()
            try:
                return await stage(link)
            except LostGpu:
                if self.lanes <= 1:
                    raise
                self._lost.append(link)
            finally:
                await self._give(link)

    async def _take(self) -> WorkerLink:
        async with self._changed:
            await self._changed.wait_for(lambda: self._idle)
            link = self._idle.pop()  # the one used last: its process runs already
            self._busy.append(link)
            return link

    async def _give(self, link: WorkerLink) -> None:
        # No wait between taking the lock and the change: a cancelled stage gives its GPU back too.
        self._busy.remove(link)
        if link not in self._lost:
            self._idle.append(link)
        async with self._changed:
            self._changed.notify_all()

    async def close(self) -> None:
        """End every worker."""
        for link in (*self._idle, *self._busy, *self._lost):
            await link.close()
