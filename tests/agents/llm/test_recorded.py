"""A complete session with a model, recorded by `tests.agents.llm.recorded.play`, replays: as text, as JSON,
and in the terminal app. What text in kernels told the model to do changed nothing."""

import json
from pathlib import Path

import pytest

from kshell import events as ev
from kshell.cli import main
from kshell.engine.promotion import obstacle
from kshell.engine.state import fold
from kshell.tui.app import KshellApp
from kshell.tui.replay import Replay
from tests.agents.llm.recorded.play import INJECTION
from tests.kshell.tui.fakes import FIXED, plain, taken_in

FILE = Path(__file__).parent / "recorded" / "session.jsonl"
EVENTS = [ev.parse(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_the_recording_is_whole_and_every_role_has_its_part() -> None:
    state = fold(EVENTS)
    assert [event.seq for event in EVENTS] == list(range(1, len(EVENTS) + 1))
    assert state.finished is not None and not state.finished.interrupted
    assert state.budget.usd > 0 and state.budget.tokens > 10_000
    board = state.finished.scores
    assert board == state.scores.points()
    assert board["llm-verifier"]["breaks"] == board["regression"]["breaks"] == 1
    assert board["automatic"] == {"tries": 1, "proofs": 1}
    assert board["llm:openai/fake"]["promoted"] == 1
    assert any("One guarded element a thread" in insight.sentence for insight in state.insights)


def test_an_instruction_in_a_kernel_promotes_nothing() -> None:
    state = fold(EVENTS)
    told = [known for known in state.candidates.values() if INJECTION in known.candidate.source]
    assert len(told) == 2
    for known in told:
        assert known.validation is not None and known.validation.ok
        assert not known.promoted
        assert (obstacle(known) or "").startswith("refuted: WRONG VALUE")
    assert [known.id for known in state.promoted] == [state.best.id if state.best else ""]


def test_it_replays_as_text_and_as_the_same_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(FILE), "--headless"]) == 0
    text = capsys.readouterr().out
    assert "REFUTED by llm-verifier: WRONG VALUE" in text
    assert "REFUTED by regression: WRONG VALUE" in text
    assert "llm-verifier: 2 attacks, 1 break" in text
    assert "PROMOTED" in text
    assert main(["replay", str(FILE), "--json"]) == 0
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert again == [json.loads(event.model_dump_json()) for event in EVENTS]


async def test_it_replays_in_the_app() -> None:
    replay = Replay(EVENTS, 0.0)
    app = KshellApp(replay, replay, now=lambda: FIXED)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await taken_in(pilot, len(EVENTS))
        text = plain(screen)
    assert "relu" in text
    assert "✓ finished" in text
    assert "3/4 kernels" in text
