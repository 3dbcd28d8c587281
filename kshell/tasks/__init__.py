"""Tasks: where they come from, their references and their specs."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from kshell.tasks.builtin import tasks
from semantics.task import Task, Workload

if TYPE_CHECKING:
    from semantics.spec import Spec


class UnknownTask(ValueError):
    """No task of that name; the message suggests the nearest."""


def names() -> list[str]:
    """Names of the built-in tasks, in the order of the suite."""
    return list(tasks())


def get(name: str) -> Task:
    """A built-in task. Raises UnknownTask."""
    found = tasks().get(name)
    if found is None:
        near = get_close_matches(name, names(), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UnknownTask(f"no task named {name!r}{hint} (see kshell tasks)")
    return found


def load(name_or_path: str) -> Task:
    """A built-in task by name, or a task manifest (`.json`) by path. Raises UnknownTask, ValueError."""
    if not name_or_path.endswith(".json"):
        return get(name_or_path)
    from kshell.tasks.manifest import read

    return read(name_or_path)


def spec_of(task: Task, workload: Workload) -> "Spec":
    """The task's outputs in the tensor spec language, from a `torch.fx` trace of its reference.

    Cached on disk by the hash of task and workload, since the trace imports torch.
    Raises semantics.span.Refusal for an operation outside the table."""
    from kshell.tasks.trace import cached_spec

    return cached_spec(task, workload)
