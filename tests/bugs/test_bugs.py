"""Every bug of the corpus is named with its lines; every correct twin is accepted."""

import json

import pytest

from kshell.bench import bugs
from kshell.cli import main

SAMPLES = bugs.samples()


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path_factory.getbasetemp() / "home"))


def test_the_corpus_covers_all_patterns() -> None:
    numbers = {int(s.name[:2]) for s in SAMPLES}
    assert numbers == set(range(1, 29))
    bugs_of = {s.name.removesuffix(".bug") for s in SAMPLES if s.fault is not None}
    twins_of = {s.name.removesuffix(".twin") for s in SAMPLES if s.fault is None}
    assert bugs_of < twins_of
    assert {name[:2] for name in twins_of - bugs_of} == {"25", "26", "27"}


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.name for s in SAMPLES])
def test_sample(sample: bugs.Sample) -> None:
    outcome = bugs.check(sample)
    assert (outcome.got, sorted(set(outcome.lines))) == (sample.fault, list(sample.lines)), outcome.message


def test_check_shows_a_race_as_two_threads(capsys: pytest.CaptureFixture[str]) -> None:
    sample = next(s for s in SAMPLES if s.name.startswith("01") and s.fault)
    assert main(["check", str(sample.path), "--task", "softmax", "--size", "rows=2", "--size", "n=300"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "01_broadcast_slot_reused.bug.cu:17:17: RACE: read of `s[0]` by thread (32,0,0)"
    )
    assert lines[2].split("|")[1].strip() == "thread (0,0,0) of block (0,0,0)"
    assert lines[4].split("|")[0].strip() == "line 17: float top = s[0];  // <- RACE"
    carets = lines[5].index("^"), lines[5].rindex("^")
    assert lines[4][carets[0] :].startswith("s[0]")
    assert lines[4][carets[1] - len("s[t] = sum") + 1 :].startswith("s[t] = sum")
    assert "smallest sizes found: rows=1, n=1" in lines[-1]


def test_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    sample = next(s for s in SAMPLES if s.name.startswith("16") and s.fault)
    assert main(["check", str(sample.path), "--task", "scale", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False
    found = answer["counterexample"]
    assert (found["fault"], found["axes"], found["output"], found["index"]) == (
        "OUT OF BOUNDS",
        {"n": 1},
        "x",
        1,
    )
    assert found["points"][0]["line"] == sample.lines[0]
    twin = sample.path.with_name(sample.path.name.replace(".bug.", ".twin."))
    assert main(["check", str(twin), "--task", "scale", "--seconds", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counterexample"] is None


def test_check_refuses_what_is_outside_the_language(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path_factory.mktemp("refused") / "k.cu"
    kernel.write_text("__global__ void k(float* y) { goto out; }\n")
    assert main(["check", str(kernel), "--task", "relu"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("refused: k.cu:1:")
    assert main(["check", str(kernel), "--task", "relu", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["refused"]["line"] == 1


def test_check_names_a_wrong_value_with_both_values(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path_factory.mktemp("wrong") / "k.cu"
    kernel.write_text(
        "__global__ void k(const float* x, float* y, int n) {\n"
        "    int i = blockIdx.x * 32 + threadIdx.x;\n"
        "    if (i < n) y[i] = i == 7 ? x[i] : fmaxf(x[i], 0.0f);\n}\n"
        "void launch(const float* x, float* y, int n) { k<<<(n + 31) / 32, 32>>>(x, y, n); }\n"
    )
    assert main(["check", str(kernel), "--task", "relu"]) == 1
    text = capsys.readouterr().out
    assert "WRONG VALUE: `y[7]` is -" in text
    assert "the reference says 0" in text
    assert "smallest sizes found: n=8" in text
