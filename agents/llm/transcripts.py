"""Transcripts of model calls, one file a call, named by content. Keys and headers are never in them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from agents.llm.messages import Message, Reply, Tool


@dataclass(frozen=True, slots=True)
class Transcripts:
    """A folder of transcripts."""

    folder: Path

    def keep(
        self, model: str, messages: list[Message], tools: tuple[Tool, ...], reply: Reply, seconds: float
    ) -> str:
        """Write one; returns its key (the first 24 hex digits of the SHA-256 of its content)."""
        content = {
            "model": model,
            "messages": messages,
            "tools": [t.schema() for t in tools],
            "reply": reply.message(),
            "finish": reply.finish,
            "usage": {"prompt": reply.usage.prompt, "output": reply.usage.output},
        }
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        key = hashlib.sha256(text.encode()).hexdigest()[:24]
        path = self.folder / key[:2] / f"{key}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(
                json.dumps({**content, "usd": reply.usd, "seconds": round(seconds, 3)}, ensure_ascii=False),
                encoding="utf-8",
            )
            part.replace(path)
        return key
