"""Insights as beliefs about the arms of the bandit."""

from insights_db.records import Insight
from scaffolds.families import Schedule
from semantics.task import Task

from .bandit import Arm, arms_of


def best_start(insights: tuple[Insight, ...], task: Task) -> float:
    """The best reward among insights about first kernels of a task, which have no kernel before them."""
    ratios = (
        i.context.get("ratio") for i in insights if i.before is None and i.context.get("task") == task.name
    )
    return max((float(r) for r in ratios if isinstance(r, int | float)), default=0.0)


def beliefs(insight: Insight, top: float) -> list[tuple[Arm, float]]:
    """Scores an insight suggests for the arms that its change pulled and left. A first kernel counts
    by its reward as a share of `top`; a change by its factor, half for none."""
    family = str(insight.context.get("kernel_family", ""))
    ratio = insight.context.get("ratio")
    if insight.retracted or not family or not isinstance(ratio, int | float):
        return []
    if insight.before is None:
        if top <= 0:
            return []
        score = min(1.0, max(0.0, float(ratio)) / top)
    elif abs(insight.change) > 2 * insight.spread:
        score = 0.5 * min(2.0, max(0.0, float(ratio)))
    else:
        score = 0.5
    found: list[tuple[Arm, float]] = []
    for key, value in insight.context.items():
        side, _, name = key.partition(".")
        if side in ("to", "from") and not isinstance(value, float):
            arm: Arm = ("", "family", value) if name == "family" else (family, name, value)
            found.append((arm, score if side == "to" else 1.0 - score))
    return found


def used_insights(insights: tuple[Insight, ...], family: str, schedule: Schedule) -> tuple[int, ...]:
    """Ids of the effective insights that speak for a choice of this schedule."""
    pulled = set(arms_of(family, schedule))
    return tuple(
        i.id
        for i in insights
        if i.effective and any(arm in pulled and score > 0.5 for arm, score in beliefs(i, 0.0))
    )
