"""Task and Workload: what a kernel has to compute, at which sizes, how it is judged."""

from pydantic import BaseModel, ConfigDict, Field

from semantics.axes import evaluate, holds


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tensor(_Model):
    """An input or output: row-major, contiguous.

    `shape` entries are axis names, integers or expressions of axes such as `"H + 2*pad"`.
    `distributions` names the input distributions used by data synthesis beside the common ones."""

    name: str
    shape: tuple[str | int, ...]
    dtype: str = "float32"
    distributions: tuple[str, ...] = ()


class Tolerance(_Model):
    """|y - ref| <= atol + rtol*|ref| per element, and ||y - ref|| <= norm_rtol*||ref||.

    `reduction` (an expression of the axes, "1" for elementwise) scales them with the length of the
    sums behind an output."""

    atol: float = 1e-6
    rtol: float = 1e-5
    norm_rtol: float = 1e-5
    reduction: str = "1"


class Roofline(_Model):
    """Least work of one call, as expressions of the axes: floating-point operations, bytes moved."""

    flops: str
    bytes: str


class Workload(_Model):
    """Values for every axis, and the seed inputs are drawn from."""

    axes: dict[str, int]
    seed: int = 0


class Task(_Model):
    """A PyTorch reference with named axes.

    `axes` gives each axis its default size; `constraints` are conditions on axes (they become
    premises of the theorem). `reference` is the text of a KernelBench-style Python file (`Model`,
    `get_inputs`, `get_init_inputs`); it takes the inputs in order and returns the outputs in order.
    `scalars` are float parameters of a launch beside axes (name to value), such as `eps`.
    `inplace` maps an output to the input whose buffer it may share (declared aliasing)."""

    name: str
    title: str
    family: str
    axes: dict[str, int]
    constraints: tuple[str, ...] = ()
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    scalars: dict[str, float] = Field(default_factory=dict)
    inplace: dict[str, str] = Field(default_factory=dict)
    reference: str
    tolerance: Tolerance = Tolerance()
    roofline: Roofline
    weight: float = 1.0

    def workload(self, seed: int = 0, **axes: int) -> Workload:
        """The default sizes with some replaced. Raises ValueError for an unknown axis."""
        unknown = sorted(set(axes) - set(self.axes))
        if unknown:
            raise ValueError(f"task {self.name} has no axis {unknown[0]!r}; it has {', '.join(self.axes)}")
        return Workload(axes={**self.axes, **axes}, seed=seed)

    def shapes(self, workload: Workload) -> dict[str, tuple[int, ...]]:
        """Shape of every input and output at a workload. Raises ValueError for a bad expression."""
        return {
            t.name: tuple(evaluate(size, workload.axes) for size in t.shape)
            for t in (*self.inputs, *self.outputs)
        }

    def broken_constraint(self, workload: Workload) -> str | None:
        """The first constraint the workload violates, or that every axis is positive; None if none."""
        for axis, value in workload.axes.items():
            if value < 1 and axis not in ("pad",):
                return f"{axis} >= 1"
        return next((c for c in self.constraints if not holds(c, workload.axes)), None)

    def work(self, workload: Workload) -> tuple[int, int]:
        """(floating-point operations, bytes moved) of one call, from the roofline expressions."""
        return evaluate(self.roofline.flops, workload.axes), evaluate(self.roofline.bytes, workload.axes)
