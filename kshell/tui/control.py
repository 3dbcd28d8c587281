"""What the terminal asks of a session, and controls for a session that nobody can steer."""

from typing import Protocol

from kshell.engine.control import Action
from kshell.errors import UserError

__all__ = ["Action", "Control", "ReadOnly"]


class Control(Protocol):
    """A person's hand on a session. A call returns at once; the session answers with events."""

    def act(self, action: Action, target: str = "") -> None:
        """Ask for an action of the person. `target` is a candidate id, or the text of a note.
        Raises UserError when this session cannot do it."""
        ...


class ReadOnly:
    """Control of a stream nobody can steer, such as a finished session."""

    def __init__(self, why: str = "this session is over; /new starts another") -> None:
        self._why = why

    def act(self, action: Action, target: str = "") -> None:
        """Always raises UserError."""
        raise UserError(f"cannot {action}: {self._why}")
