"""What the terminal asks of a session: the control protocol, and controls for a session that has none."""

from typing import Literal, Protocol, get_args

Action = Literal["pin", "unpin", "ban", "unban", "note", "pause", "continue", "stop", "prove"]
ACTIONS: frozenset[str] = frozenset(get_args(Action))


class Refused(Exception):
    """A request that cannot be met; the message is one line for a person: what, why, what to do."""


class Control(Protocol):
    """A person's hand on a session. Every call returns at once; the session answers with events.

    `live` is False where the stream is a recording. `detachable` says that the session can go on
    without this terminal; `detach` then leaves it running and returns the command that attaches
    to it again."""

    live: bool
    detachable: bool

    def act(self, action: Action, target: str = "") -> None:
        """Ask for an action of the person. `target` is a candidate id, or the text of a note.
        Raises Refused when this session cannot do it."""
        ...

    def detach(self) -> str:
        """Leave the session running. Raises Refused when it cannot go on alone."""
        ...


class ReadOnly:
    """Control of a stream nobody can steer: a finished session."""

    live = False
    detachable = False

    def __init__(self, why: str = "this session is over; start a new one with /new") -> None:
        self._why = why

    def act(self, action: Action, target: str = "") -> None:
        """Always raises Refused."""
        raise Refused(f"cannot {action}: {self._why}")

    def detach(self) -> str:
        """Always raises Refused."""
        raise Refused(f"cannot detach: {self._why}")
