"""What the screens look like, at 80x24 and 140x40, with a clock that stands."""

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from kshell import events as ev
from kshell.tui.app import KshellApp
from kshell.tui.screens.dialogs import Page
from kshell.tui.screens.start import StartScreen
from tests.kshell.tui.fakes import FIXED, FakeHome, live_app, recorded, replay_app, start_of, taken_in, until

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


def going(kind: type[ev.CounterexampleFound] | type[ev.CandidatePromoted]) -> tuple[str, ...]:
    """Keys that lead to the last kernel of which such an event speaks. They go over the first one: where
    the table is scrolled to would otherwise depend on what the cursor has followed."""
    chosen = [e.candidate for e in recorded() if isinstance(e, kind)][-1]
    [known] = [
        e.candidate for e in recorded() if isinstance(e, ev.CandidateProposed) and e.candidate.id == chosen
    ]
    return ("home", "slash", *f"go {known.round}.{known.index}", "enter")


PROMOTED, REFUTED = ev.CandidatePromoted, ev.CounterexampleFound


def while_proving() -> int:
    """How many events there are while obligations of the last proof close."""
    closed = [k for k, e in enumerate(recorded()) if isinstance(e, ev.ObligationClosed)]
    return closed[3 * len(closed) // 4]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_finished_session(snap_compare: Compare, size: tuple[int, int]) -> None:
    app = replay_app(events=recorded())
    assert snap_compare(app, run_before=pressing(len(recorded()), *going(PROMOTED), "1"), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_proof_that_closes(snap_compare: Compare, size: tuple[int, int]) -> None:
    upto = while_proving()
    app = replay_app(upto, recorded())
    assert snap_compare(app, run_before=pressing(upto, *going(PROMOTED), "2"), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_refuted_kernel_in_its_source(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ("1", *going(REFUTED))
    app = replay_app(events=recorded())
    assert snap_compare(app, run_before=pressing(len(recorded()), *keys), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_a_diff_and_the_profile(snap_compare: Compare, size: tuple[int, int]) -> None:
    keys = ("home", "g", *(("3", "d") if size == LARGE else ("3",)))
    app = replay_app(events=recorded())
    assert snap_compare(app, run_before=pressing(len(recorded()), *keys), terminal_size=size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x40"])
def test_what_was_learned(snap_compare: Compare, size: tuple[int, int]) -> None:
    app = replay_app(events=recorded())
    assert snap_compare(app, run_before=pressing(len(recorded()), *going(PROMOTED), "4"), terminal_size=size)


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
    app, _, _ = live_app(recorded()[:60], lambda: "left running")
    assert snap_compare(app, run_before=pressing(60, "2", "q"), terminal_size=SMALL)


def test_the_help(snap_compare: Compare) -> None:
    assert snap_compare(
        replay_app(events=recorded()),
        run_before=pressing(len(recorded()), "home", "1", "question_mark"),
        terminal_size=SMALL,
    )


def test_the_summary_of_a_live_session(snap_compare: Compare) -> None:
    app, stream, _ = live_app(recorded()[:-1])

    async def prepare(pilot: Pilot[int]) -> None:
        await taken_in(pilot, len(recorded()) - 1)
        await pilot.press("home", "1")
        stream.push(recorded()[-1:])
        stream.finish()
        await until(pilot, lambda: isinstance(pilot.app.screen, Page))
        await settled(pilot)

    assert snap_compare(app, run_before=prepare, terminal_size=SMALL)


def test_the_light_theme(snap_compare: Compare) -> None:
    app = replay_app(events=recorded(), theme="kshell-light")
    assert snap_compare(app, run_before=pressing(len(recorded())), terminal_size=LARGE)


def test_too_small(snap_compare: Compare) -> None:
    app = replay_app(events=recorded())
    assert snap_compare(app, run_before=pressing(len(recorded())), terminal_size=(40, 12))
