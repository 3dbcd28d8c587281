"""The checked build names races, bounds, initialisation and alignment with threads and lines."""

from pathlib import Path

import pytest

from agents.protocols import Verdict
from kshell import tasks
from kshell.bench.bugs import Sample
from kshell.bench.bugs import samples as bugs
from kshell.harness.shadow import CpuChecker
from scaffolds.families import families_of
from scaffolds.families.space import conservative_schedule
from tests.kshell.harness.samples import RELU, SOFTMAX, candidate, changed


@pytest.fixture
def checker(build_cache: Path) -> CpuChecker:
    return CpuChecker(build_cache)


async def attack(checker: CpuChecker, source: str, name: str, **axes: int) -> Verdict:
    task = tasks.load(name)
    return await checker.attack(candidate(source, name), task, task.workload(**axes))


@pytest.mark.parametrize(("source", "name"), [(RELU, "relu"), (SOFTMAX, "softmax")], ids=["relu", "softmax"])
async def test_honest_kernels_raise_no_alarm(checker: CpuChecker, source: str, name: str) -> None:
    verdict = await attack(checker, source, name)
    assert verdict.counterexample is None
    assert verdict.effort == "hidden, task shape, ragged +1; 2 thread orders each"


@pytest.mark.parametrize("name", ["softmax", "gemv"])
async def test_the_built_in_families_raise_no_alarm(checker: CpuChecker, name: str) -> None:
    task = tasks.get(name)
    for family in families_of(task):
        schedule = conservative_schedule(family, task, task.workload())
        source = family.source(task, task.workload(), schedule)
        verdict = await attack(checker, source, name)
        assert verdict.counterexample is None, (family.name, verdict.counterexample)


async def test_a_missing_barrier_names_both_threads_and_lines(checker: CpuChecker) -> None:
    source = changed(SOFTMAX, "    m = s[0];\n    __syncthreads();\n", "    m = s[0];\n")
    found = (await attack(checker, source, "softmax")).counterexample
    assert found is not None
    assert found.fault == "RACE"
    assert sorted(p.line for p in found.points) == [18, 22]
    assert {p.text for p in found.points} == {"read", "write"}
    assert found.points[0].thread != found.points[1].thread


async def test_blocks_that_write_the_same_element_race(checker: CpuChecker) -> None:
    source = changed(RELU, "if (i < n) y[i] =", "if (i < n) y[i / 2] =")
    found = (await attack(checker, source, "relu")).counterexample
    assert found is not None
    assert found.fault == "RACE"
    assert [p.text for p in found.points] == ["write", "write"]


async def test_a_read_one_past_the_end_is_found_although_it_changes_nothing(checker: CpuChecker) -> None:
    source = changed(RELU, "fmaxf(x[i], 0.0f)", "fmaxf(x[i] + 0.0f * x[i + 1] * 0.0f, 0.0f)")
    found = (await attack(checker, source, "relu")).counterexample
    assert found is not None
    assert found.fault == "OUT OF BOUNDS"
    assert found.points[0].line == 3


# What this verifier is for; the rest of the corpus is the interpreter's.
_KINDS = ("RACE", "OUT OF BOUNDS", "UNINITIALISED READ", "MISALIGNED", "DIVERGENT BARRIER", "BAD MASK")


@pytest.mark.parametrize("sample", [s for s in bugs() if s.fault in _KINDS], ids=lambda s: s.name)
async def test_bugs_of_the_corpus_are_named(checker: CpuChecker, sample: Sample) -> None:
    found = (await attack(checker, sample.source, sample.task, **sample.axes)).counterexample
    assert found is not None
    assert found.fault == sample.fault
    assert {p.line for p in found.points} <= set(sample.lines)


@pytest.mark.parametrize("sample", [s for s in bugs() if s.fault is None], ids=lambda s: s.name)
async def test_their_correct_twins_raise_no_alarm(checker: CpuChecker, sample: Sample) -> None:
    verdict = await attack(checker, sample.source, sample.task, **sample.axes)
    assert verdict.counterexample is None, verdict.counterexample


async def test_source_outside_the_language_gives_no_verdict(checker: CpuChecker) -> None:
    verdict = await attack(checker, "int main() {}", "relu")
    assert verdict.counterexample is None
    assert verdict.effort.startswith("not run: ")
