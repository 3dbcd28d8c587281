"""The view model: the engine's state of the session, and what only a screen needs beside it.

`kshell.engine.state` says what the events mean; here are the log in words, what changed since the last
paint, and choices that would be too slow to make anew in every frame. No widget and no clock is used."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from insights_db.records import Candidate, Insight, ProofStatus
from kshell import events as ev
from kshell.engine.state import CandidateState, SessionState
from kshell.tui.row import Row
from kshell.tui.units import milliseconds

LOG_LINES = 4000


class Level(StrEnum):
    """How much a log line matters."""

    INFO = "info"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    NOTE = "note"


class Phase(StrEnum):
    """Where the session is."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log; `elapsed` is in seconds of work."""

    elapsed: float
    level: Level
    text: str
    candidate: str = ""


@dataclass(slots=True)
class Session:
    """Everything the panes show; `fold` is the only writer of what the events say. `best` and
    `round_best_ms` are the engine's answers, kept up to date event by event. `rooflines` says
    whether any kernel has one, `exported` whether any was promoted. `elapsed` is in seconds of work and may
    run ahead of the events while a live session works."""

    state: SessionState = field(default_factory=SessionState)
    rows: dict[str, Row] = field(default_factory=dict)
    best: str | None = None
    round_best_ms: dict[int, float] = field(default_factory=dict)
    rooflines: bool = False
    exported: bool = False
    elapsed: float = 0.0
    seen: int = 0
    log: deque[LogLine] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    logged: int = 0
    dirty: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, events: Iterable[ev.Event]) -> "Session":
        """The state after these events."""
        session = cls()
        for event in events:
            session.fold(event)
        return session

    @property
    def name(self) -> str:
        """The session's name, empty before its first event."""
        return self.state.session

    @property
    def task(self) -> str:
        """The task's name."""
        return self.state.task

    @property
    def axes(self) -> dict[str, int]:
        """The task's sizes."""
        return self.state.axes

    @property
    def device(self) -> str:
        """Where kernels run."""
        return self.state.device

    @property
    def generator(self) -> str:
        """Who proposes kernels."""
        return self.state.generator

    @property
    def seed(self) -> int:
        """What fixes the generator's choices."""
        return self.state.seed

    @property
    def round(self) -> int:
        """The round that runs, or ran last."""
        return self.state.round

    @property
    def insights(self) -> list[Insight]:
        """What was learned, in that order."""
        return self.state.insights

    @property
    def notes(self) -> list[str]:
        """The person's notes to the generator."""
        return self.state.notes

    @property
    def budget(self) -> ev.Budget | None:
        """Caps and what is spent; None before the session has started."""
        return self.state.budget if self.state.session else None

    @property
    def eta_seconds(self) -> float | None:
        """Estimated seconds of work until the rounds are done."""
        return self.state.eta_seconds

    @property
    def finished(self) -> ev.SessionFinished | None:
        """How the session ended, or None while it has not."""
        return self.state.finished

    @property
    def phase(self) -> Phase:
        """Where the session is."""
        state = self.state
        if state.failure is not None:
            return Phase.FAILED
        if state.finished is not None:
            return Phase.INTERRUPTED if state.finished.interrupted else Phase.FINISHED
        if state.stopping:
            return Phase.STOPPING
        if state.paused:
            return Phase.PAUSED
        return Phase.RUNNING if state.session or state.resumed else Phase.WAITING

    @property
    def order(self) -> list[str]:
        """Ids of the candidates, in the order they were proposed."""
        return list(self.rows)

    @property
    def promoted(self) -> list[Row]:
        """Candidates with a certificate, best reward first."""
        return [self.rows[known.id] for known in self.state.promoted]

    @property
    def over(self) -> bool:
        """No further event is expected."""
        return self.phase in (Phase.FINISHED, Phase.INTERRUPTED, Phase.FAILED)

    def find(self, text: str) -> Row | None:
        """The candidate a person means: an id, the start of one, a label such as `2.1`, or `best`."""
        text = text.strip().lower()
        if text == "best":
            return self.rows.get(self.best or "")
        if text in self.rows:
            return self.rows[text]
        hits = [
            r for r in self.rows.values() if r.label == text or (len(text) >= 3 and r.id.startswith(text))
        ]
        return hits[0] if len(hits) == 1 else None

    def label(self, candidate: str | None) -> str:
        """The label of a candidate, or the start of an id that is unknown here."""
        row = self.rows.get(candidate or "")
        return row.label if row else (candidate or "")[:7]

    def take_dirty(self) -> set[str]:
        """What changed since the last call: candidate ids, and `budget`, `log`, `insights`, `session`."""
        out, self.dirty = self.dirty, set()
        return out

    def say(self, level: Level, text: str, candidate: str = "") -> None:
        """Add a line to the log."""
        self.log.append(LogLine(self.elapsed, level, text, candidate))
        self.logged += 1
        self.dirty.add("log")

    # --- taking in events ---

    def fold(self, event: ev.Event) -> None:
        """Take in one event. An event about an unknown candidate is logged and otherwise ignored."""
        self.seen += 1
        subject = _subject(event)
        if event.seq and event.seq <= self.state.seq:
            return
        if subject and subject not in self.rows:
            self.say(Level.WARN, f"an event names candidate {subject}, which was never proposed")
            return
        self.state.apply(event)
        self.elapsed = max(self.elapsed, self.state.elapsed)
        if subject:
            self.dirty.add(subject)
            self._kernel(event, self.rows[subject])
            return
        match event:
            case ev.BudgetChanged():
                self.dirty.add("budget")
            case ev.CandidateProposed(candidate=candidate):
                self._proposed(candidate)
            case ev.InsightDistilled(insight=insight):
                self.dirty.add("insights")
                self.say(Level.NOTE, f"insight: {insight.sentence}", insight.after)
            case ev.PersonActed():
                self._person(event)
            case _:
                self._session(event)

    def _proposed(self, candidate: Candidate) -> None:
        if candidate.id in self.rows:
            return
        row = self.rows[candidate.id] = Row(self.state.candidates[candidate.id], self.state)
        self.dirty.update((candidate.id, "population"))
        how = candidate.strategy or candidate.family or "new"
        origin = f" from {self.label(candidate.parent)}" if candidate.parent else ""
        self.say(Level.INFO, f"{row.label} proposed by {candidate.proposer}: {how}{origin}", candidate.id)

    def _kernel(self, event: ev.Event, row: Row) -> None:
        """Say what happened to a candidate, and choose the best anew where that may have changed it."""
        match event:
            case ev.ObligationClosed(obligation=done):
                closed = done.status is ProofStatus.PROVEN
                count = f"{row.obligations_closed}/{event.total}"
                text = f"{row.label} {done.title}: {done.status} ({count}, {done.seconds:.1f} s)"
                self.say(Level.INFO if closed else Level.WARN, text, row.id)
            case ev.CompileFinished(result=compiled):
                if not compiled.ok:
                    first = next(iter(compiled.diagnostics.splitlines()), "no diagnostics")
                    self.say(Level.BAD, f"{row.label} does not compile: {first}", row.id)
            case ev.ValidationFinished(result=valid):
                if not valid.ok:
                    why = valid.reason or "validation failed"
                    self.say(Level.BAD, f"{row.label} is wrong: {why}", row.id)
            case ev.ProfileFinished(result=timed):
                if timed.ok:
                    speed = f"{milliseconds(timed.median_ms)}, {timed.speedup:.2f}x the baseline"
                    self.say(Level.INFO, f"{row.label} takes {speed}", row.id)
                    known = self.round_best_ms.get(row.candidate.round)
                    best = timed.median_ms if known is None else min(known, timed.median_ms)
                    self.round_best_ms[row.candidate.round] = best
                    if timed.roofline is not None and not self.rooflines:
                        self.rooflines = True
                        self.dirty.add("population")
                else:
                    self.say(Level.WARN, f"{row.label} could not be timed: {timed.reason}", row.id)
            case ev.RewardAssigned():
                self._elect(row)
            case _:
                self._verified(event, row)

    def _verified(self, event: ev.Event, row: Row) -> None:
        match event:
            case ev.VerificationStarted():
                row.attacks[event.verifier] = "attacking"
            case ev.VerificationFinished():
                if row.attacks.get(event.verifier) != "refuted":
                    said = f"no counterexample in {event.seconds:.1f} s {event.effort}"
                    row.attacks[event.verifier] = said.strip()
            case ev.CounterexampleFound(counterexample=found):
                row.attacks[event.verifier] = "refuted"
                self.dirty.add("insights")
                self._round_best(row.candidate.round)
                text = f"{row.label} refuted by {event.verifier}: {found.fault}, {found.message}"
                self.say(Level.BAD, text, row.id)
                self._elect(row)
            case ev.ProofStarted():
                row.checker, row.proof_started = event.checker, self.elapsed
                self.say(Level.INFO, f"{row.label} proof started with {event.checker}", row.id)
            case ev.ProofFinished(proof=proof):
                if proof.status is ProofStatus.PROVEN:
                    self.say(Level.GOOD, f"{row.label} PROVEN in {proof.seconds:.1f} s", row.id)
                else:
                    reason = f": {proof.reason}" if proof.reason else ""
                    self.say(Level.WARN, f"{row.label} {proof.status}{reason}", row.id)
                self._elect(row)
            case ev.CandidatePromoted():
                self.exported = True
                where = f", exported to {event.export}" if event.export else ""
                self.say(Level.GOOD, f"{row.label} PROMOTED{where}", row.id)
            case _:
                pass

    def _elect(self, challenger: Row) -> None:
        """The engine's best anew. Where the best so far still stands, only the challenger, about which
        something changed, can have replaced it."""
        old, state = self.best, self.state
        holder = self.rows[old].known if old else None
        if holder and holder is not challenger.known and state.stands(holder):
            if state.stands(challenger.known) and _place(challenger.known) > _place(holder):
                self.best = challenger.id
        else:
            best = state.best
            self.best = best.id if best else None
        if self.best != old:
            self.dirty.update(key for key in (old, self.best) if key)
            self.dirty.add("best")
            if self.best:
                row = self.rows[self.best]
                self.say(Level.GOOD, f"{row.label} is the best so far: reward {row.value:.2f}", row.id)

    def _round_best(self, number: int) -> None:
        """The fastest kernel of a round, those that are refuted left out."""
        timed = (known for known in self.state.of_round(number) if known.measured)
        best = min((ms for known in timed if (ms := known.median_ms) is not None), default=None)
        if best is not None:
            self.round_best_ms[number] = best
        else:
            self.round_best_ms.pop(number, None)

    def _person(self, event: ev.PersonActed) -> None:
        self.dirty.add("session")
        row = self.rows.get(event.target)
        if row is not None:
            self.dirty.add(row.id)
            self._elect(row)
        if event.action == "note":
            self.dirty.add("insights")
        target = row.label if row else event.target
        self.say(Level.NOTE, f"you: {event.action} {target}".rstrip())

    def _session(self, event: ev.Event) -> None:
        self.dirty.update(("session", "budget"))
        match event:
            case ev.SessionStarted():
                self.say(Level.INFO, f"session {event.session}: {event.task} on {event.device}")
            case ev.SessionResumed():
                self.say(Level.NOTE, "session resumed")
            case ev.RoundStarted():
                self.say(Level.INFO, f"round {event.round} started")
            case ev.RoundFinished():
                best = (
                    f"best {milliseconds(event.best_ms)}, reward {event.best_reward:.2f}"
                    if event.best_ms
                    else "no best yet"
                )
                self.say(Level.INFO, f"round {event.round} finished: {best}")
            case ev.Problem():
                label = f"{self.label(event.candidate)} " if event.candidate else ""
                self.say(Level.BAD, f"{label}{event.where}: {event.message}", event.candidate or "")
            case ev.SessionFinished():
                self.dirty.update(self.rows)
                self.say(Level.GOOD if event.promoted else Level.INFO, f"session finished: {event.outcome}")


def _subject(event: ev.Event) -> str:
    """The candidate an event is about, when it says something of one that was proposed before."""
    match event:
        case ev.RewardAssigned():
            return event.reward.candidate
        case ev.Problem() | ev.CandidateProposed():
            return ""
        case _:
            return getattr(event, "candidate", "")


def _place(known: CandidateState) -> tuple[float, int, int]:
    """What the best has most of: reward, and among equals the earliest proposal."""
    return (known.value, -known.candidate.round, -known.candidate.index)
