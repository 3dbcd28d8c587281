"""A session in a thread with an event loop of its own, so that its work never holds up the screen."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import aclosing, suppress

from kshell.engine.control import Action
from kshell.events import Event
from kshell.tui.control import Control

PATIENCE = 0.03


class Apart:
    """Stream and control of what `make` yields in the other thread. Reading `events` starts the thread;
    leaving the iteration early closes the stream there and waits until it has closed."""

    def __init__(self, make: Callable[[], AsyncGenerator[Event, None]], control: Control) -> None:
        self._make, self._control = make, control
        self._loop: asyncio.AbstractEventLoop | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """The events, in the loop that reads them."""
        here = asyncio.get_running_loop()
        arrived: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = Future()

        def give(item: Event | BaseException | None) -> None:
            with suppress(RuntimeError):  # the screen's loop is closed: nobody waits any more
                here.call_soon_threadsafe(arrived.put_nowait, item)

        async def pump() -> None:
            try:
                async with aclosing(self._make()) as events:
                    async for event in events:
                        give(event)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                give(error)
            else:
                give(None)

        def work() -> None:
            with asyncio.Runner() as runner:
                loop = runner.get_loop()
                task = loop.create_task(pump())
                started.set_result((loop, task))
                with suppress(asyncio.CancelledError):
                    loop.run_until_complete(task)

        thread = threading.Thread(target=work, name="session", daemon=True)
        thread.start()
        there, task = await asyncio.wrap_future(started)
        self._loop = there
        try:
            while (item := await arrived.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self._loop = None
            with suppress(RuntimeError):  # it has ended by itself
                there.call_soon_threadsafe(task.cancel)
            await asyncio.shield(asyncio.to_thread(thread.join))

    def act(self, action: Action, target: str = "") -> None:
        """Pass an action on. What the session refuses at once is raised here; an answer that takes
        longer than the screen may wait is left to the session's events."""
        if self._loop is None:
            self._control.act(action, target)
            return
        answer: Future[None] = Future()

        def ask() -> None:
            try:
                self._control.act(action, target)
            except BaseException as error:
                answer.set_exception(error)
            else:
                answer.set_result(None)

        self._loop.call_soon_threadsafe(ask)
        with suppress(NotYet):
            answer.result(PATIENCE)
