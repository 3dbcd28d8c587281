"""The engine's side of the agents: scoreboard, regression cases, lessons, refutations by a prover, memory."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from agents.llm.failures import Kind, LLMFailure
from agents.protocols import Verdict
from insights_db.records import Candidate, Counterexample, Insight, Obligation, Proof, ProofStatus
from insights_db.store import Store, new_session
from kshell import events as ev
from kshell.engine import scores
from kshell.engine.desk import Parts
from kshell.engine.memory import SessionMemory
from kshell.engine.session import drain
from semantics.task import Task, Workload
from tests.kshell.engine import fakes

Cases = list[tuple[dict[str, int], str]]


class Known:
    """A verifier that learns, and breaks nothing."""

    name = "regression"

    def __init__(self) -> None:
        self.cases: Cases = []
        self.attacked: list[str] = []

    @property
    def idle(self) -> bool:
        return not self.cases

    def learn(self, cases: Iterable[tuple[dict[str, int], str]]) -> None:
        self.cases += cases

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        self.attacked.append(candidate.id)
        return Verdict(self.name, None, 0.0, f"{len(self.cases)} cases")


class Breaker:
    """Breaks every candidate at n = 3."""

    name = "llm-verifier"

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        found = Counterexample(fault="RACE", message="at 3", axes={"n": 3}, inputs="ties")
        return Verdict(self.name, found, 0.1, "1 try")


class Poor:
    """A verifier whose model cannot be reached."""

    name = "llm-verifier"

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        raise LLMFailure(Kind.KEY, "check the provider's key")


class Sayer:
    """A teacher that says every insight again."""

    def __init__(self) -> None:
        self.rounds: list[int] = []

    async def teach(self, number: int, measured: list[Insight], task: Task, device: str) -> list[Insight]:
        self.rounds.append(number)
        return [i.model_copy(update={"id": 0, "sentence": f"said: {i.sentence}"}) for i in measured]


class Refuter(fakes.FakeProver):
    """Refutes everything by a run."""

    async def prove(
        self,
        candidate: Candidate,
        task: Task,
        workload: Workload,
        on_obligation: Callable[[Obligation, int], None],
    ) -> Proof:
        found = Counterexample(fault="WRONG VALUE", message="y[0]", axes={"n": 1}, inputs="normal")
        return Proof(
            candidate=candidate.id,
            key=self.key(candidate, task, workload),
            status=ProofStatus.REFUTED,
            prover="llm:fake",
            counterexample=found,
            reason="refuted: WRONG VALUE: y[0]",
        )


def ran(folder: Path, made: Parts, **settings: object) -> tuple[list[ev.Event], Store]:
    store = Store(folder / "kshell.db")
    return asyncio.run(drain(fakes.session(store, folder, made, **settings))), store


def test_breaks_are_kept_and_tried_on_later_candidates_also_of_later_sessions(tmp_path: Path) -> None:
    known = Known()
    made = fakes.replaced(fakes.parts(fakes.Journal()), verifiers=(known, Breaker()))
    events, store = ran(tmp_path, made, attack_top=2, prove="never", rounds=2)
    with store:
        broken = [e.candidate for e in events if isinstance(e, ev.CounterexampleFound)]
        assert len(broken) == 4
        assert known.attacked == broken[1:]
        assert store.breaks("relu") == [({"n": 3}, "ties")]
        later = Known()
        fakes.session(store, tmp_path, fakes.replaced(made, verifiers=(later,)), name="t")
        assert later.cases == [({"n": 3}, "ties")]


def test_the_scoreboard_counts_and_is_in_the_last_event(tmp_path: Path) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), verifiers=(Breaker(),))
    events, store = ran(tmp_path, made, attack_top=1, rounds=1)
    store.close()
    [end] = [e for e in events if isinstance(e, ev.SessionFinished)]
    board = end.scores
    assert board["llm-verifier"] == {"attacks": board["fake"]["correct"], "breaks": board["fake"]["broken"]}
    assert board["fake"]["proposed"] == 4
    said = scores.line("llm-verifier", {"attacks": 3})
    assert said == "llm-verifier: 3 attacks, 0 breaks"
    assert scores.line("x", {}) == "x: nothing yet"


def test_a_verifier_that_cannot_work_is_a_problem_of_one_line(tmp_path: Path) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), verifiers=(Poor(),))
    events, store = ran(tmp_path, made, attack_top=1, prove="never", rounds=1)
    store.close()
    [problem] = [e for e in events if isinstance(e, ev.Problem)]
    assert (problem.where, problem.message) == ("llm-verifier", "check the provider's key")
    assert isinstance(events[-1], ev.SessionFinished)


def test_lessons_come_with_the_end_of_a_round_once(tmp_path: Path) -> None:
    teacher = Sayer()
    made = fakes.replaced(fakes.parts(fakes.Journal()), teacher=teacher)
    events, store = ran(tmp_path, made, prove="never")
    with store:
        said = [
            e.insight for e in events if isinstance(e, ev.InsightDistilled) and "said:" in e.insight.sentence
        ]
        assert teacher.rounds == [1, 2, 3]
        assert said
        assert all(i.id for i in said)
        asyncio.run(drain(fakes.session(store, tmp_path, made)))
        assert teacher.rounds == [1, 2, 3]


def test_a_refutation_by_a_prover_takes_the_reward_and_is_kept(tmp_path: Path) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), prover=Refuter(fakes.Journal()), verifiers=())
    events, store = ran(tmp_path, made, rounds=1, prove_top=1)
    with store:
        found = [e for e in events if isinstance(e, ev.CounterexampleFound)][-1]
        assert found.verifier == "llm:fake"
        assert ({"n": 1}, "normal") in store.breaks("relu")
        assert not [e for e in events if isinstance(e, ev.CandidatePromoted)]
        last = [e.reward for e in events if isinstance(e, ev.RewardAssigned)][-1]
        assert (last.candidate, last.value) == (found.candidate, 0.0)


def test_answers_and_costs_of_a_session_are_kept_and_fall_with_it(tmp_path: Path) -> None:
    with Store(tmp_path / "kshell.db") as store:
        store.add_session(new_session("s", "relu", {"n": 4}, device="cpu", generator="llm", seed=0))
        memory = SessionMemory(store, "s")
        memory.put("k", "first", 0.5, 10)
        memory.put("k", "second", 0.25, 5)
        memory.book(0.125, 3)
        memory.book(0.125, 3)
        assert memory.get("k") == "first"
        assert memory.get("other") is None
        assert store.paid("s") == (pytest.approx(0.75), 16)
        store.delete_session("s")
        assert store.paid("s") == (0.0, 0)
