"""Tasks by a model: checked and built by our own code, run in a process of its own, confirmed by a person."""

import json
from pathlib import Path
from typing import Any

import pytest

from kshell import tasks
from kshell.cli import main
from kshell.tasks import rehearsal
from kshell.tasks.drafting import Bad, build, checked_lines, held
from kshell.tasks.rehearsal import Rehearsed
from semantics.task import Task
from tests.agents.llm.kit import call
from tests.agents.llm.server import serving

SCALED: dict[str, Any] = {
    "name": "row_softmax",
    "title": 'Softmax of "rows"',
    "axes": {"rows": 8, "n": 16},
    "inputs": [{"name": "x", "shape": ["rows", "n"]}],
    "outputs": [{"name": "y", "shape": ["rows", "n"]}],
    "forward": [
        "e = torch.exp(x - torch.unsqueeze(torch.amax(x, dim=1), 1))",
        "return e / torch.sum(e, dim=1, keepdim=True)",
    ],
    "assumptions": ["rows are the first axis"],
}


def changed(**values: Any) -> dict[str, Any]:
    return {**SCALED, **values}


async def test_a_proposal_that_holds_is_a_task_with_its_assumptions() -> None:
    made = await held(SCALED)
    assert not isinstance(made, str), made
    assert made.task.axes == {"rows": 8, "n": 16}
    assert made.assumptions == ("rows are the first axis", "float32, contiguous, row-major")
    assert made.task.work(made.task.workload())[0] > 8 * 16
    assert tasks.spec_of(made.task, made.task.workload()).outputs[0].extents == (8, 16)


@pytest.mark.parametrize(
    "line",
    [
        "__import__('os').system('id')",
        "return torch.load('x')",
        "return x.__class__",
        "return open('x')",
        "return [x for x in ()]",
        "return torch.sum(x, dim='a')",
        "import os",
        "x = torch.relu(x); return x",
        "return z",
        "return torch",
        "y = x",
        "return lambda: x",
        "y: int = 3",
    ],
)
def test_nothing_but_arithmetic_on_known_names_passes(line: str) -> None:
    with pytest.raises(Bad) as caught:
        checked_lines([line], {"x", "n"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("proposal", "says"),
    [
        (changed(name="../x"), "cannot be the name"),
        (changed(axes={}), "axes maps"),
        (changed(axes={"rows": 0, "n": 1}), "whole number from 1"),
        (changed(inputs=[]), "inputs is a list"),
        (changed(inputs=[{"name": "x", "shape": ["q"]}]), "unknown axis 'q'"),
        (changed(inputs=[{"name": "y", "shape": ["n"]}]), "the same name"),
        (changed(forward=[]), "forward is a list"),
        (changed(forward=["e = x"]), "does not end in a return"),
        (changed(assumptions="none"), "assumptions is a list"),
    ],
)
def test_what_is_wrong_with_a_proposal_is_said_in_one_line(proposal: dict[str, Any], says: str) -> None:
    with pytest.raises(Bad, match=says) as caught:
        build(proposal)
    assert "\n" not in str(caught.value)


async def test_shapes_that_do_not_fit_are_found_by_running_it_apart() -> None:
    wrong = await held(changed(outputs=[{"name": "y", "shape": ["n", "rows"]}]))
    assert isinstance(wrong, str)
    assert "returns y with shape (8, 16), the task says (16, 8)" in wrong


@pytest.mark.filterwarnings("ignore")
def test_a_sentence_is_confirmed_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KSHELL_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    async def rehearsed(task: Task) -> list[Rehearsed]:
        return []

    monkeypatch.setattr(rehearsal, "rehearse", rehearsed)
    propose, choose = call("propose", **SCALED), call("choose", inputs={"x": ["large"]})
    script = [call("propose", **changed(name="")), propose, choose]
    words = ["new", "softmax over rows", "--model", "openai/fake"]
    with serving(*script, *script[1:]) as provider:
        monkeypatch.setenv("KSHELL_API_BASE", provider.url)
        assert main(words) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "assumed  rows are the first axis" in err
        assert "not written: a model made this task; read it and give --yes" in err
        assert not Path("row_softmax.json").exists()
        assert main([*words, "--yes", "--json"]) == 0
        out, err = capsys.readouterr()
    assert json.loads(out)["made"]["model"].startswith("openai/fake, ")
    assert tasks.load("row_softmax.json").inputs[0].distributions == ("large",)
    assert "sk-secret" not in out + err


@pytest.mark.filterwarnings("ignore")
def test_c_beyond_the_built_in_reader_goes_to_the_model_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def rehearsed(task: Task) -> list[Rehearsed]:
        return []

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KSHELL_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(rehearsal, "rehearse", rehearsed)
    Path("shift.c").write_text("void f(const float* x, float* y, int n) { y[0] = x[n - 1]; }\n")
    with serving(call("propose", **SCALED), call("choose", inputs={})) as provider:
        monkeypatch.setenv("KSHELL_API_BASE", provider.url)
        assert main(["new", "shift.c", "--model", "openai/fake", "--yes"]) == 0
        assert "y[0] = x[n - 1];" in provider.requests[0]["messages"][0]["content"]
    monkeypatch.delenv("OPENAI_API_KEY")
    capsys.readouterr()
    assert main(["new", "shift.c"]) == 2
    assert "shift.c: 1:50: the index" in capsys.readouterr().err
