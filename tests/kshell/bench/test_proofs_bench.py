import argparse
import asyncio
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

import kshell.prover
from insights_db.records import Candidate, Proof, ProofStatus
from kshell import tasks
from kshell.bench import proofs, resumed
from kshell.errors import UserError
from kshell.lean import toolchain


def listed(*words: str) -> list[proofs.Kernel]:
    parser = argparse.ArgumentParser()
    proofs.configure(parser)
    return list(proofs._kernels(parser.parse_args(list(words))))


def test_each_way_to_compute_is_a_variant_of_its_family() -> None:
    found = {k.choices for k in listed("--suite", "level1", "--task", "softmax", "--variant", "thread")}
    assert found == {"", "accumulators=4", "passes=online", "divide=reciprocal", "exponentials=keep"}


def test_the_suite_has_every_task_of_level_one() -> None:
    assert {k.task.name for k in listed("--suite", "level1")} == set(tasks.names())


def test_ragged_sizes_add_the_plain_schedule_of_each_family_once_more() -> None:
    plain = listed("--task", "relu")
    both = listed("--task", "relu", "--ragged")
    assert len(both) == 2 * len(plain)
    assert {k.workload.axes["n"] for k in both} == {16384, 16385}


def test_short_axes_stay_as_they_are_at_ragged_sizes() -> None:
    axes = proofs.ragged(tasks.get("conv2d").workload()).axes
    assert axes == {"batch": 1, "cin": 17, "cout": 33, "H": 33, "k": 3, "pad": 1}


def test_the_summary_counts_level_one_tasks_only() -> None:
    def outcome(task: str, proven: bool, seconds: float) -> proofs.Outcome:
        return proofs.Outcome(task, "v", "", {"n": 4}, proven, 3, None, seconds, 10, "" if proven else "why")

    found = proofs._summary(
        [outcome("relu", True, 4.0), outcome("scale", True, 8.0), outcome("gemm", False, 1.0)], 1, 9
    )
    assert (found["proven"], found["total"], found["planned"]) == (2, 3, 9)
    assert (found["tasks"], found["tasks_proven"]) == (2, 1)
    assert found["median_seconds_warm"] == 6.0


class CountingProver:
    """Proves everything, and counts what it was asked."""

    asked: ClassVar[list[str]] = []
    slots: ClassVar[set[int]] = set()

    def __init__(self, fresh: bool, slot: int) -> None:
        self.slots.add(slot)

    def kept(self, key: str) -> Proof | None:
        return None

    def key(self, candidate: Candidate, *_: Any) -> str:
        return f"key of {candidate.id}"

    async def prepare(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        await asyncio.sleep(0)

    async def prove(self, candidate: Candidate, *_: Any) -> Proof:
        self.asked.append(candidate.id)
        await asyncio.sleep(0)
        return Proof(
            candidate=candidate.id, key=self.key(candidate), status=ProofStatus.PROVEN, seconds=7.0, file=""
        )


@pytest.fixture
def prover(monkeypatch: pytest.MonkeyPatch) -> type[CountingProver]:
    monkeypatch.setattr(kshell.prover, "LeanProver", CountingProver)
    lean = toolchain.Toolchain(toolchain.Kind.NATIVE, "0", Path("lean"))
    monkeypatch.setattr(toolchain, "find", lambda: lean)
    monkeypatch.setattr(CountingProver, "asked", [])
    monkeypatch.setattr(CountingProver, "slots", set())
    return CountingProver


def bench(*words: str) -> int:
    parser = argparse.ArgumentParser()
    proofs.configure(parser)
    return proofs.run(parser.parse_args(["--task", "relu", *words], argparse.Namespace(json=False)))


def test_a_stopped_run_goes_on_from_the_table_that_it_wrote(
    prover: type[CountingProver], tmp_path: Path
) -> None:
    out = tmp_path / "table.json"
    assert bench("--variant", "guarded", "--fresh", "--out", str(out)) == 0
    first = list(prover.asked)
    assert len(first) == 1
    assert bench("--out", str(out), "--jobs", "2") == 0
    assert prover.slots == {0, 1}
    assert first[0] not in prover.asked[1:]
    table = json.loads(out.read_text(encoding="utf-8"))
    kept = [one["variant"] for one in table["results"] if one["kept"]]
    assert kept == ["elementwise-guarded"] and table["kept"] == 1
    assert table["total"] == len(prover.asked) == len(listed("--task", "relu"))
    assert [one["variant"] for one in table["results"]] == [k.variant for k in listed("--task", "relu")]


def test_a_fresh_run_proves_what_the_table_holds_again(prover: type[CountingProver], tmp_path: Path) -> None:
    words = ("--variant", "guarded", "--fresh", "--out", str(tmp_path / "table.json"))
    assert bench(*words) == bench(*words) == 0
    assert len(prover.asked) == 2


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("[1]", encoding="utf-8")
    with pytest.raises(UserError, match="not a table of this bench"):
        resumed.earlier(other)
    with pytest.raises(UserError, match="can be written"):
        resumed.write(tmp_path / "no" / "table.json", {})
