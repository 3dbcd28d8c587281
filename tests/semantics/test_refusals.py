# ruff: noqa: E501 (tables of sources, one case a line)
"""What is outside the language is refused at its line and column, with a reason and a hint."""

import pytest

from semantics.program import load
from semantics.span import Refusal

LAUNCH = "void launch(const float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }"


def refusal(source: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        load(source)
    return caught.value


def in_kernel(body: str, prelude: str = "") -> str:
    """Line 1 holds the prelude, line 2 the kernel's head, line 3 the body from column 1."""
    return f"{prelude}\n__global__ void k(const float* x, float* y, int n) {{\n{body}\n}}\n{LAUNCH}\n"


# body -> (column of `^` in the marker line, words of the reason); the body is on line 3
BODIES = {
    "y[0] = z;": (8, "unknown name 'z'"),
    "y[0] = foo(x[0]);": (8, "unknown function 'foo'"),
    "y[0] = x[0] % 2;": (8, "`%` needs integers"),
    "foo v = 1;": (1, "unknown type 'foo'"),
    "unsigned float v = 1;": (1, "`unsigned float` is no type of the language"),
    "short v = 1;": (1, "type short is outside the language"),
    "float** p = 0;": (1, "pointers to pointers"),
    "goto end;": (1, "`goto` is outside the language"),
    "switch (n) { }": (1, "`switch` is outside the language"),
    'asm("nop;");': (1, "inline assembly"),
    "y[0] = threadIdx ? 1 : 2;": (8, "a condition is needed here, not a built-in index"),
    "y[0] = nullptr == n;": (8, "a pointer is compared with a number"),
    "const float* p = nullptr;": (14, "a variable holds no null pointer"),
    "if (x) y[0] = nullptr;": (8, "a number is needed here, not void*"),
    "auto f = [](float v) { return v; };": (10, "lambdas and attributes"),
    "std::vector<int> v;": (1, "std::vector is outside the language"),
    "cg::sync(n);": (3, "namespaces are outside the language"),
    'printf("x");': (8, "strings are outside the language"),
    "assert(n);": (1, "assert is outside the language"),
    "y[0] = '0';": (8, "character literals"),
    "y[0] = 3x;": (8, "malformed number"),
    "y[0] = 09;": (8, "09 is no octal number"),
    "y[0] = 1e40f;": (8, "not finite in float32"),
    "y[0] = 99999999999999999999;": (8, "fits no integer type"),
    "y[0] = x[0] @ 2;": (13, "unexpected character '@'"),
    "y[0] = 1 /* open": (10, "comment is never closed"),
    "y[0] = (1;": (8, "`(` is never closed"),
    "y[0] = 1 2;": (10, "expected `;` before '2'"),
    "y[0] = 1": (9, "expected `;`"),
    "y[0] = ;": (8, "unexpected ';'"),
    "y[(int)n + 0.5f] = 0;": (3, "an integer is needed here, not a float"),
    "y[0] = n << x[0];": (8, "`<<` needs integers"),
    "y[0] = n / 0;": (8, "division by zero"),
    "y[0] = x;": (1, "a number is needed here, not const float*"),
    "x[0] = 1;": (1, "store through a pointer to const"),
    "n[0] = 1;": (1, "only arrays and pointers can be indexed"),
    "const int c = n; c = 2;": (18, "assignment to a constant"),
    "const int c = 3; c++;": (18, "c cannot be assigned"),
    "3 = n;": (1, "this is no place that can be assigned"),
    "int n2 = 1, n2 = 2;": (13, "'n2' is declared twice"),
    "int i = 0; y[0] = i + i++;": (23, "'i' is changed and used"),
    "int i = 0; y[i] = i = 2; y[0] = (i = 1) + i;": (34, "'i' is changed and used"),
    "float* p = x;": (12, "a pointer to const does not convert"),
    "float* p; p = y;": (8, "pointer p needs an initialiser"),
    "const float* p = x; for (int i = 0; i < n; ++i) p = y;": (21, "pointer p moves to another array in a loop"),
    "const float* p = x; if (n > 3) p = y; y[0] = p[1];": (46, "pointer p may point into different arrays"),
    "const float* p = x; y[0] = n > 3 ? *(p = y) : 0;": (28, "a pointer moves to another array under a condition"),
    "const float* p = n ? x : x + 1; const float* q = n ? x : y;": (50, "a pointer chosen between two arrays"),
    "y[0] = x == y;": (8, "`==` on pointers"),
    "int* p = (int*)y;": (10, "float* seen as int*"),
    "float* p = (float*)x;": (12, "a pointer to const does not convert"),
    "float* p = reinterpret_cast<float*>(x);": (12, "a cast must not drop const"),
    "float4 v = x[0];": (12, "float does not convert to float4"),
    "const int* p = &n;": (17, "n cannot be assigned"),
    "const float4 v = make_float4(1, 2, 3, 4); v.x = 1;": (43, "assignment to a constant"),
    "const float v = 1; const float* p = &v; float* q = p;": (52, "a pointer to const does not convert"),
    "float v = reinterpret_cast<float>(n);": (11, "reinterpret_cast is known for pointers only"),
    "float4 v = make_float4(1, 2, 3);": (12, "make_float4 takes 4 arguments, not 3"),
    "float2 v = make_float2(1, 2); y[0] = v.z;": (38, "float2 has no member 'z'"),
    "y[0] = threadIdx.w;": (8, "threadIdx has no member 'w'"),
    "y[0] = threadIdx;": (1, "a number is needed here, not a built-in index"),
    "__shared__ float s[n];": (20, "extent of array s is not a positive constant"),
    "__shared__ float s[4] = {};": (18, "shared memory has no initialiser"),
    "extern __shared__ float a[]; extern __shared__ int b[];": (52, "declared twice with different types"),
    "extern __shared__ float a[4];": (25, "extern __shared__ needs the form"),
    "extern __shared__ char raw[]; y[0] = raw[0];": (38, "raw shared memory must be cast"),
    "__shared__ float s[8]; float4 v = *(float4*)s;": (36, "is not aligned for float4"),
    "float s[8]; float4 v = *(float4*)s;": (25, "a local array seen as vectors"),
    "static float v = 1;": (1, "`static` variables"),
    "float a[2] = {1, 2, 3};": (14, "too many values"),
    "float a[2][2]; y[0] = a[1];": (16, "a number is needed here, not float*"),
    "break;": (1, "`break` outside a loop"),
    "continue;": (1, "`continue` outside a loop"),
    "return 1;": (1, "a void function returns no value"),
    "__syncthreads(1);": (1, "__syncthreads takes 0 arguments, not 1"),
    "__syncwarp(0xff);": (12, "__syncwarp is known for the full mask"),
    "y[0] = __shfl_down(x[0], 1);": (8, "shuffles without a mask"),
    "y[0] = __shfl_down_sync(0xffffffff, x[0], 1, 3);": (46, "the width of a shuffle"),
    "y[0] = atomicAdd(y, 1.0f);": (1, "a number is needed here, not void"),
    "atomicAdd(x, 1.0f);": (11, "atomicAdd takes the address"),
    "atomicCAS(y, 1, 2);": (1, "atomicCAS is outside the language"),
    "__threadfence();": (1, "memory fences are outside the language"),
    "__activemask();": (1, "which lanes __activemask names is not defined"),
    "y[0] = fmaxf(x[0]);": (8, "fmaxf takes 2 arguments, not 1"),
    "k<<<1, 1>>>(x, y, n);": (1, "a kernel is launched in the launcher only"),
    "if constexpr (n > 1) y[0] = 1;": (15, "the condition of `if constexpr`"),
    "#pragma omp parallel": (1, "`#pragma omp parallel` is outside"),
    "#if 1": (1, "#if without #endif"),
    "#if __CUDA_ARCH__ > 800\n#endif": (5, "'__CUDA_ARCH__' in a condition depends on the compiler"),
    "y[0] = sizeof(n);": (15, "unexpected 'n'"),
    "[[maybe_unused]] int i = 0;": (1, "lambdas and attributes"),
    "class C { };": (1, "classes are outside the language"),
    "typedef int index; typedef float index;": (20, "index already names another type"),
    "using V = std::conditional<true, int, float>;": (11, "the form is typename std::conditional"),
    "using V = std::common_type<int, float>::type;": (11, "std::common_type is outside the language"),
    "for (int i = 0; i < n; ++i) { float v; if (i > 0) y[0] = v; v = 1; }": (58, "'v' may be read before it is assigned"),
    "for (int i = 0; i < n; ++i) { float a[4]; a[i] = 1; y[i] = a[0]; }": (60, "'a' may be read before it is assigned"),
    "for (int i = 0; i < n; ++i) { float a[2]; for (int j = 0; j < 2; ++j) { y[j] = a[j]; a[j] = 1; } }": (80, "'a' may be read before it is assigned"),
    "y[0] = 1; // more \\": (11, "a // comment ends with a backslash"),
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_body_is_refused_at_its_place(body: str) -> None:
    column, reason = BODIES[body]
    found = refusal(in_kernel(body))
    assert reason in found.reason
    assert (found.span.line, found.span.column) == (3, column)


# whole source -> (line, column, words of the reason)
SOURCES = {
    "": (0, 0, "the source is empty"),
    "void launch(float* y) { }": (0, 0, "there is no kernel"),
    "__global__ void k(float* y) { }": (0, 0, "the launcher is missing"),
    "__global__ int k(float* y) { return 1; }\nvoid launch(float* y) { k<<<1, 1>>>(y); }": (1, 16, "a kernel returns void"),
    "__global__ void k(float* y) { }\nint start() { return 0; }": (2, 5, "the launcher is a plain void function"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y); }\nvoid other() { }":
        (3, 6, "host code is outside the language"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { cudaMalloc(y); k<<<1, 1>>>(y); }":
        (2, 25, "this is not part of a launcher"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { for (;;) k<<<1, 1>>>(y); }":
        (2, 25, "this is not part of a launcher"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1, 0, 0>>>(y); }": (2, 25, "a launch takes grid, block"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y, 1); }": (2, 25, "k takes 1 arguments, not 2"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { q<<<1, 1>>>(y); }": (2, 25, "unknown kernel 'q'"),
    "__global__ void k(float* y) { }\nvoid launch(const float* y) { k<<<1, 1>>>(y); }":
        (2, 43, "a pointer to const does not convert"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y + 1); }": (2, 37, "a launch passes whole buffers"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { }": (2, 6, "the launcher launches nothing"),
    "__global__ void k(float* y) { }\nvoid launch(float* y, char c) { k<<<1, 1>>>(y); }": (2, 23, "type char is outside"),
    "__global__ void k(float* y) { }\n__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y); }":
        (2, 17, "function k is defined twice"),
    "__device__ float f(float v) { return f(v); }\n__global__ void k(float* y) { y[0] = f(1); }\n"
    "void launch(float* y) { k<<<1, 1>>>(y); }": (1, 38, "recursion is outside the language"),
    "__device__ float fmaxf(float a, float b) { return a; }\n__global__ void k(float* y) { }\n"
    "void launch(float* y) { k<<<1, 1>>>(y); }": (1, 18, "fmaxf is a function of CUDA already"),
    "__device__ float* f(float* p) { return p; }\n__global__ void k(float* y) { f(y); }\n"
    "void launch(float* y) { k<<<1, 1>>>(y); }": (1, 19, "returns a pointer"),
    "__device__ float f(float v) { v = 1; }\n__global__ void k(float* y) { y[0] = f(1); }\n"
    "void launch(float* y) { k<<<1, 1>>>(y); }": (1, 18, "helper f never returns a value"),
    "__device__ float sum_;\n__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y); }":
        (1, 18, "only scalar constants may stand at file scope"),
    "int count = 3;\n__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y); }":
        (1, 5, "only scalar constants may stand at file scope"),
    "#include <thrust/sort.h>\n": (1, 1, "header <thrust/sort.h> is outside"),
    "#define A(x, ...) x\n": (1, 14, "variadic macros"),
    "#define A(x) #x\n": (1, 14, "# and ## in macros"),
    "#define A 1\n#define A 2\n": (2, 9, "macro A is defined twice"),
    "#define threadIdx blockIdx\n": (1, 9, "threadIdx cannot be a macro"),
    "#define float double\n": (1, 9, "float cannot be a macro"),
    "constexpr int A = 1;\n#define A 2\n": (2, 9, "macro A is defined after its first use"),
    "#ifndef A\n#define A 1\n": (1, 1, "#if without #endif"),
    "#else\n": (1, 1, "#else without #if"),
    "#if 0\n#else\n#elif 1\n#endif\n": (3, 1, "#elif after #else"),
    "#ifdef __linux__\n#endif\n": (1, 8, "__linux__ depends on the compiler"),
    "__device__ float f(float v);\n__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y); }":
        (1, 18, "function f is declared but not defined"),
    "__device__ float f(int v);\n__device__ float f(float v) { return v; }\n__global__ void k(float* y) { }\n"
    "void launch(float* y) { k<<<1, 1>>>(y); }": (1, 18, "f is declared and defined differently"),
    "__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(nullptr); }":
        (2, 37, "a launch passes buffers, not nullptr"),
    "template <> __device__ float f<float>(float v) { return v; }\n": (1, 30, "there is no template f to specialise"),
    "template <typename T> __global__ void k(T* y) { }\ntemplate <> __global__ void k<float>(float* y) { }\n":
        (2, 29, "only helpers are specialised"),
    "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(float* y) {\n"
    "auto g = cg::this_grid(); }\n": (4, 12, "namespaces are outside the language"),
    "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(float* y) {\n"
    "auto g = cg::this_thread_block(); g.shfl(1, 2); }\n": (4, 37, "shfl of this group is outside the language"),
    "namespace cg = cooperative_groups;\n": (1, 16, "cooperative groups need their header"),
    "#include <cooperative_groups.h>\n__global__ void k(float* y) {\nauto g = cooperative_groups::tiled_partition<4>("
    "cooperative_groups::this_thread_block());\ny[0] = cooperative_groups::reduce(g, 1.0f, "
    "cooperative_groups::plus<float>()); }\n": (3, 10, "reductions of groups need their header"),
    "using namespace thrust;\n": (1, 17, "only `using namespace std;`"),
    "#undef A\n": (1, 1, "`#undef` is outside the language"),
    "#define F(a, b) a + b\nconstexpr int c = F(1);\n": (2, 19, "macro F takes 2 arguments, not 1"),
    "template <int N>\n__global__ void k(float* y) { }\nvoid launch(float* y, int n) { k<n><<<1, 1>>>(y); }":
        (3, 34, "a template argument must be a compile-time constant"),
    "template <int N>\n__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y); }":
        (3, 25, "template argument N of k is missing"),
    "struct S { float* p; };\n__global__ void k(float* y) { }\nvoid launch(float* y) { k<<<1, 1>>>(y); }":
        (1, 19, "a struct holds plain scalars"),
    "__host__ __device__ void h() { }\n__host__ void g() { }\n": (2, 1, "host functions are outside the language"),
    "__global__ void k(float* y) { }}\n": (1, 32, "`}` closes nothing"),
    "__global__ void k(float* y) { )\n": (1, 31, "`)` does not close `{` of line 1"),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_source_is_refused_at_its_place(source: str) -> None:
    line, column, reason = SOURCES[source]
    found = refusal(source)
    assert reason in found.reason
    assert (found.span.line, found.span.column) == (line, column)


def test_a_helper_that_stores_has_no_order_beside_another_access() -> None:
    prelude = "__device__ float put(float* p) { p[0] = 1; return 2; }"
    found = refusal(in_kernel("y[0] = put(y) + x[0];", prelude))
    assert "a helper that changes memory" in found.reason
    assert (found.span.line, found.span.column) == (3, 8)
    load(in_kernel("y[0] = put(y) + 2.0f * n;", prelude))


def test_a_line_splice_may_not_join_tokens() -> None:
    found = refusal(in_kernel("y[0] = n -\\\n-n;"))
    assert "a backslash joins two lines" in found.reason
    assert (found.span.line, found.span.column) == (3, 11)
    load(in_kernel("y[0] = n - \\\n   -n;"))


def test_dead_branches_are_checked_too() -> None:
    assert "unknown name 'zz'" in refusal(in_kernel("if (1 > 2) y[0] = zz;")).reason
    assert "unknown name 'zz'" in refusal(in_kernel("return; y[0] = zz;")).reason


def test_rendering_shows_line_caret_and_hint() -> None:
    source = in_kernel("    y[0] = oops + 1.0f;")
    text = refusal(source).render(source, "relu.cu")
    assert text.splitlines() == [
        "relu.cu:3:12: unknown name 'oops'",
        "        y[0] = oops + 1.0f;",
        "               ^^^^",
        "    declare it, or pass it as a parameter",
    ]


def test_place_inside_a_macro_is_the_place_of_its_use() -> None:
    found = refusal(in_kernel("y[0] = BAD(1);", "#define BAD(v) (v + missing)"))
    assert (found.span.line, found.span.column) == (3, 8)


@pytest.mark.parametrize(
    "body",
    [
        "y[0] = " + "+".join(["n"] * 3000) + ";",
        "y[0] = " + "-" * 1 + " - ".join(["-"] * 400) + "1;",
        "y[0] = " + "(" * 3000 + "1" + ")" * 3000 + ";",
        "{" * 3000 + "}" * 3000,
        "if (n) " * 3000 + ";",
        "else ".join(f"if (n == {k}) y[{k}] = 1; " for k in range(400)),
    ],
    ids=["sum", "signs", "parentheses", "blocks", "branches", "chain"],
)
def test_deep_nesting_is_refused(body: str) -> None:
    assert "nest" in refusal(in_kernel(body)).reason


def test_helpers_that_multiply_are_refused() -> None:
    helpers = "__device__ float f0(float v) { return v; }" + "".join(
        f" __device__ float f{k}(float v) {{ return f{k - 1}(v) + f{k - 1}(v); }}" for k in range(1, 20)
    )
    assert "calls of helpers" in refusal(in_kernel("y[0] = f19(1.0f);", helpers)).reason
