import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from insights_db.records import Certificate, ProofStatus
from kshell import tasks
from kshell.errors import UserError
from kshell.lean import toolchain
from kshell.lean.runner import LeanRunner
from kshell.prover import LeanProver
from kshell.prover.assumptions import assumptions, page
from kshell.prover.audit import audit, compare, read_certificate
from kshell.prover.keys import sha256
from kshell.prover.prover import emitted, make_certificate

from . import sources
from .proving import candidate, prove

AXIOMS = ("propext", "Quot.sound", "Classical.choice")


@pytest.fixture
def certificate() -> Certificate:
    """A certificate as the prover would make it, without running Lean."""
    task = tasks.get("silu")
    known, emission = emitted(sources.GUARDED, task, task.workload())
    return make_certificate(known.source_hash[:12], known, emission, "a checker", AXIOMS, len(emission.steps))


def refusal(changed: Certificate) -> str:
    """The comparison that refuses a certificate, before Lean is asked."""
    findings, _ = compare(changed, tasks.get("silu"))
    return next((one.name for one in findings if not one.ok), "")


def test_an_untouched_certificate_passes_every_comparison(certificate: Certificate) -> None:
    findings, remade = compare(certificate, tasks.get("silu"))
    assert all(one.ok for one in findings) and remade is not None
    assert len(findings) == 14


def test_an_edited_source_is_refused(certificate: Certificate) -> None:
    edited = certificate.source.replace("1.0f +", "1.0f -")
    assert refusal(certificate.model_copy(update={"source": edited})) == "source"


def test_a_swapped_source_with_its_own_hash_is_refused(certificate: Certificate) -> None:
    edited = certificate.source.replace("1.0f +", "1.0f -")
    update = {"source": edited, "source_hash": sha256(edited), "candidate": sha256(edited)[:12]}
    assert refusal(certificate.model_copy(update=update)) in ("launch", "statement", "definitions")


def test_an_edited_statement_is_refused(certificate: Certificate) -> None:
    weaker = certificate.statement.replace("16384", "16")
    assert refusal(certificate.model_copy(update={"statement": weaker})) == "statement"


def test_other_sizes_are_refused(certificate: Certificate) -> None:
    assert refusal(certificate.model_copy(update={"axes": {"n": 128}})) == "launch"
    assert refusal(certificate.model_copy(update={"axes": {"m": 128}})) == "sizes"


def test_a_certificate_of_another_package_is_refused(certificate: Certificate) -> None:
    assert refusal(certificate.model_copy(update={"package_hash": "0" * 64})) == "package"


def test_another_axiom_is_refused(certificate: Certificate) -> None:
    update = {"axioms": (*AXIOMS, "Lean.ofReduceBool")}
    assert refusal(certificate.model_copy(update=update)) == "axioms listed"


def test_fewer_assumptions_are_refused(certificate: Certificate) -> None:
    update = {"assumptions": certificate.assumptions[1:]}
    assert refusal(certificate.model_copy(update=update)) == "assumptions"


def test_an_edited_lean_file_is_refused(certificate: Certificate) -> None:
    update = {"lean_file": certificate.lean_file + "\n"}
    assert refusal(certificate.model_copy(update=update)) == "definitions"


def test_another_tasks_certificate_is_refused(certificate: Certificate) -> None:
    findings, remade = compare(certificate, tasks.get("relu"))
    assert remade is None
    assert [one.name for one in findings if not one.ok] == ["task"]


def test_a_file_that_is_no_certificate_gets_one_line(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"version": 1}')
    with pytest.raises(UserError, match=r"not a certificate of this version: candidate: Field required"):
        read_certificate(file)
    with pytest.raises(UserError, match="No such file"):
        read_certificate(tmp_path / "missing.json")


def test_only_proven_candidates_get_a_certificate(certificate: Certificate) -> None:
    from insights_db.records import Proof

    task = tasks.get("silu")
    one = candidate(sources.GUARDED, "silu")
    unproven = Proof(candidate=one.id, key="k", status=ProofStatus.UNPROVEN)
    with pytest.raises(ValueError, match="unproven, not proven"):
        LeanProver().certificate(one, task, task.workload(), unproven)


def test_every_standing_has_a_row_and_the_page_shows_all_rows() -> None:
    rows = assumptions()
    assert {row.kind for row in rows} == {"Verified", "Trusted", "Judged", "Untrusted"}
    assert all(row.part in page() for row in rows)


@pytest.mark.lean
@pytest.mark.slow
@pytest.mark.xdist_group("lean")
def test_a_closed_proof_gives_a_certificate_that_audits_and_reveals_a_forged_count() -> None:
    proof, _, task, workload = prove(sources.GUARDED, "silu")
    one = candidate(sources.GUARDED, "silu")
    made = LeanProver().certificate(one, task, workload, proof)
    assert set(made.axioms) <= set(AXIOMS) and made.axioms
    assert made.checked_at <= datetime.now(UTC)
    runner = LeanRunner(toolchain.find())
    result = asyncio.run(audit(made.model_copy(update={"obligations": 3}), task, runner))
    assert [one.name for one in result.findings if not one.ok] == ["obligations"]
    assert "the certificate says 3" in result.reason
