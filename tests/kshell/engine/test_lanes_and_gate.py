"""Several devices at once, and tasks that nobody could judge."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from insights_db.records import Candidate, CompileResult, ValidationResult
from insights_db.store import Store
from kshell.engine.session import drain
from kshell.errors import UserError
from semantics.task import Task, Workload
from tests.kshell.engine import fakes


class TwoLanes(fakes.FakeEvaluator):
    """Counts how many validations run at once."""

    lanes = 2
    now = most = 0

    async def validate(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ValidationResult:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        self.now -= 1
        return await super().validate(candidate, task, workload, compiled)


@pytest.mark.parametrize("lanes", [1, 2])
async def test_each_device_measures_one_candidate_at_a_time(tmp_path: Path, lanes: int) -> None:
    journal = fakes.Journal()
    evaluator = TwoLanes(journal)
    evaluator.lanes = lanes
    with Store(tmp_path / "a.db") as store:
        parts = replace(fakes.parts(journal), evaluator=evaluator)
        session = fakes.session(store, tmp_path, parts)
        await drain(session)
    assert evaluator.most == lanes
    assert all(known.reward is not None for known in session.state.candidates.values())


async def test_a_task_nobody_could_judge_starts_no_session(tmp_path: Path) -> None:
    journal = fakes.Journal()
    parts = replace(fakes.parts(journal), unfit=lambda task, _: f"task {task.name}: zeros pass as y")
    with Store(tmp_path / "a.db") as store:
        session = fakes.session(store, tmp_path, parts)
        with pytest.raises(UserError, match="no session was started: task relu: zeros pass as y"):
            await drain(session)
        assert store.sessions() == []
        assert session.state.seq == 0
    assert journal.lines == []


async def test_a_resumed_session_is_not_asked_again(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        await drain(fakes.session(store, tmp_path, fakes.parts(fakes.Journal())))
        parts = replace(fakes.parts(fakes.Journal()), unfit=lambda *_: "never")
        again = fakes.session(store, tmp_path, parts)
        events = await drain(again)
    assert events[0].kind == "session_resumed"
