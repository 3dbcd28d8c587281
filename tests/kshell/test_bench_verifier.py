"""The score of the verifier: what counts as a hit, and a run on a few labelled kernels."""

import json
import sys
from pathlib import Path

import pytest

from kshell import tasks, wiring
from kshell.bench import bugs
from kshell.bench.verifier import Judged, Labelled, labelled, scores
from kshell.cli import main
from kshell.harness.cuda import CudaEvaluator, Timer
from kshell.harness.cuda_link import WorkerLink
from kshell.tasks import reference
from semantics.program import load


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
    assert sum(k.wrong for k in kernels) > 150
    assert sum(not k.wrong for k in kernels) > 150
    assert len({k.name for k in kernels}) == len(kernels)


def test_every_mutant_says_why_it_has_its_label_and_differs_from_the_others() -> None:
    rows = [json.loads(line) for line in (bugs.folder() / "mutants.jsonl").read_text().splitlines()]
    assert len({row["source"] for row in rows}) == len(rows) > 100
    for row in rows:
        assert row["why"]
        tasks.get(row["task"])
        load(row["source"])


def test_a_part_takes_every_nth_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "verifier", "--only", "16_no_tail_guard", "--seconds", "1", "--json"]
    assert main([*words, "--part", "2/2"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 1
    assert main([*words, "--part", "3/2"]) == 2


def test_some_labelled_kernels_are_judged_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "verifier", "--only", "16_no_tail_guard", "--seconds", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["accuracy"], answer["precision"], answer["recall"]) == (100.0, 100.0, 100.0)
    assert answer["total"] == 2
    assert answer["mistakes"] == []


def test_on_a_gpu_the_device_judges_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Path(__file__).parent / "harness" / "fake_worker.py"
    link = WorkerLink("0", (sys.executable, str(fake), str(tmp_path / "log")))
    device = CudaEvaluator(reference.compute, links=[link], timer=Timer(samples=20))
    monkeypatch.setattr(wiring, "_cuda", lambda: device)
    words = ["bench", "verifier", "--device", "cuda", "--only", "mutant 00-0", "--seconds", "1"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "1 kernels on cuda, 1 of them wrong" in said
    assert " run relu " in (tmp_path / "log").read_text()
    assert link._process is None, "the worker was ended"
