"""Built-in tasks: references, specs and their agreement."""

import json
from pathlib import Path

import numpy as np
import pytest

from kshell.errors import UserError
from kshell.tasks import UnknownTask, get, load, names, reference, spec_of
from kshell.tasks.manifest import write
from kshell.tasks.trace import spec_of as trace
from semantics import spec_json
from semantics.span import Refusal
from semantics.spec_eval import NotExact, evaluate
from semantics.task import Workload

SMALL = {
    "n": 7, "rows": 3, "M": 5, "K": 6, "N": 4, "b": 2, "batch": 2, "hin": 5, "hout": 3, "cin": 3,
    "cout": 4, "c": 3, "H": 5, "k": 3, "pad": 1,
}  # fmt: skip


def small(name: str, **more: int) -> Workload:
    task = get(name)
    return task.workload(**({a: SMALL[a] for a in task.axes} | more))


def inputs(name: str, workload: Workload, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    task = get(name)
    shapes = task.shapes(workload)
    return {t.name: rng.normal(size=shapes[t.name]).astype(np.float32) for t in task.inputs}


@pytest.mark.parametrize("name", names())
def test_spec_means_what_pytorch_computes(name: str) -> None:
    task, workload = get(name), small(name)
    arrays = inputs(name, workload)
    expected = reference.compute(task, workload, arrays)
    got = evaluate(trace(task, workload), arrays)
    for out in task.outputs:
        np.testing.assert_allclose(got[out.name], expected[out.name], rtol=1e-6, atol=1e-7)


def test_convolution_without_padding_and_with_another_kernel_size() -> None:
    workload = small("conv2d", k=2, pad=0)
    arrays = inputs("conv2d", workload)
    got = evaluate(trace(get("conv2d"), workload), arrays)["y"]
    assert got.shape == (2, 4, 4, 4)
    np.testing.assert_allclose(got, reference.compute(get("conv2d"), workload, arrays)["y"], rtol=1e-9)


def test_large_output_in_slices_equals_the_reference() -> None:
    task = get("batch_matmul")
    workload = task.workload(b=3, M=64, K=256, N=512)
    arrays = inputs("batch_matmul", workload)
    got = evaluate(trace(task, workload), arrays)["C"]
    np.testing.assert_allclose(got, reference.compute(task, workload, arrays)["C"], rtol=1e-9, atol=1e-9)


def test_exact_evaluation_is_exact_and_refuses_exp() -> None:
    workload = small("gemm")
    arrays = inputs("gemm", workload)
    exact = evaluate(trace(get("gemm"), workload), arrays, exact=True)["C"]
    floating = evaluate(trace(get("gemm"), workload), arrays)["C"]
    np.testing.assert_allclose(exact.astype(float), floating, rtol=1e-12, atol=1e-12)
    with pytest.raises(NotExact, match="exp"):
        evaluate(trace(get("silu"), small("silu")), inputs("silu", small("silu")), exact=True)


@pytest.mark.parametrize("name", names())
def test_default_sizes_have_shapes_and_work(name: str) -> None:
    task = get(name)
    workload = task.workload()
    assert task.broken_constraint(workload) is None
    flops, moved = task.work(workload)
    shapes = task.shapes(workload)
    assert moved == 4 * sum(int(np.prod(s)) for s in shapes.values())
    assert flops > 0


def test_spec_json_round_trip_and_canonical() -> None:
    for name in names():
        spec = trace(get(name), small(name))
        text = spec_json.dumps(spec)
        assert spec_json.loads(text) == spec
        assert json.loads(text)
    with pytest.raises(ValueError, match="not the JSON of a spec"):
        spec_json.loads('{"is": "Nothing"}')


def test_spec_is_cached_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))
    first = spec_of(get("relu"), small("relu"))
    files = list((tmp_path / "cache" / "specs").glob("*.json"))
    assert len(files) == 1
    files[0].write_text("broken")
    assert spec_of(get("relu"), small("relu")) == first


def test_operation_outside_the_table_is_refused_by_name() -> None:
    text = get("relu").reference.replace("torch.relu(x)", "torch.cumsum(x, 0)")
    task = get("relu").model_copy(update={"reference": text})
    with pytest.raises(Refusal, match="cumsum"):
        trace(task, small("relu"))


def test_wrong_shape_and_wrong_count_are_refused() -> None:
    relu = get("relu")
    transposed = relu.model_copy(
        update={"reference": relu.reference.replace("torch.relu(x)", "x.unsqueeze(0)")}
    )
    with pytest.raises(Refusal, match=r"shape \(1, 7\)"):
        trace(transposed, small("relu"))
    add = get("add").model_copy(update={"inputs": get("add").inputs[:1]})
    with pytest.raises(Refusal, match="more inputs"):
        trace(add, small("add"))


def test_unknown_task_suggests_the_nearest() -> None:
    with pytest.raises(UnknownTask, match="did you mean softmax"):
        get("sofmax")
    with pytest.raises(ValueError, match="no axis 'm'"):
        get("relu").workload(m=3)


def test_manifest_round_trip_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    write(get("conv2d"), path)
    assert load(str(path)) == get("conv2d")
    path.write_text('{"name": 3}')
    with pytest.raises(UserError, match=r"task.json: name: "):
        load(str(path))
    with pytest.raises(UserError, match="cannot read"):
        load(str(tmp_path / "none.json"))


def test_constraints_are_checked() -> None:
    task = get("conv2d")
    assert task.broken_constraint(task.workload(k=9, H=3, pad=0)) == "k <= H + 2*pad"
    assert task.broken_constraint(task.workload(H=0)) == "H >= 1"
