"""Native writes to file descriptor 2 while the app draws: caught, and told afterwards."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

SHOWN = 20


class Captured:
    """What was written meanwhile, in a file without a name: a killed app leaves nothing behind. `file` is
    None when nothing is caught."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file

    def read(self) -> str:
        """The text caught so far."""
        if self._file is None:
            return ""
        self._file.seek(0)
        return self._file.read().decode(errors="replace")

    def report(self) -> None:
        """Print the last lines on stderr, and keep all of them in a file when there are more."""
        text = self.read().strip()
        if not text:
            return
        lines = text.splitlines()
        print("\n".join(lines[-SHOWN:]), file=sys.stderr)
        where = ""
        if len(lines) > SHOWN:
            with tempfile.NamedTemporaryFile(
                "w", prefix="kshell-stderr-", suffix=".txt", delete=False
            ) as kept:
                kept.write(text)
            where = f"; all {len(lines)} are in {kept.name}"
        print(f"kshell: the lines above were written to stderr while the app ran{where}", file=sys.stderr)


@contextmanager
def stderr_captured() -> Iterator[Captured]:
    """Give the app a stream of its own to the terminal and let descriptor 2 lead to a file, so that
    no library and no child process can draw over the screen."""
    original = sys.__stderr__
    if original is None or not original.isatty():
        yield Captured(None)
        return
    file = tempfile.TemporaryFile()  # noqa: SIM115 - read after the block, by `report`
    kept = os.dup(2)
    terminal = os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="replace")
    os.dup2(file.fileno(), 2)
    setattr(sys, "__stderr__", terminal)  # noqa: B010
    try:
        yield Captured(file)
    finally:
        setattr(sys, "__stderr__", original)  # noqa: B010
        terminal.close()
        os.dup2(kept, 2)
        os.close(kept)
