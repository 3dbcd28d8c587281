import pytest

from insights_db.records import ProofStatus
from kshell import tasks

from . import sources
from .proving import prove, prove_at

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean")]


@pytest.mark.parametrize(
    ("name", "source", "axes"),
    [
        ("silu", sources.GUARDED, {"n": 16384}),
        ("silu", sources.GUARDED, {"n": 16385}),
        ("relu", sources.EARLY_RETURN, {"n": 16381}),
        ("gelu_tanh", sources.GRID_STRIDE, {"n": 16385}),
        ("add", sources.FLOAT4, {"n": 16385}),
        ("scale", sources.TWO_D, {"n": 16385}),
        ("gemv", sources.GEMV, {"M": 500, "N": 96}),
    ],
    ids=["guarded", "ragged", "early-return", "grid-stride", "float4", "two-d", "gemv"],
)
def test_a_right_kernel_is_proven(name: str, source: str, axes: dict[str, int]) -> None:
    proof, seen, _, _ = prove(source, name, **axes)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN
    assert seen == list(proof.obligations)
    assert "def Claim : Prop" in proof.statement


@pytest.mark.parametrize(
    ("name", "source", "old", "new", "axes", "line", "title"),
    [
        ("silu", sources.GUARDED, "1.0f + expf", "1.0f - expf", {}, 5, "stor"),
        ("silu", sources.GUARDED, "i < n", "i <= n", {"n": 16383}, 4, "in bounds"),
        ("gelu_tanh", sources.GRID_STRIDE, "i += stride", "i += 1", {}, 5, "order"),
        ("gelu_tanh", sources.GRID_STRIDE, "gridDim.x * blockDim.x;", "blockDim.x;", {}, 5, "owned"),
        ("gelu_tanh", sources.GRID_STRIDE, "i < n", "i < n", {"n": 2147483000}, 3, "computed in range"),
    ],
    ids=["wrong-operator", "off-by-one-guard", "small-step", "overlapping-step", "overflow"],
)
def test_a_wrong_kernel_is_not_proven_and_the_open_obligation_names_the_line(
    name: str, source: str, old: str, new: str, axes: dict[str, int], line: int, title: str
) -> None:
    assert old in source
    proof, _, _, _ = prove(source.replace(old, new), name, **axes)
    assert proof.status is ProofStatus.UNPROVEN
    still_open = [one for one in proof.obligations if one.status is not ProofStatus.PROVEN]
    assert any(one.line == line and title in one.title for one in still_open), proof.reason


def test_a_loop_that_never_steps_is_not_proven() -> None:
    proof, _, _, _ = prove(sources.GRID_STRIDE.replace("i += stride", "i += 0"), "gelu_tanh")
    assert proof.status is ProofStatus.UNPROVEN


def test_a_kernel_that_is_wrong_in_place_only_is_proven_apart_only() -> None:
    proof, _, _, _ = prove(sources.NEIGHBOUR, "scale")
    assert proof.status is ProofStatus.UNPROVEN
    still_open = [one for one in proof.obligations if one.status is not ProofStatus.PROVEN]
    assert all(one.name.startswith("in_place.") for one in still_open[:-1]), proof.reason
    assert still_open[0].line == 4
    assert still_open[0].title.startswith("with `y` in the buffer of `x`: the read of x")
    assert next(one for one in proof.obligations if one.name == "correct").status is ProofStatus.PROVEN


def test_a_right_kernel_is_not_proven_against_a_wrong_spec() -> None:
    task = tasks.get("scale")
    assert "0.5" in task.reference
    wrong = task.model_copy(update={"reference": task.reference.replace("0.5", "0.25")})
    kernel = sources.NEIGHBOUR.replace("float* y, int n) {\n", "float* __restrict__ y, int n) {\n")
    proof, _ = prove_at(kernel, wrong, wrong.workload())
    assert proof.status is ProofStatus.UNPROVEN
    still_open = [one for one in proof.obligations if one.status is not ProofStatus.PROVEN]
    assert still_open[0].title == "the value stored into y is what the spec says", proof.reason
