# ruff: noqa: E501 (tables of sources, one case a line)
"""What lowered programs compute: each construct is run in the interpreter against Python's answer."""

from fractions import Fraction

import numpy as np
import pytest

from semantics.interp import run
from semantics.program import load
from tests.semantics.corpus_tasks import make_task

N = 12
TASK = make_task("probe", {"n": N}, {"x": ("n",)}, {"y": ("n",)})
X = np.arange(N, dtype=np.float64) / 4 - 1


def outputs(body: str, prelude: str = "", threads: int = N, shared: int = 0) -> list[float]:
    """The first elements of y after one block ran `body`; `t` is the thread's index as an int."""
    source = f"""{prelude}
__global__ void probe(const float* x, float* y, int n) {{
    const int t = threadIdx.x;
    {body}
}}
void launch(const float* x, float* y, int n) {{ probe<<<1, {threads}, {shared}>>>(x, y, n); }}
"""
    plan = load(source).plan(TASK, TASK.workload())
    result = run(plan, {"x": X})
    assert result.faults == ()
    return [float(v) for v in result.outputs["y"]]


def each(body: str, prelude: str = "") -> list[float]:
    return outputs(body, prelude)


def close(got: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-12)


INTEGER_CASES = {
    "division truncates toward zero": ("(t - 6) / 4", lambda t: int((t - 6) / 4)),
    "remainder has the sign of the dividend": ("(t - 6) % 4", lambda t: (t - 6) - 4 * int((t - 6) / 4)),
    "shifts": ("(1 << t) >> 2", lambda t: (1 << t) >> 2),
    "bit operations": ("(t & 5) | (t ^ 3)", lambda t: (t & 5) | (t ^ 3)),
    "and with a complement": ("t & ~3", lambda t: t & ~3),
    "complement of a signed number": ("~t", lambda t: ~t),
    "unary minus": ("-t + +2", lambda t: -t + 2),
    "min and max": ("min(t, 5) + max(t, 7)", lambda t: min(t, 5) + max(t, 7)),
    "absolute value": ("abs(t - 6)", lambda t: abs(t - 6)),
    "precedence": ("2 + t * 3 - 8 / 4 % 3", lambda t: 2 + t * 3 - 2 % 3),
    "conditional": ("t < 4 ? t : t > 8 ? -1 : 100", lambda t: t if t < 4 else -1 if t > 8 else 100),
    "comparison as a number": ("(t > 3) + (t >= 3) + (t == 3) + (t != 3)", lambda t: (t > 3) + (t >= 3) + 1),
    "logic as a number": ("(t && t < 5) + (!t || t == 7)", lambda t: (t != 0 and t < 5) + (not t or t == 7)),
    "hexadecimal, octal, binary": ("0x1F + 010 + 0b101 + t", lambda t: 31 + 8 + 5 + t),
    "64 bits": ("(int)(((long long)t << 33) / (1LL << 31))", lambda t: 4 * t),
    "a known condition keeps the common type": (
        "(true ? t : 4u) / 2 * 2 == (true ? t / 2 * 2 : 0)",
        lambda t: 1,
    ),
    "unsigned division": ("(int)((unsigned)t / 5u)", lambda t: t // 5),
    "unsigned wins over int": ("(t + 4u) / 2", lambda t: (t + 4) // 2),
    "size of a type": ("(int)sizeof(float) * t + (int)sizeof(float4)", lambda t: 4 * t + 16),
    "bool from int and back": ("(bool)t + (int)true", lambda t: (t != 0) + 1),
}


@pytest.mark.parametrize("case", INTEGER_CASES)
def test_integer_expression(case: str) -> None:
    text, python = INTEGER_CASES[case]
    close(each(f"y[t] = {text};"), [float(python(t)) for t in range(N)])


REAL_CASES = {
    "exp": ("expf(x[t]) + exp(x[t]) + __expf(x[t])", lambda v: 3 * np.exp(v)),
    "log": ("logf(x[t] + 2.0f)", lambda v: np.log(v + 2)),
    "square roots": (
        "sqrtf(x[t] + 1.0f) + rsqrtf(x[t] + 2.0f)",
        lambda v: np.sqrt(v + 1) + 1 / np.sqrt(v + 2),
    ),
    "tanh": ("tanhf(x[t])", np.tanh),
    "absolute value": ("fabsf(x[t]) + abs(x[t])", lambda v: 2 * abs(v)),
    "extremes": ("fmaxf(x[t], 0.25f) - fminf(x[t], 0.5f)", lambda v: max(v, 0.25) - min(v, 0.5)),
    "min and max of floats": ("max(x[t], 0.0f) + min(1.0f, x[t])", lambda v: max(v, 0) + min(1, v)),
    "power two": ("powf(x[t], 2.0f)", lambda v: v**2),
    "power three": ("pow(x[t], 3)", lambda v: v**3),
    "power one half": ("powf(x[t] + 1.0f, 0.5f)", lambda v: np.sqrt(v + 1)),
    "fused multiply-add": ("fmaf(x[t], 2.0f, 1.0f)", lambda v: 2 * v + 1),
    "fast division": ("__fdividef(x[t], 4.0f)", lambda v: v / 4),
    "int operands convert": ("x[t] * 2 + 1", lambda v: 2 * v + 1),
    "integer division stays integer": ("x[t] + 7 / 2", lambda v: v + 3),
    "cast makes it real": ("x[t] + (float)7 / 2", lambda v: v + 3.5),
    "functional cast": ("x[t] + float(7) / 2", lambda v: v + 3.5),
    "static_cast": ("x[t] + static_cast<float>(7) / 2", lambda v: v + 3.5),
    "double": ("x[t] * 0.5 + (double)x[t]", lambda v: v * 1.5),
    "comparison": ("x[t] >= 0.25f ? 1.0f : x[t] != 0.0f ? -1.0f : 0.0f", lambda v: np.sign(v)),
    "negation": ("-x[t] - -1.0f", lambda v: 1 - v),
    "largest float": ("x[t] > -FLT_MAX && x[t] < FLT_MAX", lambda v: 1.0),
    "minus infinity": ("fmaxf(-INFINITY, x[t])", lambda v: v),
    "half as exact casts": ("__half2float(__float2half(x[t]))", lambda v: v),
    "derived functions": (
        "log1pf(x[t] + 1.0f) + expm1f(x[t]) + erfcf(0.0f)",
        lambda v: np.log(2 + v) + np.exp(v),
    ),
    "saturation": ("__saturatef(x[t])", lambda v: min(max(v, 0), 1)),
    "read through the cache": ("__ldg(x + t) + __ldg(&x[t])", lambda v: 2 * v),
}


@pytest.mark.parametrize("case", REAL_CASES)
def test_real_expression(case: str) -> None:
    text, python = REAL_CASES[case]
    close(each(f"y[t] = {text};"), [float(python(v)) for v in X])


STATEMENT_CASES = {
    "compound assignment": ("float v = 1; v += t; v *= 2; v -= 1; v /= 4; y[t] = v;", lambda t: ((1 + t) * 2 - 1) / 4),
    "compound assignment of ints": ("int v = t; v <<= 2; v |= 1; v ^= 2; v %= 9; v >>= 1; v &= 3; y[t] = v;",
                                    lambda t: ((((t << 2) | 1) ^ 2) % 9 >> 1) & 3),
    "compound assignment of an element": ("y[t] = 1; y[t] += t; y[t] *= 3;", lambda t: 3 * (1 + t)),
    "chained assignment": ("float a, b; a = b = t; y[t] = a + b;", lambda t: 2 * t),
    "post and pre increment": ("int i = t; int a = i++; int b = ++i; int c = i--; y[t] = a * 100 + b * 10 + c - i;",
                               lambda t: t * 100 + (t + 2) * 10 + 1),
    "comma": ("int i = t, j = 0; j = (i++, i * 2); y[t] = j;", lambda t: 2 * (t + 1)),
    "right side before left": ("int i = 0; float a[2] = {0, 0}; a[i++] = t + i; y[t] = a[0] + i;", lambda t: t + 1),
    "short circuit skips the effect": ("int i = 0; bool b = t > 5 && ++i > 0; y[t] = i + b;", lambda t: 2 * (t > 5)),
    "or skips the effect": ("int i = 0; bool b = t > 5 || i++ > 0; y[t] = 10 * i + b;", lambda t: 1 if t > 5 else 10),
    "conditional evaluates one side": ("int i = 0; int v = t > 5 ? i++ : (i += 3); y[t] = 10 * i + v;",
                                       lambda t: 10 if t > 5 else 33),
    "early return": ("y[t] = 0; if (t > 3) return; y[t] = 1;", lambda t: t <= 3),
    "else of an early return": ("if (t > 3) { y[t] = 5; return; } else y[t] = 1; y[t] += 1;", lambda t: 5 if t > 3 else 2),
    "return in a nested branch": ("y[t] = 0; if (t > 3) { if (t > 6) return; y[t] = 1; } y[t] += 10;",
                                  lambda t: 0 if t > 6 else 11 if t > 3 else 10),
    "while": ("int i = t, c = 0; while (i > 0) { i /= 2; c++; } y[t] = c;", lambda t: t.bit_length()),
    "do while": ("int i = t, c = 0; do { i /= 2; ++c; } while (i > 0); y[t] = c;", lambda t: max(1, t.bit_length())),
    "do once": ("int c = t; do { c += 2; } while (0); y[t] = c;", lambda t: t + 2),
    "for with two variables": ("int s = 0; for (int i = 0, j = 9; i < j; i++, j--) s += j - i; y[t] = s;", lambda t: 25),
    "for without parts": ("int i = 0; for (;;) { if (i >= t) break; i += 2; } y[t] = i;", lambda t: t + t % 2),
    "halving": ("int c = 0; for (int s = 64; s > t; s >>= 1) c += s; y[t] = c;",
                lambda t: sum(64 >> k for k in range(7) if 64 >> k > t)),
    "doubling": ("int c = 0; for (int s = 1; s <= t; s *= 2) c += s; y[t] = c;",
                 lambda t: sum(1 << k for k in range(5) if 1 << k <= t)),
    "counting down": ("int c = 0; for (int i = t; i > 0; --i) c += i; y[t] = c;", lambda t: t * (t + 1) / 2),
    "continue": ("int c = 0; for (int i = 0; i < t; ++i) { if (i % 3 == 1) continue; c += i; } y[t] = c;",
                 lambda t: sum(i for i in range(t) if i % 3 != 1)),
    "continue in a nested branch": (
        "int c = 0; for (int i = 0; i < t; ++i) { if (i > 2) { if (i % 2) continue; c += 100; } c += i; } y[t] = c;",
        lambda t: sum((100 if i > 2 else 0) + i for i in range(t) if not (i > 2 and i % 2))),
    "break": ("int c = 0; for (int i = 0; i < 9; ++i) { if (i == t) break; c += i; } y[t] = c;",
              lambda t: sum(range(min(t, 9)))),
    "break leaves the inner loop only": (
        "int c = 0; for (int i = 0; i < 3; ++i) { for (int j = 0; j < 9; ++j) { if (j > t) break; c++; } } y[t] = c;",
        lambda t: 3 * min(9, t + 1)),
    "break in a while whose condition has an effect": (
        "int i = 0; while (i++ < 20) { if (i > t) break; } y[t] = i;", lambda t: t + 1),
    "continue in a do while": (
        "int i = 0, c = 0; do { i++; if (i % 2) continue; c += i; } while (i < t); y[t] = c;",
        lambda t: sum(i for i in range(1, max(1, t) + 1) if i % 2 == 0)),
    "return inside a loop": ("y[t] = -1; for (int i = 0; i < 5; ++i) { if (i * i > t) { y[t] = i; return; } } y[t] = 50;",
                             lambda t: next((i for i in range(5) if i * i > t), 50)),
    "return inside two loops": (
        "y[t] = -1; for (int i = 0; i < 4; ++i) { for (int j = 0; j < 4; ++j) if (i * j == t) { y[t] = 10 * i + j; return; } }"
        " y[t] = 99;",
        lambda t: next((10 * i + j for i in range(4) for j in range(4) if i * j == t), 99)),
    "inner scope hides": ("int v = t; { int v = 100; v++; } y[t] = v;", lambda t: t),
    "local array": ("float a[4] = {1, 2}; a[3] = t; y[t] = a[0] + a[1] + a[2] + a[3];", lambda t: 3 + t),
    "local 2-D array": ("float a[3][2] = {{1, 2}, {3}}; a[2][1] = t; y[t] = a[0][1] + a[1][0] + a[1][1] + a[2][1];",
                        lambda t: 5 + t),
    "flat initialiser of a 2-D array": ("int a[2][2] = {1, 2, 3}; y[t] = a[1][0] * 10 + a[1][1];", lambda t: 30),
    "array of unstated extent": ("const float w[] = {1, 2, 4}; y[t] = w[t % 3];", lambda t: [1, 2, 4][t % 3]),
    "large zeroed array": ("float a[200] = {1}; a[150] += t; float s = 0; for (int i = 0; i < 200; ++i) s += a[i]; y[t] = s;",
                           lambda t: 1 + t),
    "conditional load into a variable": ("float v = t > 3 ? x[t] : 0.5f; v += 1; y[t] = v;",
                                         lambda t: (float(X[t]) if t > 3 else 0.5) + 1),
    "zeroed array": ("float acc[2][3] = {}; acc[1][2] += t; y[t] = acc[1][2] + acc[0][0];", lambda t: t),
    "vector members": ("float4 v = make_float4(1, 2, 3, t); v.x += v.w; float4 u = v; u.y = 0; y[t] = v.x + v.y + u.y;",
                       lambda t: 3 + t),
    "vector swap": ("float2 v = {1, (float)t}; v = make_float2(v.y, v.x); y[t] = v.x - v.y;", lambda t: t - 1),
    "bool variable": ("bool b = t > 5; b = !b; if (b) y[t] = 1; else y[t] = 2 + b;", lambda t: 2 if t > 5 else 1),
    "auto": ("auto v = t * 2; auto w = x[t]; y[t] = v / 4 + w - x[t];", lambda t: t * 2 // 4),
    "reference": ("float a = t, b = 2; float& r = a; r += b; y[t] = a;", lambda t: t + 2),
    "const folds into an extent": ("const int size = 2 + 2; float a[size * 2] = {}; a[7] = t; y[t] = a[7];", lambda t: t),
    "unsigned loop": ("unsigned int c = 0; for (unsigned i = threadIdx.x; i < 20u; i += blockDim.x) c += i; y[t] = c;",
                      lambda t: sum(range(t, 20, N))),
    "size_t loop": ("size_t c = 0; for (size_t i = 0; i < (size_t)t; ++i) c += i; y[t] = c;", lambda t: t * (t - 1) // 2),
}  # fmt: skip


@pytest.mark.parametrize("case", STATEMENT_CASES)
def test_statement(case: str) -> None:
    text, python = STATEMENT_CASES[case]
    close(each(text), [float(python(t)) for t in range(N)])


HELPERS = """
#define CUBE(v) ((v) * (v) * (v))
#define OFFSET 3
constexpr int kScale = 2 * OFFSET;
struct Pair { float sum; int count; };
__device__ float twice(float v) { return v + v; }
__device__ __forceinline__ float clamp(float v, float low, float high) {
    if (v < low) return low;
    if (v > high) return high;
    return v;
}
__device__ int find(const float* p, int n, float what) {
    for (int i = 0; i < n; ++i) {
        if (p[i] == what) return i;
    }
    return -1;
}
__device__ void bump(float& v, int by) { v += by; }
__device__ float consume(float v, int k) { while (k > 0) { v *= 2; --k; } return v; }
template <int K, typename T> __device__ T scaled(T v) { return v * K; }
template <typename T> __device__ T larger(T a, T b) { return a > b ? a : b; }
template <int K = 4> __device__ int defaulted() { return K; }
__device__ float total(const float a[4]) { return a[0] + a[3]; }
__device__ void grow(float m[][3], int i) { m[i][2] += 1; }
#ifndef FALLBACK
#define FALLBACK 7
#endif
__device__ const float kHalf = 0.5f;
__constant__ int kTwo = 2;
__device__ void split(float v, float* middle, int* whole) { *middle = v / 2; *whole = 3; }
__device__ Pair join(Pair a, Pair b) { Pair c; c.sum = a.sum + b.sum; c.count = a.count + b.count; return c; }
"""
HELPER_CASES = {
    "helper": ("y[t] = twice(t) + twice(twice(1));", lambda t: 2 * t + 4),
    "helper with several returns": ("y[t] = clamp(t, 2, 5);", lambda t: min(max(t, 2), 5)),
    "helper that returns from a loop": ("y[t] = find(x, n, x[t]) + find(x + 1, 3, 77.0f);", lambda t: t - 1),
    "helper called in a loop": ("float s = 0; for (int i = 0; i < 3; ++i) s += clamp(t, i, 2 * i); y[t] = s;",
                                lambda t: sum(min(max(t, i), 2 * i) for i in range(3))),
    "reference parameter": ("float v = t; bump(v, 3); bump(v, 1); y[t] = v;", lambda t: t + 4),
    "parameter changed inside": ("float v = t; y[t] = consume(v, 2) + v;", lambda t: 5 * t),
    "template": ("y[t] = scaled<3>(t) + scaled<2, float>(0.5f * t);", lambda t: 4 * t),
    "deduced type": ("y[t] = larger(t, 4) + larger(0.5f, 0.25f);", lambda t: max(t, 4) + 0.5),
    "default template argument": ("y[t] = defaulted<>() + t;", lambda t: 4 + t),
    "macro with arguments": ("y[t] = CUBE(t - 1) + OFFSET + kScale;", lambda t: (t - 1) ** 3 + 9),
    "default macro and device constants": ("y[t] = FALLBACK * kHalf * kTwo + t;", lambda t: 7 + t),
    "results through pointers": ("float a = 1; int b = 1; split(t, &a, &b); y[t] = a + b;", lambda t: t / 2 + 3),
    "array parameter": ("float a[4] = {1, 2, 3, (float)t}; y[t] = total(a);", lambda t: 1 + t),
    "2-D array parameter": ("float m[2][3] = {}; grow(m, 1); grow(m, t % 2); y[t] = m[1][2];", lambda t: 1 + t % 2),
    "struct": ("Pair a = {1.5f, t}; Pair b = join(a, a); y[t] = b.sum + b.count;", lambda t: 3 + 2 * t),
}  # fmt: skip


@pytest.mark.parametrize("case", HELPER_CASES)
def test_helper(case: str) -> None:
    text, python = HELPER_CASES[case]
    text = text.replace("defaulted<>()", "defaulted()")
    close(each(text, HELPERS), [float(python(t)) for t in range(N)])


POINTER_CASES = {
    "pointer with an offset": ("const float* p = x + 2; y[t] = t < 10 ? p[t] - x[t] : 0.5f;", lambda t: 0.5),
    "negative index": ("const float* p = x + n; y[t] = p[t - n] - x[t];", lambda t: 0),
    "walking pointer": ("const float* p = x; float s = 0; for (int i = 0; i <= t; ++i) { s += *p; p++; } y[t] = s - x[0];",
                        lambda t: float(sum(X[: t + 1]) - X[0])),
    "pointer moved by a step": ("float* p = y; p += t; *p = t; p -= t; p[t] += 1;", lambda t: t + 1),
    "address of an element": ("const float* p = &x[t]; y[t] = p[0] - *p + 1;", lambda t: 1),
    "pointer argument": ("float a[3] = {1, 2, 3}; float* p = a + 1; p[1] = t; y[t] = a[2] + a[1];", lambda t: t + 2),
    "pointer to another array": ("const float* p = x; float a = p[t]; p = y; y[t] = a + 1; p += t; y[t] += p[0];",
                                 lambda t: 2 * (float(X[t]) + 1)),
    "pointer moved before an early return": ("const float* p = x; y[t] = 1; if (t > 3) { p = y; y[t] = p[t] + 1; return; } y[t] = p[t];",
                                             lambda t: 2 if t > 3 else float(X[t])),
    "vector read through a C cast": ("float4 v = ((float4*)x)[t / 4]; y[t] = v.y;", lambda t: float(X[t // 4 * 4 + 1])),
    "vector as an array of floats": ("float4 v = make_float4(1, 2, 3, 4); float* p = (float*)&v; p[t % 4] += 10; y[t] = v.x + v.w;",
                                     lambda t: 5 + (10 if t % 4 in (0, 3) else 0)),
    "address of a member": ("float4 v = make_float4(1, 2, 3, t); float* p = &v.z; p[0] += p[1]; y[t] = v.z;", lambda t: 3 + t),
    "array of vectors": ("float4 r[2]; r[0] = make_float4(1, 2, 3, t); r[1] = r[0]; r[1].w += r[0].x; y[t] = r[1].w;",
                         lambda t: t + 1),
    "vector read": ("float4 v = reinterpret_cast<const float4*>(x)[t / 4]; y[t] = v.x + v.w;",
                    lambda t: float(X[t // 4 * 4] + X[t // 4 * 4 + 3])),
    "vector write": ("if (t < 6) { float2 v; v.x = t; v.y = -t; ((float2*)y)[t] = v; }",
                     lambda t: t // 2 if t % 2 == 0 else -(t // 2)),
    "member of a vector in memory": ("if (t < 3) { float4* p = (float4*)y; p[t].x = 1; p[t].y = 2; p[t].z = p[t].w = t; }",
                                     lambda t: [1, 2, t // 4, t // 4][t % 4]),
}  # fmt: skip


@pytest.mark.parametrize("case", POINTER_CASES)
def test_pointer(case: str) -> None:
    text, python = POINTER_CASES[case]
    close(each(text), [float(python(t)) for t in range(N)])


SHARED_CASES = {
    "static": ("__shared__ float s[12]; s[t] = t; __syncthreads(); y[t] = s[11 - t];", lambda t: 11 - t),
    "two-dimensional": ("__shared__ float s[4][3]; s[t % 4][t / 4] = t; __syncthreads(); y[t] = s[t / 3][t % 3];",
                        lambda t: t // 3 + 4 * (t % 3)),
    "scalar": ("__shared__ float total; if (t == 5) total = t; __syncthreads(); y[t] = total;", lambda t: 5),
    "integer": ("__shared__ int s[12]; s[t] = n - t; __syncthreads(); y[t] = s[t] % 5;", lambda t: (N - t) % 5),
    "row as a pointer": ("__shared__ float s[3][4]; float* row = s[t / 4]; row[t % 4] = t; __syncthreads(); y[t] = s[2][t % 4];",
                         lambda t: 8 + t % 4),
    "dynamic": ("extern __shared__ float s[]; s[t] = t; __syncthreads(); y[t] = s[0] + s[n - 1];", lambda t: 11),
    "dynamic carved in two": ("extern __shared__ float s[]; float* a = s; float* b = a + n; a[t] = t; b[t] = 2 * t;"
                              " __syncthreads(); y[t] = a[11 - t] + b[t];", lambda t: 11 + t),
    "dynamic raw bytes": ("extern __shared__ char raw[]; float* a = (float*)raw; float* b = (float*)(raw + 12 * sizeof(float));"
                          " a[t] = t; b[t] = 10; __syncthreads(); y[t] = a[11 - t] + b[0];", lambda t: 21 - t),
    "atomic sum": ("__shared__ float s; if (t == 0) s = 0; __syncthreads(); atomicAdd(&s, (float)t); __syncthreads(); y[t] = s;",
                   lambda t: 66),
}  # fmt: skip


@pytest.mark.parametrize("case", SHARED_CASES)
def test_shared_memory(case: str) -> None:
    text, python = SHARED_CASES[case]
    close(outputs(text, shared=96), [float(python(t)) for t in range(N)])


SHUFFLE_CASES = {
    "down": ("__shfl_down_sync(0xffffffff, v, 2)", lambda t: t + 2),
    "up": ("__shfl_up_sync(0xffffffffu, v, 2)", lambda t: t - 2 if t >= 2 else t),
    "xor": ("__shfl_xor_sync(~0u, v, 1)", lambda t: t ^ 1),
    "index": ("__shfl_sync(mask, v, 7)", lambda t: 7),
    "width": ("__shfl_down_sync(0xffffffff, v, 1, 4)", lambda t: t + 1 if t % 4 < 3 else t),
}


@pytest.mark.parametrize("case", SHUFFLE_CASES)
def test_shuffle(case: str) -> None:
    text, python = SHUFFLE_CASES[case]
    got = outputs(
        f"unsigned mask = 0xffffffff; float v = t; v = {text}; if (t < n) y[t] = v; __syncwarp();", threads=32
    )
    close(got, [float(python(t)) for t in range(N)])


def test_static_shared_array_of_a_helper_is_one_array_for_all_calls() -> None:
    prelude = """__device__ float swap(float v, int t) {
        __shared__ float s[12];
        s[t] = v;
        __syncthreads();
        v = s[11 - t];
        __syncthreads();
        return v;
    }"""
    assert outputs("y[t] = swap(t, t); float w = swap(y[t], t); y[t] = w;", prelude) == [
        float(t) for t in range(N)
    ]
    source = (
        prelude
        + """
__global__ void two(float* y, int n) { int t = threadIdx.x; float a = swap(t, t); y[t] = swap(a, t); }
void launch(float* y, int n) { two<<<1, 12>>>(y, n); }"""
    )
    (kernel,) = load(source).lowered.values()
    assert [a.name for a in kernel.arrays] == ["y", "s"]


def test_template_kernel_is_specialised_at_the_launch() -> None:
    source = """template <int WIDTH, bool DOUBLE>
__global__ void probe(const float* x, float* y, int n) {
    float part[WIDTH] = {};
    static_assert(WIDTH % 4 == 0, "a multiple of four");
    if constexpr (DOUBLE) { part[WIDTH - 1] = 2; } else { part[0] = undeclared; }
    if (WIDTH > 4) y[threadIdx.x] = part[WIDTH - 1]; else y[threadIdx.x] = -1;
}
void launch(const float* x, float* y, int n) { constexpr int w = 8; probe<w, true><<<1, 12>>>(x, y, n); }
"""
    program = load(source)
    (kernel,) = program.lowered.values()
    assert kernel.arrays[-1].size == 8
    result = run(program.plan(TASK, TASK.workload()), {"x": X})
    assert list(result.outputs["y"]) == [2.0] * N


def test_literals_are_the_shortest_decimal_of_their_float32() -> None:
    from semantics.literals import real_literal

    assert real_literal("0.1f") == Fraction(1, 10)
    assert real_literal("1e-5") == Fraction(1, 100000)
    assert real_literal("0.70710678118f") == Fraction("0.70710677")
    assert real_literal(0.7978845608028654) == Fraction("0.7978846")
    assert real_literal(".5") == Fraction(1, 2)
    assert real_literal("16777217.0f") == 16777216
    with pytest.raises(ValueError, match="not finite"):
        real_literal("1e39f")


def test_a_local_array_in_a_loop_may_be_filled_changed_and_read() -> None:
    source = """__global__ void k(const float* x, float* y, int n) {
    for (int q = 0; q < 3; ++q) {
        float v[4];
        for (int i = 0; i < 4; i++) { v[i] = x[i] + q; }
        for (int i = 0; i < 4; i++) { v[i] = 2 * v[i]; }
        for (int i = 0; i < 4; i++) { y[3 * i + q] = v[i]; }
    }
}
void launch(const float* x, float* y, int n) { k<<<1, 1>>>(x, y, n); }
"""
    result = run(load(source).plan(TASK, TASK.workload()), {"x": X})
    assert list(result.outputs["y"]) == [2 * (float(X[i]) + q) for i in range(4) for q in range(3)]
