"""What model calls answered, kept before it is used, so that nothing is paid for twice."""

import hashlib
import json
from typing import Protocol

from agents.llm.ledger import Usage
from agents.llm.messages import Message, Reply, Tool, ToolCall


class Memory(Protocol):
    """A durable map from the content of a request to its answer, with what each call cost."""

    def get(self, key: str) -> str | None:
        """The text kept under a key."""
        ...

    def put(self, key: str, body: str, usd: float = 0.0, tokens: int = 0) -> None:
        """Keep a text and what it cost, in one step. A key that is known keeps its first text."""
        ...

    def book(self, usd: float, tokens: int) -> None:
        """Note what a call cost that gave no answer."""
        ...


def key_of(scope: str, *content: object) -> str:
    """The key of a request in a scope such as `generator/3/0`: SHA-256 in hex."""
    return hashlib.sha256(json.dumps([scope, *content], sort_keys=True).encode()).hexdigest()


def request_key(
    scope: str, model: str, messages: list[Message], tools: tuple[Tool, ...], max_tokens: int
) -> str:
    """The key of a model call."""
    return key_of(scope, model, messages, [t.schema() for t in tools], max_tokens)


def packed(reply: Reply) -> str:
    """A reply as text."""
    return json.dumps(
        {
            "text": reply.text,
            "calls": [[c.id, c.name, c.raw] for c in reply.calls],
            "usage": [reply.usage.prompt, reply.usage.output, reply.usage.estimated],
            "usd": reply.usd,
            "finish": reply.finish,
            "attempts": reply.attempts,
            "transcript": reply.transcript,
        },
        ensure_ascii=False,
    )


def unpacked(body: str) -> Reply:
    """The reply of `packed`."""
    values = json.loads(body)
    prompt, output, estimated = values.pop("usage")
    calls = tuple(ToolCall.parse(*call) for call in values.pop("calls"))
    return Reply(calls=calls, usage=Usage(prompt, output, estimated), **values)
