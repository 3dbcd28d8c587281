"""Searches a device for fast kernels: best against the baseline, and search against random sampling.

Every strategy gets the same number of evaluations. A kernel that two strategies propose is measured
once. Times are of the device named in the result and mean nothing for another."""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from kshell.cli.options import COUNT, WHOLE
from kshell.errors import UserError

if TYPE_CHECKING:
    from agents.protocols import Generator, Proposal, Scored
    from insights_db.records import Insight
    from kshell.protocols import Evaluator
    from semantics.task import Task, Workload

HELP = "Search for fast kernels on a device: best against the baseline, and against random sampling."

STRATEGIES = ("builtin", "random")
NEAR = 1.05
"""A kernel within this factor of the best known time counts as found."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one strategy reached on one task. Times are in milliseconds, `seconds` are wall time.

    `first_ms` is the best of the first round; `to_near` counts the evaluations until a kernel within
    5 % of the best known one, None when there was none; `curve` is the best time after each evaluation
    (None while nothing is correct); `complaints` has a line for each failure."""

    task: str
    axes: dict[str, int]
    device: str
    strategy: str
    seed: int
    evaluations: int
    failures: int
    seconds: float
    best_ms: float | None
    iqr_ms: float | None
    baseline: str
    baseline_ms: float | None
    speedup: float | None
    first_ms: float | None
    family: str
    schedule: dict[str, int | str | bool]
    to_near: int | None
    curve: list[float | None] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tasks", default="relu,softmax,gemv", help="names joined by commas, or `all` (default: %(default)s)"
    )
    parser.add_argument("--size", action="append", default=[], metavar="NAME=VALUE", help="size of an axis")
    parser.add_argument("--device", default="cpu", help="device to measure on (default: %(default)s)")
    parser.add_argument("--rounds", type=WHOLE, default=4, metavar="N", help="rounds (default 4)")
    parser.add_argument("--group", type=WHOLE, default=6, metavar="G", help="candidates a round (default 6)")
    parser.add_argument("--seed", type=COUNT, default=0, metavar="S", help="seed (default 0)")
    parser.add_argument(
        "--strategies",
        default=",".join(STRATEGIES),
        help="strategies joined by commas (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    from kshell import tasks

    names = tasks.names() if args.tasks == "all" else [n for n in args.tasks.split(",") if n]
    strategies = [s for s in args.strategies.split(",") if s]
    unknown = next((s for s in strategies if s not in STRATEGIES), None)
    if unknown is not None or not strategies or not names:
        raise UserError(f"--strategies takes some of {', '.join(STRATEGIES)}, --tasks at least one task")
    outcomes = asyncio.run(_bench(args, names, strategies))
    if args.json:
        print(json.dumps({"results": [asdict(o) for o in outcomes]}))
    else:
        print(table(outcomes))
    return 0 if all(o.best_ms is not None for o in outcomes) else 1


async def _bench(args: argparse.Namespace, names: list[str], strategies: list[str]) -> list[Outcome]:
    from kshell import wiring
    from kshell.engine.desk import Closing
    from kshell.engine.settings import Settings

    evaluator = wiring.evaluator(Settings(device=args.device))
    found: list[Outcome] = []
    try:
        for name in names:
            task = wiring.task(name)
            sizes = [s for s in args.size if s.partition("=")[0].strip() in task.axes]
            bench = Trial(task, wiring.workload(task, sizes, args.seed), evaluator)
            for strategy in strategies:
                print(f"{name}: {strategy}, {args.rounds} x {args.group}", file=sys.stderr, flush=True)
                await bench.search(strategy, _generator(strategy), args.rounds, args.group, args.seed)
            found += bench.outcomes()
    finally:
        if isinstance(evaluator, Closing):
            await evaluator.close()
    return found


def _generator(strategy: str) -> "Generator":
    from agents.builtin import BuiltinGenerator
    from agents.sampling import RandomGenerator
    from kshell import tasks

    builtin = BuiltinGenerator(tasks.spec_of)
    return builtin if strategy == "builtin" else RandomGenerator(builtin)


@dataclass(slots=True)
class _Search:
    strategy: str
    seed: int
    history: list["Scored"]
    seconds: float


class Trial:
    """Searches of one task on one device, with one cache of measurements."""

    def __init__(self, task: "Task", workload: "Workload", evaluator: "Evaluator") -> None:
        self.task = task
        self.workload = workload
        self.evaluator = evaluator
        self._known: dict[str, Scored] = {}
        self._searches: list[_Search] = []

    async def search(self, strategy: str, generator: "Generator", rounds: int, group: int, seed: int) -> None:
        """One search of `rounds` rounds. Insights come from its own history only."""
        from agents.insight import distill, relevant
        from agents.protocols import GenerationContext

        history: list[Scored] = []
        insights: list[Insight] = []
        start = time.monotonic()
        for number in range(1, rounds + 1):
            context = GenerationContext(
                task=self.task,
                workload=self.workload,
                device=self.evaluator.device,
                round=number,
                group=group,
                seed=seed * 1000 + number,
                history=tuple(history),
                insights=tuple(relevant(insights, self.task, self.evaluator.device)),
            )
            proposals = await generator.propose(context)
            for place, proposal in enumerate(proposals):
                after = await self._scored(proposal, number, place)
                before = next((s for s in history if s.candidate.id == proposal.parent), None)
                made = distill(before, after, self.task, self.evaluator.device)
                insights.append(made.model_copy(update={"id": len(insights) + 1}))
                history.append(after)
        self._searches.append(_Search(strategy, seed, history, time.monotonic() - start))

    async def _scored(self, proposal: "Proposal", number: int, place: int) -> "Scored":
        """The candidate measured, once for every strategy."""
        from agents.protocols import Scored
        from insights_db.records import Candidate
        from kshell.engine.evaluation import reward_of
        from kshell.engine.promotion import digest
        from kshell.engine.state import CandidateState

        identity = digest(proposal.source)[:12]
        candidate = Candidate(
            id=identity,
            source=proposal.source,
            task=self.task.name,
            round=number,
            index=place,
            proposer=proposal.proposer,
            parent=proposal.parent,
            family=proposal.family,
            schedule=proposal.schedule,
            strategy=proposal.strategy,
        )
        known = self._known.get(identity)
        if known is not None:
            return Scored(candidate, known.evaluation, known.reward)
        state = CandidateState(candidate, self.evaluator.device)
        state.compile = await self.evaluator.compile(candidate, self.task, self.workload)
        if state.compile.ok:
            state.validation = await self.evaluator.validate(
                candidate, self.task, self.workload, state.compile
            )
            if state.validation.ok:
                state.profile = await self.evaluator.profile(
                    candidate, self.task, self.workload, state.compile
                )
        self._known[identity] = Scored(candidate, state.evaluation, reward_of(state))
        return self._known[identity]

    def outcomes(self) -> list[Outcome]:
        """One outcome a search, `to_near` measured against the best of all of them."""
        times = [t for s in self._searches for t in map(_ms, s.history) if t is not None]
        best = min(times, default=None)
        return [self._outcome(s, best) for s in self._searches]

    def _outcome(self, search: _Search, best: float | None) -> Outcome:
        curve = list(best_so_far(_ms(s) for s in search.history))
        measured = [s for s in search.history if _ms(s) is not None]
        winner = min(measured, key=lambda s: _ms(s) or 0.0, default=None)
        profile = winner.evaluation.profile if winner else None
        first = [t for s in search.history if s.candidate.round == 1 and (t := _ms(s)) is not None]
        near = [n for n, t in enumerate(curve, 1) if t is not None and best is not None and t <= NEAR * best]
        return Outcome(
            task=self.task.name,
            axes=dict(self.workload.axes),
            device=self.evaluator.device,
            strategy=search.strategy,
            seed=search.seed,
            evaluations=len(search.history),
            failures=sum(s.reward.value <= 0 for s in search.history),
            seconds=round(search.seconds, 2),
            best_ms=profile.median_ms if profile else None,
            iqr_ms=profile.iqr_ms if profile else None,
            baseline=profile.baseline if profile else "",
            baseline_ms=profile.baseline_ms if profile else None,
            speedup=profile.speedup if profile else None,
            first_ms=min(first, default=None),
            family=winner.candidate.family if winner else "",
            schedule=dict(winner.candidate.schedule) if winner else {},
            to_near=near[0] if near else None,
            curve=curve,
            complaints=[_complaint(s) for s in search.history if s.reward.value <= 0],
        )


def _complaint(scored: "Scored") -> str:
    settings = " ".join(f"{n}={v}" for n, v in scored.candidate.schedule.items())
    return f"{scored.candidate.family} {settings}: {scored.reward.reason}"


def _ms(scored: "Scored") -> float | None:
    profile = scored.evaluation.profile
    return profile.median_ms if profile is not None and profile.ok and scored.reward.value > 0 else None


def best_so_far(times: Iterable[float | None]) -> Iterable[float | None]:
    """The least time up to each place; None before the first."""
    best: float | None = None
    for t in times:
        best = t if best is None else best if t is None else min(best, t)
        yield best


def table(outcomes: list[Outcome]) -> str:
    """Outcomes as text, one line a search."""
    head = (
        "task",
        "strategy",
        "device",
        "best ms",
        "round 1",
        "speed-up",
        "evals",
        "to 5 %",
        "failed",
        "kernel",
    )
    rows = [head]
    for o in outcomes:
        settings = " ".join(f"{n}={v}" for n, v in o.schedule.items())
        rows.append(
            (
                o.task,
                o.strategy,
                o.device,
                _number(o.best_ms),
                _number(o.first_ms),
                "-" if o.speedup is None else f"{o.speedup:.2f}x",
                str(o.evaluations),
                "-" if o.to_near is None else str(o.to_near),
                str(o.failures),
                f"{o.family} {settings}".strip(),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    baselines = sorted({o.baseline for o in outcomes if o.baseline})
    failures = [f"failed on {o.task}: {c}" for o in outcomes for c in o.complaints]
    return "\n".join([*lines, *(f"speed-up over: {b}" for b in baselines), *dict.fromkeys(failures)])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
