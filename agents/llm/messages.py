"""What goes to a model and what comes back, without any library's types."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from agents.llm.ledger import Ledger, Usage

if TYPE_CHECKING:
    from agents.llm.memory import Memory

Message = dict[str, Any]
"""A chat message in the OpenAI form."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]

    def schema(self) -> dict[str, Any]:
        """The OpenAI form."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for. `arguments` is None when its JSON is broken; `raw` is what it wrote."""

    id: str
    name: str
    raw: str
    arguments: dict[str, Any] | None

    @staticmethod
    def parse(id_: str, name: str, raw: str) -> "ToolCall":
        """Reads the arguments."""
        try:
            value = json.loads(raw or "{}")
        except json.JSONDecodeError:
            value = None
        return ToolCall(id_, name, raw, value if isinstance(value, dict) else None)


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished answer. `usd` is 0 when the model has no price."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    usd: float
    finish: str
    attempts: int = 1
    transcript: str = ""

    def message(self) -> Message:
        """The answer as a message of the conversation."""
        message: Message = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.raw}}
                for c in self.calls
            ]
        return message


class LLM(Protocol):
    """A model as the roles see it."""

    model: str
    ledger: Ledger
    memory: "Memory | None"

    async def complete(
        self,
        messages: list[Message],
        tools: tuple[Tool, ...] = (),
        *,
        scope: str = "",
        max_tokens: int = 8192,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """One answer, streamed to `on_text`; one that was given to the same request in the same `scope`
        before is given again, unpaid. Raises LLMFailure, CapReached, PriceUnknown."""
        ...


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages that grow."""

    messages: list[Message] = field(default_factory=list)

    def say(self, role: str, content: str) -> None:
        """Add a message."""
        self.messages.append({"role": role, "content": content})

    def answer(self, reply: Reply) -> None:
        """Add a reply."""
        self.messages.append(reply.message())

    def result(self, call: ToolCall, content: str) -> None:
        """Add the result of a tool."""
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
