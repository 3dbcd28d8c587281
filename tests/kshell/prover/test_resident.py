"""The resident checker: each text stands alone, nothing wrong passes, a dead process is replaced."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.lean import package, toolchain
from kshell.lean.resident import Resident, body_of
from kshell.lean.runner import Check, LeanRunner
from kshell.prover import checking
from kshell.prover.axioms import ALLOWED, AxiomReport, package_walk_file, read_report, resident_file

HEAD = "module\npublic import KShell.Auto\npublic section\n"
TRUE = "theorem mine : 1 + 1 = 2 := rfl\n"


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def checker(loop: asyncio.Runner) -> Iterator[Resident]:
    made = loop.run(checking.resident(LeanRunner(toolchain.find())))
    yield made
    loop.run(made.close())


def ask(loop: asyncio.Runner, checker: Resident, text: str) -> tuple[Check, AxiomReport]:
    body = body_of(HEAD + text, ("KShell.Auto",))
    check = loop.run(checker.check(body, "mine"))
    return check, read_report(check.lines)


def test_a_header_becomes_blank_lines_and_foreign_imports_are_refused() -> None:
    assert body_of(HEAD + TRUE, ("KShell.Auto",)) == "\n\npublic section\n" + TRUE
    with pytest.raises(ValueError, match="imports Lean, which the resident checker does not have"):
        body_of("module\npublic import Lean\n" + TRUE, ("KShell.Auto",))


@pytest.mark.lean
@pytest.mark.slow
@pytest.mark.xdist_group("lean")
class TestWithLean:
    def test_each_text_stands_alone(self, loop: asyncio.Runner, checker: Resident) -> None:
        for _ in range(2):
            check, report = ask(loop, checker, TRUE)
            assert check.ok, check.reason
            assert report.ok and report.axioms == ()
        check, _ = ask(loop, checker, "theorem other : 1 + 1 = 2 := mine\n")
        assert not check.ok
        assert "mine" in check.errors[0].text

    def test_an_error_names_its_line_also_deep_in_a_proof(
        self, loop: asyncio.Runner, checker: Resident
    ) -> None:
        check, _ = ask(loop, checker, TRUE + "theorem wrong (n : Nat) : n = 1 := by\n  omega\n")
        assert not check.ok
        assert [(error.line, error.file) for error in check.errors] == [(6, "Candidate.lean")]

    def test_what_the_kernel_refuses_is_an_error(self, loop: asyncio.Runner, checker: Resident) -> None:
        check, _ = ask(loop, checker, TRUE + "theorem wrong : 1 + 1 = 3 := by decide\n")
        assert not check.ok

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("theorem deep : 1 = 2 := sorry\ntheorem mine : 1 = 2 := deep\n", "the axiom sorryAx"),
            ("axiom deep : 1 = 2\ntheorem mine : 1 = 2 := deep\n", "the axiom deep"),
            ("opaque deep : Nat\ntheorem mine : deep = deep := rfl\n", "the opaque constant deep of _"),
            ("theorem other : True := trivial\n", "the missing constant mine"),
        ],
        ids=["sorry", "axiom", "opaque", "missing"],
    )
    def test_the_walk_finds_what_no_proof_may_rest_on(
        self, loop: asyncio.Runner, checker: Resident, text: str, reason: str
    ) -> None:
        check, report = ask(loop, checker, text)
        assert check.status == 0
        assert reason in report.reason

    def test_options_of_a_text_end_with_it(self, loop: asyncio.Runner, checker: Resident) -> None:
        ask(loop, checker, "set_option maxRecDepth 7\nnamespace Left\n" + TRUE)
        check, report = ask(loop, checker, "theorem mine : (2 : Nat) ^ 10 = 1024 := by decide\n")
        assert check.ok and report.ok, check.reason

    def test_a_process_that_died_is_replaced(self, loop: asyncio.Runner, checker: Resident) -> None:
        ask(loop, checker, TRUE)
        assert checker._process is not None
        os.killpg(checker._process.pid, signal.SIGKILL)
        check, report = ask(loop, checker, TRUE)
        assert check.ok and report.ok

    def test_the_limit_of_time_ends_a_check(self, loop: asyncio.Runner, checker: Resident) -> None:
        check = loop.run(checker.check("theorem mine : True := trivial\n", "mine", seconds=0.01))
        assert check.timed_out and not check.ok
        check, _ = ask(loop, checker, TRUE)
        assert check.ok

    def test_the_package_rests_on_allowed_axioms_and_the_walk_would_find_another(
        self, loop: asyncio.Runner, tmp_path: Path
    ) -> None:
        runner = LeanRunner(toolchain.find())
        found = loop.run(checking.package_axioms(runner))
        assert set(found.axioms) <= set(ALLOWED)
        assert found.visited > 3000
        poisoned = tmp_path / "KShell"
        poisoned.mkdir()
        (tmp_path / "KShell.lean").write_text("module\npublic section\naxiom free : 1 = 2\n")
        check = loop.run(
            runner.check(tmp_path / "KShell.lean", output=tmp_path / "KShell.olean", seconds=300)
        )
        assert check.ok, check.reason
        walk = tmp_path / "walk" / "Walk.lean"
        walk.parent.mkdir()
        walk.write_text(package_walk_file(["KShell"]))
        report = read_report(loop.run(runner.check(walk, tmp_path, seconds=300)).lines)
        assert report.reason == "the proof rests on the axiom free"

    def test_the_program_and_the_package_are_what_a_session_uses(self, checker: Resident) -> None:
        assert checker.program == resident_file()
        assert "KShell.Auto" in package.names_in(checker.package)
