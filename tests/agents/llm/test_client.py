"""The client through the real litellm path, against a local server."""

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from agents.llm.client import LiteLLM, Watchdog
from agents.llm.failures import Kind, LLMFailure
from agents.llm.ledger import CapReached, Caps, Ledger, Price, PriceUnknown
from agents.llm.messages import Tool
from agents.llm.transcripts import Transcripts
from tests.agents.llm.server import Fail, FakeProvider, Garbage, Say, serving

pytestmark = pytest.mark.filterwarnings("ignore")

MODEL = "openai/fake"
TOOL = Tool("compile", "Compile a kernel.", {"type": "object", "properties": {"source": {"type": "string"}}})


async def no_wait(_seconds: float) -> None:
    """Retries without pauses."""


def client(provider: FakeProvider, **changes: Any) -> LiteLLM:
    ledger = changes.pop("ledger", Ledger(prices={MODEL: Price(1.0, 10.0)}))
    return LiteLLM(
        MODEL,
        ledger,
        options={"api_base": provider.url, "api_key": "sk-secret"},
        sleep=no_wait,
        rng=random.Random(0),
        **changes,
    )


HELLO = [{"role": "user", "content": "hello"}]


async def test_text_streams_and_is_booked() -> None:
    with serving(Say("a kernel in the night", usage=(1000, 20))) as provider:
        parts: list[str] = []
        llm = client(provider)
        reply = await llm.complete(HELLO, on_text=parts.append)
    assert reply.text == "".join(parts) == "a kernel in the night"
    assert (reply.usage.prompt, reply.usage.output, reply.finish) == (1000, 20, "stop")
    assert reply.usd == pytest.approx(1000 / 1e6 + 20 * 10 / 1e6)
    assert llm.ledger.usd == reply.usd
    assert provider.requests[0]["stream"] is True


async def test_tool_calls_arrive_whole() -> None:
    arguments = {"source": "__global__ void k() {}\n" * 20}
    with serving(Say(calls=(("compile", arguments), ("compile", "{broken")))) as provider:
        reply = await client(provider).complete(HELLO, (TOOL,))
    first, second = reply.calls
    assert first.arguments == arguments
    assert second.arguments is None
    assert second.raw == "{broken"
    assert reply.message()["tool_calls"][0]["function"]["arguments"] == json.dumps(arguments)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_passing_errors_are_tried_again(status: int) -> None:
    with serving(Fail(status), Fail(status), Say("done")) as provider:
        reply = await client(provider).complete(HELLO)
    assert (reply.text, reply.attempts, len(provider.requests)) == ("done", 3, 3)


@pytest.mark.parametrize(("status", "kind"), [(401, Kind.KEY), (400, Kind.REFUSED), (404, Kind.REFUSED)])
async def test_final_errors_are_not_tried_again(status: int, kind: Kind) -> None:
    with serving(Fail(status), Say("never")) as provider:
        with pytest.raises(LLMFailure) as caught:
            await client(provider).complete(HELLO)
        assert len(provider.requests) == 1
    assert caught.value.kind is kind
    assert "\n" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)


async def test_a_rate_limit_that_stays_is_given_up() -> None:
    with serving(*[Fail(429)] * 9) as provider:
        with pytest.raises(LLMFailure, match="smaller --group"):
            await client(provider).complete(HELLO)
        assert len(provider.requests) == 6


@pytest.mark.parametrize("stalled_after", [0, 2])
async def test_a_stalled_stream_is_cut_and_tried_again(stalled_after: int) -> None:
    dog = Watchdog(first_s=1.0, between_s=0.5, whole_s=10)
    with serving(Say("x" * 80, stall_after=stalled_after), Say("done")) as provider:
        started = time.monotonic()
        reply = await client(provider, watchdog=dog).complete(HELLO)
        assert time.monotonic() - started < 8
    assert (reply.text, reply.attempts) == ("done", 2)


async def test_a_truncated_stream_is_tried_again_and_booked() -> None:
    with serving(Say("y" * 300, cut_after=10), Say("done", usage=(10, 2))) as provider:
        llm = client(provider)
        reply = await llm.complete(HELLO)
    assert (reply.text, reply.attempts) == ("done", 2)
    assert llm.ledger.calls == 2
    assert llm.ledger.tokens > 12


async def test_garbage_is_given_up_with_a_clear_line() -> None:
    with serving(*[Garbage()] * 4) as provider, pytest.raises(LLMFailure) as caught:
        await client(provider).complete(HELLO)
    assert caught.value.kind in (Kind.MALFORMED, Kind.TRUNCATED, Kind.SERVER, Kind.CONNECTION)


@pytest.mark.parametrize("usage", [None, (0, 0), (1, 1)])
async def test_missing_or_absurd_usage_is_not_booked_as_free(usage: tuple[int, int] | None) -> None:
    long = [{"role": "user", "content": "word " * 400}]
    with serving(Say("".join(str(i) for i in range(360)), usage=usage)) as provider:
        reply = await client(provider).complete(long)
    assert reply.usage.prompt > 300
    assert reply.usage.output >= 200


async def test_nothing_is_sent_past_the_caps() -> None:
    with serving(Say("never")) as provider:
        poor = Ledger(Caps(usd=0.001), {MODEL: Price(1.0, 10.0)})
        with pytest.raises(CapReached, match="dollars"):
            await client(provider, ledger=poor).complete(HELLO)
        with pytest.raises(PriceUnknown, match=r'\[prices."openai/fake"\]'):
            await client(provider, ledger=Ledger(Caps(usd=5))).complete(HELLO)
        with pytest.raises(CapReached, match="tokens"):
            await client(provider, ledger=Ledger(Caps(tokens=100))).complete(HELLO)
        assert provider.requests == []


async def test_cancelling_ends_a_stream_within_a_second() -> None:
    with serving(Say("w" * 80, stall_after=3)) as provider:
        llm = client(provider, watchdog=Watchdog(30, 30, 60))
        first = asyncio.Event()
        task = asyncio.create_task(llm.complete(HELLO, on_text=lambda _t: first.set()))
        await asyncio.wait_for(first.wait(), 15)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 1
    assert llm.ledger.tokens > 0


async def test_transcripts_hold_the_call_and_no_key(tmp_path: Path) -> None:
    with serving(Say("kept")) as provider:
        reply = await client(provider, transcripts=Transcripts(tmp_path)).complete(HELLO)
    files = list(tmp_path.rglob("*.json"))
    assert [f.stem for f in files] == [reply.transcript]
    text = files[0].read_text()
    assert "kept" in text
    assert "sk-secret" not in text


async def test_a_missing_key_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(Say("never")) as provider:
        llm = client(provider)
        del llm.options["api_key"]
        with pytest.raises(LLMFailure, match="key in the environment") as caught:
            await llm.complete(HELLO)
        assert provider.requests == []
    assert caught.value.kind is Kind.KEY
