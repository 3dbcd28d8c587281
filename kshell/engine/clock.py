"""A stopwatch of work: it stands still while a session is paused."""

import time
from collections.abc import Callable


class WorkClock:
    """Seconds of work, going on from `start`. `now` is a monotonic clock in seconds."""

    def __init__(self, start: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._base = start
        self._since: float | None = now()

    def seconds(self) -> float:
        """Seconds of work so far."""
        return self._base + (self._now() - self._since if self._since is not None else 0.0)

    def pause(self) -> None:
        """Stop counting; pausing twice is pausing once."""
        self._base, self._since = self.seconds(), None

    def go_on(self) -> None:
        """Count again."""
        if self._since is None:
            self._since = self._now()
