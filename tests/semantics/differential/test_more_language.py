"""Constructs that the proofs do not know, and spellings of the language: the interpreter, in float32, and
the compiled program agree on them; the proof is refused by name."""

from pathlib import Path

import numpy as np
import pytest

from semantics.beyond import beyond
from semantics.idealised import ATOMIC, CONVERSION, idealisations
from semantics.lean.syntax import check_provable
from semantics.parser import parse
from semantics.printer import print_module
from semantics.program import load
from semantics.span import Refusal
from semantics.symbolic.state import Unsupported
from tests.semantics.corpus_tasks import make_task
from tests.semantics.differential.test_shim_and_interpreter import both

TASK = make_task("more", {"n": 128}, {"x": ("n",)}, {"y": ("n",)})
X = {"x": np.random.default_rng(3).normal(size=128).astype(np.float32)}

BODIES = {
    "conversions": "y[i] = (int)(v * 4.0f) + __float2int_rn(v) + (unsigned)fabsf(v) + int(floorf(v));",
    "rounding": "y[i] = floorf(v) + 2 * ceilf(v) + 3 * truncf(v) + 5 * roundf(v) + 7 * rintf(v);",
    "functions": "y[i] = powf(fabsf(v) + 1, 1.3f) + fmodf(v, 0.7f) + log2f(2 + v * v) + exp2f(v) + cbrtf(v);",
    "angles": "float w = v / 9; y[i] = atan2f(v, 2.0f) + atanf(v) + asinf(w) + acosf(w) + tanf(w);",
    "more functions": "y[i] = log10f(3 + v * v) + hypotf(v, 2.0f) + fdimf(v, 0.5f) + sinhf(v) + coshf(v);",
    "infinity": "float least = INFINITY; least = fminf(least, v); y[i] = least < INFINITY ? least : 3.0f;",
    "integer shuffle": "y[i] = __shfl_xor_sync(0xffffffff, i, 5) + __shfl_down_sync(0xffffffffu, t, 3, 8);",
    "votes": "unsigned b = __ballot_sync(0xffffffff, v > 0); y[i] = (b & 63) + 7 * __any_sync(~0u, v > 2)"
    " + 9 * __all_sync(0xffffffff, v > -9);",
    "half masks": "float w = v; if (t % 32 < 16) w += __shfl_xor_sync(0x0000ffff, v, 4);"
    " else w -= __shfl_up_sync(0xffff0000, v, 2, 4); y[i] = w;",
    "voted mask": "unsigned m = __ballot_sync(0xffffffff, v > 0); float w = v;"
    " if (v > 0) w = __any_sync(m, v > 1.5f) ? 7.0f : 8.0f; y[i] = w;",
    "streamed": "__stcs(&y[i], __ldcs(x + i) + 1.0f);",
    "volatile": "volatile __shared__ float s[64]; volatile float* q = s; q[t] = v; y[i] = q[t];",
    "null": "y[i] = (x != nullptr ? 2.0f : 3.0f) + first(v, nullptr) + first(v, x) + first(v) + !y;",
    "aliases": "using T = real; typedef int whole; T w = v; whole k = 3; y[i] = w * k + twice(w);",
    "same type": "if constexpr (std::is_same_v<real, float>) y[i] = std::abs(v); else y[i] = 9;",
    "conditionals": "y[i] = v * WIDTH;",
    "groups": "auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<32>(block);"
    " float w = cg::reduce(tile, v, cg::plus<float>()) + cg::reduce(tile, v * 2, cg::greater<float>{});"
    " block.sync(); y[i] = w + tile.shfl_xor(v, 3) + tile.thread_rank()"
    " + tile.meta_group_rank() + tile.any(v > 2);",
    "specialised": "y[i] = half_of(v) + half_of(i) + tag<3>() + tag<4>();",
    "chosen type": "using V = typename std::conditional<sizeof(real) == 4, float, int>::type; V w = v;"
    " y[i] = w + __fmul_rd(v, v) + (float)sizeof(V);",
    "a variable half": "constexpr float sixth = 1.0f / 6.0f; int half = t / 2; y[i] = v * sixth + half;",
    "small groups": "cg::thread_block cta = cg::this_thread_block();"
    " cg::thread_block_tile<8> g = cg::tiled_partition<8>(cta); cg::sync(cta);"
    " float w = v; if (t % 16 < 8) w = g.shfl_down(v, 2) + cg::reduce(g, v, cg::less<float>());"
    " y[i] = w + cta.thread_rank() + cta.size() + g.meta_group_size() + g.size() + cta.thread_index().x;",
}
PRELUDE = """
#include <cstdio>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
using namespace std;
#define HAS_WIDTH
#if defined(HAS_WIDTH) && !defined(OTHER)
#define WIDTH 8
#elif 1
#define WIDTH 9
#else
#error no width
#endif
typedef float real;
extern "C" {
__global__ void k(const float* x, real* y, int n);
}
__device__ float twice(float);
__device__ float first(float v, const float* p = nullptr) { return p ? p[0] : v; }
__device__ float twice(float v) { return 2 * v; }
template <typename T> __device__ T half_of(T v);
template <> __device__ float half_of<float>(float v) { return v / 2; }
template <> __device__ int half_of<int>(int v) { return v / 2 + 100; }
template <int N> __device__ float tag() { return N; }
template <> __device__ float tag<3>() { return 30; }
"""


def source_of(body: str) -> str:
    return f"""{PRELUDE}
__global__ void k(const float* x, real* y, int n) {{
    int t = threadIdx.x;
    int i = blockIdx.x * 64 + t;
    float v = x[i];
    {body}
}}
void launch(const float* x, float* y, int n) {{ k<<<n / 64, 64>>>(x, y, n); }}
"""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("builds")


def test_all_constructs_give_the_same_on_both(builds: Path) -> None:
    """One kernel a construct in one source, so that it is compiled once."""
    names = [f"y{k}" for k in range(len(BODIES))]
    task = make_task("more", {"n": 128}, {"x": ("n",)}, dict.fromkeys(names, ("n",)))
    kernels = [
        source_of(body).removeprefix(PRELUDE).split("void launch")[0].replace("void k(", f"void k{at}(")
        for at, body in enumerate(BODIES.values())
    ]
    calls = " ".join(f"k{at}<<<n / 64, 64>>>(x, {name}, n);" for at, name in enumerate(names))
    prelude = PRELUDE.replace("void k(", "void k0(")
    params = ", ".join(f"float* {name}" for name in names)
    source = f"{prelude}{''.join(kernels)}void launch(const float* x, {params}, int n) {{ {calls} }}\n"
    assert parse(print_module(parse(source))) == parse(source)
    mine, theirs = both(source, task, X, builds)
    for at, name in enumerate(BODIES):
        part = slice(128 * at, 128 * (at + 1))
        np.testing.assert_allclose(mine[part], theirs[part], rtol=2e-5, atol=2e-6, err_msg=name)
        assert len(set(mine[part].tolist())) > 1, name


CONSTANTS = """
__constant__ float weights[8];
__constant__ float2 shifts[4];
__device__ float weighted(float v, int k) { return v * weights[k]; }
__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    y[i] = weighted(x[i], i % 5) + weights[i % 3] + shifts[i % 4].y;
}
void launch(const float* x, const float* w, const float* s, float* y, int n, int taps) {
    cudaMemcpyToSymbol(weights, w, taps * sizeof(float), 0, cudaMemcpyDeviceToDevice);
    cudaMemcpyToSymbol(shifts, s, 8 * sizeof(float), 0, cudaMemcpyDeviceToDevice);
    k<<<n / 64, 64>>>(x, y, n);
}
"""


def test_constant_arrays_are_filled_from_inputs(builds: Path) -> None:
    inputs = {"x": ("n",), "w": ("taps",), "s": (8,)}
    task = make_task("constants", {"n": 128, "taps": 5}, inputs, {"y": ("n",)})
    assert parse(print_module(parse(CONSTANTS))) == parse(CONSTANTS)
    w, s = np.arange(5, dtype=np.float32) / 4, np.arange(8, dtype=np.float32)
    mine, theirs = both(CONSTANTS, task, {**X, "w": w, "s": s}, builds)
    i = np.arange(128)
    wanted = X["x"] * w[i % 5] + w[i % 3] + s[2 * (i % 4) + 1]
    np.testing.assert_allclose(mine, wanted, rtol=1e-6)
    np.testing.assert_allclose(theirs, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("taps * sizeof", "(taps - 1) * sizeof", "16 bytes are copied to weights; w has 20"),
        ("weights[8]", "weights[4]", "20 bytes are copied to weights, which has 16"),
        (
            "    cudaMemcpyToSymbol(weights, w, taps * sizeof(float), 0, cudaMemcpyDeviceToDevice);\n",
            "",
            "not filled",
        ),
        (", 0, cudaMemcpyDeviceToDevice);\n    cuda", ");\n    cuda", "filled once, in this form"),
        ("const float* w,", "float* w,", "filled from an input"),
        ("int k) {", "int weights) { int k = weights;", "hides the constant array"),
        ("shifts[4];", "shifts[2][2];", "has one dimension"),
    ],
)
def test_a_constant_array_that_is_not_filled_right_is_refused(old: str, new: str, reason: str) -> None:
    inputs = {"x": ("n",), "w": ("taps",), "s": (8,)}
    task = make_task("constants", {"n": 128, "taps": 5}, inputs, {"y": ("n",)})
    assert old in CONSTANTS
    with pytest.raises(Refusal, match=reason):
        load(CONSTANTS.replace(old, new)).plan(task, task.workload())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("y[i] = (int)v;", "a conversion of a float to an integer"),
        ("y[i] = floorf(v);", "the function floor"),
        ("float a = INFINITY; y[i] = fminf(a, v);", "+INFINITY"),
        ("y[i] = __shfl_xor_sync(0xffffffff, i, 1);", "a shuffle of integers"),
        ("y[i] = __any_sync(0xffffffff, v > 0);", "a vote of a warp"),
        (
            "if (t % 32 < 8) v = __shfl_down_sync(0xff, v, 1, 8); y[i] = v;",
            "a warp operation with a partial mask",
        ),
    ],
)
def test_a_proof_names_what_it_does_not_know(body: str, reason: str) -> None:
    plan = load(source_of(body)).plan(TASK, TASK.workload())
    assert beyond(plan.calls[0].kernel) == (
        reason,
        source_of(body)[: source_of(body).index(body)].count("\n") + 1,
    )
    with pytest.raises(Unsupported, match=reason.replace("+", r"\+")):
        check_provable(plan.calls[0].kernel)


def test_what_is_idealised_is_said_with_its_line() -> None:
    source = source_of("y[i] = 0; atomicAdd(&y[i], v);\n    y[i] = (int)v;")
    program = load(source)
    line = source[: source.index("atomicAdd")].count("\n") + 1
    found = [(i.line, i.message) for i in idealisations(program.lowered.values())]
    assert found == [(line, ATOMIC), (line + 1, CONVERSION)]
