"""A local OpenAI-compatible server: each request takes the next behaviour of a script."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Say:
    """A streamed answer. `usage` None leaves usage out; `cut_after` ends the stream after that many
    chunks without a finish reason; `stall_after` goes silent instead."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    usage: tuple[int, int] | None = (100, 50)
    finish: str = ""
    cut_after: int | None = None
    stall_after: int | None = None
    chunk: int = 8


@dataclass(frozen=True)
class Fail:
    """An HTTP error."""

    status: int
    message: str = "no"


@dataclass(frozen=True)
class Garbage:
    """An event stream that is not JSON."""


Behaviour = Say | Fail | Garbage


@dataclass
class FakeProvider:
    """The server's script and what it was asked."""

    script: list[Behaviour]
    answer: Callable[[dict[str, Any]], Behaviour] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)
    sent: int = 0

    def take(self, request: dict[str, Any]) -> Behaviour:
        if self.answer is not None:
            return self.answer(request)
        return self.script.pop(0) if self.script else Fail(500, "the script is over")


def chunks_of(say: Say) -> Iterator[dict[str, Any]]:
    """The chunks of an answer in the order of the protocol."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "fake",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    yield chunk({"role": "assistant", "content": ""})
    for start in range(0, len(say.text), say.chunk):
        yield chunk({"content": say.text[start : start + say.chunk]})
    for index, (name, arguments) in enumerate(say.calls):
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {
            "index": index,
            "id": f"call{index}",
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        yield chunk({"tool_calls": [head]})
        for start in range(0, len(raw), 40):
            part = {"index": index, "function": {"arguments": raw[start : start + 40]}}
            yield chunk({"tool_calls": [part]})
    yield chunk({}, say.finish or ("tool_calls" if say.calls else "stop"))
    if say.usage is not None:
        prompt, output = say.usage
        tail = chunk({})
        tail["choices"] = []
        tail["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
        }
        yield tail


def handler(provider: FakeProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: Any) -> None:
            """Silent."""

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            request = json.loads(self.rfile.read(size))
            provider.requests.append(request)
            provider.headers.append(dict(self.headers.items()))
            behaviour = provider.take(request)
            if isinstance(behaviour, Fail):
                body = json.dumps(
                    {"error": {"message": behaviour.message, "type": "x", "code": None}}
                ).encode()
                self.send_response(behaviour.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            if isinstance(behaviour, Garbage):
                self.wfile.write(b"data: {not json\n\n")
                return
            self._stream(behaviour)

        def _stream(self, say: Say) -> None:
            for sent, chunk in enumerate(chunks_of(say)):
                if say.cut_after == sent:
                    return
                if say.stall_after == sent:
                    provider.released.wait(20)
                    return
                try:
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                    self.wfile.flush()
                    provider.sent += 1
                except OSError:
                    return
            self.wfile.write(b"data: [DONE]\n\n")

    return Handler


@contextmanager
def serving(
    *script: Behaviour, answer: Callable[[dict[str, Any]], Behaviour] | None = None
) -> Iterator[FakeProvider]:
    """A running server with a script, or with answers by request; its URL is `provider.url`."""
    provider = FakeProvider(list(script), answer)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(provider))
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.released.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
        time.sleep(0)
