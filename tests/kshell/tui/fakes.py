"""Doubles for what the terminal talks to: a live stream, a control that remembers, a home."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from textual.pilot import Pilot

from kshell.bench._streams import session
from kshell.engine.control import Action
from kshell.events import Event, parse
from kshell.tui.app import KshellApp
from kshell.tui.home import How, Opened, Plan, SessionChoice, TaskChoice
from kshell.tui.replay import Replay
from kshell.tui.screens.session import SessionScreen
from kshell.tui.screens.start import StartScreen

FIXED = 100.0
RECORDED = Path(__file__).parents[3] / "docs" / "recorded.jsonl"


REFERENCE = '''"""A task."""

import torch
from torch import Tensor, nn


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)


def get_inputs() -> list[Tensor]:
    return [torch.randn(16384)]
'''


class FakeControl:
    """Remembers what it was asked, and may answer with events."""

    def __init__(self, answer: Callable[[Action, str], None] | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self._answer = answer

    def act(self, action: Action, target: str = "") -> None:
        self.asked.append((action, target))
        if self._answer:
            self._answer(action, target)


class Live:
    """A stream that a test feeds; it ends when `finish` is called."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self.push(events)

    def push(self, events: Iterable[Event]) -> None:
        for event in events:
            self._queue.put_nowait(event)

    def finish(self) -> None:
        self._queue.put_nowait(None)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self._queue.get()
        if event is None:
            raise StopAsyncIteration
        return event


class FakeHome:
    """Three tasks, four sessions; starting one gives the sample session as a live stream."""

    def __init__(self) -> None:
        self.started: list[Plan] = []
        self.opened: list[tuple[str, How]] = []

    def tasks(self) -> list[TaskChoice]:
        titles = {
            "relu": "max(x, 0)",
            "silu": "x * sigmoid(x)",
            "gelu": "x * Phi(x), erf form",
            "softmax": "softmax over the last axis",
            "layernorm": "layer normalisation, affine",
            "gemm": "C = A B",
        }
        return [TaskChoice(name, title, "n=16384", REFERENCE) for name, title in titles.items()]

    def devices(self) -> list[str]:
        return ["cpu", "cuda"]

    def generators(self) -> dict[str, str]:
        return {"builtin": "kernel families", "llm": "some/model"}

    def agents(self) -> list[tuple[str, ...]]:
        return [(), ("verifier",), ("prover",), ("insight",), ("verifier", "prover", "insight")]

    def defaults(self) -> Plan:
        return Plan()

    def sessions(self) -> list[SessionChoice]:
        return [
            SessionChoice("softmax-1", "softmax", "cpu", "finished", "01-05 09:00", "1 kernel promoted", 1),
            SessionChoice("gemm-2", "gemm", "cpu", "running", "01-05 08:40"),
            SessionChoice("relu-3", "relu", "cpu", "interrupted", "01-04 17:12"),
            SessionChoice("gelu-1", "gelu", "cpu", "stopped", "01-03 11:30"),
        ]

    def start(self, plan: Plan) -> Opened:
        self.started.append(plan)
        stream = Live(session())
        stream.finish()
        return Opened(stream, FakeControl(), lambda: "left running")

    def open(self, session: str, how: How) -> Opened:
        self.opened.append((session, how))
        recorded = Replay(sample(), 0.0)
        return Opened(recorded, recorded)


def sample() -> list[Event]:
    """The events of the sample session."""
    return list(session())


@cache
def recorded() -> tuple[Event, ...]:
    """The events of a real session, recorded by docs/record.py."""
    return tuple(parse(line) for line in RECORDED.read_text(encoding="utf-8").splitlines())


def replay_app(
    upto: int | None = None, events: Sequence[Event] | None = None, **options: object
) -> KshellApp:
    """The app on the sample session (or on other events), replayed at once up to some event, with a clock
    that stands."""
    stream = Replay((sample() if events is None else events)[:upto], 0.0)
    return KshellApp(stream, stream, now=lambda: FIXED, **options)  # type: ignore[arg-type]


def live_app(
    events: Iterable[Event], detach: Callable[[], str] | None = None
) -> tuple[KshellApp, Live, FakeControl]:
    """The app on a live stream that has had these events."""
    stream, control = Live(events), FakeControl()
    return KshellApp(stream, control, detach=detach, home=FakeHome(), now=lambda: FIXED), stream, control


def screen_of(app: KshellApp) -> SessionScreen:
    """The session screen of the app, whatever lies on top of it."""
    return next(s for s in app.screen_stack if isinstance(s, SessionScreen))


def start_of(app: KshellApp) -> StartScreen:
    """The start screen of the app."""
    return next(s for s in app.screen_stack if isinstance(s, StartScreen))


async def until(pilot: Pilot[int], condition: Callable[[], bool], what: str = "the condition") -> None:
    """Let the app work until the condition holds; fails after a minute."""
    loop = asyncio.get_running_loop()
    stop = loop.time() + 60
    while not condition():
        assert loop.time() < stop, f"a minute and still not: {what}"
        await pilot.pause(0.01)


async def taken_in(pilot: Pilot[int], count: int) -> SessionScreen:
    """Wait until so many events are folded and painted; returns the screen."""
    app = pilot.app
    assert isinstance(app, KshellApp)
    await until(
        pilot, lambda: any(isinstance(s, SessionScreen) for s in app.screen_stack), "a session screen"
    )
    screen = screen_of(app)
    await until(pilot, lambda: screen.session.seen >= count, f"{count} events")
    await until(pilot, lambda: screen.arrangement.mode != "" and screen.size.width > 0, "a size")
    screen.follow()
    screen.paint()
    await pilot.pause()
    return screen


def plain(screen: SessionScreen | StartScreen) -> str:
    """What is on the screen as text."""
    width, height = screen.size
    lines = screen._compositor.render_strips()
    assert len(lines) == height, (width, height)
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in lines)
