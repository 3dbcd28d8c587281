"""The falsifier: tries to break a candidate by running it, in the interpreter, on nasty data.

It looks at small and ragged sizes first, so that what it finds is small; then at outputs in the buffers of
inputs, where the task declares that and no `__restrict__` forbids it; then at adversarial inputs, in float32
too for overflow that the reals do not have; then at larger sizes; then at the real size, a few blocks of it,
for index arithmetic that only overflows there. A counterexample is shrunk before it
is returned.
None found proves nothing.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from agents import recipes, synthesis
from agents.protocols import Verdict
from agents.sizes import small_workloads, smaller
from insights_db.records import Candidate, Counterexample, SourcePoint
from semantics import aliasing, core, interp, spec_eval
from semantics.faults import Fault, FaultKind
from semantics.span import Refusal
from semantics.spec import Spec
from semantics.task import Task, Workload

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
WRONG_VALUE = "WRONG VALUE"
MOST_WORK = 400_000
"""Floating-point operations of the largest size that is run whole."""
_WORK, _CHEAP = MOST_WORK, 6_000
_FUEL = 200_000
_RTOL, _NORM = 1e-5, 1e-6
_GROSS = 0.05
_MAGNITUDE = 3e38
_REAL_SIZE = frozenset(FaultKind) - {FaultKind.UNDEFINED, FaultKind.UNINITIALISED_READ}


class Oracle(Protocol):
    """What the outputs should be, in float64 by output name."""

    def __call__(self, task: Task, workload: Workload, arrays: Mapping[str, Array]) -> Arrays: ...


class Planned(Protocol):
    """A parsed candidate."""

    def plan(self, task: Task, workload: Workload) -> core.Plan: ...


@dataclass(frozen=True, slots=True)
class Finding:
    """A counterexample, the fault behind it (None for a plain wrong value) and remarks of the run."""

    counterexample: Counterexample
    fault: Fault | None
    notes: tuple[Fault, ...] = ()


@dataclass(slots=True)
class Effort:
    """What an attack did."""

    launches: int = 0
    sizes: int = 0
    steps: int = 0
    notes: list[Fault] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.launches} runs at {self.sizes} sizes, {self.steps} statements"


def oracle_of_specs(specs: Callable[[Task, Workload], Spec], reference: Oracle | None = None) -> Oracle:
    """Outputs by evaluating the task's spec; `reference` takes over where the spec is refused."""

    def compute(task: Task, workload: Workload, arrays: Mapping[str, Array]) -> Arrays:
        try:
            return dict(spec_eval.evaluate(specs(task, workload), arrays))
        except Refusal:
            if reference is None:
                raise
            return reference(task, workload, arrays)

    return compute


class Falsifier:
    """Attacks in a worker thread for at most about `seconds`."""

    name = "falsifier"

    def __init__(self, oracle: Oracle | None, *, seconds: float = 6.0, seed: int = 0) -> None:
        self._oracle = oracle
        self._seconds = seconds
        self._seed = seed

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """Search for a fault or a wrong value. A candidate outside the language gives no verdict
        (its refusal is the compile stage's)."""
        started = time.monotonic()
        stop = threading.Event()
        try:
            finding, effort = await asyncio.to_thread(self._attack, candidate.source, task, workload, stop)
        finally:
            stop.set()
        found = finding.counterexample if finding is not None else None
        return Verdict(self.name, found, time.monotonic() - started, effort)

    def _attack(
        self, source: str, task: Task, workload: Workload, stop: threading.Event
    ) -> tuple[Finding | None, str]:
        from semantics.program import load

        try:
            program = load(source)
        except Refusal as refusal:
            return None, f"outside the language: {refusal}"
        attack = Attack(program, source, task, workload, self._oracle, self._seconds, self._seed, stop)
        return attack.search(), str(attack.effort)


@dataclass(slots=True)
class Attack:
    """One attack on one parsed candidate. `search` may be called once."""

    program: Planned
    source: str
    task: Task
    workload: Workload
    oracle: Oracle | None
    seconds: float = 6.0
    seed: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    effort: Effort = field(default_factory=Effort)
    _deadline: float = 0.0

    def search(self) -> Finding | None:
        """The smallest counterexample found, or None. Raises Refusal when the candidate has no plan at
        the workload itself."""
        self.program.plan(self.task, self.workload)
        self._warm_up()
        started = time.monotonic()
        stages = (
            (self._small, 0.45),
            (self._in_place, 0.5),
            (self._adversarial, 0.7),
            (self._larger, 0.85),
            (self._real_size, 1.0),
        )
        for stage, share in stages:
            self._deadline = started + share * self.seconds
            finding = stage()
            if finding is not None:
                return finding
        return None

    def trial(self, workload: Workload, inputs: str, seconds: float) -> Finding | None:
        """One run at given sizes on inputs as `agents.recipes` names them. A size that the task or the
        candidate does not allow finds nothing. Raises BadRecipe."""
        self._deadline = time.monotonic() + seconds
        plan = self._plan(workload) if self.task.broken_constraint(workload) is None else None
        if plan is None:
            return None
        if inputs == recipes.ANY:
            fault = self._sparse_fault(workload)
            return None if fault is None else self._of_fault(fault, workload, inputs)
        if self.task.work(workload)[0] > _WORK:
            return None
        precision: interp.Precision = "float32" if inputs.endswith(recipes.FLOAT32) else "float64"
        return self._try(workload, plan, inputs.removesuffix(recipes.FLOAT32), precision)

    def _warm_up(self) -> None:
        """The first use of the oracle may import a library: outside the time limit."""
        tiny = next(small_workloads(self.task, self.workload, _WORK), None)
        if tiny is not None and self.oracle is not None:
            self.oracle(self.task, tiny, synthesis.draw(self.task, tiny, "normal", self.seed))

    def _late(self) -> bool:
        return self.stop.is_set() or time.monotonic() > self._deadline

    # ---------------------------------------------------------------- stages

    def _sizes(self, wanted: Callable[[int], bool]) -> Iterator[tuple[Workload, core.Plan]]:
        for workload in small_workloads(self.task, self.workload, _WORK):
            if self._late():
                return
            if not wanted(self.task.work(workload)[0]):
                continue
            plan = self._plan(workload)
            if plan is not None:
                yield workload, plan

    def _plan(self, workload: Workload) -> core.Plan | None:
        try:
            return self.program.plan(self.task, workload)
        except (Refusal, ValueError):
            return None

    def _small(self) -> Finding | None:
        return self._on_normal(lambda work: work <= _CHEAP)

    def _larger(self) -> Finding | None:
        return self._on_normal(lambda work: work > _CHEAP)

    def _on_normal(self, wanted: Callable[[int], bool]) -> Finding | None:
        for workload, plan in self._sizes(wanted):
            self.effort.sizes += 1
            finding = self._try(workload, plan, "normal")
            if finding is not None:
                return self._shrunk(finding, workload, "normal", "float64")
        return None

    def _in_place(self) -> Finding | None:
        """Three sizes, outputs in the buffers of inputs."""
        if not self.task.inplace:
            return None
        sizes = list(self._sizes(lambda work: work <= _CHEAP))
        name = f"normal{recipes.IN_PLACE}"
        for workload, plan in (sizes[k] for k in sorted({0, len(sizes) // 2, len(sizes) - 1}) if sizes):
            finding = None if self._late() else self._try(workload, plan, name)
            if finding is not None:
                return self._shrunk(finding, workload, name, "float64")
        return None

    def _adversarial(self) -> Finding | None:
        names = [name for name in synthesis.distributions(self.task) if name != "normal"]
        sizes = list(self._sizes(lambda work: work <= _CHEAP))
        chosen = {len(sizes) // 3, 2 * len(sizes) // 3, len(sizes) - 1} if sizes else set()
        for workload, plan in (sizes[k] for k in sorted(chosen)):
            for name in names:
                for precision in ("float64", "float32"):
                    if self._late():
                        return None
                    finding = self._try(workload, plan, name, precision)
                    if finding is not None:
                        return self._shrunk(finding, workload, name, precision)
        return None

    def _real_size(self) -> Finding | None:
        """A few blocks at the workload's sizes, on made-up contents: indices do not depend on them."""
        if self._late():
            return None
        fault = self._sparse_fault(self.workload)
        if fault is None:
            return None
        workload = self.workload
        if fault.kind is FaultKind.INT_OVERFLOW:
            workload, fault = self._threshold(fault)
        return self._of_fault(fault, workload, recipes.ANY)

    def _sparse_fault(self, workload: Workload, limit: int = 3) -> Fault | None:
        plan = self._plan(workload)
        if plan is None:
            return None
        left = max(0.5, self._deadline - time.monotonic())
        result = interp.run(
            plan, {}, fuel=_FUEL, sparse=True, max_blocks=3, seconds=min(2.0, left), fault_limit=limit
        )
        self._count(result)
        found = (f for f in result.faults if f.kind in _REAL_SIZE)
        return next((f for f in found if f.kind is not FaultKind.NON_TERMINATION), None)

    def _threshold(self, fault: Fault) -> tuple[Workload, Fault]:
        """The smallest size of the longest axis at which the overflow still happens, by bisection."""
        axis = max(self.workload.axes, key=lambda a: self.workload.axes[a])
        low, high, best = 0, self.workload.axes[axis], fault
        while high - low > 1 and not self._late():
            middle = (low + high) // 2
            found = self._sparse_fault(self._with(axis, middle), limit=1)
            if found is not None and found.kind is fault.kind and found.spans == fault.spans:
                high, best = middle, found
            else:
                low = middle
        return self._with(axis, high), best

    def _with(self, axis: str, value: int) -> Workload:
        return self.workload.model_copy(update={"axes": {**self.workload.axes, axis: value}})

    # ---------------------------------------------------------------- one run

    def _count(self, result: interp.Run) -> None:
        self.effort.launches += 1
        self.effort.steps += result.steps
        known = {(n.kind, n.spans) for n in self.effort.notes}
        self.effort.notes += [n for n in result.notes if (n.kind, n.spans) not in known]

    def _try(
        self, workload: Workload, plan: core.Plan, name: str, precision: interp.Precision = "float64"
    ) -> Finding | None:
        arrays = recipes.drawn(self.task, workload, name, self.seed)
        shared: dict[str, str] = {}
        if name.endswith(recipes.IN_PLACE):
            shared = aliasing.declared(plan, self.task.inplace, arrays)
            if not shared:
                return None
            plan = aliasing.in_place(plan, shared)
        left = max(0.2, self._deadline - time.monotonic())
        work = self.task.work(workload)[0]
        fuel = _FUEL + 100 * work
        result = interp.run(plan, arrays, fuel=fuel, precision=precision, seconds=left)
        self._count(result)
        inputs = name if precision == "float64" else name + recipes.FLOAT32
        faults = result.faults if precision == "float64" else ()
        if result.steps >= fuel and work > _CHEAP:
            return None
        where = "".join(f"with `{output}` in the buffer of `{name}`: " for output, name in shared.items())
        if faults:
            finding = self._of_fault(faults[0], workload, inputs, where)
            return replace(finding, notes=result.notes)
        if not result.complete or self.oracle is None:
            return None
        unwritten = {name: at for name, at in result.unwritten.items() if name not in shared}
        for output, index in unwritten.items():
            text = f"{where}`{output}[{index}]` is never stored"
            return self._wrong(text, workload, inputs, output, index, None, None, result)
        expected = self.oracle(self.task, workload, arrays)
        limit = _allowed if precision == "float64" else _allowed_float32
        for output in (t.name for t in self.task.outputs):
            buffer = shared.get(output, output)
            want, got = expected[output].ravel(), result.outputs[buffer].astype(np.float64)
            bad = ~(np.abs(got - want) <= limit(want)) & np.isfinite(want)
            if bad.any():
                index = int(np.argmax(bad))
                text = f"{where}`{output}[{index}]` is {got[index]:.6g}, the reference says {want[index]:.6g}"
                return self._wrong(
                    text, workload, inputs, output, index, float(want[index]), float(got[index]), result
                )
        return None

    # ---------------------------------------------------------------- reports

    def _wrong(
        self,
        text: str,
        workload: Workload,
        inputs: str,
        output: str,
        index: int,
        expected: float | None,
        got: float | None,
        result: interp.Run,
    ) -> Finding:
        geometry = next((n for n in result.notes if n.kind is FaultKind.GEOMETRY), None)
        found = Counterexample(
            fault=geometry.kind if geometry else WRONG_VALUE,
            message=f"{geometry.message}; {text}" if geometry else text,
            axes=dict(workload.axes),
            inputs=inputs,
            output=output,
            index=index,
            expected=expected,
            got=got,
            points=self._points(geometry) if geometry else (),
        )
        return Finding(found, geometry, result.notes)

    def _of_fault(self, fault: Fault, workload: Workload, inputs: str, where: str = "") -> Finding:
        found = Counterexample(
            fault=fault.kind,
            message=f"{where}{fault.message}",
            axes=dict(workload.axes),
            inputs=inputs,
            output=fault.array,
            index=fault.index,
            points=self._points(fault),
        )
        return Finding(found, fault)

    def _points(self, fault: Fault) -> tuple[SourcePoint, ...]:
        lines = self.source.splitlines()
        points = []
        for k, span in enumerate(fault.spans):
            points.append(
                SourcePoint(
                    line=span.line,
                    column=span.column,
                    thread=fault.threads[k] if k < len(fault.threads) else None,
                    block=fault.blocks[k] if k < len(fault.blocks) else None,
                    text=lines[span.line - 1].strip() if 0 < span.line <= len(lines) else "",
                )
            )
        return tuple(points)

    # ---------------------------------------------------------------- shrinking

    def _shrunk(
        self, finding: Finding, workload: Workload, name: str, precision: interp.Precision
    ) -> Finding:
        """The same counterexample at the smallest size that a greedy descent over the axes reaches."""
        tries = 80
        moved = True
        while moved and tries > 0 and not self._late():
            moved = False
            for candidate in smaller(workload):
                tries -= 1
                if tries < 0 or self._late():
                    break
                if self.task.broken_constraint(candidate) is not None:
                    continue
                plan = self._plan(candidate)
                found = self._try(candidate, plan, name, precision) if plan is not None else None
                if found is not None and _same(found, finding):
                    finding, workload, moved = found, candidate, True
                    break
        return finding


def _same(a: Finding, b: Finding) -> bool:
    one, two = a.counterexample, b.counterexample
    return one.fault == two.fault and [p.line for p in one.points] == [p.line for p in two.points]


def _allowed(want: Array) -> Array:
    """Float64 stands for the reals: what is off by more than rounding of constants is wrong."""
    scale = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    limit: Array = _RTOL * np.abs(want) + _NORM * scale + 1e-300
    return limit


def _allowed_float32(want: Array) -> Array:
    """Only gross errors: overflow, a NaN, all digits lost. Precision is the validator's business."""
    scale = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    limit: Array = np.where(np.abs(want) < _MAGNITUDE, _GROSS * (np.abs(want) + scale) + 1e-30, np.inf)
    return limit
