"""Sizes to attack a kernel at: small and ragged values of a task's axes, cheapest first."""

from collections.abc import Iterator

from semantics.task import Task, Workload

_LEVELS = (1, 2, 3, 4, 5, 8, 16, 17, 31, 33, 64, 100, 128, 130, 257, 384, 520, 1000, 1030, 2050, 4099)
_LONG = 16


def small_workloads(task: Task, workload: Workload, work: int) -> Iterator[Workload]:
    """Workloads of at most `work` floating-point operations that satisfy the task's constraints.

    Each level sets every long axis (16 or more in the workload) to one value, then one of them alone
    with the others small, then the batch-like axes to 2. Axes that are short in the workload (kernel
    size, padding) keep their value. The sizes just around a power of two and those that nothing
    divides are among the levels. Last come the workload itself and one more on each long axis; no axis
    is larger than that."""
    long = [axis for axis, size in workload.axes.items() if size >= _LONG]
    short = {axis: size for axis, size in workload.axes.items() if axis not in long}
    seen: set[tuple[int, ...]] = set()
    for level in _LEVELS:
        settings = [dict.fromkeys(long, level)]
        if len(long) > 1:
            settings += [{other: min(3, level) for other in long} | {axis: level} for axis in long]
        for setting in settings:
            for batch in (1, 2) if any(size == 1 for size in short.values()) else (None,):
                axes = {**workload.axes, **setting}
                if batch is not None:
                    axes |= {axis: batch for axis, size in short.items() if size == 1}
                if any(axes[axis] > max(workload.axes[axis] + 1, 2) for axis in axes):
                    continue
                key = tuple(axes.values())
                candidate = Workload(axes=axes, seed=workload.seed)
                if key in seen or not _possible(task, candidate, work):
                    continue
                seen.add(key)
                yield candidate
    for extra in (None, *long):
        axes = {axis: size + (axis == extra) for axis, size in workload.axes.items()}
        candidate = Workload(axes=axes, seed=workload.seed)
        if tuple(axes.values()) not in seen and _possible(task, candidate, work):
            yield candidate


def _possible(task: Task, workload: Workload, work: int) -> bool:
    return task.broken_constraint(workload) is None and task.work(workload)[0] <= work


def smaller(workload: Workload) -> Iterator[Workload]:
    """Workloads with one axis reduced, strongest reduction first."""
    for axis, size in workload.axes.items():
        for value in sorted({1, 2, size - 1, *(size - (size >> k) for k in range(1, size.bit_length()))}):
            if 1 <= value < size:
                yield Workload(axes={**workload.axes, axis: value}, seed=workload.seed)
