"""Event streams as a session of the built-in generator on device `cpu` makes them.

Deterministic: the same arguments give the same events, times included. `session()` is a whole
session of a softmax task; `storm()` repeats its kinds of events without end, for load."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, cycle
from typing import TypeVar

from pydantic import BaseModel

from insights_db.records import (
    Assumption,
    Candidate,
    CaseResult,
    Certificate,
    CompileResult,
    Counterexample,
    Insight,
    Obligation,
    ProfileResult,
    Proof,
    ProofStatus,
    Reward,
    SourcePoint,
    ValidationResult,
)
from kshell import events as ev

E = TypeVar("E", bound=BaseModel)

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
BASELINE = 8.05
AXES = {"rows": 128, "n": 16384}

SOURCE = """\
#define THREADS {threads}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int n) {{
    __shared__ float part[THREADS];
    int row = blockIdx.x;
    int t = threadIdx.x;
    float m = -INFINITY;
    for (int i = t; i < n; i += THREADS) m = fmaxf(m, x[row * n + i]);
    part[t] = m;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {{
        if (t < s) part[t] = fmaxf(part[t], part[t + s]);
{barrier}    }}
    m = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = t; i < n; i += THREADS) {{
        float e = {exp};
{keep}        sum += e;
    }}
    part[t] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {{
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }}
    float scale = 1.0f / part[0];
    for (int i = t; i < n; i += THREADS) y[row * n + i] = {out};
}}

void launch(const float* x, float* y, int rows, int n) {{
    dim3 grid(rows);
    dim3 block(THREADS);
    softmax<<<grid, block>>>(x, y, rows, n);
}}
"""

OBLIGATIONS = (
    ("launch_fits", "the launch covers every row", 34),
    ("index_bounds", "no access is out of bounds", 9),
    ("race_free_max", "the max tree has no race", 13),
    ("race_free_sum", "the sum tree has no race", 27),
    ("max_is_row_max", "part[0] is the maximum of the row", 16),
    ("sum_is_row_sum", "part[0] is the sum of exp(x - max)", 29),
    ("writes_once", "every cell of y is written exactly once", 31),
    ("equivalence", "y equals the softmax of x for every row", 31),
)
STATEMENT = """\
theorem softmax_correct (x : Fin 128 → Fin 16384 → Real) :
    ∀ s, Exec launch (initial x) s →
      ∀ r i, s.output "y" (r * 16384 + i) = some (Spec.softmax x r i)"""


def source(threads: int, *, fused: bool = False, racy: bool = False, typo: bool = False) -> str:
    """A softmax kernel: block size, whether exp is kept in y, and two ways of being wrong."""
    text = SOURCE.format(
        threads=threads,
        barrier="" if racy else "        __syncthreads();\n",
        exp="expf(x[row * n + i] - m)",
        keep="        y[row * n + i] = e;\n" if fused else "",
        out="y[row * n + i] * scale" if fused else "expf(x[row * n + i] - m) * scale",
    )
    return text.replace("float scale", "double scale") if typo else text


def candidate(round_: int, index: int, text: str, parent: str | None = None, strategy: str = "") -> Candidate:
    """A candidate record for this source."""
    return Candidate(
        id=hashlib.sha256(text.encode()).hexdigest()[:12],
        source=text,
        task="softmax",
        round=round_,
        index=index,
        proposer="builtin",
        parent=parent,
        family="row_reduction",
        strategy=strategy,
        schedule={"threads": int(text.split()[2])},
    )


class Script:
    """Numbers and dates the events of one session and keeps its budget."""

    def __init__(self, rounds: int, group: int) -> None:
        self.elapsed = 0.0
        self.seq = count(1)
        self.budget = ev.Budget(rounds=rounds, group=group, max_usd=1.0, max_proof_tries=6, max_seconds=600.0)

    def at(self, seconds: float, event: E) -> E:
        """The event, `seconds` after the one before."""
        self.elapsed = round(self.elapsed + seconds, 3)
        when = START + timedelta(seconds=self.elapsed)
        return event.model_copy(update={"seq": next(self.seq), "at": when, "elapsed": self.elapsed})

    def spend(self, **change: float) -> ev.BudgetChanged:
        """The budget after a change, with an estimate of what is left."""
        self.budget = self.budget.model_copy(update={**change, "seconds": self.elapsed})
        total = self.budget.rounds * self.budget.group
        done = max(1, self.budget.candidates_done)
        eta = self.elapsed / done * (total - done)
        return self.at(0.0, ev.BudgetChanged(budget=self.budget, eta_seconds=round(eta, 1)))


def plan() -> list[list[tuple[Candidate, float]]]:
    """Rounds of (candidate, latency in ms); a latency of 0 does not compile, below 0 is wrong."""
    first = [
        (candidate(1, 1, source(64), strategy="64 threads a row"), 9.82),
        (candidate(1, 2, source(128), strategy="128 threads a row"), 6.41),
        (candidate(1, 3, source(256, typo=True), strategy="256 threads, double scale"), 0.0),
        (candidate(1, 4, source(256, racy=True), strategy="no barrier in the max tree"), -1.0),
    ]
    base = first[1][0].id
    second = [
        (candidate(2, 1, source(256), base, "twice the threads"), 5.12),
        (candidate(2, 2, source(128, fused=True), base, "keep exp in y"), 4.38),
        (candidate(2, 3, source(32), base, "one warp a row"), 14.9),
        (candidate(2, 4, source(512), base, "four times the threads"), 5.87),
    ]
    kept = second[1][0].id
    third = [
        (candidate(3, 1, source(256, fused=True), kept, "keep exp in y, twice the threads"), 3.57),
        (candidate(3, 2, source(512, fused=True), kept, "keep exp in y, four times the threads"), 3.94),
        (candidate(3, 3, source(64, fused=True), kept, "keep exp in y, half the threads"), 6.02),
        (candidate(3, 4, source(1024, fused=True), kept, "keep exp in y, 1024 threads"), 4.81),
    ]
    return [first, second, third]


def session(name: str = "softmax-cpu-1") -> list[ev.Event]:
    """A whole session: three rounds of four, one refuted candidate, one stuck proof, one promoted."""
    rounds = plan()
    script = Script(len(rounds), len(rounds[0]))
    out: list[ev.Event] = [
        script.at(
            0.0,
            ev.SessionStarted(
                session=name,
                task="softmax",
                axes=AXES,
                device="cpu",
                generator="builtin",
                seed=1,
                budget=script.budget,
                version="0.1.0",
                machine="2 cores, g++ 12",
            ),
        )
    ]
    done = 0
    best: tuple[Candidate, float] | None = None
    for number, group in enumerate(rounds, 1):
        out.append(script.at(0.1, ev.RoundStarted(round=number)))
        out += [script.at(0.02, ev.CandidateProposed(candidate=c)) for c, _ in group]
        for c, latency in group:
            out += evaluation(script, c, latency)
            done += 1
            out.append(script.spend(candidates_done=done))
        if number == 1:
            out += refutation(script, group[3][0])
        out += [script.at(0.05, ev.InsightDistilled(insight=i)) for i in insights(rounds, number)]
        timed = [(c, ms) for c, ms in group if ms > 0]
        best = min([*timed, *([best] if best else [])], key=lambda pair: pair[1])
        if number == 2:
            out += proof(script, best[0], stuck_at=5)
            out.append(script.spend(proof_tries=1))
        if number == 3:
            out += proof(script, best[0])
            out.append(script.spend(proof_tries=2))
        out.append(
            script.at(
                0.05,
                ev.RoundFinished(
                    round=number, best=best[0].id, best_ms=best[1], best_reward=BASELINE / best[1]
                ),
            )
        )
        out.append(script.spend(rounds_done=number))
    assert best is not None
    out.append(
        script.at(
            0.1,
            ev.SessionFinished(
                session=name,
                outcome=f"1 kernel promoted: {best[1]:.2f} ms, {BASELINE / best[1]:.2f}x the baseline",
                best=best[0].id,
                best_ms=best[1],
                first_best_ms=6.41,
                promoted=(best[0].id,),
            ),
        )
    )
    return out


def evaluation(script: Script, c: Candidate, latency: float) -> list[ev.Event]:
    """Compile, validate, profile and reward of one candidate, fail-fast."""
    if latency == 0.0:
        line = next(k for k, text in enumerate(c.source.splitlines(), 1) if "double" in text)
        place = c.source.splitlines()[line - 1]
        text = f"kernel.cu:{line}:5: double is not supported: use float\n    {place}\n        ^^^^^^"
        bad = CompileResult(ok=False, diagnostics=text, seconds=0.01)
        reward = Reward(candidate=c.id, value=-1.0, reason="refused")
        return [
            script.at(0.05, ev.CompileFinished(candidate=c.id, result=bad)),
            script.at(0.0, ev.RewardAssigned(reward=reward)),
        ]
    good = CompileResult(
        ok=True,
        seconds=0.71,
        command="g++ -O3 -march=native",
        report={"shared_bytes": 4.0 * int(c.source.split()[2])},
    )
    out: list[ev.Event] = [script.at(0.7, ev.CompileFinished(candidate=c.id, result=good))]
    names = ("normal", "large range", "all equal", "ragged n")
    if latency < 0:
        cases = (
            CaseResult(name="normal", axes=AXES, ok=True, max_abs=3e-8, max_rel=2e-6),
            CaseResult(
                name="large range", axes=AXES, ok=False, max_abs=0.31, max_rel=1.0, message="RACE at line 13"
            ),
        )
        wrong = ValidationResult(
            ok=False, cases=cases, reason="RACE in case `large range`, line 13", seconds=0.4
        )
        out.append(script.at(0.4, ev.ValidationFinished(candidate=c.id, result=wrong)))
        out.append(
            script.at(0.0, ev.RewardAssigned(reward=Reward(candidate=c.id, value=0.0, reason=wrong.reason)))
        )
        return out
    passed = tuple(CaseResult(name=n, axes=AXES, ok=True, max_abs=3e-8, max_rel=2e-6) for n in names)
    valid = ValidationResult(ok=True, cases=passed, seconds=0.6)
    timed = ProfileResult(
        ok=True,
        device="cpu",
        median_ms=latency,
        iqr_ms=round(latency * 0.03, 3),
        samples=50,
        baseline="torch eager",
        baseline_ms=BASELINE,
        speedup=BASELINE / latency,
        roofline=min(0.97, 1.9 / latency),
        seconds=0.8,
    )
    out.append(script.at(0.6, ev.ValidationFinished(candidate=c.id, result=valid)))
    out.append(script.at(0.8, ev.ProfileFinished(candidate=c.id, result=timed)))
    reward = Reward(candidate=c.id, value=BASELINE / latency, rscore=1 / latency)
    out.append(script.at(0.0, ev.RewardAssigned(reward=reward)))
    return out


def refutation(script: Script, c: Candidate) -> list[ev.Event]:
    """The falsifier finds the race of this candidate."""
    line = "if (t < s) part[t] = fmaxf(part[t], part[t + s]);"
    found = Counterexample(
        fault="RACE",
        message="two threads of one block touch part[64] without a barrier between them",
        axes={"rows": 1, "n": 1024},
        points=(
            SourcePoint(line=12, column=20, block=(0, 0, 0), thread=(64, 0, 0), text=line),
            SourcePoint(line=12, column=46, block=(0, 0, 0), thread=(0, 0, 0), text=line),
        ),
    )
    return [
        script.at(0.1, ev.VerificationStarted(candidate=c.id, verifier="falsifier")),
        script.at(0.9, ev.CounterexampleFound(candidate=c.id, verifier="falsifier", counterexample=found)),
        script.at(0.0, ev.VerificationFinished(candidate=c.id, verifier="falsifier", seconds=0.9)),
    ]


def insights(rounds: list[list[tuple[Candidate, float]]], number: int) -> list[Insight]:
    """What a round taught."""
    if number == 1:
        return []
    text = {
        2: (
            ("keep exp in y", 1, True, "Keeping exp(x - max) in y saves the second exp: 6.41 to 4.38 ms."),
            (
                "one warp a row",
                2,
                False,
                "One warp a row is 2.3x slower at n=16384: too few loads in flight.",
            ),
        ),
        3: (("block size", 0, True, "256 threads beat 128 once exp is kept: 4.38 to 3.57 ms."),),
    }[number]
    out = []
    for k, (strategy, index, good, sentence) in enumerate(text):
        c, latency = rounds[number - 1][index]
        before = {x.id: ms for group in rounds for x, ms in group}[c.parent or ""]
        out.append(
            Insight(
                id=number * 10 + k,
                strategy=strategy,
                family="row_reduction",
                device="cpu",
                context={"n": AXES["n"]},
                before=c.parent,
                after=c.id,
                change=BASELINE / latency - BASELINE / before,
                spread=0.04,
                effective=good,
                sentence=sentence,
            )
        )
    return out


def proof(script: Script, c: Candidate, stuck_at: int | None = None) -> list[ev.Event]:
    """An attack that finds nothing, then a proof; `stuck_at` is the obligation that does not close."""
    out: list[ev.Event] = [
        script.at(0.1, ev.VerificationStarted(candidate=c.id, verifier="falsifier")),
        script.at(
            1.2,
            ev.VerificationFinished(
                candidate=c.id, verifier="falsifier", seconds=1.2, effort="(24 launches, 3 shapes)"
            ),
        ),
        script.at(0.1, ev.ProofStarted(candidate=c.id, checker="Lean 4.29.0")),
    ]
    closed: list[Obligation] = []
    for k, (name, title, line) in enumerate(OBLIGATIONS):
        stuck = k == stuck_at
        obligation = Obligation(
            name=name,
            title=title,
            status=ProofStatus.UNPROVEN if stuck else ProofStatus.PROVEN,
            line=line,
            seconds=0.6 + 0.3 * k,
            message="unsolved goal: sum over i < 16384 of exp (x r i - m) = part[0]" if stuck else "",
        )
        closed.append(obligation)
        total = len(OBLIGATIONS)
        out.append(
            script.at(
                obligation.seconds, ev.ObligationClosed(candidate=c.id, obligation=obligation, total=total)
            )
        )
        if stuck:
            break
    record = Proof(
        candidate=c.id,
        key=hashlib.sha256((c.id + "key").encode()).hexdigest(),
        status=ProofStatus.PROVEN if stuck_at is None else ProofStatus.UNPROVEN,
        obligations=tuple(closed),
        statement=STATEMENT,
        reason="" if stuck_at is None else "obligation `sum_is_row_sum` did not close within 30 s",
        seconds=sum(o.seconds for o in closed),
        file=f"proofs/{c.id}.lean",
    )
    out.append(script.at(0.1, ev.ProofFinished(candidate=c.id, proof=record)))
    if stuck_at is None:
        out.append(
            script.at(
                0.2,
                ev.CandidatePromoted(
                    candidate=c.id, certificate=certificate(c), export=f"exports/softmax-{c.id[:7]}"
                ),
            )
        )
    return out


def certificate(c: Candidate) -> Certificate:
    """The certificate of a proven candidate."""
    digest = hashlib.sha256(c.source.encode()).hexdigest()
    return Certificate(
        candidate=c.id,
        task="softmax",
        axes=AXES,
        source=c.source,
        source_hash=digest,
        launch_hash=digest,
        task_hash=digest,
        spec_hash=digest,
        package_hash=digest,
        toolchain="leanprover/lean4:v4.29.0",
        checker="Lean 4.29.0",
        statement=STATEMENT,
        theorem="softmax_correct",
        axioms=("propext", "Classical.choice", "Quot.sound"),
        assumptions=(
            Assumption(kind="Verified", part="kernel and launch", why="the theorem speaks of this source"),
            Assumption(kind="Trusted", part="real arithmetic", why="rounding is not modelled"),
        ),
        obligations=len(OBLIGATIONS),
        checked_at=START,
        lean_file="softmax.lean",
    )


def storm(name: str = "storm") -> Iterator[ev.Event]:
    """Events without end over a population that grows to 240 candidates and then stays."""
    script = Script(60, 4)
    base = session(name)
    yield base[0]
    pool = [candidate(1 + k // 4, 1 + k % 4, source(32 + k)) for k in range(240)]
    started: set[str] = set()
    for turn, c in enumerate(cycle(pool)):
        if c.id not in started:
            started.add(c.id)
            yield script.at(0.001, ev.CandidateProposed(candidate=c))
        yield from evaluation(script, c, 3.0 + (turn * 7919 % 1000) / 100)
        yield from proof(script, c, stuck_at=7)
        yield script.spend(candidates_done=min(turn, 240))
