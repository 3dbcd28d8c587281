"""A data folder of its own for every test, and the command line on the engine's doubles."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kshell import wiring
from kshell.cli import main
from tests.kshell.engine import fakes


@dataclass(frozen=True)
class Ran:
    """A command that ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line on stderr; there is no other."""
        assert self.err.startswith("kshell: ") and self.err.count("\n") == 1, self.err
        return self.err.strip()


Command = Callable[..., Ran]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the test."""
    folder = tmp_path / "home"
    monkeypatch.setenv("KSHELL_HOME", str(folder))
    monkeypatch.setenv("KSHELL_CONFIG", str(tmp_path / "config.toml"))
    for name in ("KSHELL_DEVICE", "KSHELL_GENERATOR", "KSHELL_MODEL", "KSHELL_JOBS", "KSHELL_MAX_USD"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def kshell(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> fakes.Journal:
    """Sessions run on doubles; this is the journal of their calls."""
    written = fakes.Journal()
    monkeypatch.setattr(wiring, "parts", lambda settings: fakes.parts(written))
    return written
