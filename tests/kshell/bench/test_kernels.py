"""`kshell bench kernels` on a device made of a formula."""

import asyncio
import json

import pytest

from agents.builtin import BuiltinGenerator
from agents.sampling import RandomGenerator
from insights_db.records import (
    Candidate,
    CaseResult,
    CompileResult,
    ProfileResult,
    ValidationResult,
)
from kshell import tasks, wiring
from kshell.bench.kernels import Outcome, Trial, best_so_far, table
from kshell.cli import main
from semantics.task import Task, Workload


class FormulaEvaluator:
    """Blocks of 512 are fastest; float4 kernels are wrong; 1024 threads do not compile."""

    device = "formula"

    def __init__(self) -> None:
        self.compiled: list[str] = []

    async def compile(self, candidate: Candidate, task: Task, workload: Workload) -> CompileResult:
        self.compiled.append(candidate.id)
        ok = candidate.schedule.get("block") != 1024
        return CompileResult(ok=ok, diagnostics="" if ok else "1:1: too many threads")

    async def validate(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ValidationResult:
        ok = candidate.family != "elementwise-float4"
        return ValidationResult(ok=ok, cases=(CaseResult(name="normal", axes=dict(workload.axes), ok=ok),))

    async def profile(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ProfileResult:
        ms = 1.0 + abs(int(candidate.schedule.get("block", 64)) - 512) / 512
        return ProfileResult(
            ok=True, device="formula", median_ms=ms, baseline="eager", baseline_ms=2.0, speedup=2.0 / ms
        )


def trial(evaluator: FormulaEvaluator) -> Trial:
    task = tasks.get("relu")
    return Trial(task, task.workload(), evaluator)


def test_both_strategies_get_the_same_evaluations_and_a_kernel_is_measured_once() -> None:
    evaluator = FormulaEvaluator()
    bench = trial(evaluator)
    builtin = BuiltinGenerator()
    asyncio.run(bench.search("builtin", builtin, 4, 6, 0))
    asyncio.run(bench.search("random", RandomGenerator(builtin), 4, 6, 0))
    first, second = bench.outcomes()
    assert (first.evaluations, second.evaluations) == (24, 24)
    assert len(evaluator.compiled) == len(set(evaluator.compiled)) < 48
    assert first.best_ms == 1.0
    assert first.speedup == 2.0
    assert first.first_ms is not None
    assert first.best_ms <= first.first_ms
    assert first.to_near == first.curve.index(1.0) + 1
    assert first.failures == len(first.complaints) >= 1
    assert any("elementwise-float4" in c and c.endswith(": wrong") for c in first.complaints)


def test_random_sampling_repeats_itself_for_a_seed_and_never_within_a_search() -> None:
    bench = trial(FormulaEvaluator())
    for seed in (5, 5, 6):
        asyncio.run(bench.search("random", RandomGenerator(), 3, 6, seed))
    one, two, three = bench.outcomes()
    assert one.curve == two.curve
    assert one.curve != three.curve


def test_the_best_so_far_ignores_failures() -> None:
    assert list(best_so_far([None, 3.0, None, 4.0, 2.0])) == [None, 3.0, 3.0, 3.0, 2.0]


def test_the_verb_prints_json_with_the_documented_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wiring, "evaluator", lambda _settings: FormulaEvaluator())
    code = main(["bench", "kernels", "--tasks", "relu", "--rounds", "2", "--group", "4", "--json"])
    out = capsys.readouterr().out
    results = [Outcome(**r) for r in json.loads(out)["results"]]
    assert code == 0
    assert [r.strategy for r in results] == ["builtin", "random"]
    assert {r.device for r in results} == {"formula"}
    assert "elementwise" in table(results)


def test_a_wrong_strategy_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kernels", "--strategies", "magic"]) == 2
    assert "--strategies takes some of builtin, random" in capsys.readouterr().err
