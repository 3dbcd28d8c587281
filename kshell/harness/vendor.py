"""The vendor library's own function for a task, where it has one: a baseline beside torch eager.

Known by the name of a built-in task; a person's own task has eager and compiled torch only."""

from dataclasses import dataclass

from semantics.task import Task


@dataclass(frozen=True, slots=True)
class VendorCall:
    """`call` is a name the GPU worker knows, `operands` are the task's inputs in the order it takes them."""

    library: str
    call: str
    operands: tuple[str, ...]


_CALLS = {
    "gemv": VendorCall("cuBLAS", "mv", ("A", "x")),
    "gemm": VendorCall("cuBLAS", "mm", ("A", "B")),
    "batch_matmul": VendorCall("cuBLAS", "bmm", ("A", "B")),
    "linear": VendorCall("cuBLAS", "addmm", ("x", "weight", "bias")),
    "conv2d": VendorCall("cuDNN", "convolution", ("x", "weight", "bias")),
    "depthwise_conv": VendorCall("cuDNN", "convolution", ("x", "weight", "bias")),
}


def vendor_call(task: Task) -> VendorCall | None:
    """The library call that computes a task, or None."""
    found = _CALLS.get(task.name)
    names = {t.name for t in task.inputs}
    return found if found is not None and set(found.operands) <= names else None
