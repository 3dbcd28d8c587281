"""One process at a time works on a session. The operating system frees the lock of a killed one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kshell.errors import UserError


@contextmanager
def held(folder: Path, session: str) -> Iterator[None]:
    """Hold the lock of a session. Raises UserError when another process has it."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{session}.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise UserError(
                f"session {session} is running in process {owner}; stop it there first, "
                "or choose another name with --session"
            ) from None
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield
