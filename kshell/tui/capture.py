"""Native writes to file descriptor 2 while the app draws: caught in a file, told afterwards."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHOWN = 20


class Captured:
    """What was written meanwhile. `path` is None when nothing could be caught."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def read(self) -> str:
        """The text caught so far."""
        return self.path.read_text(errors="replace") if self.path and self.path.exists() else ""

    def report(self) -> None:
        """Print the last lines on stderr and say where all of them are; remove the file when empty."""
        text = self.read().strip()
        if not text:
            if self.path:
                self.path.unlink(missing_ok=True)
            return
        lines = text.splitlines()
        more = f" (the last {SHOWN} of {len(lines)} lines)" if len(lines) > SHOWN else ""
        print("\n".join(lines[-SHOWN:]), file=sys.stderr)
        print(
            f"kshell: the lines above were written to stderr meanwhile{more}; all are in {self.path}",
            file=sys.stderr,
        )


@contextmanager
def stderr_captured() -> Iterator[Captured]:
    """Give the app a stream of its own to the terminal and let descriptor 2 lead to a file, so that
    no library and no child process can draw over the screen."""
    original = sys.__stderr__
    if original is None or not original.isatty():
        yield Captured(None)
        return
    handle, name = tempfile.mkstemp(prefix="kshell-stderr-", suffix=".txt")
    kept = os.dup(2)
    terminal = os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="replace")
    os.dup2(handle, 2)
    os.close(handle)
    setattr(sys, "__stderr__", terminal)  # noqa: B010
    try:
        yield Captured(Path(name))
    finally:
        setattr(sys, "__stderr__", original)  # noqa: B010
        terminal.close()
        os.dup2(kept, 2)
        os.close(kept)
