"""What the start screen needs: tasks, past sessions, and ways to open a session."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from kshell.events import Event
from kshell.tui.control import Control

How = Literal["replay", "resume", "attach"]
_HOW: dict[str, How] = {"running": "attach", "stopped": "resume", "interrupted": "resume"}


@dataclass(frozen=True, slots=True)
class TaskChoice:
    """A task as the list shows it; `reference` is its PyTorch file."""

    name: str
    title: str
    sizes: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """A session as the list shows it. `state` is running, finished, interrupted or stopped (its process
    is gone and it can be resumed)."""

    name: str
    task: str
    device: str
    state: str
    when: str
    outcome: str = ""
    promoted: int = 0

    @property
    def how(self) -> How:
        """What Enter does with it."""
        return _HOW.get(self.state, "replay")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a new session is to be."""

    task: str = ""
    device: str = "cpu"
    rounds: int = 3
    group: int = 4
    generator: str = "builtin"
    seed: int = 1
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that is open: its events, a hand on it, and how it is left running (None: it cannot)."""

    stream: AsyncIterator[Event]
    control: Control
    detach: Callable[[], str] | None = field(default=None)


class Home(Protocol):
    """Everything blocks at most for a read of the database; errors a person can cause are UserErrors."""

    def tasks(self) -> Sequence[TaskChoice]:
        """The tasks, in the order to show."""
        ...

    def devices(self) -> Sequence[str]:
        """Devices that work on this machine, the default first."""
        ...

    def generators(self) -> Mapping[str, str]:
        """Who may propose kernels, the default first, and what to know of each in a few words."""
        ...

    def agents(self) -> Sequence[tuple[str, ...]]:
        """Sets of further roles that a model may play, the empty one first."""
        ...

    def defaults(self) -> Plan:
        """What a new session is to be unless the person changes it; its task is not said."""
        ...

    def sessions(self) -> Sequence[SessionChoice]:
        """Sessions, newest first."""
        ...

    def start(self, plan: Plan) -> Opened:
        """Start a session."""
        ...

    def open(self, session: str, how: How) -> Opened:
        """Replay, resume or attach to a session."""
        ...
