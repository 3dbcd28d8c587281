"""Writes the pictures of the terminal app in docs/screenshots/: `python docs/screenshots.py [EVENTS.jsonl]`.

They show docs/recorded.jsonl, which `docs/record.py` has recorded, or another file of events, such as
`kshell run ... --json` writes."""

import asyncio
import sys
from pathlib import Path

from kshell import events as ev
from kshell.tui.app import KshellApp
from kshell.tui.home import How, Opened, Plan, SessionChoice, TaskChoice
from kshell.tui.replay import Replay
from kshell.tui.screens.session import SessionScreen
from kshell.tui.screens.start import StartScreen

RECORDED = Path(__file__).parent / "recorded.jsonl"
FOLDER = Path(__file__).parent / "screenshots"
LARGE, SMALL = (140, 40), (80, 24)


class Gallery:
    """A start screen's home over the session that is shown."""

    def __init__(self, events: list[ev.Event]) -> None:
        self._events = events

    def tasks(self) -> list[TaskChoice]:
        """The tasks of kshell."""
        from kshell import tasks

        known = [tasks.get(name) for name in tasks.names()]
        return [
            TaskChoice(t.name, t.title, " ".join(f"{k}={v}" for k, v in t.axes.items()), t.reference)
            for t in known
        ]

    def devices(self) -> list[str]:
        """One device."""
        return ["cpu"]

    def generators(self) -> dict[str, str]:
        """The built-in one."""
        return {"builtin": "kernel families"}

    def agents(self) -> list[tuple[str, ...]]:
        """None."""
        return [()]

    def defaults(self) -> Plan:
        """Those of the app."""
        return Plan()

    def sessions(self) -> list[SessionChoice]:
        """The session that is shown."""
        first, last = self._events[0], self._events[-1]
        assert isinstance(first, ev.SessionStarted)
        promoted = len(last.promoted) if isinstance(last, ev.SessionFinished) else 0
        when = f"{first.at:%Y-%m-%d %H:%M}"
        return [SessionChoice(first.session, first.task, first.device, "finished", when, "", promoted)]

    def start(self, plan: Plan) -> Opened:
        """The same session, whatever the plan."""
        recorded = Replay(self._events, 0.0)
        return Opened(recorded, recorded)

    def open(self, session: str, how: How) -> Opened:
        """The same session, however it is opened."""
        return self.start(Plan(""))


async def picture(
    name: str, events: list[ev.Event], size: tuple[int, int], keys: tuple[str, ...] = (), start: bool = False
) -> None:
    """Open the app, press keys, wait until the screen rests, write the picture."""
    recorded = Replay(events, 0.0)
    home = Gallery(events)
    app = (
        KshellApp(home=home, now=lambda: 0.0)
        if start
        else KshellApp(recorded, recorded, home=home, now=lambda: 0.0)
    )
    async with app.run_test(size=size) as pilot:

        def ready() -> bool:
            screen = app.screen_stack[-1]
            if isinstance(screen, StartScreen):
                return start and bool(screen.past)
            return isinstance(screen, SessionScreen) and screen.session.seen == len(events)

        while not ready():
            await pilot.pause(0.02)
        await pilot.pause(1.3)
        for key in keys:
            await pilot.press(key)
        looks: list[str] = []
        while len(looks) < 2 or looks[-1] != looks[-2]:
            await pilot.pause(0.2)
            looks.append(app.export_screenshot())
        (FOLDER / f"{name}.svg").write_text(looks[-1], encoding="utf-8")
        print(FOLDER / f"{name}.svg")


def while_proving(events: list[ev.Event]) -> int:
    """How many events there are while obligations of the last proof close; all of them when there is none."""
    places = [k for k, event in enumerate(events) if isinstance(event, ev.ObligationClosed)]
    return places[3 * len(places) // 4] if places else len(events)


def label(events: list[ev.Event]) -> str:
    """A refuted or failed kernel of the session, or the first kernel."""
    wrong = [e.candidate for e in events if isinstance(e, ev.CounterexampleFound)]
    wrong += [e.candidate for e in events if isinstance(e, ev.ValidationFinished) and not e.result.ok]
    wrong += [e.candidate for e in events if isinstance(e, ev.CompileFinished) and not e.result.ok]
    known = {e.candidate.id: e.candidate for e in events if isinstance(e, ev.CandidateProposed)}
    chosen = known[wrong[0]] if wrong else next(iter(known.values()))
    return f"{chosen.round}.{chosen.index}"


async def main(events: list[ev.Event]) -> None:
    """Six states: start, a proof closing, finished, refuted, profile with a diff, insights at 80x24."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    proving = while_proving(events)
    await picture("start", events, SMALL, start=True)
    await picture("proving", events[:proving], LARGE, ("2",))
    await picture("finished", events, LARGE)
    await picture("refuted", events, LARGE, ("1", "slash", *f"go {label(events)}", "enter"))
    await picture("profile", events, LARGE, ("slash", *"go best", "enter", "3", "d"))
    await picture("insights", events, SMALL, ("4",))


if __name__ == "__main__":
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    asyncio.run(main([ev.parse(line) for line in source.read_text(encoding="utf-8").splitlines()]))
