"""A task's inputs, outputs and axes as prompts say them."""

from semantics.task import Task, Workload


def signature(task: Task, workload: Workload) -> str:
    """One line for each."""
    shapes = task.shapes(workload)
    lines = [f"- input {t.name}: {t.dtype} {list(shapes[t.name])} = {list(t.shape)}" for t in task.inputs]
    lines += [f"- output {t.name}: {t.dtype} {list(shapes[t.name])} = {list(t.shape)}" for t in task.outputs]
    lines += [f"- axis {name} = {value}" for name, value in workload.axes.items()]
    return "\n".join(lines)
