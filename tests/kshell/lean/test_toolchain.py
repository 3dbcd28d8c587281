import stat
from pathlib import Path

import pytest

from kshell.errors import UserError
from kshell.lean import toolchain
from kshell.lean.toolchain import Kind


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lean"
    folder.mkdir()
    (folder / "lean-toolchain").write_text("leanprover/lean4:v4.28.0\n")
    monkeypatch.setenv("KSHELL_LEAN_PACKAGE", str(folder))
    monkeypatch.setenv("KSHELL_LEAN_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("KSHELL_LEAN", raising=False)
    return folder


def _lean(folder: Path, version: str) -> Path:
    program = folder / f"lean-{version}"
    program.write_text(f"#!/bin/sh\necho 'Lean (version {version}, x86_64, commit 0, Release)'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_the_series_comes_from_the_package(package: Path) -> None:
    assert toolchain.wanted_series() == "4.28"


def test_a_named_lean_of_the_series_is_used(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSHELL_LEAN", str(_lean(tmp_path, "4.28.1")))
    found = toolchain.find()
    assert (found.kind, found.version) == (Kind.NATIVE, "4.28.1")
    assert found.id == "lean 4.28.1 (native)"


def test_a_named_lean_of_another_series_is_an_error(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSHELL_LEAN", str(_lean(tmp_path, "4.27.0")))
    with pytest.raises(UserError, match=r"is Lean 4\.27\.0; the package needs 4\.28\.x"):
        toolchain.find()


def test_a_lean_of_another_series_on_path_is_passed_over(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lean(tmp_path, "4.20.0").rename(tmp_path / "lean-program")
    (tmp_path / "bin").mkdir()
    (tmp_path / "lean-program").rename(tmp_path / "bin" / "lean")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert toolchain.native() is None


def test_no_lean_at_all_says_what_to_do(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_LEAN", "embedded")
    with pytest.raises(UserError, match="run `kshell lean install`"):
        toolchain.find()


def test_a_missing_program_is_an_error(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_LEAN", "/nowhere/lean")
    with pytest.raises(UserError, match="not a program"):
        toolchain.native()


def test_a_missing_package_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_LEAN_PACKAGE", str(tmp_path))
    with pytest.raises(UserError, match="KSHELL_LEAN_PACKAGE"):
        toolchain.package_root()
