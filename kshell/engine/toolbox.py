"""The stages of the harness as tools of an agent: text in, text out, one measurement at a time."""

import asyncio
import hashlib
from dataclasses import dataclass, field

from agents.llm.generator import public_reason
from agents.protocols import Verifier
from insights_db.records import Candidate, CompileResult
from kshell.protocols import Evaluator
from semantics.task import Task, Workload


@dataclass(slots=True)
class StageTools:
    """Implements `agents.llm.generator.Toolbox` over a device and the verifiers."""

    evaluator: Evaluator
    verifiers: tuple[Verifier, ...] = ()
    _measuring: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def use(self, tool: str, source: str, task: Task, workload: Workload) -> str:
        """What the stage says; the stages before it run first and answer when they fail."""
        candidate = _candidate(source, task)
        if tool == "check":
            return await self._check(candidate, task, workload)
        compiled = await self.evaluator.compile(candidate, task, workload)
        if not compiled.ok:
            return f"does not compile:\n{compiled.diagnostics}"
        if tool == "compile":
            report = ", ".join(f"{k} {v:g}" for k, v in compiled.report.items())
            return f"compiles{f' ({report})' if report else ''}"
        return await self._run(tool, candidate, task, workload, compiled)

    async def _run(
        self, tool: str, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> str:
        async with self._measuring:
            validation = await self.evaluator.validate(candidate, task, workload, compiled)
            if not validation.ok:
                return f"wrong: {public_reason(validation)}"
            if tool == "validate":
                return f"correct on {len(validation.cases)} cases"
            profile = await self.evaluator.profile(candidate, task, workload, compiled)
        if not profile.ok:
            return f"the measurement was refused: {profile.reason}"
        share = f", {100 * profile.roofline:.0f} % of the roofline" if profile.roofline else ""
        baseline = f"{profile.baseline}, {profile.baseline_ms:.6f} ms"
        return (
            f"{profile.median_ms:.6f} ms (interquartile range {profile.iqr_ms:.6f}), {profile.speedup:.3f} "
            f"times the baseline ({baseline}){share}, device {profile.device}"
        )

    async def _check(self, candidate: Candidate, task: Task, workload: Workload) -> str:
        for verifier in self.verifiers:
            verdict = await verifier.attack(candidate, task, workload)
            example = verdict.counterexample
            if example is not None:
                if not example.points:
                    return f"{example.fault}: output {example.output} is wrong at index {example.index}"
                where = "; ".join(f"line {p.line}" for p in example.points if p.line)
                return f"{example.fault}: {example.message} ({where})"
        return "no fault found, which proves nothing"


def _candidate(source: str, task: Task) -> Candidate:
    return Candidate(
        id=hashlib.sha256(source.encode()).hexdigest()[:12],
        source=source,
        task=task.name,
        round=0,
        index=0,
        proposer="draft",
    )
