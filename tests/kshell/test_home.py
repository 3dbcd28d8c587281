"""What the start screen lists and opens, on the engine's doubles."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from insights_db.store import Store
from kshell import events as ev
from kshell import paths, wiring
from kshell.cli.known import settings_of
from kshell.engine.lock import held, running
from kshell.errors import UserError
from kshell.home import HomeDesk
from kshell.tui.home import Plan
from kshell.tui.replay import Replay
from tests.kshell.engine import fakes


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))
    monkeypatch.setattr(wiring, "parts", lambda settings: fakes.parts(fakes.Journal()))
    with wiring.store() as store:
        yield HomeDesk(store)


def store_of(home: HomeDesk) -> Store:
    return home._store


async def run(home: HomeDesk, plan: Plan) -> list[ev.Event]:
    return [event async for event in home.start(plan).stream]


async def test_it_lists_tasks_and_devices(home: HomeDesk) -> None:
    assert {"relu", "softmax"} <= {task.name for task in home.tasks()}
    assert home.devices()[0] == "cpu"
    assert home.sessions() == []


async def test_a_started_session_runs_and_is_listed_as_finished(home: HomeDesk) -> None:
    events = await run(home, Plan(task="relu", rounds=2, group=3, seed=1))
    assert isinstance(events[-1], ev.SessionFinished)
    [listed] = home.sessions()
    assert (listed.name, listed.state, listed.how) == ("relu-1", "finished", "replay")
    replay = home.open("relu-1", "replay").stream
    assert isinstance(replay, Replay) and [e.seq for e in replay.events] == [e.seq for e in events]


async def test_the_roles_of_a_plan_are_those_of_its_session(home: HomeDesk) -> None:
    assert home.agents()[-1] == ("verifier", "prover", "insight")
    await run(home, Plan(task="relu", rounds=1, group=2, agents=("insight",)))
    record = store_of(home).session("relu-1")
    assert record is not None and settings_of(record).agents == ("insight",)


async def test_a_session_that_was_left_is_resumed_with_its_past_first(home: HomeDesk) -> None:
    stream = home.start(Plan(task="relu", rounds=2, group=3, seed=1)).stream
    seen = [await anext(stream) for _ in range(12)]
    await stream.aclose()  # type: ignore[attr-defined]
    [listed] = home.sessions()
    assert listed.how == "resume"
    resumed = [event async for event in home.open("relu-1", "resume").stream]
    assert resumed[:12] == seen
    assert [event.seq for event in resumed] == list(range(1, len(resumed) + 1))
    assert isinstance(resumed[-1], ev.SessionFinished) and not resumed[-1].interrupted


async def test_a_killed_session_is_stopped_and_a_running_one_is_attached_to(home: HomeDesk) -> None:
    await run(home, Plan(task="relu", rounds=1, group=2, seed=1))
    with store_of(home).write() as writer:
        writer.session_state("relu-1", "running")
    assert home.sessions()[0].state == "stopped"
    with held(paths.locks(), "relu-1"):
        [listed] = home.sessions()
        assert (listed.state, listed.how) == ("running", "attach")
        opened = home.open("relu-1", "attach")
        opened.control.act("pause")
        assert store_of(home).asked("relu-1") == [("pause", "")]
    with pytest.raises(UserError, match="does not run"):
        opened.control.act("pause")
    assert isinstance([event async for event in opened.stream][-1], ev.SessionFinished)


async def test_an_unknown_task_is_one_line(home: HomeDesk) -> None:
    with pytest.raises(UserError, match="did you mean relu"):
        home.start(Plan(task="rellu"))


async def test_leaving_a_session_running_starts_its_resume_in_the_background(
    home: HomeDesk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[tuple[list[str], dict[str, object]]] = []

    def start(words: list[str], **options: object) -> SimpleNamespace:
        started.append((words, options))
        return SimpleNamespace(pid=os.getpid())

    monkeypatch.setattr("kshell.remote.subprocess.Popen", start)
    monkeypatch.setattr("kshell.remote._started", [])
    opened = home.start(Plan(task="relu", rounds=1, group=2, seed=1))
    assert opened.detach is not None
    assert "kshell attach relu-1" in opened.detach()
    assert running(paths.locks(), "relu-1")
    [(words, options)] = started
    assert words[1:] == ["-m", "kshell", "resume", "relu-1", "--headless", "--wait"]
    assert options["start_new_session"] and (tmp_path / "logs" / "relu-1.log").exists()


def test_the_configuration_gives_the_defaults_of_a_new_session(
    home: HomeDesk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert home.defaults() == Plan()
    (tmp_path / "config.toml").write_text(
        '[run]\nrounds = 7\ngenerator = "llm"\nmodel = "some/model"\nagents = ["verifier", "prover"]\n'
    )
    monkeypatch.setenv("KSHELL_CONFIG", str(tmp_path / "config.toml"))
    assert home.defaults() == Plan(rounds=7, generator="llm", agents=("verifier", "prover"))
    assert home.agents()[0] == () and home.agents()[-1] == ("verifier", "prover")
    assert list(home.generators().items()) == [("builtin", "kernel families"), ("llm", "some/model")]
