"""Tasks from PyTorch files and sentences."""

import json
from pathlib import Path

import numpy as np
import pytest

from kshell.cli import main
from kshell.errors import UserError
from kshell.tasks import load, reference, spec_of
from kshell.tasks.pytorch import from_file
from semantics.spec_eval import evaluate

MLP = '''"""Linear, GELU, softmax."""
import torch
from torch import nn

batch_size = 16
features = 32
hidden = 24

class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.fc = nn.Linear(features, hidden)
        self.act = nn.GELU()

    def forward(self, x):
        return torch.softmax(self.act(self.fc(x)), dim=1)

def get_inputs():
    return [torch.randn(batch_size, features)]

def get_init_inputs():
    return [features, hidden]
'''


def written(folder: Path, text: str, name: str = "mlp.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_axes_parameters_and_meaning_are_found(tmp_path: Path) -> None:
    task = from_file(written(tmp_path, MLP))
    assert task.axes == {"batch_size": 16, "features": 32, "hidden": 24}
    assert [(t.name, t.shape) for t in task.inputs] == [
        ("x", ("batch_size", "features")),
        ("fc_weight", ("hidden", "features")),
        ("fc_bias", ("hidden",)),
    ]
    assert task.outputs[0].shape == ("batch_size", "hidden")
    assert task.tolerance.reduction == "32"
    workload = task.workload(batch_size=5, hidden=7)
    rng = np.random.default_rng(0)
    arrays = {t.name: rng.normal(size=task.shapes(workload)[t.name]) for t in task.inputs}
    expected = reference.compute(task, workload, arrays)["out"]
    np.testing.assert_allclose(evaluate(spec_of(task, workload), arrays)["out"], expected, atol=1e-7)


def test_a_size_that_is_a_product_of_constants_stays_a_number(tmp_path: Path) -> None:
    text = (
        "import torch\nheads = 4\ndim = 8\n"
        "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
        "def get_inputs():\n    return [torch.randn(heads * dim)]\n"
        "def get_init_inputs():\n    return []\n"
    )
    task = from_file(written(tmp_path, text))
    assert task.axes == {}
    assert task.inputs[0].shape == (32,)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1\n", "does not define Model"),
        ("def broken(:\n", "mlp.py:1: not a Python file"),
        ("raise ValueError('no weights')\n", "ValueError: no weights"),
        (MLP.replace("torch.randn(batch_size, features)", "torch.randn(batch_size, 3)"), "does not run"),
        (MLP.replace("return [torch.randn(batch_size, features)]", "return [3]"), "does not run"),
    ],
)
def test_what_a_file_lacks_is_said_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as caught:
        from_file(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_verb_writes_a_manifest_that_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", str(written(tmp_path, MLP)), "--yes"]) == 0
    assert capsys.readouterr().out.strip() == "mlp.json"
    assert load("mlp.json").axes["hidden"] == 24


def test_sentence_offers_the_nearest_task_with_its_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "softmax over the rows of a 4096 x 2048 float matrix", "--json"]) == 0
    offered = json.loads(capsys.readouterr().out)
    assert offered["nearest"] == "softmax"
    assert offered["sizes"] == {"rows": 4096, "n": 2048}


@pytest.mark.parametrize("text", ["sort the strings"])
def test_what_needs_a_model_is_said(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", text]) == 2
    assert "language model" in capsys.readouterr().err
