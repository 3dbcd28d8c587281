"""The view model is a fold of the events."""

import random

from insights_db.records import ProofStatus, Stage
from kshell import events as ev
from kshell.engine.state import fold
from kshell.tui.model import LOG_LINES, Level, Phase, Session
from tests.kshell.tui.fakes import sample


def test_a_whole_session_folds_to_its_outcome() -> None:
    session = Session.of(sample())
    assert session.phase is Phase.FINISHED
    assert [len([r for r in session.rows.values() if r.candidate.round == k]) for k in (1, 2, 3)] == [4, 4, 4]
    best = session.rows[session.best or ""]
    assert (best.label, best.median_ms, best.promoted) == ("3.1", 3.57, True)
    assert session.round_best_ms == {1: 6.41, 2: 4.38, 3: 3.57}
    assert [row.label for row in session.promoted] == ["3.1"]


def test_a_failure_stays_at_its_stage() -> None:
    session = Session.of(sample())
    refused, wrong = session.find("1.3"), session.find("1.4")
    assert refused is not None and wrong is not None
    assert (refused.stage, refused.failed, refused.value) == (Stage.COMPILE, True, -1.0)
    assert (wrong.stage, wrong.failed, wrong.value) == (Stage.VALIDATE, True, 0.0)
    assert wrong.proof is ProofStatus.REFUTED


def test_obligations_are_counted_while_a_proof_runs() -> None:
    events = sample()
    last = max(k for k, e in enumerate(events) if isinstance(e, ev.ObligationClosed))
    session = Session.of(events[:last])
    row = session.find("3.1")
    assert row is not None
    assert (row.proof, row.obligations_closed, row.obligations_total) == (ProofStatus.RUNNING, 7, 8)


def test_the_best_falls_when_it_is_refuted() -> None:
    events = sample()
    found = next(e for e in events if isinstance(e, ev.CounterexampleFound))
    session = Session.of(events[:-1])
    assert session.best is not None
    best = session.best
    session.fold(found.model_copy(update={"candidate": best, "seq": 0}))
    second = session.rows[session.best or ""]
    assert second.label == "3.2"
    assert session.rows[best].proof is ProofStatus.REFUTED


def test_it_shows_what_the_engine_says_after_every_event() -> None:
    session = Session()
    for event in sample():
        session.fold(event)
        state = fold(sample()[: session.seen])
        assert session.state == state
        assert session.best == (state.best.id if state.best else None)
        fastest = {
            number: min(times)
            for number in range(1, state.round + 1)
            if (times := [k.median_ms for k in state.of_round(number) if k.measured and k.median_ms])
        }
        assert session.round_best_ms == fastest
        assert [row.known for row in session.rows.values()] == list(state.candidates.values())


def test_an_event_that_comes_twice_counts_once() -> None:
    session = Session.of([*sample(), *sample()[20:60]])
    assert session.state == fold(sample())


def test_an_insight_that_rests_on_a_refuted_kernel_is_retracted() -> None:
    session = Session.of(sample())
    before = session.insights[0].after
    found = next(e for e in sample() if isinstance(e, ev.CounterexampleFound))
    assert not session.insights[0].retracted
    session.take_dirty()
    session.fold(found.model_copy(update={"candidate": before, "seq": 0}))
    assert session.insights[0].retracted
    assert "insights" in session.take_dirty()


def test_a_banned_kernel_is_not_the_best_and_comes_back_when_allowed() -> None:
    session = Session.of(sample())
    best = session.best or ""
    session.fold(ev.PersonActed(action="ban", target=best))
    assert session.best != best
    session.fold(ev.PersonActed(action="unban", target=best))
    assert session.best == best


def test_a_retraction_replaces_the_insight_it_is_about() -> None:
    session = Session.of(sample())
    count = len(session.insights)
    old = session.insights[0]
    session.fold(ev.InsightDistilled(insight=old.model_copy(update={"retracted": True})))
    assert len(session.insights) == count
    assert session.insights[0].retracted


def test_dirty_names_only_what_changed() -> None:
    events = sample()
    k = next(k for k, e in enumerate(events) if isinstance(e, ev.CompileFinished))
    session = Session.of(events[:k])
    session.take_dirty()
    compiled = events[k]
    session.fold(compiled)
    assert isinstance(compiled, ev.CompileFinished)
    assert session.take_dirty() == {compiled.candidate}
    assert session.take_dirty() == set()


def test_an_event_about_an_unknown_kernel_is_told_and_survived() -> None:
    session = Session()
    session.fold(ev.ProofStarted(candidate="nobody", checker="Lean"))
    assert session.rows == {}
    assert session.log[-1].level is Level.WARN
    assert "nobody" in session.log[-1].text


def test_the_log_is_capped_and_keeps_the_end() -> None:
    session = Session()
    for k in range(LOG_LINES + 50):
        session.fold(ev.RoundStarted(round=k))
    assert len(session.log) == LOG_LINES
    assert session.logged == LOG_LINES + 50
    assert str(LOG_LINES + 49) in session.log[-1].text


def test_any_order_of_events_is_survived() -> None:
    events = [event.model_copy(update={"seq": 0}) for event in sample()]
    for seed in range(20):
        shuffled = events[:]
        random.Random(seed).shuffle(shuffled)
        session = Session.of(shuffled)
        assert session.seen == len(events)
        assert len(session.rows) == 12


def test_pause_and_resume_are_followed() -> None:
    session = Session.of(sample()[:5])
    session.fold(ev.PersonActed(action="pause"))
    assert session.phase is Phase.PAUSED
    session.fold(ev.PersonActed(action="continue"))
    assert session.phase is Phase.RUNNING
    session.fold(ev.Problem(where="prover", message="no Lean", fatal=True))
    assert session.phase is Phase.FAILED
    session.fold(ev.SessionResumed(session="again"))
    assert session.phase is Phase.RUNNING


def test_a_kernel_is_found_by_label_prefix_and_best() -> None:
    session = Session.of(sample())
    row = session.find("2.2")
    assert row is not None
    assert session.find(row.id[:5]) is row
    assert session.find(" BEST ") is session.rows[session.best or ""]
    assert session.find(row.id[:2]) is None
    assert session.find("9.9") is None
