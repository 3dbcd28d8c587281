# ruff: noqa: E501 (tables of sources, one case a line)
"""Binding a candidate to a task: parameters by name, sizes evaluated as C does, CUDA's limits."""

import time
from fractions import Fraction

import pytest

from semantics.core import Barrier, If, IntType, Plan, SetI, While
from semantics.program import load
from semantics.span import Refusal
from semantics.task import Task
from tests.semantics.corpus_tasks import elementwise, kernels, make_task

KERNEL = (
    "__global__ void k(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[0]; }\n"
)
TASK = make_task("probe", {"n": 1000, "rows": 3}, {"x": ("n",)}, {"y": ("rows", "n")}, {"eps": 1e-5})


def plan_of(launcher: str, task: Task = TASK, prelude: str = KERNEL, **axes: int) -> Plan:
    return load(prelude + launcher).plan(task, task.workload(**axes))


def refused(launcher: str, task: Task = TASK, prelude: str = KERNEL, **axes: int) -> Refusal:
    with pytest.raises(Refusal) as caught:
        plan_of(launcher, task, prelude, **axes)
    return caught.value


def test_parameters_bind_by_name_in_any_order() -> None:
    plan = plan_of("void launch(int n, float* y, const float* x) { k<<<n / 100, 32 * 2>>>(x, y, n + 1); }")
    (call,) = plan.calls
    assert (call.grid, call.block, call.shared_bytes) == ((10, 1, 1), (64, 1, 1), 0)
    assert call.args == ("x", "y", 1001)
    assert plan.buffers == {"x": (1000, "float"), "y": (3000, "float")}


def test_dim3_members_constants_and_casts_in_the_launcher() -> None:
    plan = plan_of(
        """void launch(const float* x, float* y, int n, int rows) {
            const int tile = 16;
            dim3 block(tile, tile / 2);
            const dim3 grid((n + block.x - 1) / block.x, rows, min(rows, 2));
            size_t bytes = block.x * block.y * sizeof(float);
            k<<<grid, block, bytes>>>(x, y, (int)bytes);
        }"""
    )
    (call,) = plan.calls
    assert (call.grid, call.block, call.shared_bytes) == ((63, 3, 2), (16, 8, 1), 512)
    assert call.args == ("x", "y", 512)


def test_several_launches_and_a_workspace() -> None:
    plan = plan_of(
        """void launch(const float* x, float* y, int n) {
            float* t = KSHELL_WORKSPACE(float, 2 * n);
            k<<<1, 32>>>(x, t, n);
            k<<<dim3(2, 3), dim3(8)>>>(t, y, n);
        }"""
    )
    assert plan.workspaces == ("t",)
    assert plan.buffers["t"] == (2000, "float")
    assert [c.args[:2] for c in plan.calls] == [("x", "t"), ("t", "y")]
    assert plan.calls[1].grid == (2, 3, 1)
    assert plan.calls[0].kernel is plan.calls[1].kernel


def test_scalars_of_the_task_and_exact_fractions() -> None:
    prelude = (
        "__global__ void k(float* y, float eps, float scale, bool flag, size_t n) { y[0] = eps * scale; }\n"
    )
    launcher = "void launch(float* y, float eps, int n) { k<<<1, 1>>>(y, eps, 1.0f / n + 0.1f, n > 3, n); }"
    (call,) = plan_of(launcher, prelude=prelude).calls
    assert call.args == ("y", Fraction(1, 100000), Fraction(101, 1000), 1, 1000)


def test_vector_pointers_are_cast_in_the_launcher() -> None:
    prelude = "__global__ void k(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }\n"
    launcher = "void launch(const float* x, float* y) { k<<<1, 8>>>((const float4*)x, reinterpret_cast<float4*>(y)); }"
    (call,) = plan_of(launcher, prelude=prelude).calls
    assert call.args == ("x", "y")
    assert [a.elem for a in call.kernel.arrays] == ["float", "float"]


def test_launcher_describes_its_parameters() -> None:
    program = load(
        KERNEL + 'extern "C" void launch(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }'
    )
    shown = [(p.name, p.kind, p.type, p.const, p.elem) for p in program.launcher.params]
    assert shown == [
        ("x", "tensor", "const float*", True, "float"),
        ("y", "tensor", "float*", False, "float"),
        ("n", "int", "int", False, ""),
    ]
    assert program.launcher.name == "launch"
    assert len(program.launcher.launches) == 1


REFUSED = {
    "no such parameter": ("void launch(const float* x, float* y, int m) { k<<<1, 1>>>(x, y, m); }", "has no int named 'm'"),
    "no such tensor": ("void launch(const float* w, float* y, int n) { k<<<1, 1>>>(w, y, n); }", "has no tensor named 'w'"),
    "output missing": ("void launch(const float* x, int n) { float* y = KSHELL_WORKSPACE(float, 9); k<<<1, 1>>>(x, y, n); }",
                       "the launcher lacks output y"),
    "input not const": ("void launch(float* x, float* y, int n) { k<<<1, 1>>>(x, y, n); }", "x is an input"),
    "wrong element type": ("void launch(const int* x, float* y, int n) { k<<<1, 1>>>((const float*)y, y, n); }",
                           "x has elements of type float, not int"),
    "empty grid": ("void launch(const float* x, float* y, int n) { k<<<n / 4096, 1>>>(x, y, n); }", "grid.x is 0"),
    "long grid": ("void launch(const float* x, float* y, int n) { k<<<dim3(1, n * 100), 1>>>(x, y, n); }", "grid.y is 100000"),
    "wide block": ("void launch(const float* x, float* y, int n) { k<<<1, 2048>>>(x, y, n); }", "block.x is 2048"),
    "deep block": ("void launch(const float* x, float* y, int n) { k<<<1, dim3(1, 1, 65)>>>(x, y, n); }", "block.z is 65"),
    "large block": ("void launch(const float* x, float* y, int n) { k<<<1, dim3(64, 32)>>>(x, y, n); }",
                    "a block of 2048 threads"),
    "much shared memory": ("void launch(const float* x, float* y, int n) { k<<<1, 1, n * 64>>>(x, y, n); }",
                           "64000 bytes of dynamic shared memory"),
    "overflow": ("void launch(const float* x, float* y, int n) { const int big = n * n * n * n; k<<<1, 1>>>(x, y, big); }",
                 "this integer leaves the range"),
    "division by zero": ("void launch(const float* x, float* y, int n) { k<<<1 / (n - n), 1>>>(x, y, n); }",
                         "division by zero"),
    "argument out of range": ("void launch(const float* x, float* y, int n) { k<<<1, 1>>>(x, y, 3000000000LL + n); }",
                              "a launch argument leaves the range of its parameter's type"),
    "empty workspace": ("void launch(const float* x, float* y, int n) { float* t = KSHELL_WORKSPACE(float, n - n); k<<<1, 1>>>(x, t, n); }",
                        "workspace t has 0 elements"),
    "workspace of another type": ("void launch(const float* x, float* y, int n) { float* t = KSHELL_WORKSPACE(int, n); k<<<1, 1>>>(x, t, n); }",
                                  "the workspace and its pointer differ"),
    "pointer from a pointer": ("void launch(const float* x, float* y, int n) { float* t = y; k<<<1, 1>>>(x, t, n); }",
                               "a pointer of a launcher is a workspace"),
    "effect in an expression": ("void launch(const float* x, float* y, int n) { const int m = n++; k<<<1, 1>>>(x, y, m); }",
                                "cannot be assigned"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_binding_is_refused(case: str) -> None:
    launcher, reason = REFUSED[case]
    assert reason in refused(launcher).reason


def test_violated_constraint_is_refused() -> None:
    task = elementwise("relu")
    task = task.model_copy(update={"constraints": ("n % 4 == 0",)})
    found = refused("void launch(const float* x, float* y, int n) { k<<<1, 1>>>(x, y, n); }", task, n=1001)
    assert "n % 4 == 0" in found.reason


def test_launch_bounds_are_kept() -> None:
    prelude = "__global__ void __launch_bounds__(64) k(float* y) { y[0] = 1; }\n"
    assert plan_of("void launch(float* y) { k<<<1, 64>>>(y); }", prelude=prelude).calls[0].block == (64, 1, 1)
    found = refused("void launch(float* y) { k<<<1, 96>>>(y); }", prelude=prelude)
    assert "a block of 96 threads breaks __launch_bounds__(64) of k" in found.reason


def test_static_and_dynamic_shared_memory_share_one_limit() -> None:
    prelude = "__global__ void k(float* y) { __shared__ float s[10000]; s[0] = 1; y[0] = s[0]; }\n"
    plan_of("void launch(float* y) { k<<<1, 1, 9152>>>(y); }", prelude=prelude)
    found = refused("void launch(float* y) { k<<<1, 1, 9153>>>(y); }", prelude=prelude)
    assert "49153 bytes of shared memory; the limit is 49152" in found.reason


def test_barriers_and_warp_operations_are_known() -> None:
    launcher = "void launch(float* y) { k<<<1, 32>>>(y); }"
    plain = load("__global__ void k(float* y) { y[0] = 1; }\n" + launcher)
    barrier = load(
        "__global__ void k(float* y) { for (int i = 0; i < 3; ++i) __syncthreads(); y[0] = 1; }\n" + launcher
    )
    warp = load("__global__ void k(float* y) { if (y[0] > 0) __syncwarp(); }\n" + launcher)
    assert (plain.uses_barriers, plain.uses_warps) == (False, False)
    assert (barrier.uses_barriers, barrier.uses_warps) == (True, False)
    assert (warp.uses_barriers, warp.uses_warps) == (False, True)


def test_early_return_becomes_an_empty_branch() -> None:
    program = load(
        "__global__ void k(float* y, int n) { int i = threadIdx.x; if (i >= n) return; y[i] = 1; __syncthreads(); }\n"
        "void launch(float* y, int n) { k<<<1, 32>>>(y, n); }"
    )
    first, second = program.kernel("k").body
    assert isinstance(first, SetI)
    assert isinstance(second, If)
    assert second.then == ()
    assert isinstance(second.other[-1], Barrier)


def test_for_becomes_a_while_with_its_step_last() -> None:
    program = load(
        "__global__ void k(float* y, int n) { for (int s = n; s > 0; s >>= 1) y[s] = 1; }\n"
        "void launch(float* y, int n) { k<<<1, 32>>>(y, n); }"
    )
    start, loop = program.kernel("k").body
    assert isinstance(start, SetI)
    assert isinstance(loop, While)
    assert isinstance(loop.body[-1], SetI)
    assert program.kernel("k").int_vars == (("s", IntType.I32),)


def nested_helpers(depth: int) -> str:
    """Helpers that each call the one before three times."""
    text = "__device__ float f0(float x) { return x + 1.0f; }\n"
    for k in range(1, depth):
        text += f"__device__ float f{k}(float x) {{ return f{k - 1}(f{k - 1}(x)) + f{k - 1}(x); }}\n"
    return (
        f"{text}__global__ void k(float* y, int n) {{ y[0] = f{depth - 1}(1.0f); }}\n"
        "void launch(float* y, int n) { k<<<1, 1>>>(y, n); }"
    )


def test_helpers_that_multiply_are_refused_and_not_followed_for_ever() -> None:
    start = time.process_time()
    with pytest.raises(Refusal, match="more than 4000 calls of helpers in one kernel"):
        load(nested_helpers(22))
    assert time.process_time() - start < 30


def test_loading_a_kernel_is_quick() -> None:
    sources = [path.read_text() for path in kernels()]
    load(sources[0])
    start = time.process_time()
    for source in sources:
        load(source)
    assert (time.process_time() - start) / len(sources) < 0.25
