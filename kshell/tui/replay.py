"""A past session as a stream: at any speed, paused, forwards and backwards."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from kshell import events as ev
from kshell.engine.control import Action
from kshell.errors import UserError

SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 0.0)
LONGEST_GAP = 3.0


class Replay:
    """Stream and control of recorded events. A speed of 0 is as fast as possible.

    Gaps are those between the events' `elapsed`, divided by the speed, and never longer than three
    seconds. `on_seek` is told the new position, so that a view can be built anew from
    `events[:position]`."""

    def __init__(self, events: Sequence[ev.Event], speed: float = 1.0) -> None:
        self.events = events
        self.speed = speed
        self.position = 0
        self.paused = False
        self.on_seek: Callable[[int], None] = lambda position: None
        self._changed = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[ev.Event]:
        return self

    async def __anext__(self) -> ev.Event:
        """The next event at its time. At the end it waits for a seek backwards."""
        while True:
            position = self.position
            if self.paused or position >= len(self.events):
                await self._wait(None)
                continue
            if not await self._wait(self._gap(position)):
                self.position += 1
                return self.events[position]

    def _gap(self, position: int) -> float:
        if position == 0 or not self.speed:
            return 0.0
        gap = self.events[position].elapsed - self.events[position - 1].elapsed
        return min(LONGEST_GAP, max(0.0, gap) / self.speed)

    async def _wait(self, seconds: float | None) -> bool:
        """True when something changed before the time was over."""
        if seconds is not None and seconds <= 0:
            return False
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    def seek(self, position: int) -> None:
        """Go to just before this event; beyond the ends is the nearest end."""
        self.position = max(0, min(len(self.events), position))
        self.on_seek(self.position)
        self._changed.set()

    def seek_share(self, share: float) -> None:
        """Go to this share (0 to 1) of the events."""
        self.seek(round(share * len(self.events)))

    def faster(self, steps: int) -> float:
        """Change the speed by so many steps; returns the new one."""
        nearest = min(range(len(SPEEDS)), key=lambda k: abs((SPEEDS[k] or 1e9) - (self.speed or 1e9)))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, nearest + steps))]
        self._changed.set()
        return self.speed

    def set_speed(self, speed: float) -> None:
        """Choose the speed. Raises UserError below 0."""
        if speed < 0:
            raise UserError("a replay's speed is 0 (as fast as possible) or more, for example 10")
        self.speed = speed
        self._changed.set()

    def act(self, action: Action, target: str = "") -> None:
        """Pause and continue the replay. Raises UserError for the rest: the session is past."""
        if action not in ("pause", "continue"):
            raise UserError(f"cannot {action}: this is a replay; /new starts a session")
        self.paused = action == "pause"
        self._changed.set()
