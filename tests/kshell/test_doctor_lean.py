"""What the doctor says of the proof package."""

from pathlib import Path

import pytest

from kshell import doctor
from kshell.errors import UserError
from kshell.lean import package, toolchain


def found() -> doctor.Finding:
    return next(f for f in doctor.examine() if f.part == "proof package")


def known_toolchain() -> toolchain.Toolchain:
    return toolchain.Toolchain(toolchain.Kind.NATIVE, "4.0.0", Path("lean"))


def test_a_package_that_is_not_built_says_what_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "store", lambda: tmp_path)
    monkeypatch.setattr(toolchain, "find", known_toolchain)
    finding = found()
    assert not finding.ok and not finding.needed and finding.found.startswith("0 of ")
    assert "kshell lean build" in finding.advice
    for module in package.modules(toolchain.package_root(), known_toolchain().id):
        (tmp_path / "modules" / module.key).mkdir(parents=True)
    assert found().ok


def test_without_lean_it_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> toolchain.Toolchain:
        raise UserError("no Lean: run `kshell lean install`")

    monkeypatch.setattr(toolchain, "find", none)
    finding = found()
    assert not finding.ok and "kshell lean install" in finding.advice
