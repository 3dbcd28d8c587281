"""The proof package: what its text may contain, and that every module and every test file checks."""

import asyncio
import re
import tomllib
from pathlib import Path

import pytest

from kshell.lean import package, toolchain
from kshell.lean.runner import LeanRunner

ROOT = Path(__file__).resolve().parents[2] / "lean"
SOURCES = sorted((ROOT / "KShell").rglob("*.lean"))
TESTS = sorted((ROOT / "Tests").glob("*.lean"))
FORBIDDEN = re.compile(
    r"\b(sorry|admit|axiom|native_decide|unsafe|implemented_by|extern|csimp|opaque|partial|run_cmd|elab|initialize)\b"
)
DECLARATION = re.compile(
    r"^(?:noncomputable |private |protected )*(?:def|abbrev|structure|class|inductive) (\S+)", re.MULTILINE
)


def code_of(path: Path) -> str:
    """The text without comments."""
    text = re.sub(r"/-.*?-/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"--.*", "", text)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_no_unproved_or_unchecked_declarations(path: Path) -> None:
    found = FORBIDDEN.findall(code_of(path))
    assert not found, f"{name_of(path)} uses {sorted(set(found))}"


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_file_is_a_module_of_readable_size(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "module"
    assert len(lines) <= 500


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_definitions_have_docstrings(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    bare = [
        match.group(1)
        for match in DECLARATION.finditer(text)
        if not text[: match.start()].rstrip().endswith("-/")
        and not text[: match.start()].rstrip().splitlines()[-1].startswith(("open ", "omit ", "@["))
    ]
    assert not bare, f"{name_of(path)}: no docstring on {bare}"


def test_root_imports_every_module() -> None:
    text = (ROOT / "KShell.lean").read_text(encoding="utf-8")
    imported = set(re.findall(r"^public import (\S+)", text, re.MULTILINE))
    present = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in SOURCES}
    automation = {name for name in present if name.startswith("KShell.Auto.")}
    assert present - automation <= imported


def test_lake_knows_the_library_and_the_tests() -> None:
    lake = tomllib.loads((ROOT / "lakefile.toml").read_text(encoding="utf-8"))
    libraries = {library["name"]: library.get("globs", [library["name"]]) for library in lake["lean_lib"]}
    assert libraries == {"KShell": ["KShell"], "Tests": ["Tests.+"]}
    assert lake["defaultTargets"] == ["KShell"] and lake["testDriver"] == "Tests"
    assert re.fullmatch(r"leanprover/lean4:v\d+\.\d+\.\d+\n", (ROOT / "lean-toolchain").read_text())
    outside = [name for path in TESTS for name in package.imports_of(path.read_text()) if "KShell" not in name]
    assert not outside


def test_statement_reaches_no_rule_and_no_soundness_module() -> None:
    """The trusted base is small: the module of `CorrectIn` imports definitions only."""
    known = {module.name: module for module in package.modules(ROOT, "any")}
    reached: set[str] = set()
    pending = ["KShell.Layout"]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending.extend(known[name].imports)
    assert reached == {
        f"KShell.{name}"
        for name in (
            "Scalar.Basic",
            "Scalar.Ext",
            "Scalar.Fold",
            "Syntax",
            "Eval",
            "Machine",
            "Meaning",
            "Spec",
            "Layout",
        )
    }


@pytest.fixture(scope="module")
def tree() -> Path:
    """The built package; missing modules are compiled."""
    return asyncio.run(package.build(LeanRunner(toolchain.find()), root=ROOT))


@pytest.mark.lean
@pytest.mark.slow
@pytest.mark.xdist_group("lean")
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_lean_test_file_checks_without_a_message(path: Path, tree: Path) -> None:
    check = asyncio.run(LeanRunner(toolchain.find()).check(path, tree))
    assert check.ok, check.reason
    assert not check.messages, check.messages[0].text
