"""kshell for other agents: an MCP server over the same sessions, events and verbs as the command line.

A session runs in a process of its own, so it outlives the server; progress is its event stream."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from insights_db.errors import StoreError
from insights_db.records import Candidate, Counterexample, Insight, Obligation
from insights_db.store import Store
from kshell import __version__, paths, remote, summary, wiring
from kshell import tasks as known_tasks
from kshell.cli import options
from kshell.cli.known import session_names, session_record
from kshell.engine.control import Action
from kshell.engine.lock import running
from kshell.engine.log import stored
from kshell.engine.promotion import digest
from kshell.engine.state import SessionState, fold
from kshell.errors import UserError
from kshell.text import describe
from semantics.span import Refusal

P = ParamSpec("P")
R = TypeVar("R")

INSTRUCTIONS = """kshell evolves CUDA kernels for a task and proves them in Lean. `tasks` lists the tasks.
`run` starts a session and reports its progress; `status` says where it stands; `steer` sends it hints.
Only a promoted kernel is proven; `export` gives its source and certificate. `check` and `verify` take a
kernel of yours."""


class TaskInfo(BaseModel):
    """A task: axes with default sizes, inputs and outputs with shapes, reference source."""

    name: str
    title: str
    family: str
    axes: dict[str, int]
    inputs: list[str]
    outputs: list[str]
    reference: str


class SessionInfo(BaseModel):
    """Where a session stands. `state` is running, stopped (its process is gone), interrupted, finished.
    `report` is the summary for a person; promoted kernels have a certificate, others are unproven."""

    name: str
    task: str
    state: str
    rounds_done: int
    candidates: int
    best: str | None
    best_ms: float | None
    promoted: list[str]
    report: list[str]


class Exported(BaseModel):
    """A promoted kernel: its source, its theorem, the folder with everything."""

    candidate: str
    source: str
    theorem: str
    folder: str


class Checked(BaseModel):
    """`fault_found` with the counterexample; no fault found proves nothing."""

    fault_found: bool
    refused: str = ""
    counterexample: Counterexample | None = None
    effort: str = ""


class Proved(BaseModel):
    """The outcome of a proof: proven, unproven, refuted, refused; the reason when it is not proven."""

    status: str
    reason: str
    statement: str
    obligations: list[Obligation]


def server() -> MCPServer:
    """The server with all its tools."""
    made = MCPServer("kshell", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in (tasks, run, sessions, status, events, steer, insights, export, check, verify):
        made.tool()(_explained(tool))
    return made


def _explained(tool: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """What a person could cause becomes the tool's error, one line."""

    @wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await tool(*args, **kwargs)
        except (UserError, StoreError, Refusal) as error:
            raise ToolError(" ".join(str(error).split())) from None

    return call


async def tasks() -> list[TaskInfo]:
    """List the tasks: what kernels can be evolved for."""
    return [_task_info(known_tasks.get(name)) for name in known_tasks.names()]


async def run(
    context: Context[Any, Any],
    task: str,
    rounds: int = 4,
    group: int = 6,
    device: str = "cpu",
    seed: int = 0,
    wait_seconds: float = 600.0,
    sizes: dict[str, int] | None = None,
    generator: Literal["builtin", "llm"] | None = None,
    model: str | None = None,
    agents: list[Literal["verifier", "prover", "insight"]] | None = None,
    prove: Literal["rounds", "end", "never"] | None = None,
    max_usd: float | None = None,
    max_tokens: int | None = None,
    max_seconds: float | None = None,
    max_proof_tries: int | None = None,
) -> SessionInfo:
    """Start a session for a task and wait for its end, at most `wait_seconds`, reporting progress. It goes
    on in the background when the wait is over. `sizes` are of the task's axes. `generator` llm lets the
    language model `model` propose kernels; `agents` are further roles that a model plays beside the built-in
    ones; the caps hold for all of them together. What is left out is as the configuration says."""
    chosen = wiring.task(task)
    wiring.workload(chosen, _sizes(sizes), seed)
    given: dict[str, object] = {
        "rounds": rounds,
        "group": group,
        "device": device,
        "seed": seed,
        "generator": generator,
        "model": model,
        "agents": agents or None,
        "prove": prove,
        "max_usd": max_usd,
        "max_tokens": max_tokens,
        "max_seconds": max_seconds,
        "max_proof_tries": max_proof_tries,
    }
    words = _words({key: value for key, value in given.items() if value is not None}, sizes)
    with wiring.store() as store:
        [name] = session_names(store, [chosen.name], None)
        process = remote.in_background(name, "run", task, "--session", name, "--headless", *words)
        try:
            async with asyncio.timeout(wait_seconds):
                await _started(store, name, process.poll)
                await _followed(store, name, context)
                await asyncio.to_thread(process.wait)
        except TimeoutError:
            pass
        return _session_info(store, name)


async def sessions() -> list[SessionInfo]:
    """List all sessions, newest first."""
    with wiring.store() as store:
        return [_session_info(store, record.name) for record in store.sessions()]


async def status(session: str) -> SessionInfo:
    """Say where a session stands."""
    with wiring.store() as store:
        return _session_info(store, session_record(store, session).name)


async def events(session: str, after: int = 0, limit: int = 200) -> list[dict[str, Any]]:
    """The events of a session with a number above `after`, in order, at most `limit`."""
    with wiring.store() as store:
        name = session_record(store, session).name
        page = itertools.islice(stored(store, name, after), limit)
        return [event.model_dump(mode="json") for event in page]


async def steer(session: str, action: Action, target: str = "") -> str:
    """Act on a running session: pause, continue, stop, note (target: a hint to the generator), pin, unpin,
    ban, unban, prove or refute (target: a candidate id)."""
    with wiring.store() as store:
        name = session_record(store, session).name
        remote.RemoteControl(store, name).act(action, target)
    return f"asked session {name} to {action} {target}".rstrip()


async def insights(query: str = "", family: str | None = None, limit: int = 20) -> list[Insight]:
    """Search what past sessions learned: changes of kernels and what they did, with evidence."""
    with wiring.store() as store:
        return store.insights(query, family=family, limit=limit)


async def export(session: str) -> Exported:
    """The best promoted kernel of a session. Nothing that is not proven can be exported."""
    with wiring.store() as store:
        name = session_record(store, session).name
        best = next(iter(_state(store, name).promoted), None)
        if best is None or best.certificate is None:
            raise UserError(f"session {name} has promoted nothing: no kernel of it is proven")
        return Exported(
            candidate=best.id,
            source=best.candidate.source,
            theorem=best.certificate.theorem,
            folder=best.export,
        )


async def check(source: str, task: str, sizes: dict[str, int] | None = None) -> Checked:
    """Parse a kernel of yours, interpret it and try to break it."""
    from semantics.program import load

    chosen = wiring.task(task)
    workload = wiring.workload(chosen, _sizes(sizes))
    try:
        load(source).plan(chosen, workload)
    except Refusal as refusal:
        return Checked(fault_found=False, refused=refusal.render(source))
    for verifier in wiring.verifiers():
        verdict = await verifier.attack(_candidate(source, chosen.name), chosen, workload)
        if verdict.counterexample is not None:
            return Checked(fault_found=True, counterexample=verdict.counterexample, effort=verdict.effort)
    return Checked(fault_found=False, effort=verdict.effort)


async def verify(
    context: Context[Any, Any], source: str, task: str, sizes: dict[str, int] | None = None
) -> Proved:
    """Try to prove a kernel of yours equal to the task, reporting each obligation."""
    chosen = wiring.task(task)
    workload = wiring.workload(chosen, _sizes(sizes))
    closed: list[Obligation] = []
    reports: set[asyncio.Task[None]] = set()
    loop = asyncio.get_running_loop()

    def report(obligation: Obligation, total: int) -> None:
        closed.append(obligation)
        progress = context.report_progress(len(closed), total, obligation.title)
        task = loop.create_task(progress)
        reports.add(task)

    def on_obligation(obligation: Obligation, total: int) -> None:
        loop.call_soon_threadsafe(report, obligation, total)

    proof = await wiring.prover().prove(_candidate(source, chosen.name), chosen, workload, on_obligation)
    await asyncio.sleep(0)
    await asyncio.gather(*reports)
    return Proved(
        status=proof.status.value,
        reason=proof.reason,
        statement=proof.statement,
        obligations=list(proof.obligations),
    )


# --- parts ---


def _task_info(task: Any) -> TaskInfo:
    def shown(tensor: Any) -> str:
        return f"{tensor.name}[{', '.join(str(size) for size in tensor.shape)}] {tensor.dtype}"

    return TaskInfo(
        name=task.name,
        title=task.title,
        family=task.family,
        axes=task.axes,
        inputs=[shown(tensor) for tensor in task.inputs],
        outputs=[shown(tensor) for tensor in task.outputs],
        reference=task.reference,
    )


def _state(store: Store, name: str) -> SessionState:
    return fold(stored(store, name))


def _session_info(store: Store, name: str) -> SessionInfo:
    record = session_record(store, name)
    state = _state(store, name)
    alive = running(paths.locks(), name)
    best = state.best
    return SessionInfo(
        name=name,
        task=record.task,
        state="running" if alive else "stopped" if record.state == "running" else record.state,
        rounds_done=len(state.rounds),
        candidates=len(state.candidates),
        best=best.id if best else None,
        best_ms=best.median_ms if best else None,
        promoted=[known.id for known in state.promoted],
        report=summary.lines(state),
    )


async def _started(store: Store, name: str, code: Callable[[], int | None]) -> None:
    """Wait until the session is in the store. Raises UserError when its process ended before."""
    while store.session(name) is None:
        if code() is not None and store.session(name) is None:
            log = (paths.logs() / f"{name}.log").read_text(encoding="utf-8", errors="replace")
            raise UserError(log.strip().splitlines()[-1] if log.strip() else "the session did not start")
        await asyncio.sleep(remote.POLL)


async def _followed(store: Store, name: str, context: Context[Any, Any]) -> None:
    """Report each event that says something until the session is over."""
    state = SessionState()
    async for event in remote.tail(store, name):
        state.apply(event)
        budget = state.budget
        for line in describe(event, state):
            await context.report_progress(
                min(budget.candidates_done, budget.rounds * budget.group),
                budget.rounds * budget.group,
                line.strip(),
            )


def _sizes(sizes: dict[str, int] | None) -> list[str]:
    return [f"{name}={value}" for name, value in (sizes or {}).items()]


def _words(given: dict[str, object], sizes: dict[str, int] | None) -> list[str]:
    """Options of `kshell run`. Raises UserError for values that no session can have."""
    options.validated(given)
    words = []
    for name, value in given.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        words += [f"--{name.replace('_', '-')}", text]
    for size in _sizes(sizes):
        words += ["--size", size]
    return words


def _candidate(source: str, task: str) -> Candidate:
    return Candidate(id=digest(source)[:12], source=source, task=task, round=0, index=0, proposer="person")
