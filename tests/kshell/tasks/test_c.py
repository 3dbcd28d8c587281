"""Tasks read from C and CUDA loop nests: what they compute, what is assumed, what is refused."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kshell.cli import main
from kshell.errors import UserError
from kshell.tasks import reference, spec_of
from kshell.tasks.c.check import as_candidate, disagreement
from kshell.tasks.c.task import Reading, reading
from kshell.tasks.rehearsal import rehearse
from semantics.program import load
from semantics.span import Refusal
from semantics.spec_eval import evaluate

SOFTMAX = """#include <math.h>
/* rows one after the other */
void softmax(const float *x, float *y, int rows, int n) {
  for (int i = 0; i < rows; i++) {
    float m = -INFINITY;
    for (int j = 0; j < n; ++j) m = fmaxf(m, x[i * n + j]);
    float s = 0;
    for (int j = 0; j < n; ++j) { y[i * n + j] = expf(x[i * n + j] - m); s += y[i * n + j]; }
    for (int j = 0; j < n; ++j) y[i * n + j] /= s;
  }
}
"""
MATMUL = """#include <stdio.h>
#define M 6
#define K 5
#define N 7
void matmul(const float A[M][K], const float B[K][N], float C[M][N]) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      C[i][j] = 0;
      for (int k = 0; k < K; k++) C[i][j] += A[i][k] * B[k][j];
    }
}
"""
IKJ = """void gemm(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c) {
  for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) c[i*n+j] = 0.0f;
  for (int i = 0; i < m; i++)
    for (int p = 0; p < k; p++) {
      float v = a[i*k+p];
      for (int j = 0; j < n; j++) c[i*n+j] += v * b[p*n+j];
    }
}
"""
LAYERNORM = """void layernorm(const float* x, const float* w, float* y, int rows, int n, float eps) {
  for (int r = 0; r < rows; r++) {
    float mean = 0.0f, var = 0.0f;
    for (int i = 0; i < n; i++) mean += x[r*n+i];
    mean /= n;
    for (int i = 0; i < n; i++) { float d = x[r*n+i] - mean; var += d*d; }
    float inv = 1.0f / sqrtf(var / n + eps);
    for (int i = 0; i < n; i++) y[r*n+i] = (x[r*n+i] - mean) * inv * w[i];
  }
}
"""
SAXPY = """__global__ void saxpy(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = a * x[i] + y[i];
}
"""
GELU = """static float gelu(float v) { const float c = 0.79788456f;
  return 0.5f*v*(1.0f + tanhf(c*(v + 0.044715f*v*v*v))); }
void gelu_bias(const float* in, const float* bias, float* out, int rows, int cols) {
  for (int i = 0; i < rows; ++i) for (int j = 0; j < cols; ++j) out[i*cols+j] = gelu(in[i*cols+j] + bias[j]);
}
"""
ROWMAX = """void rowmax(const float* x, float* m, int rows, int n) {
  for (int i = 0; i < rows; i++) {
    float best = x[i*n];
    for (int j = 1; j < n; j++) if (x[i*n+j] > best) best = x[i*n+j];
    m[i] = best > 0 ? best : 0;
  }
}
"""
DOT = """void dot(const float* x, const float* y, float* out, int n) {
  float s = 0; for (int i = 0; i < n; i++) s += x[i]*y[i]; *out = s; }
"""
ROWS = """#include "mine.h"
void scaled_rows(double* out, double* total, double* in, size_t rows, size_t n) {
  for (size_t i = 0; i < rows; i++) {
    double* row = in + i * n;
    double* to = &out[i * n];
    double s = 0.0;
    for (size_t j = 0; j < n; j++) s += row[j];
    for (size_t j = 0; j < n; j++) { if (row[j] > 0.0) { to[j] = row[j]; } else { to[j] = 0.1 * row[j]; } }
    total[i] = s;
  }
}
int main(void) { printf("%d\\n", 1); return 0; }
"""
SIZES = {"rows": 3, "n": 5, "cols": 4, "m": 4, "k": 3}


def read(text: str, **scalars: float) -> Reading:
    names = re.findall(r"int (\w+)[,)]", text)
    return reading(text, {n: SIZES[n] for n in names if n in SIZES}, scalars)


def result(made: Reading, **arrays: np.ndarray) -> np.ndarray:
    """The one output, by the reference; the spec says the same."""
    workload = made.task.workload()
    [output] = made.task.outputs
    found = reference.compute(made.task, workload, arrays)[output.name]
    meant = evaluate(spec_of(made.task, workload), arrays)[output.name]
    np.testing.assert_allclose(meant, found, rtol=2e-6, atol=1e-9)
    return found


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape)


def test_softmax_over_three_loops() -> None:
    made, x = read(SOFTMAX), drawn(3, 5)
    assert made.task.axes == {"rows": 3, "n": 5}
    assert [t.shape for t in (*made.task.inputs, *made.task.outputs)] == [("rows", "n")] * 2
    np.testing.assert_allclose(result(made, x=x), np.exp(x) / np.exp(x).sum(1, keepdims=True))


@pytest.mark.parametrize("text", [MATMUL, IKJ])
def test_products_in_either_loop_order(text: str) -> None:
    made = read(text)
    one, two = (drawn(*made.task.shapes(made.task.workload())[t.name]) for t in made.task.inputs)
    names = [t.name for t in made.task.inputs]
    np.testing.assert_allclose(result(made, **dict(zip(names, (one, two), strict=True))), one @ two)
    assert "torch.matmul" in made.task.reference


def test_constants_of_the_file_are_axes() -> None:
    task = read(MATMUL).task
    assert task.axes == {"M": 6, "K": 5, "N": 7}
    assert task.work(task.workload())[0] == 2 * 6 * 5 * 7
    assert task.work(task.workload(M=600))[0] == 2 * 600 * 5 * 7


def test_statistics_of_rows_and_a_float_parameter() -> None:
    made, x, w = read(LAYERNORM, eps=0.5), drawn(3, 5), drawn(5)
    centred = x - x.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 0.5) * w
    np.testing.assert_allclose(result(made, x=x, w=w), expected)
    assert made.task.scalars == {"eps": 0.5}
    assert "eps = 1e-05: give --scalar eps=X to choose" in read(LAYERNORM).assumptions


def test_a_kernel_of_guarded_threads_in_place() -> None:
    made, x, y = read(SAXPY, a=2.0), drawn(5), drawn(5) + 1
    np.testing.assert_allclose(result(made, x=x, y=y), 2 * x + y)
    assert made.task.inplace == {"y_out": "y"}
    assert any("updated in place" in said for said in made.assumptions)


def test_helpers_python_words_and_scalars_of_whole_arrays() -> None:
    made, x, b = read(GELU), drawn(3, 4), drawn(4)
    v = x + b
    expected = 0.5 * v * (1 + np.tanh(0.79788456 * (v + 0.044715 * v**3)))
    [first, _] = made.task.inputs
    assert first.name == "in"
    np.testing.assert_allclose(result(made, **{"in": x, "bias": b}), expected, rtol=1e-6)
    np.testing.assert_allclose(result(read(ROWMAX), x=drawn(3, 5)), np.maximum(drawn(3, 5).max(1), 0))
    np.testing.assert_allclose(result(read(DOT), x=drawn(5), y=drawn(5)), [drawn(5) @ drawn(5)])


@pytest.mark.parametrize(
    "text",
    [SOFTMAX, MATMUL, LAYERNORM, SAXPY, GELU, DOT, ROWS],
    ids=str.split("softmax matmul norm saxpy gelu dot rows"),
)
def test_the_function_itself_is_a_candidate_of_its_task(text: str) -> None:
    made = read(text)
    plan = load(as_candidate(made)).plan(made.task, made.task.workload())
    assert len(plan.calls) == 1
    assert disagreement(made, 0.3) is None


def test_pointers_into_rows_several_outputs_and_a_main_that_is_left_out() -> None:
    made, x = reading(ROWS, {"rows": 3, "n": 5}, {}), drawn(3, 5)
    assert [(t.name, t.shape) for t in made.task.outputs] == [("out", ("rows", "n")), ("total", ("rows",))]
    found = reference.compute(made.task, made.task.workload(), {"in": x})
    np.testing.assert_allclose(found["out"], np.where(x > 0, x, 0.1 * x))
    np.testing.assert_allclose(found["total"], x.sum(1))
    assert "double is taken as float32" in made.assumptions


def test_a_reading_that_is_wrong_is_found_by_running_the_function() -> None:
    made = read(SOFTMAX)
    wrong = made.task.model_copy(update={"reference": made.task.reference.replace("t2, 1)", "t2, 1) + 0.1")})
    found = disagreement(replace(made, task=wrong))
    assert found is not None
    assert found.fault == "WRONG VALUE"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("y[0] = x[0]; for (int i = 1; i < n; i++) y[i] = y[i-1] + x[i];", r"1:\d+: the index -1 \+ i of y"),
        ("for (int i = 0; i < n; i++) y[i] = x[2*i];", "i moves the index of x by 2, not by 1"),
        ("for (int i = 0; i < n; i += 2) y[i] = x[i];", "does not count up by one"),
        ("for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) y[i] += x[j];", "depends on another loop"),
        ("float s = 0; for (int i = 0; i < n; i++) { s += x[i]; y[i] = s; }", "uses s of another iteration"),
        ("float s = 1; for (int i = 0; i < n; i++) s *= x[i]; y[0] = s;", "neither a sum nor a maximum"),
        ("float s; for (int i = 0; i < n; i++) s = x[i]; y[0] = s;", "only the last iteration"),
        ("while (n) y[0] = x[0];", "a while statement is not a loop nest"),
        ("for (int i = 0; i < n; i++) y[i] = floorf(x[i]);", "function floorf is not known"),
        ("for (int i = 0; i < n; i++) y[i] = x[i] > 1.0f ? 2.0f : 3.0f;", "not a maximum or a minimum"),
        ("y[3] = x[0];", "x|y"),
        ("", "stores nothing"),
    ],
)
def test_what_is_no_plain_loop_nest_is_refused_with_its_place(body: str, says: str) -> None:
    with pytest.raises(Refusal, match=says) as caught:
        reading(f"void f(const float* x, float* y, int n) {{ {body} }}", {}, {})
    assert "\n" not in str(caught.value)


def test_the_function_is_chosen_by_name_or_by_nobody_calling_it() -> None:
    two = SOFTMAX + DOT.replace("#include", "//")
    with pytest.raises(UserError, match=r"several functions to read \(softmax, dot\)"):
        reading(two, {}, {})
    assert reading(two, {}, {}, "dot").task.name == "dot"
    with pytest.raises(UserError, match="--function sort: the file has softmax, dot"):
        reading(two, {}, {}, "sort")
    with pytest.raises(UserError, match="--size q: the function has no such size; it has rows, n"):
        reading(SOFTMAX, {"q": 2}, {})


def test_verb_shows_assumptions_and_rehearses_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("soft.c").write_text(SOFTMAX)
    assert main(["new", "soft.c", "--size", "n=40", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["axes"] == {"rows": 128, "n": 40}
    assert "assumed  rows = 128: give --size rows=N to choose" in err
    assert "no difference found" in err
    assert "data     outliers: y " in err
    assert main(["new", "soft.c"]) == 2
    assert "softmax.json exists" in capsys.readouterr().err


async def test_a_reference_that_fails_is_the_rehearsals_one_line() -> None:
    made = read(DOT)
    broken = made.task.model_copy(update={"reference": "raise ValueError('no weights')"})
    with pytest.raises(UserError, match=r"the rehearsal of its data failed: .*no weights") as caught:
        await rehearse(broken)
    assert "\n" not in str(caught.value)
