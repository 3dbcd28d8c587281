"""A session: rounds of candidates, attacks, proofs, promotion, as one stream of events."""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path

from agents.llm.failures import LLMFailure
from agents.llm.ledger import CapReached, PriceUnknown
from agents.protocols import GenerationContext, Proposal
from insights_db.errors import StoreError
from insights_db.records import Candidate, ProofStatus
from insights_db.store import Store, new_session
from kshell import __version__, crash, summary
from kshell import events as ev
from kshell.engine import machine
from kshell.engine.budget import exhausted
from kshell.engine.clock import WorkClock
from kshell.engine.control import ON_CANDIDATES, Action, Control
from kshell.engine.desk import Closing, Complaining, Desk, Learning, Parts, Remembering
from kshell.engine.evaluation import evaluate_round, lessons_of
from kshell.engine.log import EventLog, stored
from kshell.engine.memory import SessionMemory
from kshell.engine.promotion import digest, obstacle
from kshell.engine.proving import attack_round, promote, prove, prove_last, prove_round, serve_asked
from kshell.engine.settings import Settings
from kshell.engine.state import SessionState
from kshell.errors import UserError
from semantics.task import Task, Workload


class Session:
    """One session, new or resumed: a session whose name has events in the store goes on from them.

    `exports` is the folder for promoted kernels. `now` is a monotonic clock in seconds."""

    def __init__(
        self,
        *,
        store: Store,
        name: str,
        task: Task,
        workload: Workload,
        settings: Settings,
        parts: Parts,
        exports: Path,
        control: Control | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        log = EventLog(store, name)
        clock = WorkClock(log.state.elapsed, now)
        log.elapsed = clock.seconds
        self.name = name
        self.settings = settings
        self.control = control or Control()
        self._queue: asyncio.Queue[ev.Event | None] = asyncio.Queue()
        self._work: asyncio.Task[None] | None = None
        self._why = ""
        self._desk = Desk(
            store=store,
            task=task,
            workload=workload,
            settings=settings,
            parts=parts,
            exports=exports,
            log=log,
            clock=clock,
            publish=self._queue.put_nowait,
        )
        for part in (parts.generator, *parts.verifiers, parts.prover, parts.teacher):
            if isinstance(part, Remembering):
                part.remember(SessionMemory(store, name))
            if isinstance(part, Learning):
                part.learn(store.breaks(task.name))

    @property
    def state(self) -> SessionState:
        """The fold of the events so far."""
        return self._desk.state

    def past(self) -> list[ev.Event]:
        """What was stored before this process took the session up; call it before `run`."""
        return list(stored(self._desk.store, self.name))

    def run(self) -> AsyncGenerator[ev.Event, None]:
        """The session's events as they happen; each is stored before it is yielded.

        Leaving the iteration early stops the session as `stop` does. Raises UserError for a fault of
        the set-up and StoreError when the log cannot be written; the session can be resumed after both."""
        return self._events(self._evolve)

    def prove(self, targets: Sequence[str] = ()) -> AsyncGenerator[ev.Event, None]:
        """Only proofs, of a session that has run: of `targets` (candidate ids, tried also when they were
        tried before), or of every correct candidate whose proof was not tried, best first. The events
        are those of `run`; what is proven is promoted. Raises UserError for an unknown candidate."""
        if not self.state.seq:
            raise UserError(f"session {self.name} has no candidates to prove")
        if self._desk.no_prover:
            raise UserError(self._desk.no_prover)
        wanted = [self._resolved(target) for target in targets]
        wanted = wanted or [known.id for known in self.state.ranked() if known.proof is None]
        return self._events(partial(self._prove, wanted))

    async def _events(self, work: Callable[[], Awaitable[None]]) -> AsyncGenerator[ev.Event, None]:
        self._work = asyncio.create_task(self._drive(work), name=f"session {self.name}")
        self._work.add_done_callback(lambda _: self._queue.put_nowait(None))
        try:
            while (event := await self._queue.get()) is not None:
                yield event
            await self._work
        finally:
            self.control.detach()
            if not self._work.done():
                self._work.cancel()
                await asyncio.gather(self._work, return_exceptions=True)
            for part in (self._desk.parts.prover, self._desk.parts.evaluator):
                if isinstance(part, Closing):
                    await part.close()

    # --- the work ---

    async def _drive(self, work: Callable[[], Awaitable[None]]) -> None:
        desk = self._desk
        desk.open_gate.set()
        try:
            await work()
        except asyncio.CancelledError:
            self._end("stopped", interrupted=True)
        except StoreError:
            raise
        except UserError as error:
            self._fail(str(error))
            raise
        except Exception as error:
            message = f"internal error: {type(error).__name__}: {error}; {crash.written(error)}"
            self._fail(message)
            raise UserError(message) from error

    async def _evolve(self) -> None:
        await self._begin()
        await self._rounds()
        why = await prove_last(self._desk)
        await serve_asked(self._desk)
        self._end(why or "")

    async def _prove(self, wanted: list[str]) -> None:
        before = self._desk.state.finished
        await self._begin()
        for target in wanted:
            known = self._desk.known(target)
            if known.promoted:
                continue
            if known.measured:
                await prove(self._desk, known, asked=True)
            if not known.promoted:
                reason = obstacle(known) or "its export failed"
                self._desk.emit(self._desk.trouble("prove", f"{target} is not proven: {reason}", target))
        self._end("", interrupted=before is None or before.interrupted)

    async def _begin(self) -> None:
        await self._open()
        if self._desk.no_prover and self.settings.prove != "never":
            self._desk.emit(self._desk.trouble("prover", self._desk.no_prover))
        self.control.attach(self._person)

    async def _open(self) -> None:
        """The first event of this process: started, or resumed."""
        desk = self._desk
        if desk.state.seq:
            desk.emit(ev.SessionResumed(session=self.name), self._caps())
            for known in list(desk.state.candidates.values()):
                if known.proof is not None and known.proof.status is ProofStatus.PROVEN:
                    await promote(desk, known)
            return
        if desk.parts.unfit is not None:
            reason = await asyncio.to_thread(desk.parts.unfit, desk.task, desk.workload)
            if reason is not None:
                raise UserError(f"no session was started: {reason}")
        settings = desk.settings
        if desk.store.session(self.name) is None:
            record = new_session(
                self.name,
                desk.task.name,
                desk.workload.axes,
                device=settings.device,
                generator=settings.generator,
                seed=settings.seed,
                task_body=desk.task.model_dump_json(),
                options=settings.model_dump_json(),
            )
            try:
                desk.store.add_session(record)
            except ValueError as error:
                raise UserError(f"{error}; choose another name with --session") from None
        desk.emit(
            ev.SessionStarted(
                session=self.name,
                task=desk.task.name,
                axes=desk.workload.axes,
                device=desk.parts.evaluator.device,
                generator=desk.parts.generator.name,
                seed=settings.seed,
                budget=settings.budget(),
                version=__version__,
                machine=machine.description(),
            )
        )

    def _caps(self) -> ev.BudgetChanged:
        """The budget with the caps as they are now: resume may have raised them."""
        caps = self._desk.settings.budget().model_dump(
            include={"rounds", "group", "max_usd", "max_tokens", "max_seconds", "max_proof_tries"}
        )
        return ev.BudgetChanged(budget=self._desk.state.budget.model_copy(update=caps))

    async def _rounds(self) -> None:
        desk = self._desk
        for number in range(1, desk.settings.rounds + 1):
            if number in desk.state.rounds:
                continue
            if not await self._between():
                return
            if number not in desk.state.proposed and not await self._propose(number):
                return
            whole = await evaluate_round(desk, number, self._between)
            await attack_round(desk, number)
            if not whole:
                return
            if number < desk.settings.rounds:
                await prove_round(desk, number)
            lessons = await lessons_of(desk, number)
            desk.emit(*lessons, self._round_finished(number), desk.spend(rounds=1))

    async def _between(self) -> bool:
        """Between two steps: pause, do what was asked for, and whether caps let the session go on."""
        await self._desk.gate()
        await serve_asked(self._desk)
        self._why = exhausted(self._desk.budget_now()) or ""
        return not self._why

    async def _propose(self, number: int) -> bool:
        """One round's candidates. False: the generator has nothing new."""
        desk = self._desk
        if desk.state.round != number:
            desk.emit(ev.RoundStarted(round=number))
        try:
            proposals = await desk.parts.generator.propose(self._context(number))
        except CapReached as error:
            desk.emit(desk.spend())
            self._why = str(error)
            return False
        except (LLMFailure, PriceUnknown, ValueError) as error:
            desk.emit(desk.spend())
            raise UserError(f"the generator {desk.parts.generator.name} gave up: {error}") from error
        fresh = self._fresh(number, proposals[: desk.settings.group])
        dropped = len(proposals) - len(fresh)
        events: list[ev.Event] = [ev.CandidateProposed(candidate=candidate) for candidate in fresh]
        if isinstance(desk.parts.generator, Complaining):
            events += [desk.trouble("generator", text) for text in desk.parts.generator.problems]
            desk.parts.generator.problems.clear()
        if dropped:
            text = f"{dropped} of {len(proposals)} proposals were known already or too many"
            events.append(desk.trouble("generator", text))
        desk.emit(*events, desk.spend())
        if not fresh:
            self._why = f"the generator has no new kernel after round {number - 1}"
        return bool(fresh)

    def _context(self, number: int) -> GenerationContext:
        desk = self._desk
        state, settings, task = desk.state, desk.settings, desk.task
        device = desk.parts.evaluator.device
        seed = int.from_bytes(hashlib.sha256(f"{settings.seed}/{number}".encode()).digest()[:6])
        return GenerationContext(
            task=task,
            workload=desk.workload,
            device=device,
            round=number,
            group=settings.group,
            seed=seed,
            history=state.history(),
            insights=tuple(
                desk.store.insights(family=task.family, device=device, limit=settings.insights)
                if settings.insights
                else ()
            ),
            notes=tuple(state.notes),
            pinned=tuple(state.pinned),
            banned=tuple(state.banned),
        )

    def _fresh(self, number: int, proposals: list[Proposal]) -> list[Candidate]:
        known = set(self._desk.state.candidates)
        found: list[Candidate] = []
        for proposal in proposals:
            identity = digest(proposal.source)[:12]
            if identity in known:
                continue
            known.add(identity)
            found.append(
                Candidate(
                    id=identity,
                    source=proposal.source,
                    task=self._desk.task.name,
                    round=number,
                    index=len(found),
                    proposer=proposal.proposer,
                    parent=proposal.parent,
                    family=proposal.family,
                    schedule=proposal.schedule,
                    strategy=proposal.strategy,
                    insights=proposal.insights,
                )
            )
        return found

    def _round_finished(self, number: int) -> ev.RoundFinished:
        best = next((k for k in self._desk.state.ranked() if k.candidate.round == number), None)
        return ev.RoundFinished(
            round=number,
            best=best.id if best else None,
            best_ms=best.median_ms if best else None,
            best_reward=best.value if best else 0.0,
        )

    # --- the ends ---

    def _end(self, reason: str, *, interrupted: bool = False) -> None:
        state = self._desk.state
        if not state.seq:
            return
        best = state.best
        first = next((k for k in state.ranked() if k.candidate.round == 1), None)
        self._desk.emit(
            self._desk.spend(),
            ev.SessionFinished(
                session=self.name,
                outcome=summary.outcome(state, "; ".join(filter(None, (self._why, reason)))),
                best=best.id if best else None,
                best_ms=best.median_ms if best else None,
                first_best_ms=first.median_ms if first else None,
                promoted=tuple(known.id for known in state.promoted),
                scores=state.scores.points(),
                interrupted=interrupted,
            ),
        )

    def _fail(self, message: str) -> None:
        """Log a fault that ends the session, unless it came before the session's first event."""
        if not self._desk.state.seq:
            return
        self._desk.emit(ev.Problem(where="session", message=message, fatal=True))
        self._end("stopped by a problem", interrupted=True)

    # --- the person ---

    def _person(self, action: Action, target: str) -> None:
        """Act on what the person asks, at once."""
        if self._desk.state.finished is not None:
            raise UserError(f"session {self.name} is over; `kshell resume {self.name}` goes on")
        if action in ON_CANDIDATES:
            target = self._resolved(target)
        state = self._desk.state
        if (action == "pause" and state.paused) or (action == "continue" and not state.paused):
            return
        self._desk.emit(ev.PersonActed(action=action, target=target))
        match action:
            case "pause":
                self._desk.open_gate.clear()
                self._desk.clock.pause()
            case "continue":
                self._desk.clock.go_on()
                self._desk.open_gate.set()
            case "stop":
                if self._work is not None:
                    self._work.cancel()
            case _:
                pass

    def _resolved(self, target: str) -> str:
        found = [identity for identity in self._desk.state.candidates if identity.startswith(target)]
        if not target or not found:
            raise UserError(f"session {self.name} has no candidate {target!r}")
        if len(found) > 1:
            raise UserError(f"{target!r} could be {' or '.join(found[:4])}; give more digits")
        return found[0]


async def drain(session: Session) -> list[ev.Event]:
    """Run a session to its end and return its events."""
    async with aclosing(session.run()) as stream:
        return [event async for event in stream]
