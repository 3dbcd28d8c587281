"""No call is paid twice: answers are kept before they are used, and given again to the same request."""

import asyncio

import pytest

from agents.llm.failures import LLMFailure
from agents.llm.generator import LLMGenerator
from agents.llm.memory import packed, unpacked
from agents.llm.messages import Message
from tests.agents.llm.kit import RELU, Notes, call, client
from tests.agents.llm.server import Fail, Say, serving
from tests.agents.llm.test_generator import FakeToolbox, context

pytestmark = pytest.mark.filterwarnings("ignore")

HELLO: list[Message] = [{"role": "user", "content": "hello"}]


async def test_an_answer_is_kept_whole_and_given_again() -> None:
    notes = Notes()
    with serving(
        Say("first", calls=(("submit", {"source": "é"}), ("x", "{broken"))), Say("second")
    ) as provider:
        paid = client(provider, memory=notes)
        first = await paid.complete(HELLO, scope="generator/1/0")
        later = client(provider, memory=notes)
        assert await later.complete(HELLO, scope="generator/1/0") == first
        assert later.ledger.calls == 0
        other = await later.complete(HELLO, scope="generator/1/1")
        assert len(provider.requests) == 2
    assert (other.text, unpacked(packed(first))) == ("second", first)
    assert notes.usd == pytest.approx(paid.ledger.usd + later.ledger.usd)


async def test_what_failed_attempts_cost_is_booked_too() -> None:
    notes = Notes()
    with serving(Say("y" * 300, cut_after=10), Say("done", usage=(10, 2))) as provider:
        llm = client(provider, memory=notes)
        await llm.complete(HELLO, scope="s")
    assert notes.tokens == llm.ledger.tokens > 12
    assert len(notes.kept) == 1


async def test_a_conversation_cut_in_the_middle_goes_on_where_it_was() -> None:
    """The second process walks the same words to the place of the cut, though tools would answer
    differently now, and pays only what is new."""
    notes = Notes()
    draft = call("profile", source=RELU)
    with serving(draft, draft, Fail(401)) as provider:
        first = FakeToolbox("0.5 ms")
        with pytest.raises(LLMFailure):
            await LLMGenerator(client(provider, memory=notes), first).propose(context())
        assert len(provider.requests) == 3
    with serving(call("submit", source=RELU)) as provider:
        again = FakeToolbox("0.7 ms")
        [proposal] = await LLMGenerator(client(provider, memory=notes), again).propose(
            context(notes=("a hint that came later",))
        )
        [request] = provider.requests
    assert proposal.source == RELU
    assert (len(first.used), again.used) == (2, [])
    said = [m["content"] for m in request["messages"] if m["role"] == "tool"]
    assert said == ["0.5 ms", "0.5 ms"]
    assert "came later" not in request["messages"][0]["content"]


async def test_stopping_in_mid_stream_takes_less_than_a_second_and_is_booked() -> None:
    notes = Notes()
    with serving(Say("w" * 80, stall_after=3)) as provider:
        agent = LLMGenerator(client(provider, memory=notes), FakeToolbox())
        work = asyncio.create_task(agent.propose(context()))
        for _ in range(1500):
            if provider.requests and provider.sent >= 3:
                break
            await asyncio.sleep(0.01)
        started = asyncio.get_running_loop().time()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert asyncio.get_running_loop().time() - started < 1
    assert notes.tokens > 0
