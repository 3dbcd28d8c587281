"""Small workloads of the built-in tasks: even ones and ragged ones that no tile divides."""

from semantics.task import Task, Workload

EVEN: dict[str, dict[str, int]] = {
    "elementwise": {"n": 512},
    "row_reduction": {"rows": 2, "n": 64},
    "gemv": {"M": 32, "N": 64},
    "gemm": {"M": 16, "K": 16, "N": 32},
    "linear": {"batch": 16, "hin": 16, "hout": 32},
    "batch_matmul": {"b": 2, "M": 16, "K": 16, "N": 16},
    "conv2d": {"batch": 1, "cin": 2, "cout": 2, "H": 8, "k": 3, "pad": 1},
    "depthwise_conv": {"batch": 1, "c": 2, "H": 8, "k": 3, "pad": 1},
}
RAGGED: dict[str, dict[str, int]] = {
    "elementwise": {"n": 1027},
    "row_reduction": {"rows": 3, "n": 45},
    "gemv": {"M": 13, "N": 37},
    "gemm": {"M": 19, "K": 13, "N": 35},
    "linear": {"batch": 19, "hin": 13, "hout": 35},
    "batch_matmul": {"b": 2, "M": 17, "K": 9, "N": 21},
    "conv2d": {"batch": 2, "cin": 3, "cout": 2, "H": 11, "k": 3, "pad": 0},
    "depthwise_conv": {"batch": 2, "c": 3, "H": 9, "k": 5, "pad": 2},
}


def small(task: Task, sizes: dict[str, dict[str, int]]) -> Workload:
    """The task at sizes of its own name or of its family."""
    return task.workload(**(sizes.get(task.name) or sizes[task.family]))
