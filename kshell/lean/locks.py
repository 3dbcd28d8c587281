"""Locks shared between processes: advisory locks on files, released when their holder dies."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path


@contextmanager
def hold(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of `path`; `waiting` is called once when somebody else has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _try(handle):
            if waiting is not None:
                waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@asynccontextmanager
async def hold_async(path: Path, waiting: Callable[[], None] | None = None) -> AsyncIterator[None]:
    """The same for a coroutine, which stays cancellable while it waits."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        first = True
        while not _try(handle):
            if first and waiting is not None:
                waiting()
            first = False
            await asyncio.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
