"""The one conversation loop of all roles: a prompt, tools, a bounded number of turns.

The opening and every tool result are remembered beside the replies, so that a conversation that was cut
by the end of the process is walked again, word for word, to the place where it stopped."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from agents.llm.memory import key_of
from agents.llm.messages import LLM, Conversation, Message, Tool, ToolCall

T = TypeVar("T")

LONGEST_RESULT = 6000
NOTHING: dict[str, object] = {"type": "object", "properties": {}}
"""The schema of a tool without arguments."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The conversation has come to its result."""

    value: T


Handler = Callable[[ToolCall], Awaitable[str | Done[T]]]


async def converse(
    llm: LLM,
    scope: str,
    system: str,
    tools: tuple[Tool, ...],
    handle: Handler[T],
    *,
    steps: int,
    max_tokens: int = 8192,
    note: Callable[[ToolCall], None] | None = None,
    begin: str = "Begin.",
) -> T | None:
    """Talk until `handle` returns Done, at most `steps` turns; None when turns run out.

    `handle` answers a tool call with text; it is not asked again for what it answered before the
    process was cut, `note` is. Raises LLMFailure, CapReached, PriceUnknown."""
    talk = Conversation(_opening(llm, scope, system, begin))
    names = {tool.name for tool in tools}
    last = tools[-1].name
    for step in range(steps):
        reply = await llm.complete(talk.messages, tools, scope=scope, max_tokens=max_tokens)
        talk.answer(reply)
        if not reply.calls:
            talk.say("user", f"Use the tools; call {last} when you are done.")
            continue
        for place, call in enumerate(reply.calls):
            if note is not None:
                note(call)
            key = key_of(scope, "result", step, place, call.name, call.raw)
            known = llm.memory.get(key) if llm.memory is not None else None
            answer: str | Done[T]
            if known is not None:
                answer = known
            elif call.name not in names:
                answer = f"there is no tool {call.name!r}"
            elif call.arguments is None:
                answer = f"the arguments are not a JSON object: {call.raw[:200]}"
            else:
                answer = await handle(call)
            if isinstance(answer, Done):
                return answer.value
            text = answer if len(answer) <= LONGEST_RESULT else answer[:LONGEST_RESULT] + "\n[cut]"
            if llm.memory is not None and known is None:
                llm.memory.put(key, text)
            talk.result(call, text)
    return None


def _opening(llm: LLM, scope: str, system: str, begin: str) -> list[Message]:
    messages: list[Message] = [
        {"role": "system", "content": system},
        {"role": "user", "content": begin},
    ]
    if llm.memory is None:
        return messages
    key = key_of(scope, "opening")
    known = llm.memory.get(key)
    if known is not None:
        kept: list[Message] = json.loads(known)
        return kept
    llm.memory.put(key, json.dumps(messages, ensure_ascii=False))
    return messages


def text_of(call: ToolCall, name: str) -> str:
    """A text argument, the empty string when it is absent or of another kind."""
    value = call.arguments.get(name) if call.arguments else None
    return value.strip() if isinstance(value, str) else ""
