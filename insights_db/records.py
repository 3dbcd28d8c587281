"""The nouns of a session, one model each. Events carry them, the store keeps them, agents read them."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Base of every record: immutable, unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Stage(StrEnum):
    """The last stage a candidate reached."""

    PROPOSED = "proposed"
    PARSE = "parse"
    COMPILE = "compile"
    VALIDATE = "validate"
    PROFILE = "profile"
    DONE = "done"


class ProofStatus(StrEnum):
    """State of a candidate's proof. Only PROVEN allows promotion."""

    NONE = "none"
    RUNNING = "running"
    PROVEN = "proven"
    UNPROVEN = "unproven"
    REFUTED = "refuted"
    REFUSED = "refused"
    ERROR = "error"


class Candidate(Record):
    """One `.cu` source. `id` is the first 12 hex digits of the SHA-256 of the source."""

    id: str
    source: str
    task: str
    round: int
    index: int
    proposer: str
    parent: str | None = None
    family: str = ""
    schedule: dict[str, int | str | bool] = Field(default_factory=dict)
    strategy: str = ""
    insights: tuple[int, ...] = ()


class SourcePoint(Record):
    """A place in a candidate's source, 1-based, with the thread that was there."""

    line: int
    column: int = 0
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    text: str = ""


class Counterexample(Record):
    """A launch, inputs and a fault or a wrong cell. `fault` is a name of HARNESS faults (`RACE`,
    `OUT OF BOUNDS`, ...) or `WRONG VALUE`."""

    fault: str
    message: str
    axes: dict[str, int] = Field(default_factory=dict)
    inputs: str = ""
    output: str = ""
    index: int | None = None
    expected: float | None = None
    got: float | None = None
    points: tuple[SourcePoint, ...] = ()


class CompileResult(Record):
    """`seconds` is wall time. `report` holds registers, shared bytes, spills where a compiler says."""

    ok: bool
    diagnostics: str = ""
    command: str = ""
    seconds: float = 0.0
    artifact: str = ""
    report: dict[str, float] = Field(default_factory=dict)


class CaseResult(Record):
    """One validation case: which input distribution and sizes, and how far off the outputs were."""

    name: str
    axes: dict[str, int]
    ok: bool
    max_abs: float = 0.0
    max_rel: float = 0.0
    message: str = ""


class ValidationResult(Record):
    """All cases run until the first failure. `reason` is one line."""

    ok: bool
    cases: tuple[CaseResult, ...] = ()
    reason: str = ""
    counterexample: Counterexample | None = None
    seconds: float = 0.0


class ProfileResult(Record):
    """Times in milliseconds. `speedup` is baseline/median in the same run on the same device."""

    ok: bool
    device: str
    median_ms: float = 0.0
    iqr_ms: float = 0.0
    samples: int = 0
    baseline: str = ""
    baseline_ms: float = 0.0
    speedup: float = 0.0
    roofline: float | None = None
    counters: dict[str, float] = Field(default_factory=dict)
    source_of_counters: str = ""
    reason: str = ""
    seconds: float = 0.0


class Evaluation(Record):
    """Compile, validate, profile, fail-fast in that order; a stage not reached is None."""

    candidate: str
    device: str
    compile: CompileResult | None = None
    validation: ValidationResult | None = None
    profile: ProfileResult | None = None

    @property
    def correct(self) -> bool:
        """Compiled and valid."""
        return bool(self.validation and self.validation.ok)


class Reward(Record):
    """-1 not compiled, 0 wrong, otherwise the speed-up over the baseline; rscore is 1/ms."""

    candidate: str
    value: float
    rscore: float = 0.0
    reason: str = ""


class Insight(Record):
    """What a change did, with its evidence: candidates before and after, and the change of reward
    with its spread. `retracted` when the evidence fell (a candidate was refuted)."""

    id: int = 0
    strategy: str
    family: str
    device: str
    context: dict[str, str | int | float] = Field(default_factory=dict)
    before: str | None
    after: str
    diff: str = ""
    change: float
    spread: float = 0.0
    effective: bool
    sentence: str
    retracted: bool = False


class Obligation(Record):
    """One Lean theorem of a proof; `line` is the source line it speaks about."""

    name: str
    title: str
    status: ProofStatus
    line: int = 0
    seconds: float = 0.0
    message: str = ""


class Proof(Record):
    """Outcome for one candidate at one workload. `key` is the hash of source, launch, task, spec, Lean
    package and toolchain. `prover` says who found the proof; `counterexample` is why it is refuted."""

    candidate: str
    key: str
    status: ProofStatus
    obligations: tuple[Obligation, ...] = ()
    statement: str = ""
    reason: str = ""
    seconds: float = 0.0
    file: str = ""
    prover: str = "automatic"
    counterexample: Counterexample | None = None


class Assumption(Record):
    """One row of the assumption report. `kind` is Verified, Trusted, Judged or Untrusted."""

    kind: str
    part: str
    why: str


class Certificate(Record):
    """Everything needed to check a proof again from nothing. Hashes are SHA-256 in hex."""

    version: int = 1
    candidate: str
    task: str
    axes: dict[str, int]
    source: str
    source_hash: str
    launch_hash: str
    task_hash: str
    spec_hash: str
    package_hash: str
    toolchain: str
    checker: str
    statement: str
    theorem: str
    axioms: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    obligations: int
    checked_at: datetime
    lean_file: str
