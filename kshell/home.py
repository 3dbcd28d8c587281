"""What the terminal app's start screen lists and opens."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from insights_db.store import SessionRecord, Store
from kshell import config, paths, remote, tasks, wiring
from kshell import events as ev
from kshell.cli.known import events_of, session_names, session_record, settings_of
from kshell.cli.options import ROLES
from kshell.engine.lock import held, running
from kshell.engine.settings import Settings
from kshell.tui.apart import Apart
from kshell.tui.home import How, Opened, Plan, SessionChoice, TaskChoice
from kshell.tui.replay import Replay

if TYPE_CHECKING:
    from kshell.engine.session import Session


_CHOICES = ("device", "generator", "rounds", "group", "seed", "agents")


class HomeDesk:
    """Tasks, sessions, and ways to open one."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def tasks(self) -> Sequence[TaskChoice]:
        """The built-in tasks."""
        known = [tasks.get(name) for name in tasks.names()]
        return [
            TaskChoice(t.name, t.title, " ".join(f"{k}={v}" for k, v in t.axes.items()), t.reference)
            for t in known
        ]

    def devices(self) -> Sequence[str]:
        """The devices of this build."""
        return wiring.devices()

    def generators(self) -> Mapping[str, str]:
        """The built-in one, and a language model, with its name where one is configured."""
        loaded = config.load()
        model = loaded.run.model or loaded.models.of("generator")
        return {"builtin": "kernel families", "llm": model or "set KSHELL_MODEL first"}

    def agents(self) -> Sequence[tuple[str, ...]]:
        """None, each role alone, all of them; and what the configuration has."""
        chosen = config.load().run.agents or ()
        return list(dict.fromkeys([(), *((role,) for role in ROLES), ROLES, chosen]))

    def defaults(self) -> Plan:
        """Those of the app, under those of the configuration."""
        chosen = config.load().run.model_dump(exclude_none=True)
        return replace(Plan(), **{name: value for name, value in chosen.items() if name in _CHOICES})

    def sessions(self) -> Sequence[SessionChoice]:
        """All sessions, newest first; one whose process is gone is `stopped`."""
        return [self._choice(record) for record in self._store.sessions()]

    def start(self, plan: Plan) -> Opened:
        """Start a session of the plan under the next free name."""
        task = wiring.task(plan.task)
        chosen = {name: getattr(plan, name) for name in _CHOICES}
        settings = Settings.model_validate({**config.load().run.model_dump(exclude_none=True), **chosen})
        [name] = session_names(self._store, [task.name], None)
        return opened(wiring.session(self._store, name, task, wiring.workload(task, (), plan.seed), settings))

    def open(self, session: str, how: How) -> Opened:
        """Replay, resume or attach to a session."""
        record = session_record(self._store, session)
        match how:
            case "attach":
                told = f"session {session} runs on; `kshell attach {session}` shows it again"
                control = remote.RemoteControl(self._store, session)
                return Opened(remote.tail(self._store, session), control, lambda: told)
            case "resume":
                return opened(wiring.resumed(self._store, record, settings_of(record)))
            case "replay":
                recorded = Replay(events_of(self._store, session))
                return Opened(recorded, recorded)

    def _choice(self, record: SessionRecord) -> SessionChoice:
        state = record.state
        if state == "running" and not running(paths.locks(), record.name):
            state = "stopped"
        when = f"{record.created.astimezone():%Y-%m-%d %H:%M}"
        return SessionChoice(
            record.name, record.task, record.device, state, when, record.outcome, record.promoted
        )


def opened(session: "Session") -> Opened:
    """A session of this process, for the app, in a thread of its own: it can be left running. torch,
    whose import would hold up the screen, gets a process of its own."""
    from kshell.tasks import child

    child.use()
    detach: Callable[[], str] = partial(remote.leave_running, session.name)
    apart = Apart(partial(stream, session), session.control)
    return Opened(apart.events(), apart, detach)


async def stream(session: "Session") -> AsyncGenerator[ev.Event, None]:
    """The events of a session while its lock is held. What a resumed session did before comes first."""
    with held(paths.locks(), session.name):
        for event in session.past():
            yield event
        async with aclosing(session.run()) as events:
            async for event in events:
                yield event
