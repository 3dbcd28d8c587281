"""The client over litellm: streaming with watchdogs, retries by kind, the ledger around every call.

litellm is imported at the first call, in a thread, with its network look-ups switched off. Its own
retries, time-outs and budgets are not used: they do not stop a stalled stream."""

import asyncio
import importlib
import json
import os
import random
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agents.llm.failures import RULES, Kind, LLMFailure, advice, kind_of, pause
from agents.llm.ledger import Ledger, Usage
from agents.llm.memory import Memory, packed, request_key, unpacked
from agents.llm.messages import Message, Reply, Tool, ToolCall
from agents.llm.transcripts import Transcripts

_CHARACTERS_A_TOKEN = 3.0


@dataclass(frozen=True, slots=True)
class Watchdog:
    """Seconds until the first chunk, between chunks, and for a whole answer."""

    first_s: float = 120.0
    between_s: float = 60.0
    whole_s: float = 900.0


@dataclass(slots=True)
class LiteLLM:
    """Implements `LLM`. `options` go to litellm (for example `api_base`); keys come from the environment."""

    model: str
    ledger: Ledger
    transcripts: Transcripts | None = None
    memory: Memory | None = None
    watchdog: Watchdog = Watchdog()
    options: dict[str, Any] = field(default_factory=dict)
    rng: random.Random = field(default_factory=random.Random)
    sleep: Callable[[float], Any] = asyncio.sleep

    async def complete(
        self,
        messages: list[Message],
        tools: tuple[Tool, ...] = (),
        *,
        scope: str = "",
        max_tokens: int = 8192,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """One answer. Raises LLMFailure (with advice), CapReached, PriceUnknown; cancelling closes the
        stream and books what had arrived. With a memory, an answer is kept under scope and request
        before it is returned, and is not asked for again."""
        key = request_key(scope, self.model, messages, tools, max_tokens) if scope and self.memory else ""
        known = self.memory.get(key) if self.memory is not None and key else None
        if known is not None:
            return unpacked(known)
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._once(messages, tools, max_tokens, on_text, attempt, key)
            except _Failed as failed:
                if attempt > RULES[failed.kind].retries:
                    raise LLMFailure(
                        failed.kind, f"{self.model}: {failed}; {advice(failed.kind)}", attempt
                    ) from failed
                await self.sleep(pause(failed.kind, attempt, self.rng))

    async def _once(
        self,
        messages: list[Message],
        tools: tuple[Tool, ...],
        max_tokens: int,
        on_text: Callable[[str], None] | None,
        attempt: int,
        key: str,
    ) -> Reply:
        prompt_tokens = estimate(messages, tools)
        reservation = self.ledger.reserve(self.model, prompt_tokens, max_tokens)
        answer = _Answer()
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.watchdog.whole_s):
                await self._stream(messages, tools, max_tokens, answer, on_text)
        except TimeoutError as error:
            raise _Failed(Kind.STALLED, f"no end after {self.watchdog.whole_s:g} s") from error
        finally:
            if answer.started:
                usage = answer.usage(prompt_tokens)
                usd = self.ledger.settle(reservation, usage)
                if self.memory is not None and not (key and answer.finish):
                    self.memory.book(usd, usage.total)
            else:
                self.ledger.release(reservation)
        if not answer.finish:
            raise _Failed(Kind.TRUNCATED, "the stream ended without a finish reason")
        reply = Reply(answer.text, answer.calls(), usage, usd, answer.finish, attempt)
        if self.transcripts is not None:
            seconds = time.monotonic() - started
            name = self.transcripts.keep(self.model, messages, tools, reply, seconds)
            reply = replace(reply, transcript=name)
        if self.memory is not None and key:
            self.memory.put(key, packed(reply), usd, usage.total)
        return reply

    async def _stream(
        self,
        messages: list[Message],
        tools: tuple[Tool, ...],
        max_tokens: int,
        answer: "_Answer",
        on_text: Callable[[str], None] | None,
    ) -> None:
        library = await _litellm()
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "max_tokens": max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "num_retries": 0,
            "max_retries": 0,
            "timeout": self.watchdog.whole_s,
            **self.options,
        }
        if tools:
            arguments["tools"] = [t.schema() for t in tools]
        try:
            async with asyncio.timeout(self.watchdog.first_s):
                stream: AsyncIterator[Any] = await library.acompletion(**arguments)
                chunk = await anext(stream, None)
        except TimeoutError as error:
            raise _Failed(Kind.STALLED, f"no answer within {self.watchdog.first_s:g} s") from error
        except Exception as error:
            raise _Failed(kind_of(error), _line(error)) from error
        try:
            while chunk is not None:
                answer.take(chunk, on_text)
                async with asyncio.timeout(self.watchdog.between_s):
                    chunk = await anext(stream, None)
        except TimeoutError as error:
            raise _Failed(Kind.STALLED, f"silent for {self.watchdog.between_s:g} s in mid-answer") from error
        except Exception as error:
            kind = Kind.TRUNCATED if answer.started else kind_of(error)
            raise _Failed(kind, _line(error)) from error
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()


class _Failed(Exception):
    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(slots=True)
class _Answer:
    """An answer as it arrives."""

    text: str = ""
    finish: str = ""
    started: bool = False
    prompt_tokens: int = 0
    output_tokens: int = 0
    tools: dict[int, list[str]] = field(default_factory=dict)

    def take(self, chunk: Any, on_text: Callable[[str], None] | None) -> None:
        self.started = True
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self.prompt_tokens = int(getattr(usage, "prompt_tokens", 0) or 0)
            self.output_tokens = int(getattr(usage, "completion_tokens", 0) or 0)
        for choice in getattr(chunk, "choices", None) or ():
            delta = choice.delta
            if delta.content:
                self.text += delta.content
                if on_text is not None:
                    on_text(delta.content)
            for call in getattr(delta, "tool_calls", None) or ():
                known = self.tools.setdefault(call.index or 0, ["", "", ""])
                known[0] = known[0] or (call.id or "")
                known[1] += call.function.name or ""
                known[2] += call.function.arguments or ""
            if choice.finish_reason:
                self.finish = str(choice.finish_reason)

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(ToolCall.parse(*self.tools[i]) for i in sorted(self.tools))

    def usage(self, prompt_estimate: int) -> Usage:
        """What the provider says, but never less than half of what plainly went through."""
        written = len(self.text) + sum(len(t[2]) for t in self.tools.values())
        output = int(written / _CHARACTERS_A_TOKEN) + 1
        if 2 * self.output_tokens >= output // 2 and 4 * self.prompt_tokens >= prompt_estimate:
            return Usage(self.prompt_tokens, self.output_tokens)
        return Usage(max(self.prompt_tokens, prompt_estimate), max(self.output_tokens, output), True)


def estimate(messages: list[Message], tools: tuple[Tool, ...] = ()) -> int:
    """Tokens of a prompt, from its length; on the high side for English and code."""
    size = sum(len(json.dumps(m)) for m in messages) + sum(len(json.dumps(t.schema())) for t in tools)
    return int(size / _CHARACTERS_A_TOKEN) + 8


def _line(error: BaseException) -> str:
    """What the library says, one line, without the names of its own exceptions before it."""
    if kind_of(error) is Kind.KEY and getattr(error, "status_code", None) not in (401, 403):
        return "the provider's key is not set"
    text = re.sub(r"^(?:litellm\.)?(?:\w+Error|\w+Exception|Timeout)\b(?::| - )\s*", "", str(error).strip())
    return (text.splitlines()[0] if text else type(error).__name__)[:300]


async def _litellm() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    library: Any = await asyncio.to_thread(importlib.import_module, "litellm")
    library.suppress_debug_info = True
    library.telemetry = False
    return library
