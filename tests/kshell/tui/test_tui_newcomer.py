"""A newcomer who presses only Enter and `?`, with the real compiler, validator, profiler and Lean prover."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from insights_db.records import ProofStatus
from kshell import events as ev
from kshell import wiring
from kshell.engine.log import stored
from kshell.home import HomeDesk
from kshell.tui.app import KshellApp
from kshell.tui.screens.dialogs import Page
from kshell.tui.screens.start import StartScreen
from tests.kshell.tui.fakes import plain, screen_of, start_of, taken_in

pytestmark = [
    pytest.mark.lean,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("lean"),
]
PATIENCE = 900.0


async def until(pilot: Pilot[int], condition: Callable[[], bool], what: str) -> None:
    """Let the session work until the condition holds."""
    stop = asyncio.get_running_loop().time() + PATIENCE
    while not condition():
        assert asyncio.get_running_loop().time() < stop, f"still not: {what}"
        await pilot.pause(0.05)


def page_of(app: KshellApp) -> str:
    """The text of the page on top; nothing when there is none."""
    page = app.screen
    return page.text() if isinstance(page, Page) else ""


async def test_enter_and_the_question_mark_lead_to_an_exported_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home_folder = tmp_path / "home"
    monkeypatch.setenv("KSHELL_HOME", str(home_folder))
    monkeypatch.setenv("KSHELL_CONFIG", str(tmp_path / "none.toml"))
    with wiring.store() as store:
        app = KshellApp(home=HomeDesk(store))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, StartScreen), "the start screen")
            await until(pilot, lambda: start_of(app).plan is not None, "the settings")
            await pilot.press("question_mark")
            await until(pilot, lambda: "Press Enter to evolve a kernel" in page_of(app), "the help")
            await pilot.press("enter", "enter")
            screen = await taken_in(pilot, 1)
            await pilot.press("question_mark")
            await until(pilot, lambda: "exported by itself" in page_of(app), "what happens now")
            await pilot.press("enter")
            await until(pilot, lambda: screen.ended, "the end of the session")
            assert screen.session.over and screen.session.promoted, plain(screen)
            await until(pilot, lambda: "is proven and promoted" in page_of(app), "the summary")
            assert "exported to" in page_of(app)
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is screen_of(app), "the session again")
            await pilot.pause()
            assert "✓ PROMOTED" in plain(screen) and "✓ finished" in plain(screen)
            await pilot.press("question_mark")
            await until(pilot, lambda: "It is exported to" in page_of(app), "where it is")
            best = screen.session.promoted[0]
        events = list(stored(store, "relu-1"))
    assert isinstance(events[-1], ev.SessionFinished) and not events[-1].interrupted
    assert best.proof is ProofStatus.PROVEN
    folder = Path(best.export)
    assert folder.is_relative_to(home_folder / "exports" / "relu-1")
    assert (folder / "source.cu").read_text() == best.candidate.source
    assert json.loads((folder / "certificate.json").read_text())["theorem"]
