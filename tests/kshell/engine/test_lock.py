"""Who works on a session, and who will."""

import os
import subprocess
import sys
from pathlib import Path

from kshell.engine import lock


def test_a_session_runs_while_its_lock_is_held(tmp_path: Path) -> None:
    assert not lock.running(tmp_path, "s")
    with lock.held(tmp_path, "s"):
        assert lock.running(tmp_path, "s")
    assert not lock.running(tmp_path, "s")


def test_an_heir_counts_until_it_has_taken_the_session_and_let_go_of_it(tmp_path: Path) -> None:
    with lock.held(tmp_path, "s"):
        lock.announce(tmp_path, "s", os.getpid())
    assert lock.running(tmp_path, "s")
    with lock.held(tmp_path, "s"):
        assert lock.running(tmp_path, "s")
    assert not lock.running(tmp_path, "s")


def test_an_heir_that_died_or_never_came_does_not_count(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    lock.announce(tmp_path, "s", dead.pid)
    assert not lock.running(tmp_path, "s")
    lock.announce(tmp_path, "s", os.getpid())
    old = (tmp_path / "s.heir").stat().st_mtime - lock.HEIR_SECONDS - 1
    os.utime(tmp_path / "s.heir", (old, old))
    assert not lock.running(tmp_path, "s")
