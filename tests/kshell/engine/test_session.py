"""A session from its start to its end, on doubles."""

import asyncio
from pathlib import Path

import pytest

from agents.llm.failures import Kind, LLMFailure
from agents.llm.ledger import CapReached
from agents.protocols import GenerationContext, Proposal, Spent
from insights_db.records import Candidate, CompileResult, Proof, ProofStatus
from insights_db.store import Store
from kshell import events as ev
from kshell.engine.control import Control
from kshell.engine.session import Session, drain
from kshell.engine.state import fold
from kshell.errors import UserError
from semantics.task import Task, Workload
from tests.kshell.engine import fakes


@pytest.fixture
def store(tmp_path: Path):
    with Store(tmp_path / "kshell.db") as opened:
        yield opened


def of_kind(events: list[ev.Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


async def test_a_session_runs_its_rounds_and_promotes_a_proven_kernel(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    events = await drain(session)
    assert isinstance(events[0], ev.SessionStarted)
    assert isinstance(events[-1], ev.SessionFinished)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(of_kind(events, ev.RoundFinished)) == 3
    assert len(of_kind(events, ev.CandidateProposed)) == 12
    [promoted] = of_kind(events, ev.CandidatePromoted)
    known = session.state.candidates[promoted.candidate]
    assert known.proof is not None and known.proof.status is ProofStatus.PROVEN
    assert (Path(promoted.export) / "kernel.cu").read_text() == known.candidate.source
    assert events[-1].promoted == (promoted.candidate,)


async def test_every_event_is_stored_before_it_is_seen(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    async for event in session.run():
        assert store.last_seq("s") >= event.seq
    stored = [ev.parse(line) for line in store.events("s")]
    assert fold(stored) == session.state


async def test_stages_fail_fast_and_rewards_follow_the_rule(store: Store, tmp_path: Path) -> None:
    journal = fakes.Journal()
    session = fakes.session(store, tmp_path, fakes.parts(journal), rounds=6, group=6, attack_top=6)
    await drain(session)
    seen = set()
    for known in session.state.candidates.values():
        quality = fakes.quality(known.candidate)
        assert known.reward is not None
        if quality % 5 == 0:
            seen.add("compile")
            assert known.reward.value == -1 and known.validation is None
            assert known.reward.reason == "1:1: no such thing"
        elif quality % 5 == 1:
            seen.add("wrong")
            assert known.reward.value == 0 and known.profile is None
        elif known.counterexamples:
            seen.add("refuted")
            assert known.reward.value == 0 and known.reward.reason.startswith("refuted: RACE")
        else:
            seen.add("correct")
            assert known.reward.value == quality + 1
            assert known.reward.rscore == pytest.approx((quality + 1) / 1000)
    assert seen == {"compile", "wrong", "refuted", "correct"}


async def test_compiles_overlap_and_measurements_do_not(store: Store, tmp_path: Path) -> None:
    made = fakes.parts(fakes.Journal(), wait=0.01)
    await drain(fakes.session(store, tmp_path, made, rounds=1, group=6, jobs=3))
    assert isinstance(made.evaluator, fakes.FakeEvaluator)
    assert made.evaluator.overlaps["compile"] == 3
    assert made.evaluator.overlaps["profile"] == made.evaluator.overlaps["validate"] == 1
    assert not made.evaluator.disturbed


async def test_the_same_seed_makes_the_same_proposals(tmp_path: Path) -> None:
    def sources(name: str, seed: int) -> list[str]:
        with Store(tmp_path / f"{name}.db") as store:
            session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()), seed=seed)
            asyncio.run(drain(session))
            return [known.candidate.source for known in session.state.candidates.values()]

    first, second, other = await asyncio.gather(
        asyncio.to_thread(sources, "a", 1),
        asyncio.to_thread(sources, "b", 1),
        asyncio.to_thread(sources, "c", 2),
    )
    assert first == second != other


async def test_the_generator_sees_history_insights_notes_and_bans(store: Store, tmp_path: Path) -> None:
    made = fakes.parts(fakes.Journal())
    control = Control()
    control.act("note", "try float4")
    session = fakes.session(store, tmp_path, made)
    session.control = control
    banned = ""
    async for event in session.run():
        if isinstance(event, ev.RewardAssigned) and not banned:
            banned = event.reward.candidate
            control.act("ban", banned[:6])
    contexts = made.generator.contexts  # type: ignore[attr-defined]
    assert contexts[0].notes == ("try float4",) and contexts[0].history == ()
    assert contexts[1].banned == (banned,)
    assert [len(c.history) for c in contexts] == [0, 4, 8]
    failed = [s for s in contexts[1].history if s.reward.value == -1]
    assert failed and failed[0].evaluation.compile is not None
    assert contexts[2].insights and all(not insight.retracted for insight in contexts[2].insights)


async def test_a_refuted_candidate_is_never_proven_and_its_insights_fall(
    store: Store, tmp_path: Path
) -> None:
    journal = fakes.Journal()
    session = fakes.session(store, tmp_path, fakes.parts(journal), rounds=5, group=6, attack_top=6)
    await drain(session)
    refuted = {known.id for known in session.state.candidates.values() if known.counterexamples}
    assert refuted
    assert not refuted & {line.split()[1] for line in journal.lines if line.startswith("prove ")}
    standing = {i.after for i in store.insights(limit=1000)} | {i.before for i in store.insights(limit=1000)}
    assert not refuted & standing
    assert not refuted & {known.id for known in session.state.promoted}


async def test_proof_tries_are_bounded(store: Store, tmp_path: Path) -> None:
    journal = fakes.Journal()
    session = fakes.session(store, tmp_path, fakes.parts(journal), max_proof_tries=1)
    events = await drain(session)
    assert sum(line.startswith("prove ") for line in journal.lines) == 1
    assert "--max-proof-tries" in events[-1].outcome


async def test_a_proof_has_its_time(store: Store, tmp_path: Path) -> None:
    journal = fakes.Journal()
    made = fakes.replaced(fakes.parts(journal), prover=fakes.FakeProver(journal, wait=60.0))
    session = fakes.session(store, tmp_path, made, proof_seconds=0.05, prove_top=2, prove="end")
    events = await drain(session)
    reasons = [event.proof.reason for event in of_kind(events, ev.ProofFinished)]
    assert reasons == ["the proof did not close within 0.05 s (--proof-seconds)"] * 2
    assert session.state.budget.proof_tries == 2 and "the 2 best were tried" in events[-1].outcome


async def test_a_proof_of_an_earlier_session_is_found_again(store: Store, tmp_path: Path) -> None:
    first = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()), name="a", insights=0)
    await drain(first)
    journal = fakes.Journal()
    second = fakes.session(store, tmp_path, fakes.parts(journal), name="b", insights=0)
    await drain(second)
    [promoted] = second.state.promoted
    assert promoted.id == first.state.promoted[0].id
    assert f"prove {promoted.id}" not in journal.lines
    assert second.state.budget.proof_tries == first.state.budget.proof_tries - 1
    assert set(promoted.obligations) == {"safe", "equal"}


class Narrow(fakes.FakeProver):
    """Can state a proof for one candidate in six, and closes those."""

    def key(self, candidate: Candidate, task: Task, workload: Workload) -> str:
        return f"key {candidate.id}" if fakes.quality(candidate) % 6 == 0 else ""

    async def prove(self, candidate, task, workload, on_obligation):  # type: ignore[no-untyped-def]
        if self.key(candidate, task, workload):
            return await super().prove(candidate, task, workload, on_obligation)
        return Proof(
            candidate=candidate.id, key="", status=ProofStatus.UNPROVEN, reason="loops are beyond it"
        )


async def test_kernels_beyond_the_prover_cost_no_try_and_do_not_hide_provable_ones(
    store: Store, tmp_path: Path
) -> None:
    journal = fakes.Journal()
    made = fakes.replaced(fakes.parts(journal), prover=Narrow(journal))
    session = fakes.session(store, tmp_path, made, rounds=4, group=6, prove_top=1, attack_top=0)
    await drain(session)
    promoted, *_ = session.state.promoted
    better = [known for known in session.state.ranked() if known.value > promoted.value]
    assert len(better) > 1
    for known in better:
        assert known.proof is not None and known.proof.reason == "loops are beyond it"
        assert not known.attacked
    assert promoted.attacked == {"falsifier"}
    assert session.state.budget.proof_tries == sum(line.startswith("prove ") for line in journal.lines)


class Paid(fakes.FakeGenerator):
    """Costs 40 cents and 1000 tokens a round."""

    def spent(self) -> Spent:
        return Spent(0.4 * len(self.contexts), 1000 * len(self.contexts))


@pytest.mark.parametrize(
    ("cap", "value", "rounds"), [("max_usd", 0.5, 2), ("max_tokens", 1000, 1), ("max_usd", 100.0, 3)]
)
async def test_caps_on_money_and_tokens_end_the_rounds(
    store: Store, tmp_path: Path, cap: str, value: float, rounds: int
) -> None:
    made = fakes.parts(fakes.Journal())
    paid = Paid(fakes.Journal())
    session = fakes.session(store, tmp_path, fakes.replaced(made, generator=paid), **{cap: value})
    events = await drain(session)
    assert len(paid.contexts) == rounds
    assert session.state.budget.usd == pytest.approx(0.4 * rounds)
    assert session.state.budget.tokens == 1000 * rounds
    assert (f"--{cap.replace('_', '-')}" in events[-1].outcome) == (rounds < 3)


async def test_the_cap_on_seconds_counts_work_and_not_pauses(store: Store, tmp_path: Path) -> None:
    clock = iter(range(0, 100_000, 10))
    session = Session(
        store=store,
        name="s",
        task=fakes.TASK,
        workload=fakes.TASK.workload(),
        settings=fakes.chosen(max_seconds=100.0),
        parts=fakes.parts(fakes.Journal()),
        exports=tmp_path,
        now=lambda: float(next(clock)),
    )
    events = await drain(session)
    assert "--max-seconds" in events[-1].outcome
    assert session.state.budget.seconds >= 100


async def test_pause_holds_and_continue_goes_on(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    stream = session.run()
    waiting: asyncio.Future[ev.Event] | None = None
    kinds: list[str] = []
    while waiting is None or waiting.done():
        waiting = asyncio.ensure_future(anext(stream))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        if done:
            kinds.append(waiting.result().kind)
            if kinds[-1] == "compile_finished" and "person_acted" not in kinds:
                session.control.act("pause")
    assert session.state.paused and "person_acted" in kinds and "session_finished" not in kinds
    session.control.act("continue")
    rest = [await waiting] + [event async for event in stream]
    assert rest[0].kind == "person_acted"
    assert rest[-1].kind == "session_finished"


async def test_stop_ends_at_once_and_the_session_can_be_resumed(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal(), wait=30.0))
    asyncio.get_running_loop().call_later(0.05, session.control.act, "stop")
    events = await asyncio.wait_for(drain(session), 5)
    assert isinstance(events[-1], ev.SessionFinished) and events[-1].interrupted
    resumed = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    events = await drain(resumed)
    assert isinstance(events[0], ev.SessionResumed)
    assert resumed.state.finished is not None and not resumed.state.finished.interrupted
    assert len(resumed.state.rounds) == 3


async def test_leaving_the_stream_stops_the_session(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal(), wait=0.01))
    stream = session.run()
    async for event in stream:
        if isinstance(event, ev.RewardAssigned):
            break
    await stream.aclose()
    last = [ev.parse(line) for line in store.events("s")][-1]
    assert isinstance(last, ev.SessionFinished) and last.interrupted


async def test_a_person_can_ask_for_a_proof(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()), prove="never")
    asked: list[str] = []
    async for event in session.run():
        if isinstance(event, ev.RewardAssigned) and event.reward.value > 0 and len(asked) < 2:
            asked.append(event.reward.candidate)
            session.control.act("prove", event.reward.candidate)
    assert asked
    for target in asked:
        known = session.state.candidates[target]
        assert known.proof is not None or known.counterexamples
    assert session.state.wanted == []


async def test_a_person_can_ask_for_an_attack(store: Store, tmp_path: Path) -> None:
    made = fakes.parts(journal := fakes.Journal())
    session = fakes.session(store, tmp_path, made, prove="never", attack_top=0, rounds=6)
    asked: list[str] = []
    events = []
    async for event in session.run():
        events.append(event)
        fresh = isinstance(event, ev.RewardAssigned) and event.reward.candidate not in asked
        if fresh and session.state.round < 6:
            asked.append(event.reward.candidate)
            session.control.act("refute", event.reward.candidate)
    good = {key for key in asked if session.state.candidates[key].attacked}
    assert sorted(line for line in journal.lines if "attack" in line) == sorted(f"attack {k}" for k in good)
    found = {event.candidate for event in of_kind(events, ev.CounterexampleFound)}
    assert found and found < good
    told = {event.candidate for event in of_kind(events, ev.Problem) if event.where == "refute"}
    assert told == set(asked) - good
    assert session.state.suspected == []


async def test_a_session_that_is_over_takes_no_request(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    async for event in session.run():
        if isinstance(event, ev.SessionFinished):
            with pytest.raises(UserError, match="is over"):
                session.control.act("prove", event.promoted[0])


async def test_what_is_asked_for_during_the_last_proof_is_still_done(store: Store, tmp_path: Path) -> None:
    made = fakes.parts(journal := fakes.Journal())
    session = fakes.session(store, tmp_path, made, prove="end", attack_top=0)
    late: list[str] = []
    async for event in session.run():
        if isinstance(event, ev.ProofStarted) and not late:
            late = [k.id for k in session.state.ranked() if not k.attacked][-1:]
            session.control.act("refute", late[0])
    assert late and f"attack {late[0]}" in journal.lines
    assert session.state.suspected == []


async def test_a_target_the_session_does_not_know_is_refused(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    async for event in session.run():
        if isinstance(event, ev.RoundFinished):
            with pytest.raises(UserError, match="no candidate 'zzz'"):
                session.control.act("pin", "zzz")
            with pytest.raises(UserError, match="unknown action"):
                session.control.act("dance")  # type: ignore[arg-type]


class Broken(fakes.FakeEvaluator):
    """Raises on every second compile, or on every one."""

    def __init__(self, every: int, error: Exception) -> None:
        super().__init__(fakes.Journal())
        self._every, self._error, self._calls = every, error, 0

    async def compile(self, *args: object) -> CompileResult:
        self._calls += 1
        if self._calls % self._every == 0:
            raise self._error
        return await super().compile(*args)  # type: ignore[arg-type]


async def test_an_error_of_the_device_costs_one_candidate(store: Store, tmp_path: Path) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), evaluator=Broken(4, RuntimeError("bang")))
    session = fakes.session(store, tmp_path, made)
    await drain(session)
    assert len(session.state.problems) == 3
    assert all(problem.message == "RuntimeError: bang" for problem in session.state.problems)
    assert session.state.promoted


async def test_a_device_that_always_fails_ends_the_session_with_one_line(
    store: Store, tmp_path: Path
) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), evaluator=Broken(1, RuntimeError("bang")))
    session = fakes.session(store, tmp_path, made)
    with pytest.raises(UserError, match="kshell doctor"):
        await drain(session)
    assert session.state.problems[-1].fatal
    assert session.state.finished is not None and session.state.finished.interrupted


async def test_a_missing_compiler_ends_the_session_and_resume_goes_on(store: Store, tmp_path: Path) -> None:
    missing = Broken(1, UserError("g++ was not found; install it"))
    with pytest.raises(UserError, match=r"g\+\+ was not found"):
        await drain(
            fakes.session(store, tmp_path, fakes.replaced(fakes.parts(fakes.Journal()), evaluator=missing))
        )
    resumed = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    await drain(resumed)
    assert resumed.state.promoted and len(resumed.state.rounds) == 3


class Stopped(fakes.FakeGenerator):
    """Fails in the second round."""

    def __init__(self, error: Exception) -> None:
        super().__init__(fakes.Journal())
        self._error = error
        self.problems: list[str] = []

    async def propose(self, context: GenerationContext) -> list[Proposal]:
        if context.round == 2:
            raise self._error
        self.problems.append("one conversation stalled")
        return await super().propose(context)


async def test_a_cap_that_the_generator_meets_ends_the_rounds(store: Store, tmp_path: Path) -> None:
    stopped = Stopped(CapReached("a call could cost 2 dollars; of 3, 2.5 are spent"))
    session = fakes.session(store, tmp_path, fakes.replaced(fakes.parts(fakes.Journal()), generator=stopped))
    events = await drain(session)
    assert "of 3, 2.5 are spent" in events[-1].outcome and not events[-1].interrupted
    assert [problem.message for problem in session.state.problems] == ["one conversation stalled"]


@pytest.mark.parametrize("error", [LLMFailure(Kind.KEY, "m: no key; set X_API_KEY"), ValueError("no family")])
async def test_a_generator_that_gives_up_ends_the_session_with_one_line(
    store: Store, tmp_path: Path, error: Exception
) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), generator=Stopped(error))
    with pytest.raises(UserError, match=f"gave up: {error}"):
        await drain(fakes.session(store, tmp_path, made))
    resumed = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    await drain(resumed)
    assert len(resumed.state.rounds) == 3


def test_a_resumed_session_has_what_the_caps_leave() -> None:
    budget = fakes.chosen().budget().model_copy(update={"usd": 1.5, "tokens": 700, "seconds": 99.0})
    left = fakes.chosen(max_usd=2.0, max_tokens=500, max_seconds=100.0).left_of(budget)
    assert (left.max_usd, left.max_tokens, left.max_seconds) == (0.5, 0, 1.0)
    assert fakes.chosen().left_of(budget) == fakes.chosen()


class Repeating(fakes.FakeGenerator):
    """Proposes the same kernel for ever."""

    async def propose(self, context: object) -> list[Proposal]:
        return [Proposal(source="kernel 3", proposer="fake")] * 2


async def test_a_generator_with_nothing_new_ends_the_rounds(store: Store, tmp_path: Path) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), generator=Repeating(fakes.Journal()))
    session = fakes.session(store, tmp_path, made)
    events = await drain(session)
    assert len(session.state.candidates) == 1
    assert "no new kernel after round 1" in events[-1].outcome
    assert session.state.promoted


async def test_more_rounds_on_resume_go_on(store: Store, tmp_path: Path) -> None:
    await drain(fakes.session(store, tmp_path, fakes.parts(fakes.Journal()), rounds=1))
    journal = fakes.Journal()
    resumed = fakes.session(store, tmp_path, fakes.parts(journal), rounds=2)
    await drain(resumed)
    assert [line for line in journal.lines if line.startswith("propose")] == ["propose 2"]
    assert resumed.state.budget.rounds == 2 and resumed.state.budget.rounds_done == 2


async def test_a_past_session_is_proven_later(store: Store, tmp_path: Path) -> None:
    await drain(fakes.session(store, tmp_path, fakes.parts(fakes.Journal()), prove="never"))
    journal = fakes.Journal()
    later = fakes.session(store, tmp_path, fakes.parts(journal), prove="never")
    waiting = [known.id for known in later.state.ranked()]
    events = [event async for event in later.prove()]
    assert [event.kind for event in (events[0], events[-1])] == ["session_resumed", "session_finished"]
    assert {line.split()[0] for line in journal.lines} == {"attack", "prove"}
    for target in waiting:
        known = later.state.candidates[target]
        assert known.counterexamples or known.proof is not None
        assert known.promoted == (fakes.quality(known.candidate) % 3 == 0 and not known.counterexamples)
    assert later.state.finished is not None and not later.state.finished.interrupted
    unproven = next(known for known in later.state.ranked() if not known.promoted)
    again = fakes.session(store, tmp_path, fakes.parts(journal), prove="never")
    before = journal.lines.count(f"prove {unproven.id}")
    events = [event async for event in again.prove([unproven.id[:8]])]
    assert journal.lines.count(f"prove {unproven.id}") == before + 1
    assert any("is not proven: the loop invariant" in e.message for e in events if isinstance(e, ev.Problem))


async def test_a_session_without_candidates_has_nothing_to_prove(store: Store, tmp_path: Path) -> None:
    session = fakes.session(store, tmp_path, fakes.parts(fakes.Journal()))
    with pytest.raises(UserError, match="no candidates to prove"):
        session.prove()


class Liar(fakes.FakeProver):
    """Certifies another source."""

    def certificate(self, candidate, task, workload, proof):  # type: ignore[no-untyped-def]
        return super().certificate(candidate, task, workload, proof).model_copy(update={"source": "other"})


async def test_a_certificate_about_another_source_promotes_nothing(store: Store, tmp_path: Path) -> None:
    made = fakes.replaced(fakes.parts(fakes.Journal()), prover=Liar(fakes.Journal()))
    session = fakes.session(store, tmp_path, made)
    await drain(session)
    assert session.state.promoted == []
    assert any("another source" in problem.message for problem in session.state.problems)
