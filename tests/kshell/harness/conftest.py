"""A build cache shared by the tests of one process, so that the runtime is compiled once."""

from pathlib import Path

import pytest

from kshell.harness.cpu import CpuEvaluator
from kshell.tasks import reference


@pytest.fixture(scope="session")
def build_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("builds")


@pytest.fixture
def evaluator(build_cache: Path) -> CpuEvaluator:
    return CpuEvaluator(reference.compute, build_cache)
