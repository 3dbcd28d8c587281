"""Fake proofs and forged certificates are refused, each by the layer it names."""

import pytest

from kshell.bench.attacks import CANARY, Outcome, canary_statement, corpus, forged, submitted
from kshell.prover.allowlist import first_objection
from kshell.prover.submission import submission_module, verdict_module

ATTACKS = corpus()
TEXTUAL = [a for a in ATTACKS if a.layer == "tokens"]
CHECKED = [a for a in ATTACKS if a.layer != "tokens"]


def test_the_corpus_covers_every_layer() -> None:
    assert len(ATTACKS) >= 25
    assert {a.layer for a in ATTACKS} == {"tokens", "elaboration", "statement", "resources"}


@pytest.mark.parametrize("attack", TEXTUAL, ids=lambda a: a.name)
def test_text_is_refused_before_lean_sees_it(attack) -> None:  # type: ignore[no-untyped-def]
    objection = first_objection(attack.text)
    assert objection is not None
    assert str(objection).startswith(f"{objection.line}:{objection.column}: ")


@pytest.mark.parametrize("attack", CHECKED, ids=lambda a: a.name)
def test_the_other_attacks_pass_the_token_layer(attack) -> None:  # type: ignore[no-untyped-def]
    assert first_objection(attack.text) is None


def test_objections_name_the_place() -> None:
    found = first_objection("theorem a : p := by\n  simp\n  sorry\n")
    assert found is not None
    assert (found.line, found.column, found.token) == (3, 3, "sorry")
    assert first_objection(CANARY) is None
    assert first_objection("theorem a : p := by -- sorry\n  /- sorry -/ omega") is None


def test_their_text_never_reaches_our_files() -> None:
    ours = verdict_module("KShell.Candidate.Claim") + canary_statement().text
    assert "theorem KShellVerdict.verified : KShell.Candidate.Claim := Submission.proof" in ours
    assert "congr2" not in ours
    assert submission_module(CANARY).count(CANARY) == 1
    assert "\nopen KShell KShell.Auto\n" in submission_module(CANARY, "KShell KShell.Auto")


def test_the_walk_of_a_submission_has_the_proofs_of_the_package() -> None:
    assert "\nimport all KShell.Auto.Fold\n" in verdict_module("P", ["KShell.Auto.Fold"])


@pytest.mark.parametrize("outcome", forged(), ids=lambda o: o.name)
def test_forged_certificates_are_refused_by_name(outcome: Outcome) -> None:
    assert outcome.got == outcome.expected
    assert outcome.reason


@pytest.mark.slow
@pytest.mark.lean
@pytest.mark.xdist_group("lean")
async def test_lean_refuses_the_rest_and_accepts_the_canary() -> None:
    outcomes: list[Outcome] = []
    assert await submitted(CHECKED, outcomes.append)
    assert {o.name: o.got for o in outcomes} == {o.name: o.expected for o in outcomes}
    assert len(outcomes) == len(CHECKED)
