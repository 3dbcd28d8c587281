"""The start screen: from nothing to a session with Enter."""

import threading
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from kshell.errors import UserError
from kshell.tui.app import KshellApp
from kshell.tui.home import Home, Opened, Plan, SessionChoice
from kshell.tui.provider import KshellCommands
from kshell.tui.screens.dialogs import Page
from kshell.tui.screens.start import StartScreen
from tests.kshell.tui.fakes import FIXED, FakeHome, plain, screen_of, start_of, taken_in, until

SIZE = (80, 24)


async def ready(pilot: Pilot[int]) -> StartScreen:
    app = pilot.app
    assert isinstance(app, KshellApp)
    await until(pilot, lambda: any(isinstance(s, StartScreen) for s in app.screen_stack))
    screen = start_of(app)
    await until(pilot, lambda: screen.plan is not None and bool(screen.past), "the lists")
    await pilot.pause()
    return screen


def app_of(home: Home) -> KshellApp:
    return KshellApp(home=home, now=lambda: FIXED)


async def test_it_lists_tasks_settings_and_sessions() -> None:
    async with app_of(FakeHome()).run_test(size=SIZE) as pilot:
        screen = await ready(pilot)
        text = plain(screen)
        for expected in (
            "❯ relu",
            "softmax over the",
            "rounds",
            "‹",
            "softmax-1",
            "1 proven",
            "running",
        ):
            assert expected in text, expected


async def test_a_newcomer_needs_only_enter_and_the_question_mark() -> None:
    home = FakeHome()
    app = app_of(home)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Page))
        await pilot.pause()
        page = app.screen
        assert isinstance(page, Page) and "Press Enter to evolve a kernel" in page.text()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StartScreen))
        await pilot.press("enter")
        await taken_in(pilot, 100)
        assert home.started == [Plan("relu")]
        await until(pilot, lambda: isinstance(app.screen, Page), "the summary")
        await pilot.pause()
        page = app.screen
        assert isinstance(page, Page) and "exported to exports/" in page.text()
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen_of(app))


async def test_settings_change_with_the_arrows() -> None:
    home = FakeHome()
    async with app_of(home).run_test(size=SIZE) as pilot:
        screen = await ready(pilot)
        await pilot.press(
            "down", "down", "down", "tab", "right", "down", "right", "down", "right", "down", "right"
        )
        await pilot.press("down", "left")
        assert "some/model" in plain(screen) and "verifier" in plain(screen)
        await pilot.press("down", "right")
        assert screen.plan == Plan(
            "", device="cuda", generator="llm", rounds=4, group=3, seed=2, agents=("verifier",)
        )
        await pilot.press("enter")
        await until(pilot, lambda: bool(home.started))
        assert home.started == [screen.plan and replace(screen.plan, task="softmax")]


async def test_what_is_marked_is_explained_below() -> None:
    async with app_of(FakeHome()).run_test(size=SIZE) as pilot:
        screen = await ready(pilot)
        assert "x * sigmoid(x)   n=16384" not in plain(screen)
        assert "PyTorch  return torch.relu(x)" in plain(screen)
        await pilot.press("down")
        assert "x * sigmoid(x)   n=16384" in plain(screen)
        await pilot.press("tab", "down", "down")
        assert "What a model does beside the built-in agents" in plain(screen)
        await pilot.press("tab")
        assert "1 kernel promoted" in plain(screen) and "Enter replays it" in plain(screen)
        await pilot.press("down")
        assert "Enter attaches to it" in plain(screen)


async def test_a_large_start_screen_shows_the_reference() -> None:
    async with app_of(FakeHome()).run_test(size=(140, 40)) as pilot:
        screen = await ready(pilot)
        await until(pilot, lambda: "def forward(self, x: Tensor)" in plain(screen))
        assert "get_inputs" not in plain(screen)


@pytest.mark.parametrize(("downs", "how"), [(0, "replay"), (1, "attach"), (2, "resume"), (3, "resume")])
async def test_enter_on_a_session_does_what_fits_its_state(downs: int, how: str) -> None:
    home = FakeHome()
    async with app_of(home).run_test(size=SIZE) as pilot:
        screen = await ready(pilot)
        await pilot.press("tab", "tab", *(["down"] * downs))
        assert how in plain(screen).splitlines()[-1]
        await pilot.press("enter")
        await until(pilot, lambda: bool(home.opened))
        assert home.opened == [(screen.past[downs].name, how)]


async def test_r_replays_a_session_that_could_be_resumed() -> None:
    home = FakeHome()
    async with app_of(home).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("tab", "tab", "down", "down", "r")
        await until(pilot, lambda: bool(home.opened))
        assert home.opened == [("relu-3", "replay")]


async def test_what_cannot_start_is_told() -> None:
    class Refusing(FakeHome):
        def start(self, plan: Plan) -> Opened:
            raise UserError("g++ is missing: install it, then try again")

    async with app_of(Refusing()).run_test(size=SIZE) as pilot:
        screen = await ready(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "g++ is missing" in plain(screen))


async def test_enter_before_the_lists_are_read_starts_when_they_are() -> None:
    gate = threading.Event()

    class Slow(FakeHome):
        def tasks(self):  # type: ignore[no-untyped-def]
            gate.wait(10)
            return super().tasks()

    home = Slow()
    async with app_of(home).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
        screen = pilot.app.screen
        assert isinstance(screen, StartScreen)
        screen.task_list.focus()
        await pilot.press("enter")
        gate.set()
        await until(pilot, lambda: home.started == [Plan("relu")])


async def test_no_session_yet_is_said() -> None:
    class Empty(FakeHome):
        def sessions(self) -> list[SessionChoice]:
            return []

    async with app_of(Empty()).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
        screen = pilot.app.screen
        assert isinstance(screen, StartScreen)
        await until(pilot, lambda: "none yet" in plain(screen))


async def test_from_a_finished_session_back_to_the_start_with_a_task_marked() -> None:
    home = FakeHome()
    app = app_of(home)
    async with app.run_test(size=SIZE) as pilot:
        screen = await ready(pilot)
        await pilot.press("tab", "tab", "enter")
        await taken_in(pilot, 100)
        screen_of(app).action_do("run", "gemm")
        screen = await ready(pilot)
        assert screen.tasks[screen.task_list.at].name == "gemm"


async def test_the_start_screen_says_when_it_is_too_small() -> None:
    async with app_of(FakeHome()).run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
        screen = pilot.app.screen
        assert isinstance(screen, StartScreen)
        await until(pilot, lambda: "needs 64x16" in plain(screen))


async def test_q_leaves() -> None:
    app = app_of(FakeHome())
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value == 0


async def test_the_palette_of_the_start_screen_offers_what_it_can_do() -> None:
    app = app_of(FakeHome())
    async with app.run_test(size=SIZE) as pilot:
        screen = await ready(pilot)
        hits = [hit async for hit in KshellCommands(screen).discover()]
        assert [str(hit.text) for hit in hits] == ["/theme [NAME]", "/help", "/quit"]
        hits[1].command()
        await until(pilot, lambda: isinstance(app.screen, Page))
        await pilot.press("enter")
        before = app.theme
        hits[0].command()
        assert app.theme != before
        hits[2].command()
        await pilot.pause()
    assert app.return_value == 0
