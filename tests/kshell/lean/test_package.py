from pathlib import Path

import pytest

from kshell.lean.package import BuildError, imports_of, modules, package_hash


def _package(folder: Path, **files: str) -> Path:
    (folder / "KShell").mkdir()
    (folder / "lean-toolchain").write_text("leanprover/lean4:v4.28.0\n")
    for name, text in files.items():
        (folder / "KShell" / f"{name}.lean").write_text(text)
    return folder


def test_modules_come_after_what_they_import(tmp_path: Path) -> None:
    root = _package(
        tmp_path, A="module\npublic import KShell.B\n", B="import Init\nimport all KShell.C\n", C=""
    )
    assert [module.name for module in modules(root, "x")] == ["KShell.C", "KShell.B", "KShell.A"]


def test_an_edit_changes_the_keys_of_the_module_and_of_its_importers_only(tmp_path: Path) -> None:
    root = _package(tmp_path, A="import KShell.B\n", B="", C="")
    before = {module.name: module.key for module in modules(root, "x")}
    (root / "KShell" / "B.lean").write_text("def x := 1\n")
    after = {module.name: module.key for module in modules(root, "x")}
    assert {name for name in before if before[name] != after[name]} == {"KShell.A", "KShell.B"}


def test_keys_differ_between_toolchains(tmp_path: Path) -> None:
    root = _package(tmp_path, A="")
    assert modules(root, "x")[0].key != modules(root, "y")[0].key


def test_a_circle_is_refused(tmp_path: Path) -> None:
    root = _package(tmp_path, A="import KShell.B\n", B="import KShell.A\n")
    with pytest.raises(BuildError, match="in a circle"):
        modules(root, "x")


def test_an_import_of_nothing_is_refused(tmp_path: Path) -> None:
    root = _package(tmp_path, A="import KShell.Missing\n")
    with pytest.raises(BuildError, match=r"KShell\.A imports KShell\.Missing, which does not exist"):
        modules(root, "x")


def test_comments_hold_no_imports() -> None:
    text = "/- import KShell.A -/\n-- import KShell.B\npublic meta import KShell.C\n"
    assert imports_of(text) == ["KShell.C"]


def test_the_package_hash_is_of_names_and_contents(tmp_path: Path) -> None:
    root = _package(tmp_path, A="", B="")
    before = package_hash(root)
    (root / "KShell" / "A.lean").write_text("-- changed\n")
    assert package_hash(root) != before
