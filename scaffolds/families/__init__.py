"""Parametrised kernel families: from a task and a schedule to the text of a candidate.

`families_of(task)` gives the families that solve a task, plainest first; `space` holds what is common
to them: schedules that fit, random ones, neighbours, the conservative one.
"""

from semantics.spec import Spec
from semantics.task import Task

from .conv import convolution_families, convolution_of
from .elementwise import elementwise_families
from .matmul import matmul_families, product_of
from .pointwise import pointwise_of_spec, pointwise_of_task
from .rows import gemv_families, layernorm_families, rmsnorm_families, softmax_families
from .space import Family, NoSchedule, Parameter, Schedule, Value

__all__ = ["Family", "NoSchedule", "Parameter", "Schedule", "Value", "families_of", "family_named"]

_ROWS = {
    "softmax": softmax_families,
    "layernorm": layernorm_families,
    "rmsnorm": rmsnorm_families,
    "gemv": gemv_families,
}


def families_of(task: Task, spec: Spec | None = None) -> tuple[Family, ...]:
    """The families that solve the task, plainest first; empty when there are none.

    Built-in tasks are known by name; with the spec of a task (at any workload), so is every chain of
    elementwise functions."""
    function = pointwise_of_task(task) or (pointwise_of_spec(spec) if spec is not None else None)
    if function is not None:
        return elementwise_families(function)
    if task.name in _ROWS:
        return _ROWS[task.name]()
    product, convolution = product_of(task), convolution_of(task)
    if product is not None:
        return matmul_families(product)
    return convolution_families(convolution) if convolution is not None else ()


def family_named(families: tuple[Family, ...], name: str) -> Family | None:
    """The family of that name."""
    return next((f for f in families if f.name == name), None)
