"""The text view: short lines, and a sign of life in long steps."""

import io

from insights_db.records import Obligation, ProofStatus, Reward
from kshell import events as ev
from kshell import summary
from kshell.engine.state import SessionState
from kshell.text import TextView, describe
from tests.kshell.engine.test_resume import whole


def shown(events: list[ev.Event]) -> list[str]:
    state, lines = SessionState(), []
    for event in events:
        state.apply(event)
        lines += describe(event, state)
    return lines


def test_a_session_reads_as_short_lines_without_markup() -> None:
    batches, _ = whole(1)
    lines = shown([event for batch in batches for event in batch])
    assert lines[0] == "session s: relu n=64 on cpu, 3 rounds x 4, generator fake, seed 1"
    assert [line for line in lines if line.startswith("round")] == [f"round {n} of 3" for n in (1, 2, 3)]
    assert any("did not compile: 1:1: no such thing" in line for line in lines)
    assert any("wrong: " in line for line in lines)
    assert any("valid: " in line and "x the baseline" in line for line in lines)
    assert any(line == "    [2/2] closed equal at every thread" for line in lines)
    assert all("\n" not in line and len(line) < 200 for line in lines)


def test_the_end_names_every_best_kernel_as_promoted_or_unproven() -> None:
    _, end = whole(1)
    lines = summary.lines(end, top=3)
    promoted = {known.id for known in end.promoted}
    assert promoted
    for known in end.ranked()[:3]:
        [line] = [line for line in lines if known.id in line and "x the baseline" in line]
        assert line.startswith("PROMOTED") == (known.id in promoted)
        if known.id not in promoted:
            assert "validated, unproven: " in line
    assert lines[-1].startswith("best of round 1 ") and lines[-1].endswith("x as fast")


def test_a_session_without_a_correct_kernel_says_so() -> None:
    batches, _ = whole(1)
    first = [event for batch in batches for event in batch if event.seq <= 6]
    state = SessionState()
    for event in first:
        state.apply(event)
    assert summary.lines(state) == ["no candidate was measured yet"]
    for known in list(state.candidates):
        state.apply(ev.RewardAssigned(reward=Reward(candidate=known, value=-1.0, reason="no")))
    assert summary.lines(state) == [
        "no candidate was correct; `kshell replay` shows what went wrong with each"
    ]
    assert summary.outcome(state) == "nothing promoted, no correct kernel"


def test_an_obligation_that_stays_open_says_why() -> None:
    batches, _ = whole(1)
    events = [event for batch in batches for event in batch]
    started = next(i for i, event in enumerate(events) if isinstance(event, ev.ProofStarted))
    state = SessionState()
    for event in events[: started + 1]:
        state.apply(event)
    open_one = ev.ObligationClosed(
        candidate=events[started].candidate,  # type: ignore[union-attr]
        obligation=Obligation(
            name="o", title="bounds", status=ProofStatus.UNPROVEN, message="i < n is open\n[facts] ..."
        ),
        total=5,
    )
    state.apply(open_one)
    assert describe(open_one, state) == ["    [1/5] unproven: bounds: i < n is open …"]


def test_long_steps_show_that_they_live() -> None:
    out, time = io.StringIO(), [0.0]
    view = TextView(out, now=lambda: time[0])
    batches, _ = whole(1)
    for batch in batches:
        for event in batch:
            view.show(event)
        if isinstance(batch[-1], ev.ProofStarted):
            break
    before = out.getvalue()
    for seconds in range(1, 26):
        time[0] = float(seconds)
        view.tick()
    said = out.getvalue()[len(before) :].splitlines()
    assert [line.split(",")[-1] for line in said] == [" 10 s", " 20 s"]
    assert said[0].startswith("  … proving ")
    view.show(ev.PersonActed(action="pause"))
    time[0] = 100.0
    view.tick()
    assert "paused" not in out.getvalue()


def test_latencies_have_three_digits_and_a_unit() -> None:
    values = (0.0001234, 0.0123, 1.5, 12.34, 1234.0)
    assert [summary.milliseconds(v) for v in values] == ["0.123 us", "12.3 us", "1.5 ms", "12.3 ms", "1.23 s"]
