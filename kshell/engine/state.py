"""The state of a session as a fold over its events. Resume, the TUI and the text view all use it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.protocols import Scored
from insights_db.records import (
    Candidate,
    Certificate,
    CompileResult,
    Counterexample,
    Evaluation,
    Insight,
    Obligation,
    ProfileResult,
    Proof,
    ProofStatus,
    Reward,
    Stage,
    ValidationResult,
)
from kshell.engine.scores import Scoreboard
from kshell.events import (
    Budget,
    BudgetChanged,
    CandidatePromoted,
    CandidateProposed,
    CompileFinished,
    CounterexampleFound,
    Event,
    InsightDistilled,
    ObligationClosed,
    PersonActed,
    Problem,
    ProfileFinished,
    ProofFinished,
    ProofStarted,
    RewardAssigned,
    RoundFinished,
    RoundStarted,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    ValidationFinished,
    VerificationFinished,
    VerificationStarted,
)


@dataclass(slots=True)
class CandidateState:
    """A candidate and everything known about it."""

    candidate: Candidate
    device: str
    compile: CompileResult | None = None
    validation: ValidationResult | None = None
    profile: ProfileResult | None = None
    reward: Reward | None = None
    attacked: set[str] = field(default_factory=set)
    counterexamples: list[Counterexample] = field(default_factory=list)
    proving: bool = False
    proof: Proof | None = None
    obligations: dict[str, Obligation] = field(default_factory=dict)
    obligations_total: int = 0
    certificate: Certificate | None = None
    export: str = ""

    @property
    def id(self) -> str:
        """The candidate's id."""
        return self.candidate.id

    @property
    def stage(self) -> Stage:
        """The last stage reached."""
        if self.reward is not None:
            return Stage.DONE
        if self.profile is not None:
            return Stage.PROFILE
        if self.validation is not None:
            return Stage.VALIDATE
        return Stage.PROPOSED if self.compile is None else Stage.COMPILE

    @property
    def correct(self) -> bool:
        """Compiled, valid, and nothing refutes it."""
        refuted = self.counterexamples or (self.proof and self.proof.status is ProofStatus.REFUTED)
        return bool(self.validation and self.validation.ok) and not refuted

    @property
    def measured(self) -> bool:
        """Correct and profiled with success."""
        return self.correct and bool(self.profile and self.profile.ok)

    @property
    def median_ms(self) -> float | None:
        """The measured latency in milliseconds."""
        return self.profile.median_ms if self.profile and self.profile.ok else None

    @property
    def value(self) -> float:
        """The reward; minus infinity before there is one."""
        return self.reward.value if self.reward is not None else float("-inf")

    @property
    def proof_status(self) -> ProofStatus:
        """Where the proof stands; a counterexample refutes."""
        if self.counterexamples:
            return ProofStatus.REFUTED
        if self.proving:
            return ProofStatus.RUNNING
        return self.proof.status if self.proof is not None else ProofStatus.NONE

    @property
    def promoted(self) -> bool:
        """Whether it has a certificate."""
        return self.certificate is not None

    @property
    def evaluation(self) -> Evaluation:
        """Compile, validation and profile so far; a counterexample found later makes it invalid."""
        validation = self.validation
        if self.counterexamples and validation is not None and validation.ok:
            found = self.counterexamples[0]
            reason = f"{found.fault}: {found.message}"
            validation = validation.model_copy(
                update={"ok": False, "reason": reason, "counterexample": found}
            )
        return Evaluation(
            candidate=self.id,
            device=self.device,
            compile=self.compile,
            validation=validation,
            profile=self.profile,
        )


@dataclass(slots=True)
class SessionState:
    """Everything a session's events say, up to `seq`."""

    seq: int = 0
    elapsed: float = 0.0
    session: str = ""
    task: str = ""
    axes: dict[str, int] = field(default_factory=dict)
    device: str = ""
    generator: str = ""
    seed: int = 0
    machine: str = ""
    version: str = ""
    budget: Budget = field(default_factory=lambda: Budget(rounds=0, group=0))
    eta_seconds: float | None = None
    round: int = 0
    rounds: dict[int, RoundFinished] = field(default_factory=dict)
    proposed: set[int] = field(default_factory=set)
    candidates: dict[str, CandidateState] = field(default_factory=dict)
    insights: list[Insight] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pinned: list[str] = field(default_factory=list)
    banned: list[str] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)
    suspected: list[str] = field(default_factory=list)
    paused: bool = False
    stopping: bool = False
    resumed: int = 0
    verifying: tuple[str, str] | None = None
    proving: str | None = None
    tried_rounds: set[int] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    failure: Problem | None = None
    finished: SessionFinished | None = None
    scores: Scoreboard = field(default_factory=Scoreboard)

    def apply(self, event: Event) -> None:
        """Take in one event. Events already taken in (by `seq`) change nothing."""
        if event.seq and event.seq <= self.seq:
            return
        self.seq = event.seq or self.seq + 1
        self.elapsed = max(self.elapsed, event.elapsed)
        self.scores.apply(event)
        match event:
            case SessionStarted():
                self._start(event)
            case SessionResumed():
                self._resume()
            case RoundStarted(round=number):
                self.round = number
            case CandidateProposed(candidate=candidate):
                self.candidates.setdefault(candidate.id, CandidateState(candidate, self.device))
                self.proposed.add(candidate.round)
            case InsightDistilled(insight=insight):
                self._learn(insight)
            case BudgetChanged(budget=budget, eta_seconds=eta):
                self.budget, self.eta_seconds = budget, eta
            case RoundFinished():
                self.rounds[event.round] = event
            case PersonActed():
                self._person(event)
            case Problem():
                self.problems.append(event)
                if event.fatal:
                    self.failure = event
                if event.candidate is not None and event.where in ("prove", "refute"):
                    _drop(self.wanted if event.where == "prove" else self.suspected, event.candidate)
            case SessionFinished():
                self.finished = event
                self._rest()
            case _:
                self._candidate(event)

    def _start(self, event: SessionStarted) -> None:
        self.session, self.task, self.axes = event.session, event.task, event.axes
        self.device, self.generator, self.seed = event.device, event.generator, event.seed
        self.machine, self.version, self.budget = event.machine, event.version, event.budget

    def _resume(self) -> None:
        """What ran when the session was left is not running now."""
        self.resumed += 1
        self.finished = self.failure = None
        self.paused = self.stopping = False
        self._rest()

    def _rest(self) -> None:
        """Nothing is at work."""
        self.proving = self.verifying = None
        for each in self.candidates.values():
            each.proving = False

    def _learn(self, insight: Insight) -> None:
        """Add an insight, or replace the one with its id."""
        for place, known in enumerate(self.insights):
            if insight.id and known.id == insight.id:
                self.insights[place] = insight
                return
        self.insights.append(insight)

    def _candidate(self, event: Event) -> None:
        """Events about one candidate."""
        match event:
            case CompileFinished():
                self.candidates[event.candidate].compile = event.result
            case ValidationFinished():
                self.candidates[event.candidate].validation = event.result
            case ProfileFinished():
                self.candidates[event.candidate].profile = event.result
            case RewardAssigned(reward=reward):
                self.candidates[reward.candidate].reward = reward
            case VerificationStarted():
                self.verifying = (event.candidate, event.verifier)
            case VerificationFinished():
                self.candidates[event.candidate].attacked.add(event.verifier)
                self.verifying = None
                _drop(self.suspected, event.candidate)
            case CounterexampleFound():
                self.candidates[event.candidate].counterexamples.append(event.counterexample)
                self._retract(event.candidate)
            case ProofStarted():
                known = self.candidates[event.candidate]
                known.proving, self.proving = True, event.candidate
                known.obligations, known.obligations_total = {}, 0
            case ObligationClosed(obligation=obligation):
                known = self.candidates[event.candidate]
                known.obligations[obligation.name] = obligation
                known.obligations_total = event.total
            case ProofFinished(proof=proof):
                known = self.candidates[event.candidate]
                known.proof, known.proving, self.proving = proof, False, None
                known.obligations = {o.name: o for o in proof.obligations} or known.obligations
                known.obligations_total = max(known.obligations_total, len(known.obligations))
                if event.candidate in self.wanted:
                    self.wanted.remove(event.candidate)
                elif is_try(proof):
                    self.tried_rounds.add(self.round)
            case CandidatePromoted():
                known = self.candidates[event.candidate]
                known.certificate, known.export = event.certificate, event.export
            case _:
                pass

    def _retract(self, candidate: str) -> None:
        """Insights that rest on a refuted candidate fall."""
        for place, insight in enumerate(self.insights):
            if candidate in (insight.before, insight.after):
                self.insights[place] = insight.model_copy(update={"retracted": True})

    def _person(self, event: PersonActed) -> None:
        match event.action:
            case "pin":
                _add(self.pinned, event.target)
            case "unpin":
                _drop(self.pinned, event.target)
            case "ban":
                _add(self.banned, event.target)
            case "unban":
                _drop(self.banned, event.target)
            case "note":
                self.notes.append(event.target)
            case "prove":
                _add(self.wanted, event.target)
            case "refute":
                _add(self.suspected, event.target)
            case "pause":
                self.paused = True
            case "continue":
                self.paused = False
            case "stop":
                self.stopping = True

    def of_round(self, number: int) -> list[CandidateState]:
        """The candidates of one round, in the order they were proposed."""
        return [c for c in self.candidates.values() if c.candidate.round == number]

    def history(self) -> tuple[Scored, ...]:
        """Every finished candidate, oldest first, as a generator sees it."""
        return tuple(
            Scored(c.candidate, c.evaluation, c.reward)
            for c in self.candidates.values()
            if c.reward is not None
        )

    def ranked(self) -> list[CandidateState]:
        """Measured candidates, best reward first; equal rewards keep their order."""
        return sorted((c for c in self.candidates.values() if c.measured), key=lambda c: -c.value)

    @property
    def best(self) -> CandidateState | None:
        """The candidate with the highest reward among those that stand."""
        return next((known for known in self.ranked() if self.stands(known)), None)

    def stands(self, known: CandidateState) -> bool:
        """Whether a candidate may be the best: measured, rewarded and not banned."""
        return known.measured and known.reward is not None and known.id not in self.banned

    @property
    def promoted(self) -> list[CandidateState]:
        """Promoted candidates, best reward first."""
        found = [c for c in self.candidates.values() if c.promoted]
        return sorted(found, key=lambda c: -c.value)


def is_try(proof: Proof) -> bool:
    """Whether a checker was at work: not for a kernel that was refused, or whose proof the prover could
    not even state."""
    return bool(proof.key) and proof.status is not ProofStatus.REFUSED


def fold(events: Iterable[Event]) -> SessionState:
    """The state after all of `events`, in order."""
    state = SessionState()
    for event in events:
        state.apply(event)
    return state


def _add(items: list[str], item: str) -> None:
    if item not in items:
        items.append(item)


def _drop(items: list[str], item: str) -> None:
    if item in items:
        items.remove(item)
