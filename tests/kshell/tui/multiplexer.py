"""A process in a window of tmux, with the interface of `terminal.Terminal`."""

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

OPTIONS = """\
set -g set-clipboard on
set -g status off
set -g default-terminal screen-256color
set -s escape-time 0
"""


def available() -> bool:
    """Whether this machine has tmux."""
    return shutil.which("tmux") is not None


class Window:
    """A tmux server of its own with one window. Leaving the block ends the server and what runs in it."""

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (80, 24)
    ) -> None:
        folder = Path(env["TMPDIR"])
        self._name = f"kshell-{os.getpid()}-{time.monotonic_ns()}"
        self._socket = folder / self._name
        options = folder / f"{self._name}.conf"
        options.write_text(OPTIONS)
        self.code: int | None = None
        given = [f"{name}={value}" for name, value in env.items()]
        self._status = folder / f"{self._name}.status"
        run = shlex.join(["env", *given, *command])
        line = f"{run}; echo $? > {shlex.quote(str(self._status))}; exec sleep 3600"
        size_of = ["-x", str(size[0]), "-y", str(size[1])]
        self.tmux("-f", str(options), "new-session", "-d", *size_of, "-c", str(cwd), line)

    def tmux(self, *words: str) -> str:
        """Run a tmux command; returns what it prints."""
        command = ["tmux", "-u", "-S", str(self._socket), *words]
        clean = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean)
        assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"
        return done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.tmux("kill-server")

    def text(self) -> str:
        """What is on the screen; lines that tmux wrapped are joined."""
        return self.tmux("capture-pane", "-p", "-J")

    def resize(self, width: int, height: int) -> None:
        """Another size of the window."""
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def press(self, keys: str) -> None:
        """Type. A sequence of an arrow key is one key."""
        for part in re.findall(r"\x1b\[[A-D]|\r|[^\x1b\r]+", keys):
            named = {"\x1b[A": "Up", "\x1b[B": "Down", "\r": "Enter", "\x03": "C-c"}.get(part)
            self.tmux("send-keys", *([named] if named else ["-l", part]))

    def wait(self, met: Callable[[str], bool] | str, seconds: float = 60.0) -> str:
        """Look until the text is on the screen, or the condition of the screen's text holds."""
        stop = time.monotonic() + seconds
        while True:
            text = self.text()
            if (met in text) if isinstance(met, str) else met(text):
                return text
            assert time.monotonic() < stop, f"not on the screen after {seconds} s: {met}\n{text}"
            time.sleep(0.05)

    def ended(self, seconds: float = 60.0) -> int:
        """Look until the process has ended; returns its exit code."""
        stop = time.monotonic() + seconds
        while True:
            if self._status.exists() and (status := self._status.read_text().strip()):
                self.code = int(status)
                return self.code
            assert time.monotonic() < stop, f"still runs after {seconds} s\n{self.text()}"
            time.sleep(0.05)

    def farewell(self) -> str:
        """What stands on the screen after the app has gone."""
        return self.text()

    def clipboard(self) -> str:
        """What the app has given to the terminal's clipboard."""
        return self.tmux("show-buffer")
