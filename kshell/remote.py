"""Sessions of other processes: start one in the background, watch its log, ask it to do things."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator

from insights_db.store import Store
from kshell import events as ev
from kshell import paths
from kshell.engine.control import Action, Control
from kshell.engine.lock import announce, running
from kshell.engine.log import stored
from kshell.errors import UserError

POLL = 0.1
_started: list[subprocess.Popen[bytes]] = []


async def tail(store: Store, session: str) -> AsyncGenerator[ev.Event, None]:
    """The events of a session from the first, then each new one, until no process works on it."""
    seen = 0
    while True:
        alive = running(paths.locks(), session)
        for event in stored(store, session, seen):
            seen = event.seq
            yield event
        if not alive:
            return
        await asyncio.sleep(POLL)


class RemoteControl:
    """A hand on a session that runs in another process."""

    def __init__(self, store: Store, session: str) -> None:
        self._store, self._session = store, session

    def act(self, action: Action, target: str = "") -> None:
        """Leave a request. Raises UserError when no process would take it."""
        if not running(paths.locks(), self._session):
            raise UserError(f"session {self._session} does not run; `kshell resume {self._session}` goes on")
        self._store.ask(self._session, action, target)


async def take_requests(store: Store, session: str, control: Control) -> None:
    """Pass requests of other processes on to a session of this one, until cancelled."""
    while True:
        for action, target in store.asked(session):
            try:
                control.act(action, target)  # type: ignore[arg-type]
            except UserError as error:
                print(f"kshell: {error}", file=sys.stderr)
        await asyncio.sleep(3 * POLL)


def leave_running(session: str) -> str:
    """Go on with a session in the background once this process lets go of it; returns what to tell
    the person."""
    heir = in_background(session, "resume", session, "--headless", "--wait")
    announce(paths.locks(), session, heir.pid)
    return f"session {session} runs on in the background; `kshell attach {session}` shows it again"


def in_background(session: str, *words: str) -> subprocess.Popen[bytes]:
    """Run a kshell command that outlives this process; what it prints goes to the session's log file."""
    _started[:] = [process for process in _started if process.poll() is None]
    with (paths.logs() / f"{session}.log").open("a") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "kshell", *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    _started.append(process)
    return process
