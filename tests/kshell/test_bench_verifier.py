"""The score of the verifier: what counts as a hit, and a run on a few labelled kernels."""

import json

import pytest

from kshell import tasks
from kshell.bench.verifier import Judged, Labelled, labelled, scores
from kshell.cli import main


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path_factory.getbasetemp() / "home"))


def judged(wrong: bool, **refusals: str) -> Judged:
    task = tasks.get("relu")
    return Judged(Labelled("k", "", task, task.workload(), wrong), dict(refusals))


def test_positive_means_wrong() -> None:
    every = [
        judged(True, falsifier="RACE"),
        judged(True, validator="off by one"),
        judged(True),
        judged(False),
        judged(False, falsifier="RACE"),
    ]
    assert scores(every, ("falsifier", "validator")) == {"accuracy": 60.0, "precision": 66.7, "recall": 66.7}
    assert scores(every, ("validator",)) == {"accuracy": 60.0, "precision": 100.0, "recall": 33.3}
    assert [j.right for j in every] == [True, True, False, True, False]


def test_the_labelled_set_has_many_kernels_of_both_kinds() -> None:
    kernels = list(labelled())
    assert sum(k.wrong for k in kernels) > 40
    assert sum(not k.wrong for k in kernels) > 60
    assert len({k.name for k in kernels}) == len(kernels)


def test_some_labelled_kernels_are_judged_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "verifier", "--only", "16_no_tail_guard", "--seconds", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["accuracy"], answer["precision"], answer["recall"]) == (100.0, 100.0, 100.0)
    assert answer["total"] == 2
    assert answer["mistakes"] == []
