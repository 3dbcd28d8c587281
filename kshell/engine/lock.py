"""One process at a time works on a session. The operating system frees the lock of a killed one."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kshell.errors import UserError


@contextmanager
def held(folder: Path, session: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a session. Raises UserError when another process still has it after `wait`
    seconds."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{session}.lock").open("a+") as file:
        end = time.monotonic() + wait
        while not (mine := _try(file, fcntl.LOCK_EX)) and time.monotonic() < end:
            time.sleep(0.1)
        if not mine:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise UserError(
                f"session {session} is running in process {owner}; stop it there first, "
                f"or look at it with `kshell attach {session}`"
            )
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield


def running(folder: Path, session: str) -> bool:
    """Whether a process works on the session now."""
    import fcntl

    try:
        with (folder / f"{session}.lock").open("r") as file:
            return not _try(file, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _try(file: IO[str], kind: int) -> bool:
    import fcntl

    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
