"""`kshell bench engine`: what the engine costs beside the work it drives, and how fast the shell starts."""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kshell.cli import options

if TYPE_CHECKING:
    from agents.protocols import GenerationContext, Proposal
    from insights_db.records import Candidate, CompileResult, ProfileResult, ValidationResult
    from kshell.engine.desk import Parts
    from kshell.protocols import Evaluator
    from semantics.task import Task, Workload

HELP = """Overhead of the engine per candidate beside compile and run time, seconds from `kshell` to the first
frame and to `kshell --help`, warm seconds of a proof per elementwise kernel."""

AIMS = {"overhead_ratio": 0.05, "first_frame_seconds": 0.7, "help_seconds": 0.3}
T = TypeVar("T")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", default="relu", metavar="TASK", help="the task whose session is measured")
    parser.add_argument("--rounds", type=options.WHOLE, default=2, metavar="N", help="rounds (default 2)")
    parser.add_argument("--group", type=options.WHOLE, default=4, metavar="G", help="candidates (default 4)")
    parser.add_argument("--runs", type=options.WHOLE, default=5, metavar="R", help="starts timed (default 5)")
    parser.add_argument("--no-proofs", action="store_true", help="leave the proofs out")


def run(args: argparse.Namespace) -> int:
    result: dict[str, object] = {"help_seconds": _median(args.runs, _help_seconds)}
    result["first_frame_seconds"] = _median(args.runs, _first_frame_seconds)
    result |= asyncio.run(_overhead(args.task, args.rounds, args.group))
    if not args.no_proofs:
        result["proofs"] = asyncio.run(_proofs())
    result["ratios_to_aims"] = {
        name: round(float(str(result[name])) / aim, 3) for name, aim in AIMS.items() if name in result
    }
    if args.json:
        print(json.dumps(result))
        return 0
    for name, value in result.items():
        if isinstance(value, float):
            aim = f"  (aim under {AIMS[name]:g})" if name in AIMS else ""
            print(f"{name:<34} {value:.4g}{aim}")
        elif name == "proofs" and isinstance(value, list):
            for proof in value:
                print(f"proof of {proof['task']:<25} {proof['seconds']:.2f} s, {proof['status']}")
        elif not isinstance(value, dict):
            print(f"{name:<34} {value}")
    return 0


def _median(runs: int, measure: Callable[[], float]) -> float:
    return round(statistics.median(measure() for _ in range(runs)), 4)


def _help_seconds() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "kshell", "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _first_frame_seconds(limit: float = 20.0) -> float:
    """From the start of the process to the first task name on a terminal of 80x24. Raises TimeoutError."""
    import fcntl
    import pty
    import struct
    import termios

    with tempfile.TemporaryDirectory() as home:
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "KSHELL_HOME": home, "TERM": "xterm-256color"}
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "kshell"],
            stdin=child,
            stdout=child,
            stderr=child,
            env=environment,
            start_new_session=True,
        )
        os.close(child)
        try:
            return _until(parent, b"softmax", started, limit) - started
        finally:
            process.kill()
            process.wait()
            os.close(parent)


def _until(terminal: int, text: bytes, started: float, limit: float) -> float:
    import select

    seen = b""
    while time.perf_counter() - started < limit:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            with suppress(OSError):
                seen += os.read(terminal, 65536)
            if text in seen:
                return time.perf_counter()
    raise TimeoutError(f"the app showed no task within {limit:g} s; the last it wrote: {seen[-200:]!r}")


@dataclass
class Busy:
    """Wall time during which at least one of the wrapped calls ran."""

    running: int = 0
    since: float = 0.0
    seconds: float = 0.0
    calls: list[str] = field(default_factory=list)

    async def during(self, name: str, work: Awaitable[T]) -> T:
        """Await, and count the time."""
        if self.running == 0:
            self.since = time.perf_counter()
        self.running += 1
        self.calls.append(name)
        try:
            return await work
        finally:
            self.running -= 1
            if self.running == 0:
                self.seconds += time.perf_counter() - self.since


class TimedEvaluator:
    """An evaluator whose busy time is counted."""

    def __init__(self, inner: "Evaluator", busy: Busy) -> None:
        self.device = inner.device
        self._inner, self._busy = inner, busy

    async def compile(self, candidate: "Candidate", task: "Task", workload: "Workload") -> "CompileResult":
        """As the inner one."""
        return await self._busy.during("compile", self._inner.compile(candidate, task, workload))

    async def validate(
        self, candidate: "Candidate", task: "Task", workload: "Workload", compiled: "CompileResult"
    ) -> "ValidationResult":
        """As the inner one."""
        work = self._inner.validate(candidate, task, workload, compiled)
        return await self._busy.during("validate", work)

    async def profile(
        self, candidate: "Candidate", task: "Task", workload: "Workload", compiled: "CompileResult"
    ) -> "ProfileResult":
        """As the inner one."""
        work = self._inner.profile(candidate, task, workload, compiled)
        return await self._busy.during("profile", work)


class TimedGenerator:
    """A generator whose time is counted."""

    def __init__(self, parts: "Parts", busy: Busy) -> None:
        self.name = parts.generator.name
        self._inner, self._busy = parts.generator, busy

    async def propose(self, context: "GenerationContext") -> "list[Proposal]":
        """As the inner one."""
        return await self._busy.during("propose", self._inner.propose(context))


async def _overhead(name: str, rounds: int, group: int) -> dict[str, object]:
    """One session on the real cpu device, without attacks and proofs: wall time minus the time of the
    evaluator and the generator is the engine's own."""
    from insights_db.store import Store
    from kshell import wiring
    from kshell.engine.session import Session, drain
    from kshell.engine.settings import Settings

    task = wiring.task(name)
    settings = Settings(rounds=rounds, group=group, seed=1, prove="never", attack_top=0)
    evaluation, proposing = Busy(), Busy()
    parts = wiring.parts(settings)
    parts = replace(
        parts,
        evaluator=TimedEvaluator(parts.evaluator, evaluation),
        generator=TimedGenerator(parts, proposing),
    )
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "kshell.db") as store:
        session = Session(
            store=store,
            name="bench",
            task=task,
            workload=task.workload(),
            settings=settings,
            parts=parts,
            exports=Path(folder),
        )
        started = time.perf_counter()
        events = await drain(session)
        wall = time.perf_counter() - started
    count = len(session.state.candidates)
    own = max(0.0, wall - evaluation.seconds - proposing.seconds)
    return {
        "task": name,
        "candidates": count,
        "events": len(events),
        "evaluation_seconds_per_candidate": round(evaluation.seconds / count, 4),
        "proposing_seconds_per_candidate": round(proposing.seconds / count, 5),
        "engine_seconds_per_candidate": round(own / count, 5),
        "overhead_ratio": round(own / evaluation.seconds, 5),
    }


async def _proofs() -> list[dict[str, object]]:
    """The plainest built-in kernel of each elementwise task, after one proof that warms everything up."""
    from agents.builtin import BuiltinGenerator
    from agents.protocols import GenerationContext
    from insights_db.records import Candidate
    from kshell import tasks, wiring
    from kshell.engine.promotion import digest

    prover, generator = wiring.prover(), BuiltinGenerator(tasks.spec_of)
    found: list[dict[str, object]] = []
    for name in ("relu", "relu", "silu", "gelu_tanh"):
        task = wiring.task(name)
        workload = task.workload()
        [proposal, *_] = await generator.propose(GenerationContext(task, workload, "cpu", 1, 1, seed=1))
        note = "" if found else "// the first proof warms the toolchain up\n"
        source = note + proposal.source
        candidate = Candidate(
            id=digest(source)[:12], source=source, task=name, round=1, index=0, proposer="bench"
        )
        started = time.perf_counter()
        proof = await prover.prove(candidate, task, workload, lambda obligation, total: None)
        found.append(
            {
                "task": name,
                "status": proof.status.value,
                "obligations": len(proof.obligations),
                "seconds": round(time.perf_counter() - started, 3),
                "warm": bool(found),
            }
        )
    return found
