"""`kshell bench tui`: how the terminal app answers keys under load, in a real pseudo-terminal."""

import argparse
import asyncio
import gc
import json
import os
import select
import signal
import statistics
import struct
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from itertools import cycle, islice
from pathlib import Path

from kshell.cli import options
from kshell.errors import UserError
from kshell.events import Event

HELP = """Feed the terminal app with events while keys are pressed, and measure the time from a key to its
effect on the screen, the events really taken in, and the growth of memory."""

AIMS = {"p95_ms": 50.0}
KEYS = tuple((key.encode(), f"•{key} ".encode()) for key in "5432")  # each shows a pane that is hidden
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", type=options.WHOLE, default=10_000, metavar="E", help="events a second")
    parser.add_argument(
        "--seconds", type=options.WHOLE, default=60, metavar="S", help="how long (default 60)"
    )
    parser.add_argument("--app", metavar="FILE", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    if args.app:
        return _app(args.rate, args.app)
    if sys.platform == "win32":
        raise UserError("this bench needs a pseudo-terminal: run it on Linux or macOS")
    result = measure(args.rate, args.seconds)
    if args.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            aim = f"  (aim under {AIMS[name]:g})" if name in AIMS else ""
            print(f"{name:<22} {value:.4g}{aim}")
    return 0


# --- the process that is measured ---


def _app(rate: int, report: str) -> int:
    from kshell.bench._streams import storm
    from kshell.tui.app import KshellApp, calm_collector
    from kshell.tui.control import ReadOnly

    ready = [event.model_copy(update={"seq": 0}) for event in islice(storm(), 20_000)]

    gc.collect()
    calm_collector()

    async def stream() -> AsyncGenerator[Event, None]:
        """The prepared events over and over, in batches a hundredth of a second apart."""
        started, given = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - started) * rate) - given
            for k in range(given, given + due):
                yield ready[k % len(ready)]
            given += due
            await asyncio.sleep(0.01)

    app = KshellApp(stream(), ReadOnly("this is a bench"))
    started = time.monotonic()
    app.run()
    seen = app.last_session.session.seen if app.last_session else 0
    Path(report).write_text(json.dumps({"seen": seen, "seconds": time.monotonic() - started}))
    return 0


# --- the process that measures ---


def measure(rate: int, seconds: int, *, warm: int = 10, patience: float = 10.0) -> dict[str, float]:
    """Feed the app for so many seconds after `warm` seconds of the same, in which panes that were never
    shown take their memory. Raises UserError for a key that is not answered within `patience` seconds."""
    import fcntl
    import pty
    import tempfile
    import termios

    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [sys.executable, "-m", "kshell", "bench", "tui", "--rate", str(rate), "--app", report.name]
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color"})
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        try:
            _answer(terminal, b"", b"kernel", 3 * patience)
            keys = cycle(KEYS)
            _keys(terminal, keys, warm, patience)
            before = _memory(pid)
            waits = _keys(terminal, keys, seconds, patience)
            after = _memory(pid)
            os.write(terminal, b"q")
            _drain(terminal, 1.0)
            os.write(terminal, b"\x1b[A\r")
            _drain(terminal, 30.0)
        finally:
            _end(pid, terminal)
        told = json.load(report)
    waits.sort()
    return {
        "keys": float(len(waits)),
        "p50_ms": 1000 * statistics.median(waits),
        "p95_ms": 1000 * waits[min(len(waits) - 1, int(len(waits) * 0.95))],
        "max_ms": 1000 * waits[-1],
        "events_per_second": told["seen"] / told["seconds"],
        "memory_mb": after / 2**20,
        "memory_growth_mb": (after - before) / 2**20,
    }


def _keys(terminal: int, keys: Iterator[tuple[bytes, bytes]], seconds: int, patience: float) -> list[float]:
    """Seconds from each key to the first sign of its effect. No key comes twice in a row: the second
    would change nothing on the screen."""
    waits: list[float] = []
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        key, effect = next(keys)
        waits.append(_answer(terminal, key, effect, patience))
        _drain(terminal, 0.15 + 0.01 * (len(waits) % 10))
    return waits


def _answer(terminal: int, key: bytes, effect: bytes, patience: float) -> float:
    """Press a key and read until its effect is drawn. Raises UserError when it never is."""
    started = time.perf_counter()
    if key:
        os.write(terminal, key)
    seen = b""
    while effect not in seen:
        if time.perf_counter() - started > patience or not (part := _read(terminal, patience)):
            raise UserError(f"the app drew no {effect.decode()!r} within {patience:g} s")
        seen = seen[-64:] + part
    return time.perf_counter() - started


def _drain(terminal: int, seconds: float) -> None:
    stop = time.monotonic() + seconds
    while (left := stop - time.monotonic()) > 0:
        if not _read(terminal, left) and select.select([terminal], [], [], 0)[0]:
            return


def _read(terminal: int, seconds: float) -> bytes:
    if not select.select([terminal], [], [], seconds)[0]:
        return b""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def _memory(pid: int) -> int:
    """Bytes of memory a process occupies; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def _end(pid: int, terminal: int) -> None:
    done, _ = os.waitpid(pid, os.WNOHANG)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(terminal)
