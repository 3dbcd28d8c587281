"""Sessions through the command line, on the engine's doubles."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from insights_db.store import Store
from kshell import events as ev
from kshell import paths
from kshell.engine import session as engine
from kshell.engine.lock import held, running
from kshell.engine.state import fold
from tests.kshell.cli.conftest import Command
from tests.kshell.engine import fakes

ROOT = Path(__file__).parents[3]
SMALL = ("--rounds", "2", "--group", "4", "--seed", "1")


def test_run_prints_the_session_and_says_what_is_proven(kshell: Command, journal: fakes.Journal) -> None:
    ran = kshell("run", "relu", *SMALL, "--rounds", "3", "--headless")
    assert ran.code == 0 and ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0].startswith("session relu-1: relu n=16384 on cpu, 3 rounds x 4")
    assert any("PROMOTED" in line and "baseline" in line for line in lines)
    assert any("validated, unproven: the loop invariant was not found" in line for line in lines)
    assert any("REFUTED: RACE" in line for line in lines)
    export = Path(next(line.split()[1] for line in lines if line.startswith("    export ")))
    assert (export / "certificate.json").exists()


def test_json_prints_only_events_on_stdout(kshell: Command, journal: fakes.Journal) -> None:
    ran = kshell("run", "relu", *SMALL, "--json")
    events = [ev.parse(line) for line in ran.out.splitlines()]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(events[-1], ev.SessionFinished)
    assert fold(events).session == "relu-1"


def test_several_tasks_are_several_sessions(kshell: Command, journal: fakes.Journal) -> None:
    ran = kshell("run", "relu", "softmax", "relu", *SMALL, "--json")
    assert ran.code == 0
    listed = json.loads(kshell("sessions", "--json").out)
    assert {(s["name"], s["task"], s["state"]) for s in listed} == {
        ("relu-1", "relu", "finished"),
        ("softmax-1", "softmax", "finished"),
        ("relu-2", "relu", "finished"),
    }


def test_nothing_promoted_is_code_1(kshell: Command, journal: fakes.Journal) -> None:
    assert kshell("run", "relu", *SMALL, "--max-proof-tries", "0", "--headless").code == 1
    assert kshell("run", "relu", *SMALL, "--prove", "never", "--headless").code == 0


def test_a_taken_name_is_refused(kshell: Command, journal: fakes.Journal) -> None:
    assert kshell("run", "relu", *SMALL, "--session", "mine", "--json").code == 0
    again = kshell("run", "relu", *SMALL, "--session", "mine", "--json")
    assert again.code == 2 and "kshell resume mine" in again.complaint
    assert kshell("run", "relu", "gelu", *SMALL, "--session", "mine", "--json").code == 0
    assert {"mine-relu", "mine-gelu"} <= {s["name"] for s in json.loads(kshell("sessions", "--json").out)}


def test_replay_prints_what_run_printed(kshell: Command, journal: fakes.Journal, tmp_path: Path) -> None:
    text = kshell("run", "relu", *SMALL, "--headless").out
    assert kshell("replay", "relu-1", "--headless").out == text
    assert kshell("replay", "rel", "--headless").out == text
    events = kshell("replay", "relu-1", "--json").out
    (tmp_path / "session.jsonl").write_text(events)
    assert kshell("replay", str(tmp_path / "session.jsonl"), "--headless").out == text
    assert kshell("replay", "relu-1", "--speed", "1000", "--json").out == events


def test_a_broken_recording_names_file_and_line(kshell: Command, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"kind": "round_started", "round": 1}\n{"kind": "nonsense"}\n')
    ran = kshell("replay", str(tmp_path / "x.jsonl"))
    assert ran.code == 2 and "x.jsonl:2: not an event" in ran.complaint


def test_resume_of_a_finished_session_needs_more_rounds(kshell: Command, journal: fakes.Journal) -> None:
    kshell("run", "relu", *SMALL, "--json")
    proposals = [line for line in journal.lines if line.startswith("propose")]
    assert kshell("resume", "relu-1", "--headless").code == 0
    assert [line for line in journal.lines if line.startswith("propose")] == proposals
    more = kshell("resume", "relu-1", "--rounds", "3", "--headless")
    assert "goes on after 2 rounds" in more.out
    assert journal.lines.count("propose 3") == 1
    assert kshell("resume", "relu-2").complaint.endswith("`kshell sessions` lists them")


def test_export_writes_the_best_promoted_kernel(
    kshell: Command, journal: fakes.Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fakes, "quality", _launcher_quality)
    monkeypatch.setattr(fakes.FakeGenerator, "propose", _with_launcher(fakes.FakeGenerator.propose))
    nothing = kshell("export")
    assert nothing.code == 1 and "nothing is promoted yet" in nothing.complaint
    kshell("run", "relu", *SMALL, "--rounds", "4", "--headless")
    done = kshell("export", "--to", str(tmp_path / "out"), "--json")
    assert done.code == 0
    said = json.loads(done.out)
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["candidate"] == said["candidate"]
    assert (tmp_path / "out" / "source.cu").read_text() == certificate["source"]
    with Store(paths.database()) as store:
        other = next(c.id for c in store.candidates("relu-1") if c.id != said["candidate"])
    refused = kshell("export", other)
    assert refused.code == 1 and "is not promoted" in refused.complaint
    assert kshell("export", "zzz").code == 1
    (tmp_path / "file").write_text("")
    assert "--to" in kshell("export", "--to", str(tmp_path / "file" / "x")).complaint


def _launcher_quality(candidate: object) -> int:
    return int(str(candidate.source).split()[2])  # type: ignore[attr-defined]


def _with_launcher(propose):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    async def proposed(self, context):  # type: ignore[no-untyped-def]
        launcher = "\nvoid launch(const float* x, float* y, int n) {\n}\n"
        return [replace(p, source="// " + p.source + launcher) for p in await propose(self, context)]

    return proposed


def test_candidates_are_proven_later(kshell: Command, journal: fakes.Journal) -> None:
    assert kshell("prove").code == kshell("prove", "relu-1", "--pending").code == 2
    assert kshell("prove", "--pending").out == "nothing waits for a proof\n"
    kshell("run", "relu", *SMALL, "--rounds", "3", "--prove", "never", "--headless")
    kshell("run", "softmax", *SMALL, "--rounds", "3", "--prove", "never", "--headless")
    proven = kshell("prove", "relu-1", "--headless")
    assert proven.code == 0 and "PROMOTED" in proven.out
    assert kshell("export", "--session", "softmax-1").code == 1
    assert kshell("prove", "--pending", "--json").code == 0
    assert {s["promoted"] > 0 for s in json.loads(kshell("sessions", "--json").out)} == {True}
    unknown = kshell("prove", "relu-1", "zzzz", "--headless")
    assert unknown.code == 2 and "no candidate 'zzzz'" in unknown.complaint
    assert {s["state"] for s in json.loads(kshell("sessions", "--json").out)} == {"finished"}


def test_insights_are_searched(kshell: Command, journal: fakes.Journal) -> None:
    assert kshell("insights").code == 1
    kshell("run", "relu", *SMALL, "--rounds", "4", "--headless")
    found = json.loads(kshell("insights", "draw", "--json").out)
    assert found and all(not insight["retracted"] for insight in found)
    assert kshell("insights", "draw", "--limit", "1").out.count("\n") == 1
    assert kshell("insights", '"C++').code == 1
    assert kshell("insights", "draw", "--family", "matmul").code == 1


def test_sessions_are_deleted(kshell: Command, journal: fakes.Journal) -> None:
    kshell("run", "relu", *SMALL, "--headless")
    with held(paths.locks(), "relu-1"):
        assert "is running in process" in kshell("sessions", "--delete", "relu-1").complaint
    assert kshell("sessions", "--delete", "relu-1").out == "deleted relu-1\n"
    assert kshell("sessions").out == "no sessions yet; `kshell run relu` makes one\n"


# --- what goes wrong while a session runs ---


def test_a_session_that_runs_elsewhere_is_not_resumed(kshell: Command, journal: fakes.Journal) -> None:
    kshell("run", "relu", *SMALL, "--json")
    with held(paths.locks(), "relu-1"):
        ran = kshell("resume", "relu-1", "--headless")
    assert ran.code == 2 and "kshell attach relu-1" in ran.complaint


def test_a_database_that_another_process_locks(
    kshell: Command, journal: fakes.Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    kshell("run", "relu", *SMALL, "--json")
    monkeypatch.setattr("kshell.wiring.store", lambda: Store(paths.database(), wait=0.05))
    other = sqlite3.connect(paths.database(), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ran = kshell("run", "relu", *SMALL, "--headless")
    other.close()
    assert ran.code == 2 and "locked by another process" in ran.complaint


def test_a_full_disk_stops_the_session_and_resume_goes_on(
    kshell: Command, journal: fakes.Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small() -> Store:
        store = Store(paths.database())
        pages = store._connection.raw.execute("PRAGMA page_count").fetchone()[0]
        store._connection.raw.execute(f"PRAGMA max_page_count = {pages + 6}")
        return store

    with monkeypatch.context() as patch:
        patch.setattr("kshell.wiring.store", small)
        ran = kshell("run", "relu", *SMALL, "--headless")
    assert ran.code == 2
    assert "the disk is full" in ran.complaint and "kshell resume relu-1" in ran.complaint
    assert kshell("resume", "relu-1", "--headless").code == 0


def test_an_event_of_another_version(kshell: Command, journal: fakes.Journal) -> None:
    kshell("run", "relu", *SMALL, "--json")
    raw = sqlite3.connect(paths.database())
    with raw:
        raw.execute("UPDATE events SET body = json_set(body, '$.colour', 'red') WHERE seq = 5")
    raw.close()
    for words in (("replay", "relu-1", "--headless"), ("resume", "relu-1", "--headless")):
        ran = kshell(*words)
        assert ran.code == 2
        assert "event 5 of session relu-1" in ran.complaint and "colour" in ran.complaint


@pytest.mark.parametrize("column", ["options", "task_body"])
def test_settings_or_a_task_of_another_version(kshell: Command, journal: fakes.Journal, column: str) -> None:
    kshell("run", "relu", *SMALL, "--json")
    raw = sqlite3.connect(paths.database())
    with raw:
        raw.execute(f"UPDATE sessions SET {column} = '{{\"colour\": 1}}'")
    raw.close()
    ran = kshell("resume", "relu-1", "--headless")
    assert ran.code == 2 and "another version of kshell" in ran.complaint
    assert kshell("replay", "relu-1", "--headless").code == 0


def test_a_name_that_another_process_just_took(kshell: Command, journal: fakes.Journal) -> None:
    with held(paths.locks(), "relu-1"):
        assert kshell("run", "relu", *SMALL, "--json").code == 0
    assert [s["name"] for s in json.loads(kshell("sessions", "--json").out)] == ["relu-2"]


def test_an_error_nobody_foresaw_is_one_line(
    kshell: Command, journal: fakes.Journal, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(engine, "attack_round", broken)
    ran = kshell("run", "relu", *SMALL, "--headless")
    assert ran.code == 2 and "internal error: ZeroDivisionError: oh; the report is in" in ran.complaint
    assert len(list((home / "crashes").iterdir())) == 1


def faked(tmp_path: Path, wait: float, *words: str) -> subprocess.Popen[str]:
    """kshell on doubles in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.kshell.cli.faked",
        str(wait),
        str(tmp_path / "journal.txt"),
        *words,
    ]
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    )


def until(met, seconds: float = 20.0) -> None:  # type: ignore[no-untyped-def]
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_stops_at_once_and_says_how_to_go_on(
    kshell: Command, journal: fakes.Journal, tmp_path: Path, number: signal.Signals
) -> None:
    process = faked(tmp_path, 60.0, "run", "relu", *SMALL, "--headless")
    until((tmp_path / "journal.txt").exists)
    sent = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - sent < 5
    assert process.returncode == 130
    assert "kshell resume relu-1" in err and "Traceback" not in err
    assert "nothing promoted" in out
    assert kshell("resume", "--headless").code == 0


def test_attach_watches_and_steers_a_session_of_another_process(kshell: Command, tmp_path: Path) -> None:
    process = faked(tmp_path, 0.05, "run", "relu", "--rounds", "500", "--seed", "1", "--headless")
    until((tmp_path / "journal.txt").exists)
    assert running(paths.locks(), "relu-1")
    from kshell.remote import RemoteControl, tail

    async def watch(store: Store) -> list[ev.Event]:
        control = RemoteControl(store, "relu-1")
        control.act("note", "use shared memory")
        seen: list[ev.Event] = []
        async for event in tail(store, "relu-1"):
            seen.append(event)
            if isinstance(event, ev.PersonActed) and event.action == "note":
                control.act("stop")
        return seen

    with Store(paths.database()) as store:
        events = asyncio.run(asyncio.wait_for(watch(store), 30))
    process.communicate(timeout=20)
    assert process.returncode == 130
    acted = [(e.action, e.target) for e in events if isinstance(e, ev.PersonActed)]
    assert acted == [("note", "use shared memory"), ("stop", "")]
    assert isinstance(events[-1], ev.SessionFinished) and events[-1].interrupted
    ran = kshell("attach", "relu-1")
    assert ran.code == 2 and "does not run" in ran.complaint
