"""A task that no judge could judge is refused before a candidate is made, by `new` and by `run`."""

from pathlib import Path

import pytest

from insights_db.store import Store
from kshell import paths
from kshell.cli import main
from kshell.tasks.manifest import write
from kshell.tasks.pytorch import from_file

MODULE = """\
import torch
from torch import nn

n = 300


class Model(nn.Module):
    def forward(self, x, z):
        return {}


def get_inputs():
    return [torch.randn(n), torch.randn(n)]


def get_init_inputs():
    return []
"""
UNFIT = {
    "x * 2.0": "no output depends on the input z",
    "4.0 + 0.0 * (x + z)": "constants pass as",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def module(folder: Path, forward: str) -> Path:
    path = folder / "mine.py"
    path.write_text(MODULE.format(forward))
    return path


@pytest.mark.parametrize("forward", UNFIT)
def test_new_makes_no_task_of_it(folder: Path, forward: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", str(module(folder, forward)), "--yes"]) == 2
    said = capsys.readouterr().err
    assert "no task was made: task mine: " in said
    assert UNFIT[forward] in said
    assert list(folder.glob("*.json")) == []


def test_run_starts_no_session_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(from_file(str(module(folder, "x * 2.0"))), folder / "mine.json")
    assert main(["run", "mine.json", "--rounds", "1", "--group", "1", "--headless"]) == 2
    said = capsys.readouterr()
    assert "no session was started: task mine: no output depends on the input z" in said.err
    assert "proposed" not in said.out
    with Store(paths.database()) as store:
        assert store.sessions() == []


def test_new_takes_a_task_that_can_be_judged(folder: Path) -> None:
    assert main(["new", str(module(folder, "x * z")), "--yes"]) == 0
    assert (folder / "mine.json").exists()
