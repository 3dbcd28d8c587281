"""What the screens look like, at 80x24 and 140x40, with a clock that stands."""

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from kshell.tui.app import KshellApp
from kshell.tui.screens.dialogs import Page
from kshell.tui.screens.start import StartScreen
from tests.kshell.tui.fakes import FIXED, FakeHome, live_app, replay_app, sample, start_of, taken_in, until

SMALL, LARGE = (80, 24), (140, 40)
Prepare = Callable[[Pilot[int]], Awaitable[None]]
Compare = Callable[..., bool]


async def settled(pilot: Pilot[int]) -> None:
    """Wait until two looks at the screen, some frames apart, are the same."""
    looks: list[str] = []
    while len(looks) < 2 or looks[-1] != looks[-2]:
        assert len(looks) < 50, "the screen does not come to rest"
        await pilot.pause(0.15)
        looks.append(pilot.app.export_screenshot())


def pressing(count: int, *keys: str) -> Prepare:
    """Take in so many events, then press keys."""

    async def prepare(pilot: Pilot[int]) -> None:
        await taken_in(pilot, count)
        await settled(pilot)
        await pilot.press(*keys)
        await settled(pilot)

    return prepare


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_finished_session(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(replay_app(), run_before=pressing(len(sample())), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_proof_that_closes(snap_compare: Compare, size: tuple[int, int]) -> None:
    upto = len(sample()) - 8
    assert snap_compare(replay_app(upto), run_before=pressing(upto, "2"), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_refuted_kernel_in_its_source(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ("1", "slash", *"go 1.4", "enter")
    assert snap_compare(replay_app(), run_before=pressing(len(sample()), *keys), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_diff_and_the_profile(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ("3", "d") if size == LARGE else ("3",)
    assert snap_compare(replay_app(), run_before=pressing(len(sample()), *keys), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_the_start_screen(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def prepare(pilot: Pilot[int]) -> None:
        app = pilot.app
        assert isinstance(app, KshellApp)
        await until(pilot, lambda: any(isinstance(s, StartScreen) for s in app.screen_stack))
        screen = start_of(app)
        await until(pilot, lambda: screen.plan is not None and bool(screen.past))
        await settled(pilot)

    app = KshellApp(home=FakeHome(), now=lambda: FIXED)
    assert snap_compare(app, run_before=prepare, terminal_size=size)


def test_the_question_before_leaving(snap_compare: Compare) -> None:
    app, _, _ = live_app(sample()[:60], lambda: "left running")
    assert snap_compare(app, run_before=pressing(60, "q"), terminal_size=SMALL)


def test_the_help(snap_compare: Compare) -> None:
    assert snap_compare(
        replay_app(), run_before=pressing(len(sample()), "question_mark"), terminal_size=SMALL
    )


def test_the_summary_of_a_live_session(snap_compare: Compare) -> None:
    app, stream, _ = live_app(sample())
    stream.finish()

    async def prepare(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, Page))
        await settled(pilot)

    assert snap_compare(app, run_before=prepare, terminal_size=SMALL)


def test_the_light_theme(snap_compare: Compare) -> None:
    app = replay_app(theme="kshell-light")
    assert snap_compare(app, run_before=pressing(len(sample())), terminal_size=LARGE)


def test_too_small(snap_compare: Compare) -> None:
    assert snap_compare(replay_app(), run_before=pressing(len(sample())), terminal_size=(40, 12))
