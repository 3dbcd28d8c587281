"""Each command of the registry is reached by its keys, by typing it, and from the palette; those that no
other test carries out are carried out here."""

import pytest
from textual.pilot import Pilot

from kshell import events as ev
from kshell.tui.commands import COMMANDS, Command
from kshell.tui.model import Phase
from kshell.tui.provider import KshellCommands
from kshell.tui.screens.dialogs import Page
from kshell.tui.screens.session import SessionScreen
from kshell.tui.screens.start import StartScreen
from tests.kshell.tui.fakes import live_app, plain, replay_app, sample, taken_in, until

SIZE = (80, 24)


def arguments(command: Command) -> str:
    """Something to type after a command that needs it."""
    needed = command.argument and not command.argument.startswith("[")
    return "7" if needed else ""


def watched(screen: SessionScreen, monkeypatch: pytest.MonkeyPatch, keep: str = "") -> list[tuple[str, str]]:
    """Commands that are reached are noted instead of carried out, all but `keep`."""
    reached: list[tuple[str, str]] = []
    for command in COMMANDS:
        if command.name != keep:

            def note(argument: str, name: str = command.name) -> None:
                reached.append((name, argument))

            monkeypatch.setattr(screen, f"do_{command.name}", note)
    return reached


async def test_every_key_reaches_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        reached = watched(screen, monkeypatch)
        expected = [(c.name, key) for c in COMMANDS for key in c.keys.split(",") if key]
        for _, key in expected:
            await pilot.press(key)
        assert reached == [(name, "") for name, _ in expected]


async def test_every_command_is_reached_by_typing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        reached = watched(screen, monkeypatch, keep="command")
        typed = [command for command in COMMANDS if command.name != "command"]
        for command in typed:
            await pilot.press("slash", *f"{command.name} {arguments(command)}".strip(), "enter")
        assert reached == [(command.name, arguments(command)) for command in typed]


async def test_every_command_is_in_the_palette(monkeypatch: pytest.MonkeyPatch) -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        reached = watched(screen, monkeypatch)
        asked = []
        async for hit in KshellCommands(screen).discover():
            before = len(reached)
            hit.command()
            if len(reached) == before:
                asked.append(screen.prompt.value.strip().removeprefix("/"))
                screen.close_prompt()
        assert sorted([*asked, *(name for name, _ in reached)]) == sorted(
            command.name for command in COMMANDS if command.name != "command"
        )
        assert set(asked) == {command.name for command in COMMANDS if arguments(command)}


async def test_stop_and_continue_reach_a_live_session_and_not_one_that_is_over() -> None:
    app, stream, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        stream.push([ev.PersonActed(action="pause")])
        await until(pilot, lambda: screen.session.phase is Phase.PAUSED)
        await pilot.press("slash", *"continue", "enter", "S")
        assert control.asked == [("continue", ""), ("stop", "")]
        assert "what runs is finished first" in screen.message
        stream.push(sample()[-1:])
        stream.finish()
        await until(pilot, lambda: isinstance(app.screen, Page), "the summary")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("S")
        assert "the session is over" in screen.message
        assert len(control.asked) == 2


async def test_the_budget_page_says_what_was_spent_and_promoted() -> None:
    app, _, _ = live_app(sample()[:-1])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()) - 1)
        await pilot.press("B")
        await until(pilot, lambda: isinstance(app.screen, Page))
        await pilot.pause()
        page = app.screen
        assert isinstance(page, Page)
        budget = screen.session.budget
        assert budget is not None
        told = " ".join(page.text().split())
        assert f"kernels {budget.candidates_done}/{budget.rounds * budget.group} 0 left" in told
        assert "no cap" in told and "kernel 3.1 is proven" in told


@pytest.mark.parametrize("way", ["new", "sessions"])
async def test_the_session_browser_opens_from_a_session_that_is_over(way: str) -> None:
    app, stream, _ = live_app(sample())
    stream.finish()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Page), "the summary")
        await pilot.press("enter")
        await pilot.press("slash", *way, "enter")
        await until(pilot, lambda: isinstance(app.screen, StartScreen), "the start screen")
        await browsed(pilot, way == "sessions")


async def browsed(pilot: Pilot[int], sessions_first: bool) -> None:
    """The start screen has its lists, and the focus is where it should be."""
    screen = pilot.app.screen
    assert isinstance(screen, StartScreen)
    await until(pilot, lambda: bool(screen.past), "the sessions")
    await until(pilot, lambda: (screen.past_list if sessions_first else screen.task_list).has_focus)
    assert "gemm-2" in plain(screen)
