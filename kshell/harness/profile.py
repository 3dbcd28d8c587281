"""Time of a candidate on device `cpu`, against a baseline in the same run.

The baseline is a plain kernel of the same task under the same shim. Segments of repetitions alternate
baseline, candidate, candidate, baseline (ABBA), so that a drift of the machine falls on both. Inputs
rotate over fresh sets; the outputs of the timed repetitions are the ones that are judged. A time says
something about this device only."""

import asyncio
import statistics
import time
from dataclasses import dataclass

from insights_db.records import ProfileResult
from kshell.harness.cases import Case
from kshell.harness.runs import RunRequest, execute, limits_of
from kshell.harness.validate import Subject, check_run
from semantics.task import Workload

DEVICE = "cpu"
# Seconds of timed repetitions a side, and their number.
BUDGET_S = 0.4
FEWEST, MOST = 5, 200
# A call that takes longer is repeated a few times only, without warm-up and on one input set.
SLOW_NS = 200_000_000
SEGMENTS = "ABBABAAB"
# A baseline below this is mostly the cost of reading the clock, and a ratio to it means nothing.
SHORTEST_NS = 200
# No processor does more in a second, a thread: beyond this the measurement is wrong, not the kernel fast.
FLOPS_CEILING, BYTES_CEILING = 1e12, 2e12


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the reward divides by, and its name for people."""

    subject: Subject
    label: str


async def profile(
    subject: Subject, baseline: Baseline, workload: Workload, cases: tuple[Case, ...]
) -> ProfileResult:
    """Median of many repetitions of both sides. A candidate that turns wrong while it is timed is a
    result that is not ok."""
    started = time.perf_counter()
    sides = {"A": baseline.subject, "B": subject}
    samples: dict[str, list[int]] = {"A": [], "B": []}
    schedules: dict[str, _Schedule] = {}
    for side, it in sides.items():
        ns, reason = await _segment(it, workload, cases[:1], _Schedule(1, 0))
        if reason:
            return _refused(side, baseline, reason, started)
        schedules[side] = _schedule(ns[0])
    slow = max(s.nanoseconds for s in schedules.values()) > SLOW_NS
    for side in SEGMENTS[:4] if slow else SEGMENTS:
        used = cases[:1] if schedules[side].repeats < len(cases) else cases
        ns, reason = await _segment(sides[side], workload, used, schedules[side])
        if reason:
            return _refused(side, baseline, reason, started)
        samples[side].extend(ns)
    return _result(subject, baseline, workload, samples, time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class _Schedule:
    """Repetitions a segment after some that are not counted, and what one of them took at first."""

    repeats: int
    warmup: int
    nanoseconds: int = 0


def _schedule(nanoseconds: int) -> _Schedule:
    wanted = int(BUDGET_S * 1e9 / SEGMENTS.count("B") / max(1, nanoseconds))
    repeats = max(1, min(MOST, wanted)) if nanoseconds > SLOW_NS else max(FEWEST, min(MOST, wanted))
    return _Schedule(repeats, 0 if nanoseconds > SLOW_NS else 1, nanoseconds)


async def _segment(
    subject: Subject, workload: Workload, cases: tuple[Case, ...], schedule: _Schedule
) -> tuple[list[int], str]:
    plan = subject.plan(workload)
    request = RunRequest(
        artifact=subject.artifact,
        task=subject.task,
        plan=plan,
        sets=[c.inputs for c in cases],
        warmup=schedule.warmup,
        repeats=schedule.repeats,
        limits=limits_of(subject.task, workload, plan, schedule.repeats + schedule.warmup),
        threads=subject.threads,
    )
    run = await execute(request)
    outcome = await asyncio.to_thread(check_run, subject.task, plan, cases, run)
    return [t.nanoseconds for t in run.timings], outcome.reason


def _refused(side: str, baseline: Baseline, reason: str, started: float) -> ProfileResult:
    who = "the timed outputs are wrong" if side == "B" else f"the baseline ({baseline.label}) failed"
    return ProfileResult(
        ok=False,
        device=DEVICE,
        baseline=baseline.label,
        reason=f"{who}: {reason}",
        seconds=time.perf_counter() - started,
    )


def _implausible(own_ms: float, other_ms: float, flops: int, moved: int, threads: int) -> str:
    """Why a time cannot be right, or the empty string."""
    if other_ms * 1e6 < SHORTEST_NS:
        return f"the workload is too short to be timed: its plain kernel takes {other_ms * 1e6:.0f} ns"
    floor = 1e3 * max(flops / FLOPS_CEILING, moved / BYTES_CEILING) / threads
    if own_ms < floor:
        return (
            f"{own_ms:.6f} ms is faster than the machine can be ({floor:.6f} ms): the measurement is refused"
        )
    return ""


def _result(
    subject: Subject,
    baseline: Baseline,
    workload: Workload,
    samples: dict[str, list[int]],
    seconds: float,
) -> ProfileResult:
    own = statistics.median(samples["B"]) / 1e6
    other = statistics.median(samples["A"]) / 1e6
    quarters = statistics.quantiles(samples["B"], n=4) if len(samples["B"]) > 1 else [0.0] * 3
    flops, moved = subject.task.work(workload)
    per_second = {"gflop_per_s": flops / own / 1e6, "gb_per_s": moved / own / 1e6} if own else {}
    reason = _implausible(own, other, flops, moved, subject.threads)
    return ProfileResult(
        ok=not reason,
        device=DEVICE,
        median_ms=own,
        iqr_ms=(quarters[2] - quarters[0]) / 1e6,
        samples=len(samples["B"]),
        baseline=baseline.label,
        baseline_ms=other,
        speedup=other / own if own and not reason else 0.0,
        counters={"flops": float(flops), "bytes": float(moved), **per_second},
        source_of_counters="counted from the task's sizes",
        reason=reason,
        seconds=seconds,
    )
