"""Device `cpu`: the same source under a C++ compiler with the shim, one program a candidate."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from insights_db.records import Candidate, CompileResult, ProfileResult, ValidationResult
from kshell.harness.build import build
from kshell.harness.cases import Case, CaseFailure, CaseMaker, Reference
from kshell.harness.profile import DEVICE, Baseline, profile
from kshell.harness.sandbox import disk_reason
from kshell.harness.toolchain import ToolchainMissing, find
from kshell.harness.validate import Subject, validate
from scaffolds.families import families_of
from scaffolds.families.space import conservative_schedule
from scaffolds.plain import plain_source
from scaffolds.program import cpu_program
from semantics.program import Program, load
from semantics.span import Refusal
from semantics.spec import Spec
from semantics.task import Task, Workload

_KEPT_PROGRAMS = 256
# Input sets the timed repetitions rotate over.
_TIMED_SETS = ("normal", "uniform")


class CpuEvaluator:
    """Implements `kshell.protocols.Evaluator` on this machine's processor.

    `reference(task, workload, inputs)` gives the expected outputs in float64; it is called in a thread of
    this process. `cache` keeps builds between sessions. `threads` spreads the blocks of a launch; one
    thread gives the steadiest times. `secret` fixes the hidden seeds (tests only). `baseline` gives the
    source the reward compares with and its label; without it, the plainest family of the task is used.
    `spec` gives a task's tensor spec, from which a plain kernel is made for tasks without a family."""

    device = DEVICE

    def __init__(
        self,
        reference: Reference,
        cache: Path,
        *,
        threads: int = 1,
        secret: int | None = None,
        baseline: Callable[[Task, Workload], tuple[str, str]] | None = None,
        spec: Callable[[Task, Workload], Spec] | None = None,
    ) -> None:
        self._maker = CaseMaker(reference, secret)
        self._cache = cache / "cpu"
        self._threads = threads
        self._baseline = baseline
        self._spec = spec
        self._programs: OrderedDict[str, Program] = OrderedDict()

    async def compile(self, candidate: Candidate, task: Task, workload: Workload) -> CompileResult:
        """Parse, bind at the workload, build. A refusal or a complaint is a result that is not ok."""
        return await self._compile(candidate.source, f"{candidate.id}.cu", task, workload)

    async def validate(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ValidationResult:
        """Try the built candidate on fresh hidden inputs."""
        started = time.perf_counter()
        try:
            subject = await self._subject(candidate.source, task, workload, compiled)
            return await validate(subject, workload, self._maker)
        except (CaseFailure, Refusal, ToolchainMissing) as error:
            reason = str(error)
        except OSError as error:
            reason = disk_reason(error)
        return ValidationResult(ok=False, reason=reason, seconds=time.perf_counter() - started)

    async def profile(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ProfileResult:
        """Time it against the baseline; the timed outputs are judged again."""
        try:
            subject = await self._subject(candidate.source, task, workload, compiled)
            source, label = await asyncio.to_thread(self._baseline_source, task, workload)
            built = await self._compile(source, "baseline.cu", task, workload)
            if not built.ok:
                raise Refusal(f"the baseline ({label}) does not build: {built.diagnostics}")
            reference = Baseline(await self._subject(source, task, workload, built), label)
            cases = await asyncio.to_thread(self._timed_cases, task, workload)
            return await profile(subject, reference, workload, cases)
        except (CaseFailure, Refusal, ToolchainMissing) as error:
            return ProfileResult(ok=False, device=self.device, reason=str(error))
        except OSError as error:
            return ProfileResult(ok=False, device=self.device, reason=disk_reason(error))

    # ------------------------------------------------------------ parts

    async def _compile(self, source: str, name: str, task: Task, workload: Workload) -> CompileResult:
        started = time.perf_counter()
        try:
            program = await asyncio.to_thread(self._load, source)
            await asyncio.to_thread(program.plan, task, workload)
            host = cpu_program(program.module)
        except Refusal as refusal:
            text = refusal.render(source, name)
            return CompileResult(ok=False, diagnostics=text, seconds=time.perf_counter() - started)
        try:
            result = await build(find(), host, self._cache)
        except ToolchainMissing as missing:
            return CompileResult(ok=False, diagnostics=str(missing), seconds=time.perf_counter() - started)
        except OSError as error:
            said = disk_reason(error)
            return CompileResult(ok=False, diagnostics=said, seconds=time.perf_counter() - started)
        return result.model_copy(update={"seconds": time.perf_counter() - started})

    async def _subject(self, source: str, task: Task, workload: Workload, compiled: CompileResult) -> Subject:
        """The built candidate; built again when its artifact is gone (another machine, a cleared cache)."""
        artifact = Path(compiled.artifact)
        if not compiled.artifact or not artifact.exists():
            again = await self._compile(source, "candidate.cu", task, workload)
            if not again.ok:
                raise Refusal(f"the candidate does not build: {again.diagnostics.splitlines()[0]}")
            artifact = Path(again.artifact)
        program = await asyncio.to_thread(self._load, source)
        return Subject(artifact, task, lambda shape: program.plan(task, shape), self._threads)

    def _load(self, source: str) -> Program:
        found = self._programs.get(source)
        if found is None:
            found = load(source)
            self._programs[source] = found
            while len(self._programs) > _KEPT_PROGRAMS:
                self._programs.popitem(last=False)
        return found

    def _baseline_source(self, task: Task, workload: Workload) -> tuple[str, str]:
        if self._baseline is not None:
            return self._baseline(task, workload)
        families = families_of(task)
        if not families and self._spec is not None:
            plain_text = plain_source(task, self._spec(task, workload))
            return plain_text, "plain kernel (from the spec), device cpu, same run"
        if not families:
            raise Refusal(f"task {task.name} has no plain kernel to compare with")
        plain = families[0]
        schedule = conservative_schedule(plain, task, workload)
        return plain.source(task, workload, schedule), f"plain kernel ({plain.name}), device cpu, same run"

    def _timed_cases(self, task: Task, workload: Workload) -> tuple[Case, ...]:
        make = self._maker.make
        names: Sequence[str] = _TIMED_SETS
        return tuple(
            make(task, workload, f"timed, {d}", d, self._maker.fresh_seed(task, workload)) for d in names
        )
