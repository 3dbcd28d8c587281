"""The manifest role: a description becomes a structured proposal, which our own code checks and builds."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from agents.llm.loop import Done, converse
from agents.llm.messages import LLM, Tool, ToolCall
from agents.llm.prompts import render

_TENSORS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "shape": {"type": "array", "items": {"type": ["string", "integer"]}},
        },
        "required": ["name", "shape"],
    },
}
PROPOSE = Tool(
    "propose",
    "Propose the task. It is checked; you are told what is wrong.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "title": {"type": "string"},
            "axes": {"type": "object", "additionalProperties": {"type": "integer"}},
            "inputs": _TENSORS,
            "outputs": _TENSORS,
            "forward": {"type": "array", "items": {"type": "string"}},
            "assumptions": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name", "title", "axes", "inputs", "outputs", "forward", "assumptions"],
    },
)

D = TypeVar("D")
Build = Callable[[Mapping[str, Any]], Awaitable[D | str]]
"""Builds what was proposed, or says in one line what is wrong with it."""


class NoManifest(Exception):
    """The model proposed nothing that holds; the message is one line."""


async def draft(llm: LLM, text: str, code: str, operations: str, build: Build[D], *, steps: int = 5) -> D:
    """What `build` makes of the model's proposal. Raises NoManifest, LLMFailure, CapReached,
    PriceUnknown."""
    last = ["the model proposed nothing"]

    async def handle(call: ToolCall) -> str | Done[D]:
        built = await build(call.arguments or {})
        if isinstance(built, str):
            last.append(built)
            return f"refused: {built}"
        return Done(built)

    system = render(
        "manifest", text=text, code=f"```c\n{code.strip()}\n```" if code else "", operations=operations
    )
    made = await converse(llm, "manifest", system, (PROPOSE,), handle, steps=steps, max_tokens=4096)
    if made is None:
        raise NoManifest(f"{llm.model} proposed no task that holds: {last[-1]}")
    return made
