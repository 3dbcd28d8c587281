"""A real terminal for a process: a pseudo-terminal and just enough of a screen to read what it draws."""

import base64
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_SEQUENCE = re.compile(
    r"\x1b\[(?P<arguments>[0-9;?<>=$ ]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_].*?\x1b\\"
    r"|\x1b[^\[\]PX^_]",
    re.DOTALL,
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?<>=$ ]*|\][^\x07\x1b]*|[PX^_][^\x1b]*)?$")


class Screen:
    """Cells and a cursor. Colours are ignored."""

    def __init__(self, width: int, height: int) -> None:
        self.titles: list[str] = []
        self.resize(width, height)

    def resize(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.cells = [[" "] * width for _ in range(height)]
        self.x = self.y = 0

    def feed(self, text: str) -> str:
        """Draw; returns the unfinished sequence at the end, to be given again with what follows."""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
                continue
            found = _SEQUENCE.match(text, at)
            if found is None:
                if _UNFINISHED.match(text, at):
                    return text[at:]
                at += 1
                continue
            at = found.end()
            if found["final"]:
                self._control(found["final"], found["arguments"])
            elif found["osc"] is not None:
                self.titles.append(found["osc"])
        return ""

    def _put(self, char: str) -> None:
        if char == "\n":
            self.y = min(self.height - 1, self.y + 1)
        elif char == "\r":
            self.x = 0
        elif char >= " ":
            if self.x < self.width and self.y < self.height:
                self.cells[self.y][self.x] = char
            self.x += 1

    def _control(self, final: str, arguments: str) -> None:
        numbers = [int(part) if part.isdigit() else 0 for part in arguments.split(";")]
        if final == "H":
            self.y = max(1, numbers[0]) - 1
            self.x = max(1, numbers[1] if len(numbers) > 1 else 1) - 1
        elif final == "J":
            self.cells = [[" "] * self.width for _ in range(self.height)]
        elif final == "K" and self.y < self.height:
            self.cells[self.y][self.x :] = [" "] * (self.width - self.x)

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells)


class Terminal:
    """A process in a pseudo-terminal. Leaving the block ends it."""

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (80, 24)
    ) -> None:
        self.screen = Screen(*size)
        self.raw = ""
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.code: int | None = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], list(command), {**os.environ, "TERM": "xterm-256color", **env})
        self._size(*size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _size(self, width: int, height: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def resize(self, width: int, height: int) -> None:
        """Another size; the process is told by the kernel's SIGWINCH."""
        self.screen.resize(width, height)
        self._size(width, height)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._fd, keys.encode())

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = self._decoder.decode(os.read(self._fd, 65536))
        except OSError:
            return False
        self.raw += data
        self._rest = self.screen.feed(self._rest + data)
        return True

    def wait(self, met: Callable[[str], bool] | str, seconds: float = 60.0) -> str:
        """Read until the text is on the screen, or the condition of the screen's text holds."""
        stop = time.monotonic() + seconds
        while True:
            text = self.screen.text()
            if (met in text) if isinstance(met, str) else met(text):
                return text
            assert time.monotonic() < stop, f"not on the screen after {seconds} s: {met}\n{text}"
            assert self._read(0.05), f"the process ended before: {met}\n{text}\n{self.raw[-800:]}"

    def ended(self, seconds: float = 60.0) -> int:
        """Read until the process ends; returns its exit code."""
        stop = time.monotonic() + seconds
        while self._read(0.05):
            assert time.monotonic() < stop, f"still runs after {seconds} s\n{self.screen.text()}"
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def farewell(self) -> str:
        """What was written after the app had given the screen back."""
        return self.raw.split("\x1b[?1049l")[-1]

    def clipboard(self) -> str:
        """What the app has given to the terminal's clipboard (OSC 52)."""
        given = [title for title in self.screen.titles if title.startswith("52;c;")]
        return base64.b64decode(given[-1].removeprefix("52;c;")).decode()
