"""Correctness of a built candidate: case after case until the first failure.

The task's own shape is tried on every input distribution in the form that is timed, twice, so that one
input must give the same bits; ragged and hidden shapes follow; on the smallest of them the threads of
a block are started in three different orders, which must not show in a single bit. A kernel whose
result depends on the order has a race."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agents import synthesis
from insights_db.records import CaseResult, Counterexample, ValidationResult
from kshell.harness.cases import Case, CaseFailure, CaseMaker, side_shapes
from kshell.harness.judge import judge
from kshell.harness.runs import RunRequest, RunResult, execute, limits_of
from semantics import core
from semantics.span import Refusal
from semantics.task import Task, Workload

# Above this many operations or nanoseconds a call, the task's own shape is tried on one distribution and
# in one thread order only; above the second time its sets are not all repeated.
HEAVY_WORK, HEAVY_NS = 60_000_000, 400_000_000
SLOW_NS = 40_000_000
ORDERS = ("forward", "reverse", "random")

Planner = Callable[[Workload], core.Plan]


@dataclass(frozen=True, slots=True)
class Subject:
    """A built candidate and how to bind it to sizes."""

    artifact: Path
    task: Task
    plan: Planner
    threads: int = 1


@dataclass(frozen=True, slots=True)
class _Batch:
    """Cases of one workload that one process runs."""

    cases: tuple[Case, ...]
    orders: tuple[str, ...]
    repeats: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """`nanoseconds` is the longest timed repetition."""

    results: tuple[CaseResult, ...]
    reason: str = ""
    counterexample: Counterexample | None = None
    nanoseconds: int = 0


async def validate(subject: Subject, workload: Workload, maker: CaseMaker) -> ValidationResult:
    """All batches, fail-fast. A wrong candidate is a result; raises CaseFailure for a wrong task."""
    started = time.perf_counter()
    results: list[CaseResult] = []
    outcome = _Outcome(())
    course = _Course(subject.task, workload, maker)
    for step in course.steps():
        batch = await asyncio.to_thread(step)
        if batch is None:
            continue
        outcome = await _try(subject, batch)
        course.slowest = max(course.slowest, outcome.nanoseconds)
        results.extend(outcome.results)
        if outcome.reason:
            break
    return ValidationResult(
        ok=not outcome.reason,
        cases=tuple(results),
        reason=outcome.reason,
        counterexample=outcome.counterexample,
        seconds=time.perf_counter() - started,
    )


@dataclass(slots=True)
class _Course:
    """The batches of one validation; later ones are lighter when the first ones were slow."""

    task: Task
    workload: Workload
    maker: CaseMaker
    slowest: int = 0

    def steps(self) -> Sequence[Callable[[], _Batch | None]]:
        """Makers of batches, likely failures first; each is slow and runs in a thread."""
        special = [d for d in synthesis.distributions(self.task) if d not in ("normal", "uniform")]
        sides = side_shapes(self.task, self.workload, self.maker.random("shapes", self.task.name))
        smallest = min((shape for _, shape in sides), key=self.task.work, default=self.workload)
        rest = ("uniform", *special)
        return (
            lambda: self._batch("task shape", self.workload, ("normal",)),
            lambda: None if self._heavy else self._batch("task shape", self.workload, rest),
            *(
                partial(self._batch, name, shape, ("normal", special[i % len(special)]))
                for i, (name, shape) in enumerate(sides)
            ),
            lambda: self._batch("thread order", smallest, ("normal",), ORDERS),
            lambda: (
                None
                if self._heavy
                else self._batch(
                    "thread order at the task shape", self.workload, ("normal",), ("forward", "random")
                )
            ),
        )

    @property
    def _heavy(self) -> bool:
        return self.task.work(self.workload)[0] > HEAVY_WORK or self.slowest > HEAVY_NS

    def _batch(
        self, name: str, shape: Workload, distributions: Sequence[str], orders: tuple[str, ...] = ("fast",)
    ) -> _Batch:
        cases = tuple(
            self.maker.make(self.task, shape, f"{name}, {d}", d, self.maker.fresh_seed(self.task, shape))
            for d in distributions
        )
        # Every set twice; of a slow kernel only the first.
        repeats = len(cases) + 1 if self.slowest > SLOW_NS else 2 * len(cases)
        return _Batch(cases, orders, repeats)


async def _try(subject: Subject, batch: _Batch) -> _Outcome:
    first = batch.cases[0]
    try:
        plan = subject.plan(first.workload)
    except Refusal as refusal:
        result = CaseResult(name=first.name, axes=first.workload.axes, ok=False, message=str(refusal))
        return _Outcome((result,), f"{first.name}: {refusal}")
    digests: dict[str, tuple[str, ...]] = {}
    outcome = _Outcome(())
    for order in batch.orders:
        request = RunRequest(
            artifact=subject.artifact,
            task=subject.task,
            plan=plan,
            sets=[c.inputs for c in batch.cases],
            order=order,
            seed=first.seed,
            repeats=batch.repeats if order == "fast" else 1,
            limits=limits_of(subject.task, first.workload, plan, batch.repeats),
            threads=subject.threads if order == "fast" else 1,
        )
        run = await execute(request)
        outcome = await asyncio.to_thread(check_run, subject.task, plan, batch.cases, run)
        if outcome.reason:
            return outcome
        digests[order] = run.digests
    if len(set(digests.values())) > 1 and not adds_atomically(plan):
        return _ordered(first, batch.orders)
    return outcome


def _ordered(case: Case, orders: Sequence[str]) -> _Outcome:
    message = f"the result depends on the order in which threads run ({', '.join(orders)})"
    result = CaseResult(name=case.name, axes=case.workload.axes, ok=False, message=message)
    example = Counterexample(fault="RACE", message=message, axes=case.workload.axes, inputs=case.recipe)
    return _Outcome((result,), f"RACE: {message}", example)


def check_run(task: Task, plan: core.Plan, cases: Sequence[Case], run: RunResult) -> _Outcome:
    """Judge one run: how it ended, every output of every set, and that repetitions gave the same bits."""
    first = cases[0]
    if run.failure:
        result = CaseResult(name=first.name, axes=first.workload.axes, ok=False, message=run.failure)
        example = None
        if run.fault is not None:
            example = Counterexample(
                fault=run.fault.name,
                message=run.fault.message,
                axes=first.workload.axes,
                inputs=first.recipe,
                points=(run.fault.point,) if run.fault.point.line or run.fault.point.thread else (),
            )
        return _Outcome((result,), f"{first.name}: {run.failure}", example)
    results = []
    for case, outputs in zip(cases, run.outputs, strict=True):
        worst_abs = worst_rel = 0.0
        for tensor in task.outputs:
            judgement = judge(outputs[tensor.name], case.expected[tensor.name], task.tolerance)
            worst_abs = max(worst_abs, judgement.max_abs)
            worst_rel = max(worst_rel, judgement.max_rel)
            wrong = judgement.wrong
            if wrong is None:
                continue
            message = (
                f"{tensor.name}[{wrong.index}] is {wrong.got:.9g}, expected {wrong.expected:.9g} "
                f"(allowed error {wrong.allowed:.3g}): {wrong.reason}"
            )
            results.append(_case(case, False, worst_abs, worst_rel, message))
            example = Counterexample(
                fault="WRONG VALUE",
                message=message,
                axes=case.workload.axes,
                inputs=case.recipe,
                output=tensor.name,
                index=wrong.index,
                expected=wrong.expected,
                got=wrong.got,
            )
            return _Outcome(tuple(results), f"{case.name}: {message}", example)
        results.append(_case(case, True, worst_abs, worst_rel, ""))
    if not adds_atomically(plan):
        for timing in run.timings:
            if timing.digest != run.digests[timing.set]:
                message = "the same input gave different bits in two runs"
                case = cases[timing.set]
                example = Counterexample(
                    fault="RACE", message=message, axes=case.workload.axes, inputs=case.recipe
                )
                results[timing.set] = _case(case, False, 0.0, 0.0, message)
                return _Outcome(tuple(results), f"{case.name}: {message}", example)
    return _Outcome(tuple(results), nanoseconds=max((t.nanoseconds for t in run.timings), default=0))


def _case(case: Case, ok: bool, max_abs: float, max_rel: float, message: str) -> CaseResult:
    return CaseResult(
        name=case.name, axes=case.workload.axes, ok=ok, max_abs=max_abs, max_rel=max_rel, message=message
    )


def adds_atomically(plan: core.Plan) -> bool:
    """Whether any kernel adds atomically: then the order of additions may show in the last bits."""

    def any_in(body: tuple[core.Stmt, ...]) -> bool:
        for s in body:
            if isinstance(s, core.AtomicAdd):
                return True
            if isinstance(s, core.If) and (any_in(s.then) or any_in(s.other)):
                return True
            if isinstance(s, core.While) and any_in(s.body):
                return True
        return False

    return any(any_in(call.kernel.body) for call in plan.calls)


__all__ = ["CaseFailure", "Subject", "adds_atomically", "check_run", "validate"]
