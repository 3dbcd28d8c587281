"""Hashes that name what a proof is about."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from kshell.lean.package import package_hash
from semantics import core, spec
from semantics.task import Task, Workload


def sha256(text: str) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Subject:
    """A candidate at a workload, parsed: everything a proof depends on but the checker."""

    source: str
    task: Task
    workload: Workload
    plan: core.Plan
    meaning: spec.Spec

    @cached_property
    def source_hash(self) -> str:
        return sha256(self.source)

    @cached_property
    def launch_hash(self) -> str:
        """Of the plan: grid, block, arguments, buffers and the lowered code."""
        calls = [
            [
                call.kernel.name,
                call.grid,
                call.block,
                call.shared_bytes,
                [str(a) for a in call.args],
                repr(call.kernel),
            ]
            for call in self.plan.calls
        ]
        return sha256(json.dumps([calls, self.plan.buffers, self.plan.workspaces], default=str))

    @cached_property
    def task_hash(self) -> str:
        """Of the task and the sizes; the seed of inputs has no part in it."""
        return sha256(json.dumps([self.task.model_dump(mode="json"), self.workload.axes], sort_keys=True))

    @cached_property
    def spec_hash(self) -> str:
        return sha256(repr(self.meaning))

    def key(self, toolchain: str, emitted: str) -> str:
        """Names the proof: the subject, the package, the checker and the emitted file."""
        parts = (
            self.source_hash,
            self.launch_hash,
            self.task_hash,
            self.spec_hash,
            package_hash(),
            toolchain,
            sha256(emitted),
        )
        return sha256("\n".join(parts))


def subject(source: str, task: Task, workload: Workload) -> Subject:
    """Parse a candidate. Raises semantics.span.Refusal when it is outside the language."""
    from kshell import tasks
    from semantics.program import load

    plan = load(source).plan(task, workload)
    return Subject(source, task, workload, plan, tasks.spec_of(task, workload))
