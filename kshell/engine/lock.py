"""One process at a time works on a session. The operating system frees the lock of a killed one."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kshell.errors import UserError

HEIR_SECONDS = 90.0


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
        _heir(folder, session).unlink(missing_ok=True)
        yield


def running(folder: Path, session: str) -> bool:
    """Whether a process works on the session now, or has been started to take it over."""
    import fcntl

    with suppress(FileNotFoundError), (folder / f"{session}.lock").open("r") as file:
        if not _try(file, fcntl.LOCK_SH):
            return True
    return _awaited(_heir(folder, session))


def announce(folder: Path, session: str, process: int) -> None:
    """Say that a process was started to take the session over once this one lets go of it."""
    folder.mkdir(parents=True, exist_ok=True)
    _heir(folder, session).write_text(str(process))


def _heir(folder: Path, session: str) -> Path:
    return folder / f"{session}.heir"


def _awaited(note: Path) -> bool:
    """Whether the process of a note still lives. A note is good for as long as an heir waits."""
    try:
        if time.time() - note.stat().st_mtime > HEIR_SECONDS:
            return False
        os.kill(int(note.read_text()), 0)
    except (OSError, ValueError):
        return False
    return True


def _try(file: IO[str], kind: int) -> bool:
    import fcntl

    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
