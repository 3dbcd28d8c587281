"""Insights: what a change of a kernel did to its reward, with the evidence."""

import difflib
import math
from collections.abc import Iterable

from insights_db.records import Evaluation, Insight
from semantics.task import Task

from .protocols import Scored

_SIGNIFICANT = 2.0
"""Standard errors that a change must exceed."""
_INDEPENDENT = 4
"""Repetitions in one process share its luck with memory and its neighbours: no more than this many
samples count as independent."""
_IQR_TO_DEVIATION = 1.349
_MEDIAN_ERROR = 1.2533


def reward_error(scored: Scored) -> float:
    """Standard error of a reward, from the interquartile range of its run times. Unit: reward."""
    profile = scored.evaluation.profile
    if profile is None or not profile.ok or profile.median_ms <= 0:
        return 0.0
    deviation = profile.iqr_ms / _IQR_TO_DEVIATION
    error_ms = _MEDIAN_ERROR * deviation / math.sqrt(max(1, min(profile.samples, _INDEPENDENT)))
    return abs(scored.reward.value) * error_ms / profile.median_ms


def _changes(before: Scored | None, after: Scored) -> dict[str, tuple[object, object]]:
    """Parameters whose values differ, with the family among them: name to (old, new)."""
    new: dict[str, object] = {"family": after.candidate.family, **after.candidate.schedule}
    if before is None:
        return {name: (None, value) for name, value in new.items()}
    old: dict[str, object] = {"family": before.candidate.family, **before.candidate.schedule}
    return {n: (old.get(n), v) for n, v in new.items() if n not in old or old[n] != v}


def _strategy(before: Scored | None, after: Scored) -> str:
    changes = _changes(before, after)
    if before is None:
        settings = ", ".join(f"{n} {v}" for n, (_, v) in changes.items() if n != "family")
        return f"start with {after.candidate.family or 'a new kernel'}" + (
            f" ({settings})" if settings else ""
        )
    if not changes:
        return after.candidate.strategy or "edit the source"
    if "family" in changes:
        return f"family {changes['family'][0]} -> {changes['family'][1]}"
    return ", ".join(f"{name} {old} -> {new}" for name, (old, new) in changes.items())


def _diff(before: Scored | None, after: Scored) -> str:
    old = before.candidate.source.splitlines() if before else []
    lines = difflib.unified_diff(
        old, after.candidate.source.splitlines(), "before.cu", "after.cu", lineterm=""
    )
    return "\n".join(lines)


def _why_failed(evaluation: Evaluation) -> str:
    if evaluation.compile is not None and not evaluation.compile.ok:
        first = evaluation.compile.diagnostics.strip().splitlines()
        return f"did not compile: {first[0] if first else 'no diagnostics'}"
    if evaluation.validation is not None and not evaluation.validation.ok:
        return f"gave wrong results: {evaluation.validation.reason}"
    if evaluation.profile is not None and not evaluation.profile.ok:
        return f"could not be timed: {evaluation.profile.reason}"
    return "was not evaluated to the end"


def distill(before: Scored | None, after: Scored, task: Task, device: str, spread: float = 0.0) -> Insight:
    """The insight of one step from `before` (None: from the baseline, whose reward is 1) to `after`.

    `spread` is a standard error of rewards to add to the one of the two measurements, for example
    the noise between runs. A change is effective only when it is a gain beyond two standard errors."""
    old = before.reward.value if before else 1.0
    new = after.reward.value
    error = math.hypot(reward_error(after), reward_error(before) if before else 0.0, spread)
    change = new - old
    significant = abs(change) > _SIGNIFICANT * error
    strategy = _strategy(before, after)
    axes = _axes(after, task)
    sizes = ", ".join(f"{name}={value}" for name, value in axes.items())
    where = f"{task.name} ({sizes}) on {device}"
    if new <= 0:
        sentence = f"{where}: {strategy} {_why_failed(after.evaluation)}."
    elif not significant:
        sentence = (
            f"{where}: {strategy} changed nothing measurable ({change:+.3f} ± {error:.3f} of speed-up)."
        )
    else:
        ratio = f"{new / old:.2f}x as fast" if old > 0 else "correct"
        sentence = f"{where}: {strategy} made it {ratio} ({change:+.3f} ± {error:.3f} of speed-up)."
    context: dict[str, str | int | float] = {"task": task.name, "kernel_family": after.candidate.family}
    context |= {f"axis.{name}": value for name, value in axes.items()}
    for name, (was, now) in _changes(before, after).items():
        context[f"to.{name}"] = _plain(now)
        if was is not None:
            context[f"from.{name}"] = _plain(was)
    if old > 0:
        context["ratio"] = max(0.0, new) / old
    return Insight(
        strategy=strategy,
        family=task.family,
        device=device,
        context=context,
        before=before.candidate.id if before else None,
        after=after.candidate.id,
        diff=_diff(before, after),
        change=change,
        spread=error,
        effective=new > 0 and change > 0 and significant,
        sentence=sentence,
    )


def _axes(after: Scored, task: Task) -> dict[str, int]:
    """The sizes a candidate was validated at first, or the task's own."""
    validation = after.evaluation.validation
    return dict(validation.cases[0].axes) if validation and validation.cases else dict(task.axes)


def _plain(value: object) -> str | int | float:
    return value if isinstance(value, str | int | float) else str(value)


def relevant(insights: Iterable[Insight], task: Task, device: str, limit: int = 20) -> list[Insight]:
    """Insights to give a generator: same operator family and device, not retracted; those of the same
    task first, then the largest changes."""
    fitting = [i for i in insights if i.family == task.family and i.device == device and not i.retracted]
    fitting.sort(key=lambda i: (i.context.get("task") != task.name, not i.effective, -abs(i.change), i.id))
    return fitting[:limit]
