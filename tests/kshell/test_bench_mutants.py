"""The mutation bench: mutants of a small kernel are refused, the kernel itself is not."""

import json

import pytest

from kshell.bench import mutants as bench
from kshell.cli import main
from semantics.mutate import Rule


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path_factory.getbasetemp() / "home"))


def test_mutants_of_an_elementwise_kernel_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["relu", "--variants", "1", "--mutants", "10", "--seconds", "2", "--json"]
    assert main(["bench", "mutants", *arguments]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["originals"] == 1
    assert answer["originals_refused"] == 0
    assert answer["escaped"] == 0
    assert answer["refused"] + answer["undecided"] == answer["mutants"]
    assert answer["refused"] >= 9
    assert answer["refused_by_stage"]["falsifier"] >= 8
    assert "OUT OF BOUNDS" in answer["faults"]


def test_a_sample_takes_the_rules_in_turn() -> None:
    original = next(o for o in bench.originals(["softmax"], 3) if "__syncthreads" in o.source)
    chosen = bench.sample(original.source, 10, seed=1)
    assert {m.rule for m in chosen} == set(Rule)
    assert chosen == bench.sample(original.source, 10, seed=1)
    assert chosen != bench.sample(original.source, 10, seed=2)


def test_a_sample_in_all_draws_from_every_kernel() -> None:
    kernels = list(bench.originals(["relu", "gemv"], 2))
    few = bench.drawn(kernels, 10, 6, seed=3)
    assert sum(map(len, few)) == 6
    assert few == bench.drawn(kernels, 10, 6, seed=3)
    assert sum(map(len, bench.drawn(kernels, 10, None, seed=3))) == 40
