"""Race-free kernels generated at random, for comparing the ways to run a kernel."""

import random
from typing import Any

import numpy as np

from tests.semantics.corpus_tasks import make_task

TASK = make_task("random", {"n": 100}, {"x": ("n",)}, {"y": ("n",)})


HELPERS = """
template <int N> __device__ float chosen(float v, const float* p = nullptr);
template <int N> __device__ float chosen(float v, const float* p) {
    using real = float;
    real kept = p ? p[N] : v;
    if constexpr (N == 2) return kept - v; else return fminf(kept, v);
}"""


def random_kernel(seed: int, more: bool = False) -> str:
    """A race-free kernel: phases that read any slot of a shared array and, past a barrier, write the
    own slot; between them integer and real arithmetic, conditionals, loops, shuffles. With `more` also
    shuffles of integers, votes, half masks, conversions, templates of helpers and null pointers."""
    rng = random.Random(seed)
    lines = []

    def index() -> str:
        k = rng.randint(1, 63)
        return rng.choice([f"(t + {k}) % 64", f"(t ^ {k})", "63 - t", f"(t * {k} + 3) % 64", f"{k}"])

    def value(depth: int = 2) -> str:
        if depth == 0:
            return rng.choice(["v", "w", f"{rng.randint(-9, 9)}.5f", "(float)(t % 7)", "(float)k"])
        a, b = value(depth - 1), value(depth - 1)
        return rng.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"(0.25f * {a})",
                f"fmaxf({a}, {b})",
                f"fminf({a}, {b})",
                f"(t % {rng.randint(2, 5)} == 0 ? {a} : {b})",
                f"({a} < {b} ? {a} : {b})",
            ]
        )

    for _ in range(rng.randint(3, 7)):
        match rng.randint(0, 9 if more else 4):
            case 0:
                lines += [f"w = s[{index()}];", "__syncthreads();", f"s[t] = {value()};", "__syncthreads();"]
            case 1:
                lines.append(f"for (int j = 0; j < {rng.randint(1, 4)}; j++) v = 0.5f * v + {value(1)};")
            case 2:
                kind = rng.choice(["__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync"])
                lines.append(f"v = {kind}(0xffffffff, v, {rng.choice([1, 2, 8, 16])});")
            case 3:
                lines.append(f"if (t < {rng.randint(1, 63)}) {{ v = {value()}; k = k * 3 + 1; }}")
            case 5:
                kind = rng.choice(["__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync"])
                lines.append(f"k += {kind}(0xffffffffu, k, {rng.choice([1, 4, 16])}, {rng.choice([8, 32])});")
            case 6:
                vote = rng.choice(["__any_sync", "__all_sync", "__ballot_sync"])
                lines.append(f"k += (int)({vote}(0xffffffff, {value(1)} < {value(1)}) % 7u);")
            case 7:
                half = rng.choice([("< 16", "0x0000ffff"), (">= 16", "0xffff0000")])
                lines.append(
                    f"if (t % 32 {half[0]}) v += __shfl_xor_sync({half[1]}, w, {rng.choice([1, 2, 8])});"
                )
            case 8:
                fn = rng.choice(["floorf", "ceilf", "truncf", "rintf", "roundf"])
                lines.append(
                    f"w = 0.5f * {fn}({value(1)}) + (float)((int)fminf(fmaxf(v, -99.0f), 99.0f) % 5);"
                )
            case 9:
                lines.append(f"w = chosen<{rng.randint(1, 3)}>({value(1)}, {rng.choice(['x', 'nullptr'])});")
            case _:
                lines.append(f"k = (k + t) % {rng.randint(3, 50)} - {rng.randint(0, 5)};")
    body = "\n    ".join(lines)
    return f"""{HELPERS if more else ""}
__global__ void mix(const float* x, float* y, int n) {{
    __shared__ float s[64];
    int t = threadIdx.x;
    int i = blockIdx.x * 64 + t;
    int k = t / 3;
    float v = 0.0f;
    if (i < n) v = x[i];
    float w = v;
    s[t] = v;
    __syncthreads();
    {body}
    if (i < n) y[i] = v + w + s[t] + (float)k;
}}
void launch(const float* x, float* y, int n) {{ mix<<<(n + 63) / 64, 64>>>(x, y, n); }}
"""


def inputs_of_seed(seed: int) -> dict[str, Any]:
    """Inputs of few bits, so that most sums are exact."""
    return {"x": np.random.default_rng(seed).integers(-40, 40, 100).astype(np.float32) / 8}
