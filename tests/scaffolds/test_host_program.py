"""The generated host program: every construct of the dialect runs as CUDA defines it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kshell.harness.build import build
from kshell.harness.runs import RunRequest, RunResult, execute
from kshell.harness.toolchain import find
from scaffolds.program import cpu_program, plan_text, synchronizes
from semantics.parser import parse
from semantics.program import load
from semantics.task import Roofline, Task, Tensor

Array = npt.NDArray[Any]
TASK = Task(
    name="any",
    title="any",
    family="elementwise",
    axes={"n": 256},
    inputs=(Tensor(name="x", shape=("n",)),),
    outputs=(Tensor(name="y", shape=("n",)),),
    reference="",
    roofline=Roofline(flops="n", bytes="8*n"),
)
X = np.linspace(-3.0, 4.0, 256, dtype=np.float32)
LAUNCH = "void launch(const float* x, float* y, int n) {{ {} }}\n"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


async def run(folder: Path, source: str, x: Array = X, **options: Any) -> RunResult:
    program = load(source)
    built = await build(find(), cpu_program(program.module), folder)
    assert built.ok, built.diagnostics
    workload = TASK.workload(n=x.size)
    plan = program.plan(TASK, workload)
    sets: Sequence[Mapping[str, Array]] = [{"x": x}]
    request = RunRequest(Path(built.artifact), TASK, plan, list(map(dict, sets)), **options)
    return await execute(request)


async def output(folder: Path, source: str, x: Array = X, **options: Any) -> Array:
    result = await run(folder, source, x, **options)
    assert not result.failure, result.failure
    return result.outputs[0]["y"]


def kernel(body: str, launch: str = "k<<<(n + 63) / 64, 64>>>(x, y, n);", head: str = "") -> str:
    signature = "__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n)"
    guard = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    return f"{head}{signature} {{\n{guard}{body}\n}}\n{LAUNCH.format(launch)}"


FUNCTIONS = {
    "expf(v)": np.exp,
    "__expf(v)": np.exp,
    "logf(fabsf(v) + 1.0f)": lambda v: np.log(np.abs(v) + 1),
    "sqrtf(fabsf(v))": lambda v: np.sqrt(np.abs(v)),
    "rsqrtf(fabsf(v) + 1.0f)": lambda v: 1 / np.sqrt(np.abs(v) + 1),
    "tanhf(v)": np.tanh,
    "fmaxf(v, 0.5f)": lambda v: np.maximum(v, 0.5),
    "fminf(v, 0.5f)": lambda v: np.minimum(v, 0.5),
    "fmaf(v, v, 1.0f)": lambda v: v * v + 1,
    "__ldg(&x[i]) + max(i, 3) + min(i, 3)": lambda v: (
        v + np.maximum(np.arange(256), 3) + np.minimum(np.arange(256), 3)
    ),
    "v > 0.0f ? v : -INFINITY > v ? 1.0f : 2.0f": lambda v: np.where(v > 0, v, 2.0),
}


@pytest.mark.parametrize("order", ["fast", "forward"])
@pytest.mark.parametrize("expression", FUNCTIONS)
async def test_mathematical_functions(folder: Path, expression: str, order: str) -> None:
    source = kernel(f"if (i < n) {{ float v = x[i]; y[i] = {expression}; }}")
    got = await output(folder, source, order=order)
    expected = FUNCTIONS[expression](X.astype(np.float64))
    assert np.allclose(got, expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("order", ["fast", "forward", "reverse", "random"])
async def test_threads_and_blocks_in_three_dimensions(folder: Path, order: str) -> None:
    body = (
        "int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
        "int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
        "int p = b * 24 + t;\n"
        "if (p < n) y[p] = x[p] + (float)(threadIdx.z * 100 + blockIdx.z * 10 + blockIdx.y + i * 0);"
    )
    source = kernel(body, "dim3 grid(2, 3, 2); dim3 block(4, 3, 2); k<<<grid, block>>>(x, y, n);")
    got = await output(folder, source, order=order)
    p = np.arange(256)
    b, t = p // 24, p % 24
    expected = X + (t // 12) * 100 + (b // 6) * 10 + (b // 2 % 3)
    assert np.array_equal(got, expected.astype(np.float32))


SHUFFLES = {
    "__shfl_xor_sync(0xffffffff, v, 5)": lambda lane: lane ^ 5,
    "__shfl_down_sync(0xffffffff, v, 4)": lambda lane: np.where(lane + 4 < 32, lane + 4, lane),
    "__shfl_up_sync(0xffffffff, v, 3)": lambda lane: np.where(lane >= 3, lane - 3, lane),
    "__shfl_sync(0xffffffff, v, 7)": lambda lane: lane * 0 + 7,
    "__shfl_down_sync(0xffffffff, v, 4, 8)": lambda lane: np.where(lane % 8 + 4 < 8, lane + 4, lane),
    "__shfl_xor_sync(0xffffffff, v, 2, 4)": lambda lane: lane ^ 2,
    "__shfl_sync(0xffffffff, v, 1, 16)": lambda lane: lane // 16 * 16 + 1,
}


@pytest.mark.parametrize("order", ["fast", "reverse", "random"])
@pytest.mark.parametrize("call", SHUFFLES)
async def test_shuffles(folder: Path, call: str, order: str) -> None:
    got = await output(folder, kernel(f"float v = x[i]; y[i] = {call};"), order=order)
    p = np.arange(256)
    assert np.array_equal(got, X[p // 32 * 32 + SHUFFLES[call](p % 32)])


@pytest.mark.parametrize("order", ["fast", "forward", "reverse", "random"])
@pytest.mark.parametrize("threads", [1, 2])
async def test_shared_arrays_static_two_dimensional_and_dynamic(
    folder: Path, order: str, threads: int
) -> None:
    body = (
        "__shared__ float a[8][9], b[64];\n"
        "extern __shared__ float c[];\n"
        "int t = threadIdx.x;\n"
        "a[t % 8][t / 8] = x[i];\n"
        "b[63 - t] = 2.0f * x[i];\n"
        "c[t] = 1.0f;\n"
        "__syncthreads();\n"
        "y[i] = a[t / 8][t % 8] + b[t] + c[63 - t];"
    )
    source = kernel(body, "k<<<n / 64, 64, 256>>>(x, y, n);")
    got = await output(folder, source, order=order, threads=threads if order == "fast" else 1)
    t, base = np.arange(256) % 64, np.arange(256) // 64 * 64
    expected = X[base + t // 8 + 8 * (t % 8)] + 2 * X[base + 63 - t] + np.float32(1)
    assert np.array_equal(got, expected)


async def test_templates_helpers_constants_and_two_kernels_with_a_workspace(folder: Path) -> None:
    source = (
        "#define FACTOR 3.0f\n"
        "constexpr int WIDTH = 4;\n"
        "template <int N> __device__ float power(float v) {\n"
        "    float r = 1.0f;\n    for (int k = 0; k < N; k++) r *= v;\n    return r;\n}\n"
        "template <int N>\n__global__ void first(const float* x, float* w, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) w[i] = power<N>(x[i]);\n}\n"
        "__global__ void second(const float* w, float* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) y[i] = FACTOR * w[n - 1 - i] + WIDTH;\n}\n"
        + LAUNCH.format(
            "const int t = 32; float* w = KSHELL_WORKSPACE(float, n); "
            "first<2><<<(n + t - 1) / t, t>>>(x, w, n); second<<<(n + t - 1) / t, t>>>(w, y, n);"
        )
    )
    got = await output(folder, source)
    assert np.allclose(got, 3 * X[::-1] ** 2 + 4, rtol=1e-6)


async def test_vector_types_and_tail(folder: Path) -> None:
    body = (
        "if (4 * i + 3 < n) {\n"
        "    float4 v = reinterpret_cast<const float4*>(x)[i];\n"
        "    v.x = -v.x; v.w = v.w + 1.0f;\n"
        "    reinterpret_cast<float4*>(y)[i] = v;\n"
        "} else {\n    for (int p = 4 * i; p < n; p++) y[p] = x[p];\n}"
    )
    x = X[:250]
    got = await output(folder, kernel(body), x)
    expected = x.copy()
    expected[0:248:4] *= -1
    expected[3:248:4] += 1
    assert np.array_equal(got, expected)


async def test_atomic_additions_from_many_blocks_and_threads(folder: Path) -> None:
    source = (
        "__global__ void clear(float* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = 0.0f;\n}\n"
        "__global__ void k(const float* x, float* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) atomicAdd(&y[i % 2], 1.0f);\n}\n"
        + LAUNCH.format("clear<<<n / 64, 64>>>(y, n); k<<<n / 4, 4>>>(x, y, n);")
    )
    got = await output(folder, source, np.zeros(4096, np.float32), threads=2)
    assert got[:3].tolist() == [2048.0, 2048.0, 0.0]


async def test_lanes_that_return_early_are_missed_by_a_shuffle(folder: Path) -> None:
    source = kernel(
        "if (threadIdx.x > 40) return;\nfloat v = x[i]; y[i] = __shfl_xor_sync(0xffffffff, v, 1);"
    )
    result = await run(folder, source)
    assert result.fault is not None
    assert result.fault.name == "BAD MASK"
    assert "0xfffffe00" in result.fault.message
    assert result.fault.point.line == 4


async def test_threads_at_different_barriers_are_named(folder: Path) -> None:
    body = "if (threadIdx.x < 20) {\n    __syncthreads();\n} else {\n    __syncthreads();\n}\ny[i] = x[i];"
    result = await run(folder, kernel(body))
    assert result.fault is not None
    assert result.fault.name == "DIVERGENT BARRIER"
    assert "of line 6 while others wait at line 4: " in result.fault.message


async def test_shared_memory_holds_no_values_of_an_earlier_block(folder: Path) -> None:
    body = "__shared__ float s[64];\ny[i] = s[threadIdx.x];\ns[threadIdx.x] = x[i];"
    got = await output(folder, kernel(body), order="forward")
    assert np.isnan(got).all()


async def test_repetitions_rotate_over_the_input_sets(folder: Path) -> None:
    program = load(kernel("if (i < n) y[i] = 2.0f * x[i];"))
    built = await build(find(), cpu_program(program.module), folder)
    plan = program.plan(TASK, TASK.workload())
    sets = [{"x": X}, {"x": -X}, {"x": X * 0}]
    result = await execute(RunRequest(Path(built.artifact), TASK, plan, sets, repeats=7, warmup=1))
    assert [t.set for t in result.timings] == [0, 1, 2, 0, 1, 2, 0]
    for k, inputs in enumerate(sets):
        assert np.array_equal(result.outputs[k]["y"], 2 * inputs["x"])
    assert all(t.digest == result.digests[t.set] for t in result.timings)


def test_a_helper_with_a_barrier_makes_its_kernels_synchronize() -> None:
    module = parse(
        "__device__ void wait() { __syncthreads(); }\n__device__ void outer() { wait(); }\n"
        + kernel("outer(); y[i] = x[i];")
    )
    assert synchronizes(module, "k")
    assert not synchronizes(parse(kernel("y[i] = x[i];")), "k")


def test_the_plan_names_buffers_roles_and_arguments() -> None:
    program = load(kernel("if (i < n) y[i] = x[i];"))
    text = plan_text(program.plan(TASK, TASK.workload()), TASK)
    assert text.splitlines() == [
        "buffer x input 1024",
        "buffer y output 1024",
        "call 0 4 1 1 64 1 1 0 0 3 @x @y 256",
    ]
