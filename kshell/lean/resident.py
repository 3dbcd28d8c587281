"""A checker process that has the proof package loaded and checks one text after another.

Starting the embedded build and loading the package takes some fifteen seconds; checking the proof of an
elementwise kernel then takes two or three. The process runs a Lean file (`program`) that never ends: it reads a
text, elaborates it command by command behind its own imports, says what Lean says, and forgets it. Only text that
is ours goes there. What somebody else wrote is checked by `LeanRunner`, in a process of its own, and so is every
certificate that is audited."""

import asyncio
import contextlib
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kshell.lean.locks import hold_async
from kshell.lean.messages import Message
from kshell.lean.runner import SECONDS, Check, LeanRunner, collect, kill
from kshell.lean.toolchain import store

TEXTS = 60
"""A process is replaced after so many texts: what Lean keeps of each grows its memory a little."""
_READY = "kshell:ready"
_IMPORT = "public import "


def body_of(text: str, imported: tuple[str, ...]) -> str:
    """The text of a module without its header; blank lines keep the line numbers. Raises ValueError when it
    imports what is not `imported`."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.startswith(_IMPORT):
            name = line.removeprefix(_IMPORT).strip()
            if name not in imported:
                raise ValueError(f"the text imports {name}, which the resident checker does not have")
        elif line != "module":
            return "\n" * at + "\n".join(lines[at:])
    return ""


@dataclass(slots=True)
class Resident:
    """Checks texts with `program`, a Lean file that speaks the protocol of `resident.lean`, on the embedded
    build. Not for use from two tasks at once."""

    runner: LeanRunner
    program: str
    package: Path
    _process: asyncio.subprocess.Process | None = field(default=None, repr=False)
    _ready: bool = field(default=False, repr=False)
    _served: int = field(default=0, repr=False)

    async def prepare(self) -> None:
        """Start the process now; it loads the package while others work."""
        if self._process is not None and self._process.returncode is None and self._served < TEXTS:
            return
        await self.close()
        folder = store() / "resident" / hashlib.sha256(self.program.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "Resident.lean"
        if not file.exists():
            part = file.with_suffix(f".{secrets.token_hex(4)}.part")
            part.write_text(self.program, encoding="utf-8")
            part.replace(file)
        self._process = await self.runner.start(file, self.package)

    async def check(
        self,
        text: str,
        theorem: str,
        *,
        on_message: Callable[[Message], None] | None = None,
        seconds: float = SECONDS,
        waiting: Callable[[], None] | None = None,
    ) -> Check:
        """Check `text`, which declares `theorem`. `Check.lines` are those of the walk from the theorem. A process
        that has checked other texts and dies is replaced once. Cancelling kills it."""
        async with hold_async(self.runner.lock, waiting):
            started = asyncio.get_running_loop().time()
            while True:
                await self.prepare()
                used = self._served
                try:
                    made = await self._ask(text, theorem, on_message, seconds, started)
                except BaseException:
                    await self.close()
                    raise
                if made.timed_out or self._process is None or self._process.returncode is not None:
                    await self.close()
                    if used and not made.timed_out:
                        continue
                return made

    async def close(self) -> None:
        """End the process."""
        if self._process is not None:
            await kill(self._process)
        self._process, self._ready, self._served = None, False, 0

    async def _ask(
        self,
        text: str,
        theorem: str,
        on_message: Callable[[Message], None] | None,
        seconds: float,
        started: float,
    ) -> Check:
        process = self._process
        assert process is not None and process.stdin is not None
        if not self._ready:
            begun = await collect(process, None, seconds, started, _READY)
            if process.returncode is not None or begun.timed_out:
                return begun
            self._ready = True
        self._served += 1
        last = f"kshell:{secrets.token_hex(16)}"
        name = theorem.split(".")
        process.stdin.write("\n".join((last, *name, last, text, last, "")).encode())
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        return await collect(process, on_message, seconds, started, _READY)
