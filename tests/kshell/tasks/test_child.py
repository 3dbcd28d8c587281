"""References in a child process: the same answers, and this process needs no torch."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest

from kshell import tasks
from kshell.tasks import child, reference, trace
from kshell.tasks.child import Child
from kshell.tasks.reference import ReferenceFailure
from semantics.span import Refusal

pytestmark = pytest.mark.xdist_group("child")


@pytest.fixture(scope="module")
def shared() -> Iterator[Child]:
    made = Child()
    yield made
    made.close()


@pytest.fixture
def used(shared: Child, monkeypatch: pytest.MonkeyPatch) -> Child:
    """The child is in use, and torch cannot be imported here."""
    monkeypatch.setattr(child, "_child", shared)
    monkeypatch.setitem(sys.modules, "torch", None)
    return shared


def test_the_reference_is_computed_without_torch_in_this_process(used: Child) -> None:
    task = tasks.get("relu")
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    out = reference.compute(task, task.workload(n=8), {"x": x})
    assert np.array_equal(out["y"], np.maximum(x.astype(np.float64), 0))


def test_the_spec_is_traced_there(used: Child) -> None:
    task = tasks.get("relu")
    assert trace._traced(task, task.workload(n=8)).outputs[0].extents == (8,)


def test_what_the_reference_prints_or_raises_harms_nothing(used: Child) -> None:
    task = tasks.get("relu")
    loud = task.model_copy(update={"reference": "print('hello')\n" + task.reference})
    x = np.ones(4, dtype=np.float32)
    assert reference.compute(loud, loud.workload(n=4), {"x": x})["y"].tolist() == [1.0] * 4
    broken = task.model_copy(update={"reference": "1 / 0"})
    with pytest.raises(ReferenceFailure, match="does not load: division by zero"):
        reference.compute(broken, task.workload(n=4), {"x": x})
    strange = task.model_copy(
        update={"reference": task.reference.replace("torch.relu(x)", "torch.special.i0(x)")}
    )
    assert strange.reference != task.reference
    with pytest.raises(Refusal, match="i0"):
        trace._traced(strange, task.workload(n=4))


def test_a_child_that_died_is_one_line_and_the_next_request_starts_another(used: Child) -> None:
    task = tasks.get("relu")
    deadly = task.model_copy(update={"reference": "import os\nos._exit(3)"})
    x = np.ones(4, dtype=np.float32)
    with pytest.raises(ReferenceFailure, match="ended by itself"):
        reference.compute(deadly, task.workload(n=4), {"x": x})
    assert reference.compute(task, task.workload(n=4), {"x": x})["y"].tolist() == [1.0] * 4
