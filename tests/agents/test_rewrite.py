"""AST rewrites: what they do, and that they keep a kernel's values."""

import pytest

from agents.rewrite import variants
from kshell import tasks
from scaffolds.families import families_of
from scaffolds.families.space import conservative_schedule
from semantics.parser import parse

LAUNCH = "void launch(const float* x, float* y, int n) {\n    f<<<1, 32>>>(x, y, n);\n}\n"


def kernel(body: str) -> str:
    return f"__global__ void f(const float* x, float* y, int n) {{\n{body}\n}}\n{LAUNCH}"


def rewritten(body: str, label: str) -> str:
    found = [v.source for v in variants(kernel(body)) if v.label == label]
    assert len(found) == 1, [v.label for v in variants(kernel(body))]
    return found[0]


def labels(body: str) -> list[str]:
    return [v.label for v in variants(kernel(body))]


def test_a_product_that_the_loop_does_not_change_is_hoisted() -> None:
    body = "int row = threadIdx.x;\nfor (int j = 0; j < n; ++j) { y[row * n + j] = x[row * n + j]; }"
    text = rewritten(body, "hoist row * n")
    assert "    int offset = row * n;\n    for (" in text
    assert "y[offset + j] = x[offset + j];" in text


def test_a_product_of_a_changing_name_stays() -> None:
    body = "int row = 0;\nfor (int j = 0; j < n; ++j) { y[row * n + j] = 1.0f; row += 1; }"
    assert not any(label.startswith("hoist") for label in labels(body))


def test_a_division_by_a_fixed_float_becomes_a_multiplication() -> None:
    body = "float s = x[0];\nfor (int j = 0; j < n; ++j) { y[j] = x[j] / s; }"
    text = rewritten(body, "reciprocal of s")
    assert "float s_inverse = 1.0f / s;" in text
    assert "y[j] = x[j] * s_inverse;" in text


def test_integer_division_and_a_changing_divisor_stay() -> None:
    integer = "int s = 2;\nfor (int j = 0; j < n; ++j) { y[j / s] = 1.0f; }"
    changing = "float s = 1.0f;\nfor (int j = 0; j < n; ++j) { y[j] = x[j] / s; s += 1.0f; }"
    assert not any(label.startswith("reciprocal") for label in labels(integer) + labels(changing))


def test_multiply_add_is_fused_for_floats_only() -> None:
    loop = "for (int j = 0; j < n; ++j) { s += x[j] * x[j]; k += j * j; }"
    body = f"float s = 0.0f;\nint k = 0;\n{loop}\ny[k] = s;"
    text = rewritten(body, "fused multiply-add")
    assert "s = fmaf(x[j], x[j], s);" in text
    assert "k += j * j;" in text


def test_nested_sums_are_interchanged() -> None:
    body = (
        "float s = 0.0f;\nfor (int a = 0; a < n; ++a) {\n"
        "for (int b = 0; b < 4; ++b) { s += x[a * 4 + b]; } }\ny[0] = s;"
    )
    text = rewritten(body, "interchange a and b")
    assert text.index("int b = 0") < text.index("int a = 0")


@pytest.mark.parametrize(
    "inner",
    [
        "for (int b = 0; b < a; ++b) { s += x[a + b]; }",
        "for (int b = 0; b < 4; ++b) { s += s * x[a + b]; }",
        "for (int b = 0; b < 4; ++b) { s = x[a + b]; }",
        "for (int b = 0; b < 4; ++b) { s += x[a + b]; __syncthreads(); }",
        "for (int b = 0; b < 4; ++b) { if (s < 1.0f) { s += x[a + b]; } }",
    ],
)
def test_loops_whose_order_matters_are_not_interchanged(inner: str) -> None:
    body = f"float s = 0.0f;\nfor (int a = 0; a < n; ++a) {{ {inner} }}\ny[0] = s;"
    assert not any(label.startswith("interchange") for label in labels(body))


def test_unrolling_is_added_and_taken_away() -> None:
    small = "for (int k = 0; k < 4; ++k) { y[k] = 0.0f; }"
    assert "#pragma unroll\n" in rewritten(small, "unroll k")
    assert "#pragma unroll" not in rewritten(f"#pragma unroll\n{small}", "roll k")
    assert "#pragma unroll 4\n" in rewritten(small.replace("k < 4", "k < n"), "unroll k by 4")


@pytest.mark.parametrize("name", ["softmax", "gemm", "conv2d"])
def test_every_rewrite_of_a_family_parses_and_differs(name: str) -> None:
    task = tasks.get(name)
    for family in families_of(task):
        source = family.source(task, task.workload(), conservative_schedule(family, task, task.workload()))
        found = [parse(v.source) for v in variants(source)]
        assert found
        assert parse(source) not in found
        assert all(m.functions("host") == found[0].functions("host") for m in found)
