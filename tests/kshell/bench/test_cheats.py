"""Every known cheat is refused by the layer its sample names, and the honest kernel is not."""

from pathlib import Path

import pytest

from kshell.bench import cheats
from kshell.harness.cpu import CpuEvaluator
from kshell.tasks import reference

SAMPLES = cheats.samples()


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> CpuEvaluator:
    return CpuEvaluator(reference.compute, tmp_path_factory.mktemp("builds"))


def test_the_corpus_has_every_known_cheat_and_an_honest_kernel() -> None:
    numbers = [int(s.name.split("_")[0]) for s in SAMPLES]
    assert numbers == list(range(28))
    assert [s.name for s in SAMPLES if s.layer == "none"] == ["00_honest"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
async def test_the_layer_named_refuses_it(sample: cheats.Sample, evaluator: CpuEvaluator) -> None:
    outcome = await cheats.attempt(sample, evaluator)
    assert (outcome.layer, sample.answer in outcome.reason) == (sample.layer, True), outcome.reason


def test_a_cheat_refused_by_another_layer_is_not_counted() -> None:
    cheat = next(s for s in SAMPLES if s.layer == "language")
    found = cheats.summary([cheats.Outcome(cheat, "validate", "wrong", 0.0)], "cpu")
    assert (found["refused"], found["total"], found["by_layer"]) == (0, 1, {"validate": 1})


def test_a_sample_without_a_layer_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.cu"
    path.write_text("// title\n// task: relu\n\n__global__ void k() {}\n")
    with pytest.raises(ValueError, match="needs `// task"):
        cheats.read(path)
