"""A replay paces, pauses and seeks."""

import asyncio

import pytest

from kshell.errors import UserError
from kshell.events import Event
from kshell.tui.replay import LONGEST_GAP, Replay
from tests.kshell.tui.fakes import sample


async def take(replay: Replay, count: int) -> list[Event]:
    return [await anext(replay) for _ in range(count)]


async def test_speed_zero_gives_all_at_once_in_order() -> None:
    events = sample()
    assert await take(Replay(events, 0.0), len(events)) == events


async def test_gaps_follow_the_clock_of_the_session_and_are_capped() -> None:
    replay = Replay(sample(), 2.0)
    gaps = [replay._gap(k) for k in range(len(replay.events))]
    spans = [b.elapsed - a.elapsed for a, b in zip(replay.events, replay.events[1:], strict=False)]
    assert gaps[1:] == [min(LONGEST_GAP, span / 2) for span in spans]


async def test_paused_it_gives_nothing_until_it_goes_on() -> None:
    replay = Replay(sample(), 0.0)
    await take(replay, 3)
    replay.act("pause")
    waiting = asyncio.create_task(anext(replay))  # type: ignore[arg-type]
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    replay.act("continue")
    assert await waiting is replay.events[3]


async def test_seek_goes_both_ways_and_tells() -> None:
    replay = Replay(sample(), 0.0)
    told: list[int] = []
    replay.on_seek = told.append
    await take(replay, 10)
    replay.seek(2)
    assert await anext(replay) is replay.events[2]
    replay.seek_share(0.5)
    replay.seek(10_000)
    replay.seek(-3)
    assert told == [2, round(len(replay.events) / 2), len(replay.events), 0]


async def test_at_the_end_it_waits_for_a_seek() -> None:
    replay = Replay(sample(), 0.0)
    await take(replay, len(replay.events))
    waiting = asyncio.create_task(anext(replay))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    assert not waiting.done()
    replay.seek(0)
    assert await waiting is replay.events[0]


def test_speeds_have_ends() -> None:
    replay = Replay([], 1.0)
    assert [replay.faster(1) for _ in range(6)] == [2.0, 5.0, 10.0, 50.0, 0.0, 0.0]
    assert [replay.faster(-1) for _ in range(8)][-1] == 0.25
    with pytest.raises(UserError):
        replay.set_speed(-1)


def test_a_replay_cannot_be_steered() -> None:
    with pytest.raises(UserError, match="this is a replay"):
        Replay([]).act("prove", "x")
