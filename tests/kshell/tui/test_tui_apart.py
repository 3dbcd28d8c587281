"""A stream in another thread: order, errors, closing, and a hand on it."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator

import pytest

from kshell.engine.control import Action
from kshell.errors import UserError
from kshell.events import Event
from kshell.tui.apart import Apart
from tests.kshell.tui.fakes import FakeControl, sample


async def test_events_come_in_order_from_another_thread() -> None:
    threads: set[int] = set()

    async def make() -> AsyncGenerator[Event, None]:
        for event in sample():
            threads.add(threading.get_ident())
            yield event

    assert [event async for event in Apart(make, FakeControl()).events()] == sample()
    assert threads and threading.get_ident() not in threads


def held_up(seconds: float) -> None:
    """Work that does not give its loop a chance."""
    time.sleep(seconds)


async def test_work_that_blocks_does_not_block_the_screen() -> None:
    async def make() -> AsyncGenerator[Event, None]:
        held_up(0.5)
        yield sample()[0]

    async def ticking(gaps: list[float]) -> None:
        before = time.perf_counter()
        while True:
            await asyncio.sleep(0.005)
            now = time.perf_counter()
            gaps.append(now - before)
            before = now

    gaps: list[float] = []
    ticker = asyncio.create_task(ticking(gaps))
    assert [event async for event in Apart(make, FakeControl()).events()] == sample()[:1]
    ticker.cancel()
    assert len(gaps) > 10


async def test_an_error_arrives_where_the_events_are_read() -> None:
    async def make() -> AsyncGenerator[Event, None]:
        yield sample()[0]
        raise UserError("g++ is missing")

    seen = []
    with pytest.raises(UserError, match="g\\+\\+ is missing"):
        async for event in Apart(make, FakeControl()).events():
            seen.append(event)
    assert len(seen) == 1


async def test_leaving_early_closes_the_stream_and_waits_for_it() -> None:
    closed: list[str] = []

    async def make() -> AsyncGenerator[Event, None]:
        try:
            while True:
                yield sample()[0]
                await asyncio.sleep(0.001)
        finally:
            await asyncio.sleep(0.05)
            closed.append("closed")

    async def read(first: asyncio.Event) -> None:
        async for _ in Apart(make, FakeControl()).events():
            first.set()

    first = asyncio.Event()
    reader = asyncio.create_task(read(first))
    await first.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert closed == ["closed"]


async def test_actions_are_done_in_the_thread_of_the_session_and_refusals_come_back() -> None:
    done: list[tuple[str, int]] = []
    gate: list[asyncio.Event] = []

    def answer(action: Action, target: str) -> None:
        done.append((action, threading.get_ident()))
        if action == "continue":
            gate[0].set()
        if target == "nobody":
            raise UserError("no candidate begins with nobody")

    async def make() -> AsyncGenerator[Event, None]:
        gate.append(asyncio.Event())
        yield sample()[0]
        await gate[0].wait()

    apart = Apart(make, FakeControl(answer))
    async for _ in apart.events():
        apart.act("pause")
        with pytest.raises(UserError, match="nobody"):
            apart.act("prove", "nobody")
        apart.act("continue")
    assert [action for action, _ in done] == ["pause", "prove", "continue"]
    assert all(thread != threading.get_ident() for _, thread in done)
    apart.act("stop")
    assert done[-1] == ("stop", threading.get_ident())
