"""What the doctor says of the CUDA toolkit, with and without it."""

from pathlib import Path

import pytest

from kshell import doctor
from kshell.harness import nvrtc
from tests.kshell.harness import fake_toolkit


def found(part: str) -> doctor.Finding:
    return next(f for f in doctor.examine() if f.part == part)


def test_tools_that_are_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_toolkit.install(tmp_path, monkeypatch)
    tools = found("CUDA tools")
    assert (tools.ok, tools.needed, tools.found) == (True, False, "ncu, compute-sanitizer")
    (tmp_path / "ncu").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = found("CUDA tools")
    assert (tools.ok, tools.found) == (False, "compute-sanitizer")
    assert "ncu reads the hardware's counters" in tools.advice


def test_a_missing_nvrtc_is_no_fault_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> nvrtc.Nvrtc:
        raise nvrtc.NoCompiler("NVRTC is not installed; pip install nvidia-cuda-nvrtc")

    monkeypatch.setattr(nvrtc, "find", missing)
    finding = found("NVRTC")
    assert (finding.ok, finding.needed, finding.found) == (False, False, "none")
    assert "pip install nvidia-cuda-nvrtc" in finding.advice
