"""A device made of a formula: finished candidates without compiling anything."""

import hashlib
from collections.abc import Callable

from agents.protocols import GenerationContext, Proposal, Scored
from insights_db.records import (
    Candidate,
    CaseResult,
    CompileResult,
    Evaluation,
    Insight,
    ProfileResult,
    Reward,
    ValidationResult,
)
from semantics.task import Task

Speed = Callable[[str, dict[str, int | str | bool]], float]
"""Reward of (family, schedule): -1 does not compile, 0 is wrong."""


def scored(proposal: Proposal, task: Task, round_: int, index: int, reward: float) -> Scored:
    """The candidate of a proposal with the evaluation that a reward stands for."""
    id_ = hashlib.sha256(proposal.source.encode()).hexdigest()[:12]
    candidate = Candidate(
        id=id_,
        source=proposal.source,
        task=task.name,
        round=round_,
        index=index,
        proposer=proposal.proposer,
        parent=proposal.parent,
        family=proposal.family,
        schedule=proposal.schedule,
        strategy=proposal.strategy,
        insights=proposal.insights,
    )
    built = reward >= 0
    compiled = CompileResult(ok=built, diagnostics="" if built else "3:5: unknown name 'q'")
    valid = profile = None
    if built:
        case = CaseResult(name="normal", axes=dict(task.axes), ok=reward > 0)
        valid = ValidationResult(ok=reward > 0, cases=(case,), reason="" if reward > 0 else "y[3] is wrong")
    if reward > 0:
        profile = ProfileResult(
            ok=True,
            device="cpu",
            median_ms=1 / reward,
            iqr_ms=0.01 / reward,
            samples=25,
            baseline="torch eager",
            baseline_ms=1.0,
            speedup=reward,
        )
    evaluation = Evaluation(candidate=id_, device="cpu", compile=compiled, validation=valid, profile=profile)
    return Scored(candidate, evaluation, Reward(candidate=id_, value=reward, rscore=max(0.0, reward)))


def context(
    task: Task,
    round_: int = 1,
    group: int = 4,
    seed: int = 0,
    history: tuple[Scored, ...] = (),
    insights: tuple[Insight, ...] = (),
    notes: tuple[str, ...] = (),
    pinned: tuple[str, ...] = (),
    banned: tuple[str, ...] = (),
) -> GenerationContext:
    """A context at the task's own sizes on device `cpu`."""
    return GenerationContext(
        task=task,
        workload=task.workload(),
        device="cpu",
        round=round_,
        group=group,
        seed=seed,
        history=history,
        insights=insights,
        notes=notes,
        pinned=pinned,
        banned=banned,
    )
