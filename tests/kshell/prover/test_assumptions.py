"""The assumption report is one list: in certificates, and as a page of the documentation."""

from pathlib import Path

from kshell.prover.assumptions import assumptions, page

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"


def test_the_page_is_the_list() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
    assert all(row.why in page() for row in assumptions())


def test_every_standing_occurs_and_nothing_is_claimed_of_rounding() -> None:
    assert {row.kind for row in assumptions()} == {"Verified", "Trusted", "Judged", "Untrusted"}
    verified = " ".join(row.why for row in assumptions() if row.kind == "Verified")
    assert "float32" not in verified
    assert "speed" not in verified
