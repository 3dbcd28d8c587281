"""The README cannot rot: every command of its console blocks is run, in order, in one data folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kshell.cli.registry import find, verbs

ROOT = Path(__file__).parent.parent
NOT_RUN = {
    "make demo": "tests/test_demo.py runs the same session",
    "make test": "it is what runs this test",
}
MY_TASK = '''"""Twice the input, plus one."""

import torch
from torch import Tensor, nn


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2.0 * x + 1.0


def get_inputs() -> list[Tensor]:
    return [torch.randn(1000)]


def get_init_inputs() -> list[object]:
    return []
'''
MY_LOOP = """void scale(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) y[i] = 0.5f * x[i];
}
"""


def commands() -> list[str]:
    """The lines after `$` in the README's console blocks."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_every_command_is_run_or_listed_with_a_reason() -> None:
    listed = commands()
    assert len(listed) > 10
    assert set(NOT_RUN) <= set(listed)
    assert all(line.startswith("kshell ") for line in listed if line not in NOT_RUN)


def test_every_verb_the_readme_names_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`kshell ([a-z]+)", text)) | set(re.findall(r"^\$ kshell ([a-z]+)", text, re.M))
    assert {name for name in named if find(name) is None} == set()
    assert {"run", "resume", "replay", "export", "audit", "check", "verify"} <= {v.name for v in verbs()}


@pytest.mark.slow
@pytest.mark.lean
@pytest.mark.timeout(1200)
@pytest.mark.xdist_group("lean")
def test_the_tour_runs_as_written(tmp_path: Path) -> None:
    (tmp_path / "my_task.py").write_text(MY_TASK)
    (tmp_path / "my_loop.c").write_text(MY_LOOP)
    environment = {
        **os.environ,
        "KSHELL_HOME": str(tmp_path / "home"),
        "KSHELL_CONFIG": str(tmp_path / "none"),
    }
    for line in commands():
        if line in NOT_RUN:
            continue
        words = [sys.executable, "-m", "kshell", *shlex.split(line)[1:]]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}\n{done.stderr}"
    assert (tmp_path / "relu-kernel" / "certificate.json").exists()
