"""A person's hand on a running session."""

from collections.abc import Callable
from typing import Literal, get_args

from kshell.errors import UserError

Action = Literal["pin", "unpin", "ban", "unban", "note", "pause", "continue", "stop", "prove", "refute"]
ON_CANDIDATES = frozenset({"pin", "unpin", "ban", "unban", "prove", "refute"})


class Control:
    """Passes actions to the session it is attached to; those that come before wait for it.

    Call it from the thread of the session's event loop."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Action, str]] = []
        self._take: Callable[[Action, str], None] | None = None

    def attach(self, take: Callable[[Action, str], None]) -> None:
        """The session's end of the line."""
        self._take = take
        waiting, self._waiting = self._waiting, []
        for action, target in waiting:
            take(action, target)

    def detach(self) -> None:
        """The session is over."""
        self._take = None

    def act(self, action: Action, target: str = "") -> None:
        """Ask for an action. `target` is a candidate id or the beginning of one, or the text of a note.
        Raises UserError for a target the session does not know."""
        if action not in get_args(Action):
            raise UserError(f"unknown action {action!r}; there are {', '.join(get_args(Action))}")
        if self._take is None:
            self._waiting.append((action, target))
        else:
            self._take(action, target)
