"""Schedule spaces: what a kernel family can vary, and the generic walks over it.

A schedule names one choice for every parameter of a family. `Family.reject` says why a schedule
does not fit a workload or CUDA's limits; everything here yields only schedules that fit.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from semantics.task import Task, Workload

Value = int | str | bool
Schedule = dict[str, Value]
Emit = Callable[[Task, Workload, Schedule], str]
Reject = Callable[[Task, Workload, Schedule], str | None]

MAX_THREADS = 1024
"""Threads of a block."""
MAX_SHARED_BYTES = 48 * 1024
"""Static shared memory of a block."""
MAX_GRID_YZ = 65535
"""Blocks of a grid along y, and along z."""


class NoSchedule(ValueError):
    """A family has no schedule that fits a workload."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One choice to make. `choices` are ordered so that adjacent ones are alike; `default` is the
    plain choice, the one that is most certainly right."""

    name: str
    choices: tuple[Value, ...]
    default: Value
    meaning: str

    def __post_init__(self) -> None:
        if self.default not in self.choices:
            raise ValueError(f"parameter {self.name}: default {self.default!r} is not a choice")

    @property
    def ordered(self) -> bool:
        """Whether the choices are numbers, so that a step between adjacent ones means something."""
        return all(isinstance(c, int) and not isinstance(c, bool) for c in self.choices)


def accept(_task: Task, _workload: Workload, _schedule: Schedule) -> str | None:
    """Every schedule fits."""
    return None


@dataclass(frozen=True, slots=True)
class Family:
    """A parametrised kernel: `emit(task, workload, schedule)` gives the source of a candidate.

    `reject` returns the reason why a schedule does not fit, or None."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    emit: Emit
    reject: Reject = accept

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if the family has it."""
        return next((p for p in self.parameters if p.name == name), None)

    def complaint(self, task: Task, workload: Workload, schedule: Schedule) -> str | None:
        """Why the schedule is not one of this family's for the workload; None when it is."""
        for parameter in self.parameters:
            if schedule.get(parameter.name) not in parameter.choices:
                return f"{parameter.name}={schedule.get(parameter.name)!r} is not a choice of {self.name}"
        unknown = sorted(set(schedule) - {p.name for p in self.parameters})
        if unknown:
            return f"{self.name} has no parameter {unknown[0]!r}"
        return self.reject(task, workload, schedule)

    def source(self, task: Task, workload: Workload, schedule: Schedule) -> str:
        """The candidate's text. Raises NoSchedule for a schedule that does not fit."""
        reason = self.complaint(task, workload, schedule)
        if reason is not None:
            raise NoSchedule(reason)
        return self.emit(task, workload, schedule)


def too_deep(blocks_y: int, blocks_z: int) -> str | None:
    """Why a grid of so many blocks along y and z cannot be launched."""
    worst = max(blocks_y, blocks_z)
    return (
        f"a grid of {worst} blocks along {'y' if worst == blocks_y else 'z'}" if worst > MAX_GRID_YZ else None
    )


def enumerate_schedules(family: Family, task: Task, workload: Workload) -> Iterator[Schedule]:
    """Every schedule that fits, in the order of the choices."""
    names = [p.name for p in family.parameters]
    for values in itertools.product(*(p.choices for p in family.parameters)):
        schedule = dict(zip(names, values, strict=True))
        if family.reject(task, workload, schedule) is None:
            yield schedule


def conservative_schedule(family: Family, task: Task, workload: Workload) -> Schedule:
    """The defaults, or the schedule that fits and departs from the fewest of them."""
    defaults: Schedule = {p.name: p.default for p in family.parameters}
    if family.reject(task, workload, defaults) is None:
        return defaults
    nearest = min(
        enumerate_schedules(family, task, workload),
        key=lambda schedule: sum(schedule[name] != value for name, value in defaults.items()),
        default=None,
    )
    if nearest is None:
        raise NoSchedule(f"no schedule of {family.name} fits {task.name} at {workload.axes}")
    return nearest


def random_schedule(family: Family, task: Task, workload: Workload, rng: random.Random) -> Schedule:
    """A schedule that fits, uniform over them. Raises NoSchedule when there is none."""
    for _ in range(50):
        schedule = {p.name: rng.choice(p.choices) for p in family.parameters}
        if family.reject(task, workload, schedule) is None:
            return schedule
    fitting = list(enumerate_schedules(family, task, workload))
    if not fitting:
        raise NoSchedule(f"no schedule of {family.name} fits {task.name} at {workload.axes}")
    return rng.choice(fitting)


def neighbours(family: Family, task: Task, workload: Workload, schedule: Schedule) -> list[Schedule]:
    """The schedules that fit and differ in one parameter: by one step for numbers, in any way for
    names and switches."""
    found = []
    for parameter in family.parameters:
        place = parameter.choices.index(schedule[parameter.name])
        steps = (place - 1, place + 1) if parameter.ordered else range(len(parameter.choices))
        for step in steps:
            if step == place or not 0 <= step < len(parameter.choices):
                continue
            changed = {**schedule, parameter.name: parameter.choices[step]}
            if family.reject(task, workload, changed) is None:
                found.append(changed)
    return found


def variations(family: Family, task: Task, workload: Workload, schedule: Schedule) -> list[Schedule]:
    """The schedules that fit and differ in one parameter, by any amount."""
    changed = (
        {**schedule, parameter.name: value}
        for parameter in family.parameters
        for value in parameter.choices
        if value != schedule[parameter.name]
    )
    return [s for s in changed if family.reject(task, workload, s) is None]


def transplant(family: Family, task: Task, workload: Workload, *parts: Schedule) -> Schedule:
    """A schedule of `family` that takes each parameter from the first part that has a fitting choice
    for it, the default otherwise; falls back to the conservative schedule when the mix does not fit."""
    mixed: Schedule = {}
    for parameter in family.parameters:
        values = (part[parameter.name] for part in parts if parameter.name in part)
        mixed[parameter.name] = next((v for v in values if v in parameter.choices), parameter.default)
    if family.reject(task, workload, mixed) is None:
        return mixed
    return conservative_schedule(family, task, workload)
