"""The view model: a pure fold of the event stream into what the panes show.

No widget and no clock is used here. `dirty` collects what changed since the last paint, so that a
burst of events costs one repaint of the rows that changed."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from insights_db.records import (
    Candidate,
    Certificate,
    CompileResult,
    Counterexample,
    Insight,
    Obligation,
    ProfileResult,
    Proof,
    ProofStatus,
    Reward,
    Stage,
    ValidationResult,
)
from kshell import events as ev
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
class Row:
    """One candidate with everything known about it so far."""

    candidate: Candidate
    stage: Stage = Stage.PROPOSED
    failed: bool = False
    compile: CompileResult | None = None
    validation: ValidationResult | None = None
    profile: ProfileResult | None = None
    reward: Reward | None = None
    proof: ProofStatus = ProofStatus.NONE
    obligations: dict[str, Obligation] = field(default_factory=dict)
    obligations_total: int = 0
    proof_started: float = 0.0
    proof_record: Proof | None = None
    checker: str = ""
    attacks: dict[str, str] = field(default_factory=dict)
    counterexample: Counterexample | None = None
    certificate: Certificate | None = None
    export: str = ""
    pinned: bool = False
    banned: bool = False

    @property
    def id(self) -> str:
        """The candidate's id: 12 hex digits of its source's hash."""
        return self.candidate.id

    @property
    def label(self) -> str:
        """Round and index, the short name a person uses: `2.1`."""
        return f"{self.candidate.round}.{self.candidate.index}"

    @property
    def value(self) -> float | None:
        """The reward, or None before it is assigned."""
        return self.reward.value if self.reward else None

    @property
    def median_ms(self) -> float | None:
        """Measured latency in milliseconds, or None."""
        return self.profile.median_ms if self.profile and self.profile.ok else None

    @property
    def promoted(self) -> bool:
        """A certificate exists."""
        return self.certificate is not None

    @property
    def obligations_closed(self) -> int:
        """How many obligations are proven."""
        return sum(o.status is ProofStatus.PROVEN for o in self.obligations.values())

    @property
    def standing(self) -> bool:
        """Correct, timed, and not refuted or banned: may be the best."""
        return (
            self.median_ms is not None
            and self.reward is not None
            and self.reward.value > 0
            and self.proof is not ProofStatus.REFUTED
            and not self.banned
        )


@dataclass(slots=True)
class Session:
    """Everything the panes show. `fold` is the only writer."""

    name: str = ""
    task: str = ""
    axes: dict[str, int] = field(default_factory=dict)
    device: str = ""
    generator: str = ""
    seed: int = 0
    machine: str = ""
    phase: Phase = Phase.WAITING
    round: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    best: str | None = None
    round_best_ms: dict[int, float] = field(default_factory=dict)
    insights: list[Insight] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    budget: ev.Budget | None = None
    eta_seconds: float | None = None
    finished: ev.SessionFinished | None = None
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
    def promoted(self) -> list[Row]:
        """Candidates with a certificate, in the order proposed."""
        return [row for key in self.order if (row := self.rows[key]).promoted]

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

    def take_dirty(self) -> set[str]:
        """What changed since the last call: candidate ids, and `budget`, `log`, `insights`, `session`."""
        out, self.dirty = self.dirty, set()
        return out

    def fold(self, event: ev.Event) -> None:
        """Take in one event. An event about an unknown candidate is logged and otherwise ignored."""
        self.seen += 1
        if event.elapsed:
            self.elapsed = max(self.elapsed, event.elapsed)
        match event:
            case ev.ObligationClosed():
                self._obligation(event)
            case ev.BudgetChanged():
                self.budget, self.eta_seconds = event.budget, event.eta_seconds
                self.dirty.add("budget")
            case ev.CandidateProposed():
                self._proposed(event.candidate)
            case ev.CompileFinished() | ev.ValidationFinished() | ev.ProfileFinished() | ev.RewardAssigned():
                self._evaluated(event)
            case (
                ev.ProofStarted()
                | ev.ProofFinished()
                | ev.CandidatePromoted()
                | ev.CounterexampleFound()
                | ev.VerificationStarted()
                | ev.VerificationFinished()
            ):
                self._verified(event)
            case ev.InsightDistilled():
                self._insight(event.insight)
            case ev.PersonActed():
                self._person(event)
            case _:
                self._session(event)

    def _say(self, level: Level, text: str, candidate: str = "") -> None:
        self.log.append(LogLine(self.elapsed, level, text, candidate))
        self.logged += 1
        self.dirty.add("log")

    def _row(self, candidate: str) -> Row | None:
        row = self.rows.get(candidate)
        if row is None:
            self._say(Level.WARN, f"an event names candidate {candidate}, which was never proposed")
            return None
        self.dirty.add(candidate)
        return row

    def _proposed(self, candidate: Candidate) -> None:
        if candidate.id in self.rows:
            return
        row = Row(candidate)
        self.rows[candidate.id] = row
        self.order.append(candidate.id)
        self.dirty.update((candidate.id, "population"))
        how = candidate.strategy or candidate.family or "new"
        origin = f" from {self._label(candidate.parent)}" if candidate.parent else ""
        self._say(Level.INFO, f"{row.label} proposed by {candidate.proposer}: {how}{origin}", candidate.id)

    def _label(self, candidate: str | None) -> str:
        row = self.rows.get(candidate or "")
        return row.label if row else (candidate or "")[:7]

    def _evaluated(
        self, event: ev.CompileFinished | ev.ValidationFinished | ev.ProfileFinished | ev.RewardAssigned
    ) -> None:
        row = self._row(event.reward.candidate if isinstance(event, ev.RewardAssigned) else event.candidate)
        if row is None:
            return
        match event:
            case ev.CompileFinished(result=compiled):
                row.stage, row.compile, row.failed = Stage.COMPILE, compiled, not compiled.ok
                if not compiled.ok:
                    first = next(iter(compiled.diagnostics.splitlines()), "no diagnostics")
                    self._say(Level.BAD, f"{row.label} does not compile: {first}", row.id)
            case ev.ValidationFinished(result=valid):
                row.stage, row.validation, row.failed = Stage.VALIDATE, valid, not valid.ok
                if not valid.ok:
                    self._say(
                        Level.BAD, f"{row.label} is wrong: {valid.reason or 'validation failed'}", row.id
                    )
            case ev.ProfileFinished(result=timed):
                row.stage, row.profile, row.failed = Stage.PROFILE, timed, not timed.ok
                if timed.ok:
                    speed = f"{milliseconds(timed.median_ms)}, {timed.speedup:.2f}x the baseline"
                    self._say(Level.INFO, f"{row.label} takes {speed}", row.id)
                    known = self.round_best_ms.get(row.candidate.round)
                    best = timed.median_ms if known is None else min(known, timed.median_ms)
                    self.round_best_ms[row.candidate.round] = best
                else:
                    self._say(Level.WARN, f"{row.label} could not be timed: {timed.reason}", row.id)
            case ev.RewardAssigned(reward=reward):
                row.reward = reward
                if not row.failed:
                    row.stage = Stage.DONE
                self._elect(row)

    def _elect(self, challenger: Row | None = None) -> None:
        """Choose the best anew; with a challenger, only compare it with the best that stands."""
        old = self.best
        holder = self.rows[old] if old else None
        if challenger and holder and holder.standing and holder is not challenger:
            rows = [holder, challenger] if challenger.standing else [holder]
        else:
            rows = [row for row in self.rows.values() if row.standing]
        self.best = max(rows, key=lambda row: row.value or 0.0).id if rows else None
        if self.best != old:
            self.dirty.update(key for key in (old, self.best) if key)
            self.dirty.add("best")
            if self.best:
                row = self.rows[self.best]
                self._say(Level.GOOD, f"{row.label} is the best so far: reward {row.value:.2f}", row.id)

    def _round_best(self, number: int) -> None:
        """The fastest kernel of a round, those that are refuted left out."""
        group = [r for r in self.rows.values() if r.candidate.round == number]
        times = [ms for r in group if (ms := r.median_ms) is not None and r.proof is not ProofStatus.REFUTED]
        if times:
            self.round_best_ms[number] = min(times)
        else:
            self.round_best_ms.pop(number, None)

    def _obligation(self, event: ev.ObligationClosed) -> None:
        row = self._row(event.candidate)
        if row is None:
            return
        done = event.obligation
        row.obligations[done.name] = done
        row.obligations_total = event.total
        if row.proof is ProofStatus.NONE:
            row.proof = ProofStatus.RUNNING
        closed = done.status is ProofStatus.PROVEN
        count = f"{row.obligations_closed}/{event.total}"
        text = f"{row.label} {done.title}: {done.status} ({count}, {done.seconds:.1f} s)"
        self._say(Level.INFO if closed else Level.WARN, text, row.id)

    def _verified(
        self,
        event: ev.ProofStarted
        | ev.ProofFinished
        | ev.CandidatePromoted
        | ev.CounterexampleFound
        | ev.VerificationStarted
        | ev.VerificationFinished,
    ) -> None:
        row = self._row(event.candidate)
        if row is None:
            return
        match event:
            case ev.VerificationStarted():
                row.attacks[event.verifier] = "attacking"
            case ev.VerificationFinished():
                if row.attacks.get(event.verifier) != "refuted":
                    row.attacks[event.verifier] = (
                        f"no counterexample in {event.seconds:.1f} s {event.effort}".strip()
                    )
            case ev.CounterexampleFound():
                row.counterexample, row.proof = event.counterexample, ProofStatus.REFUTED
                row.attacks[event.verifier] = "refuted"
                self._round_best(row.candidate.round)
                found = event.counterexample
                text = f"{row.label} refuted by {event.verifier}: {found.fault}, {found.message}"
                self._say(Level.BAD, text, row.id)
                self._elect(row)
            case ev.ProofStarted():
                row.proof, row.checker, row.proof_started = ProofStatus.RUNNING, event.checker, self.elapsed
                row.obligations.clear()
                row.obligations_total, row.proof_record = 0, None
                self._say(Level.INFO, f"{row.label} proof started with {event.checker}", row.id)
            case ev.ProofFinished(proof=proof):
                self._proof(row, proof)
            case ev.CandidatePromoted():
                row.certificate, row.export = event.certificate, event.export
                where = f", exported to {event.export}" if event.export else ""
                self._say(Level.GOOD, f"{row.label} PROMOTED{where}", row.id)

    def _proof(self, row: Row, proof: Proof) -> None:
        row.proof, row.proof_record = proof.status, proof
        row.obligations = {o.name: o for o in proof.obligations} or row.obligations
        row.obligations_total = max(row.obligations_total, len(row.obligations))
        if proof.status is ProofStatus.PROVEN:
            self._say(Level.GOOD, f"{row.label} PROVEN in {proof.seconds:.1f} s", row.id)
        else:
            reason = f": {proof.reason}" if proof.reason else ""
            self._say(Level.WARN, f"{row.label} {proof.status}{reason}", row.id)
        self._elect(row)

    def _insight(self, insight: Insight) -> None:
        known = [k for k, old in enumerate(self.insights) if insight.id and old.id == insight.id]
        if known:
            self.insights[known[0]] = insight
        else:
            self.insights.append(insight)
        self.dirty.add("insights")
        self._say(Level.NOTE, f"insight: {insight.sentence}", insight.after)

    def _person(self, event: ev.PersonActed) -> None:
        match event.action:
            case "pause":
                self.phase = Phase.PAUSED
            case "continue":
                self.phase = Phase.RUNNING
            case "stop":
                self.phase = Phase.STOPPING
            case "note":
                self.notes.append(event.target)
                self.dirty.add("insights")
            case "pin" | "unpin" | "ban" | "unban":
                if row := self._row(event.target):
                    row.pinned = {"pin": True, "unpin": False}.get(event.action, row.pinned)
                    row.banned = {"ban": True, "unban": False}.get(event.action, row.banned)
                    self._elect(row)
            case "prove":
                pass
        self.dirty.add("session")
        target = self._label(event.target) if event.target in self.rows else event.target
        self._say(Level.NOTE, f"you: {event.action} {target}".rstrip())

    def _session(self, event: ev.Event) -> None:
        self.dirty.update(("session", "budget"))
        match event:
            case ev.SessionStarted():
                self.name, self.task, self.axes, self.device = (
                    event.session,
                    event.task,
                    event.axes,
                    event.device,
                )
                self.generator, self.seed, self.machine = event.generator, event.seed, event.machine
                self.budget, self.phase = event.budget, Phase.RUNNING
                self._say(Level.INFO, f"session {event.session}: {event.task} on {event.device}")
            case ev.SessionResumed():
                self.phase, self.finished = Phase.RUNNING, None
                self._say(Level.NOTE, "session resumed")
            case ev.RoundStarted():
                self.round = event.round
                self._say(Level.INFO, f"round {event.round} started")
            case ev.RoundFinished():
                best = (
                    f"best {milliseconds(event.best_ms)}, reward {event.best_reward:.2f}"
                    if event.best_ms
                    else "no best yet"
                )
                self._say(Level.INFO, f"round {event.round} finished: {best}")
            case ev.Problem():
                if event.fatal:
                    self.phase = Phase.FAILED
                label = f"{self._label(event.candidate)} " if event.candidate else ""
                self._say(Level.BAD, f"{label}{event.where}: {event.message}", event.candidate or "")
            case ev.SessionFinished():
                self.finished = event
                self.phase = Phase.INTERRUPTED if event.interrupted else Phase.FINISHED
                self._say(Level.GOOD if event.promoted else Level.INFO, f"session finished: {event.outcome}")
