import numpy as np
import pytest

from semantics import aliasing
from semantics.faults import FaultKind
from semantics.interp import run
from semantics.program import load
from semantics.task import Task
from tests.semantics.corpus_tasks import make_task

SOURCE = """__global__ void twice(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
void launch(const float* x, float* y, int n) { twice<<<1, 32>>>(x, y, n); }
"""
RESTRICTED = SOURCE.replace("float* y, int n) {\n", "float* __restrict__ y, int n) {\n")
IN_PLACE = """__global__ void halve(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i];
}
__global__ void copy(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }
void launch(const float* x, float* y, int n) { copy<<<1, 32>>>(x, y, n); halve<<<1, 32>>>(y, y, n); }
"""


def task() -> Task:
    return make_task("twice", {"n": 32}, {"x": ("n",)}, {"y": ("n",)})


def plan(source: str):  # type: ignore[no-untyped-def]
    return load(source).plan(task(), task().workload())


def test_declared_sharing_is_taken_where_the_source_admits_it() -> None:
    assert aliasing.declared(plan(SOURCE), {"y": "x"}, ["x"]) == {"y": "x"}
    assert aliasing.declared(plan(SOURCE), {}, ["x"]) == {}
    assert aliasing.declared(plan(SOURCE), {"y": "z"}, ["x"]) == {}


def test_restrict_promises_that_buffers_are_apart() -> None:
    assert aliasing.declared(plan(RESTRICTED), {"y": "x"}, ["x"]) == {}


def test_two_outputs_never_share_one_buffer() -> None:
    known = plan(SOURCE)
    known.buffers["z"] = known.buffers["y"]
    assert aliasing.declared(known, {"y": "x", "z": "x"}, ["x"]) == {"y": "x"}


def test_in_place_the_accesses_of_the_output_go_to_the_input() -> None:
    moved = aliasing.in_place(plan(SOURCE), {"y": "x"})
    assert [call.args[:2] for call in moved.calls] == [("x", "x")]
    result = run(moved, {"x": np.arange(32.0)})
    assert result.faults == ()
    assert list(result.outputs["x"]) == [2.0 * i for i in range(32)]


def test_buffers_of_different_sizes_cannot_be_one() -> None:
    known = plan(SOURCE)
    known.buffers["y"] = (64, "float")
    assert aliasing.declared(known, {"y": "x"}, ["x"]) == {}
    with pytest.raises(ValueError, match="differ in size or type"):
        aliasing.in_place(known, {"y": "x"})


def test_a_call_with_one_buffer_behind_restrict_is_found() -> None:
    copy, halve = plan(IN_PLACE).calls
    assert not list(aliasing.restricted(copy))
    ((name, first, second, written),) = aliasing.restricted(halve)
    assert (name, first.name, second.name, written) == ("y", "in", "out", {1})
    faults = run(plan(IN_PLACE), {"x": np.arange(32.0)}).faults
    assert [f.kind for f in faults] == [FaultKind.ALIAS]
