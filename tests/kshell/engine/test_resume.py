"""A session that is cut at any moment goes on as if it had not been, and repeats no finished stage."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from insights_db.store import Store, new_session
from kshell import events as ev
from kshell.engine.log import project
from kshell.engine.session import drain
from kshell.engine.state import SessionState, fold
from tests.kshell.engine import fakes

ROOT = Path(__file__).parents[3]


def result(state: SessionState) -> dict[str, object]:
    """What has to be the same however often a session was cut."""
    return {
        "candidates": {
            k.id: (k.candidate, k.evaluation, k.reward, k.attacked, k.proof_status, k.promoted)
            for k in state.candidates.values()
        },
        "insights": state.insights,
        "rounds": {number: (r.best, r.best_ms, r.best_reward) for number, r in state.rounds.items()},
        "spent": (state.budget.rounds_done, state.budget.candidates_done, state.budget.proof_tries),
        "promoted": state.finished and (state.finished.promoted, state.finished.best),
    }


@cache
def whole(seed: int) -> tuple[list[list[ev.Event]], SessionState]:
    """A session without a cut: the batches of events that were stored together, and its end."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "kshell.db") as store:
        session = fakes.session(store, Path(folder), fakes.parts(fakes.Journal()), seed=seed)
        batches: list[list[ev.Event]] = []
        append = session._desk.log.append

        def recorded(*events: ev.Event) -> list[ev.Event]:
            batches.append(append(*events))
            return batches[-1]

        session._desk.log.append = recorded  # type: ignore[method-assign]
        asyncio.run(drain(session))
        return batches, session.state


def finished_stages(events: list[ev.Event]) -> set[str]:
    """The doubles' calls that the events say are done."""
    names = {
        ev.CompileFinished: "compile",
        ev.ValidationFinished: "validate",
        ev.ProfileFinished: "profile",
        ev.VerificationFinished: "attack",
        ev.ProofFinished: "prove",
    }
    done = {f"{names[type(e)]} {e.candidate}" for e in events if type(e) in names}  # type: ignore[union-attr]
    return done | {f"propose {e.candidate.round}" for e in events if isinstance(e, ev.CandidateProposed)}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 5), cut=st.floats(0, 1))
def test_a_session_cut_after_any_stored_event_ends_the_same(seed: int, cut: float) -> None:
    batches, end = whole(seed)
    before = [event for batch in batches[: round(cut * len(batches))] for event in batch]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "kshell.db") as store:
        if before:
            store.add_session(
                new_session("s", "relu", {"n": 64}, device="cpu", generator="builtin", seed=seed)
            )
        state = SessionState()
        with store.write() as writer:
            for event in before:
                state.apply(event)
                writer.event("s", event.seq, event.kind, event.at, event.model_dump_json())
                project(writer, "s", state, event)
        journal = fakes.Journal()
        resumed = fakes.session(store, Path(folder), fakes.parts(journal), seed=seed)
        asyncio.run(drain(resumed))
        assert result(resumed.state) == result(end)
        assert not finished_stages(before) & set(journal.lines)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 5), cut=st.floats(0, 1), again=st.integers(0, 20))
def test_the_fold_goes_on_from_any_prefix_and_ignores_repeats(seed: int, cut: float, again: int) -> None:
    batches, end = whole(seed)
    events = [event for batch in batches for event in batch]
    place = round(cut * len(events))
    state = fold(events[:place])
    for event in events[max(0, place - again) :]:
        state.apply(event)
    assert state == end == fold(ev.parse(event.model_dump_json()) for event in events)


def test_the_tables_are_derived_from_the_events(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as first, Store(tmp_path / "b.db") as second:
        asyncio.run(drain(fakes.session(first, tmp_path, fakes.parts(fakes.Journal()), attack_top=4)))
        record = first.session("s")
        assert record is not None
        second.add_session(record)
        state = SessionState()
        with second.write() as writer:
            for line in first.events("s"):
                event = ev.parse(line)
                state.apply(event)
                writer.event("s", event.seq, event.kind, event.at, line)
                project(writer, "s", state, event)
        assert first.counts() == second.counts()
        assert first.insights(limit=99, retracted=True) == second.insights(limit=99, retracted=True)
        assert first.certificates() == second.certificates()
        assert first.candidates("s") == second.candidates("s")
        for candidate in first.candidates("s"):
            assert first.evaluation("s", candidate.id) == second.evaluation("s", candidate.id)
            assert first.proofs(candidate.id) == second.proofs(candidate.id)


def victim(folder: Path, wait: float) -> subprocess.Popen[bytes]:
    """The session `s` of `folder`, started or resumed in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.kshell.engine.victim", str(folder), str(wait)], cwd=ROOT
    )


def stored(folder: Path) -> list[ev.Event]:
    """The events in the database of a folder."""
    if not (folder / "kshell.db").exists():
        return []
    with Store(folder / "kshell.db") as store:
        return [ev.parse(line) for line in store.events("s")]


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """Kill the process again and again, each time after some more work, until it comes to its end."""
    kills, done_before, calls_before = 0, set[str](), Counter[str]()
    while True:
        known = len(stored(tmp_path))
        process = victim(tmp_path, 0.004)
        while process.poll() is None and len(_journal(tmp_path)) < calls_before.total() + 8:
            time.sleep(0.003)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
        calls = Counter(_journal(tmp_path))
        repeated = {call for call in done_before if calls[call] > calls_before[call]}
        assert repeated == set()
        events = stored(tmp_path)
        assert len(events) >= known
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        done_before, calls_before = finished_stages(events), calls
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        assert kills < 60
    assert kills >= 3
    assert result(fold(stored(tmp_path))) == result(whole(1)[1])


def _journal(folder: Path) -> list[str]:
    path = folder / "journal.txt"
    return path.read_text().splitlines() if path.exists() else []
