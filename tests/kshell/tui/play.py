"""kshell on the engine's doubles, for a terminal: `play.py WAIT JOURNAL [VERB ...]`.

A session that is left running is carried on by this same script, so that it too uses the doubles."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from kshell import remote, wiring
from kshell.cli import main
from tests.kshell.engine import fakes


def start(command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start `python -m kshell ...` as `python -m tests.kshell.tui.play WAIT JOURNAL ...`."""
    assert command[1:3] == ["-m", "kshell"], command
    script = [sys.executable, "-m", "tests.kshell.tui.play", *sys.argv[1:3]]
    return subprocess.Popen([*script, *command[3:]], **options)


if __name__ == "__main__":
    journal = fakes.Journal(Path(sys.argv[2]))
    wiring.parts = lambda settings: fakes.parts(journal, float(sys.argv[1]))
    wiring.task = lambda name: fakes.TASK
    starter: Any = type("starter", (), {"Popen": partial(start), "DEVNULL": subprocess.DEVNULL})
    remote.subprocess = starter
    sys.exit(main(sys.argv[3:]))
