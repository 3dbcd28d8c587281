"""Where the model of the machine and the interpreter judge a program differently, and why that is safe.

The model (`lean/KShell`) is what a theorem speaks about; the interpreter refutes candidates and explains
faults to people. Everywhere else the two agree, which the differential tests check."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """`what` differs; what the two say of it; `why` no theorem says too much because of it."""

    what: str
    model: str
    interpreter: str
    why: str


DIFFERENCES = (
    Difference(
        "an unsigned value wraps outside an address",
        "a fault",
        "goes on with the wrapped value, as C does; in an address it is a fault there too",
        "the model refuses more: such a kernel is not proved",
    ),
    Difference(
        "a product with -infinity, a quotient by -infinity",
        "a fault",
        "goes on where the limit is clear: c * -infinity for c > 0 is -infinity, c / -infinity is 0",
        "the model refuses more: such a kernel is not proved",
    ),
    Difference(
        "a shuffle with a negative argument, an xor shuffle that leaves its segment",
        "a fault",
        "reads the lane that CUDA documents",
        "the model refuses more: such a kernel is not proved",
    ),
    Difference(
        "some threads have exited when the others stand at __syncthreads() or __syncwarp()",
        "the others go on: CUDA waits for the threads that have not exited",
        "a divergent barrier: code that older devices hang on, and mostly a slip",
        "the model is what CUDA documents for compute capability 7.0 and later; the interpreter refuses more",
    ),
)


def rows() -> list[str]:
    """The list as rows of a Markdown table, with its head."""
    lines = ["| What | The theorem's model | The interpreter | Why it is safe |", "|---|---|---|---|"]
    return [*lines, *(f"| {d.what} | {d.model} | {d.interpreter} | {d.why} |" for d in DIFFERENCES)]
