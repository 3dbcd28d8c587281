"""Follow sessions as they run: in the terminal app, as text, or as JSON lines."""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from copy import deepcopy

from insights_db.errors import StoreError
from insights_db.store import Store
from kshell import events as ev
from kshell import paths, remote, summary, wiring
from kshell.engine.lock import held
from kshell.engine.session import Session
from kshell.engine.state import SessionState
from kshell.errors import UserError
from kshell.text import TextView

NEXT_SECONDS = 6.0
Make = Callable[[Store, str], Session]


def follow(names: Sequence[str], make: Make, args: argparse.Namespace) -> int:
    """Run sessions one after the other. 0: a kernel was promoted, or with proofs switched off one is
    correct, or the session was left running; 1: none; 130: interrupted."""
    good = 0
    with wiring.store() as store:
        for place, name in enumerate(names, 1):
            session = make(store, name)
            if not show(session, store, args, more=place < len(names)):
                for other in names[place:]:
                    print(f"kshell: session {other} was not started", file=sys.stderr)
                return 0
            finished = session.state.finished
            if finished is None or finished.interrupted:
                print(
                    f"kshell: session {name} is not finished; `kshell resume {name}` goes on", file=sys.stderr
                )
                return 130
            good += _good(session)
    return 0 if good else 1


def _good(session: Session) -> bool:
    if session.settings.prove == "never":
        return session.state.best is not None
    return bool(session.state.promoted)


def show(session: Session, store: Store, args: argparse.Namespace, *, more: bool = False) -> bool:
    """Run one session to its end in the view that the options ask for. `more`: another one follows.
    False: it was left running in the background."""
    if interactive(args):
        return in_app(session, store, more=more)
    try:
        with held(paths.locks(), session.name, 60.0 if getattr(args, "wait", False) else 0.0):
            asyncio.run(_lines(session, store, as_json=args.json))
    except (UserError, StoreError) as error:
        if not session.state.seq:
            raise
        raise UserError(f"{error}; when that is mended, `kshell resume {session.name}` goes on") from error
    return True


def interactive(args: argparse.Namespace) -> bool:
    """Whether the terminal app is wanted and possible."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not args.headless and not args.json


def in_app(session: Session, store: Store, *, more: bool) -> bool:
    """Run a session in the terminal app; when it is over, say on the screen below how it ended. False:
    it was left running in the background."""
    from kshell.home import HomeDesk, opened
    from kshell.tui.app import run

    shown, left = opened(session), False

    def leave() -> str:
        nonlocal left
        left = True
        return remote.leave_running(session.name)

    after = NEXT_SECONDS if more else None
    run(shown.stream, shown.control, detach=leave, home=HomeDesk(store), leave_after=after)
    finished = session.state.finished
    if finished is not None and not left:
        print(f"session {session.name}: {finished.outcome}")
        for line in summary.lines(session.state):
            print(f"  {line}")
    return not left


async def _lines(session: Session, store: Store, *, as_json: bool) -> None:
    """Text or JSON lines on stdout. The first Ctrl-C (or TERM, HUP) stops cleanly, a second at once."""

    def stop() -> None:
        print("kshell: stopping; press Ctrl-C again to leave at once", file=sys.stderr)
        session.control.act("stop")

    async with aclosing(session.run()) as stream:
        with _on_signals(stop), _beside(remote.take_requests(store, session.name, session.control)):
            await print_lines(stream, as_json=as_json, state=session.state)


async def print_lines(
    stream: AsyncGenerator[ev.Event, None], *, as_json: bool, state: SessionState | None = None
) -> None:
    """Print a stream as it comes; `state` is what was known before it."""
    view = TextView(state=deepcopy(state))
    with _beside(view.ticking()) if not as_json else contextlib.nullcontext():
        async for event in stream:
            if as_json:
                print(event.model_dump_json(), flush=True)
            else:
                view.show(event)


@contextlib.contextmanager
def _beside(work: Coroutine[None, None, None]) -> Iterator[None]:
    """Run a coroutine beside the block and end it with the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


@contextlib.contextmanager
def _on_signals(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` at the first signal that asks to stop; then signals act as usual again."""
    loop = asyncio.get_running_loop()

    def once() -> None:
        restore()
        act()

    def restore() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    for number in _SIGNALS:
        loop.add_signal_handler(number, once)
    try:
        yield
    finally:
        restore()


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
