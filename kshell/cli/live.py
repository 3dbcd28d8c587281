"""Follow sessions as they run: in the terminal app, as text, or as JSON lines."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack

from insights_db.errors import StoreError
from insights_db.store import Store
from kshell import paths
from kshell.engine.lock import held
from kshell.engine.session import Session
from kshell.engine.state import SessionState
from kshell.errors import UserError
from kshell.text import TextView


def follow(names: Iterable[str], make: Callable[[Store, str], Session], args: argparse.Namespace) -> int:
    """Run sessions one after the other. 0: every session promoted a kernel or at least one did;
    1: nothing was promoted; 130: interrupted."""
    from kshell import wiring

    promoted = 0
    with wiring.store() as store:
        for name in names:
            with ExitStack() as stack:
                stack.enter_context(held(paths.home() / "locks", name))
                session = make(store, name)
                show(session, args)
            if session.state.finished is None or session.state.finished.interrupted:
                print(f"kshell: session {name} was stopped; `kshell resume {name}` goes on", file=sys.stderr)
                return 130
            promoted += len(session.state.promoted)
    return 0 if promoted else 1


def show(session: Session, args: argparse.Namespace) -> None:
    """Run one session to its end in the view the options ask for."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if terminal and not args.headless and not args.json:
        in_app(session)
        return
    try:
        asyncio.run(_lines(session, as_json=args.json))
    except (UserError, StoreError) as error:
        raise UserError(f"{error}; then `kshell resume {session.name}` goes on") from error


def in_app(session: Session) -> None:
    """Run a session in the terminal app; when it is over, say how it ended on the screen below."""
    from kshell import summary
    from kshell.tui.app import KshellApp

    KshellApp(session=session).run()
    finished = session.state.finished
    if finished is not None:
        print(f"session {session.name}: {finished.outcome}")
        for line in summary.lines(session.state):
            print(f"  {line}")


async def _lines(session: Session, *, as_json: bool) -> None:
    """Text or JSON lines on stdout. The first Ctrl-C (or TERM, HUP) stops cleanly, a second at once."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        print("kshell: stopping; press Ctrl-C again to leave at once", file=sys.stderr)
        session.control.act("stop")

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    view = TextView()
    view.state = _copy(session)
    ticking = None if as_json else asyncio.create_task(view.ticking())
    try:
        async for event in session.run():
            if as_json:
                print(event.model_dump_json(), flush=True)
            else:
                view.show(event)
    finally:
        if ticking is not None:
            ticking.cancel()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _copy(session: Session) -> SessionState:
    from copy import deepcopy

    return deepcopy(session.state)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
