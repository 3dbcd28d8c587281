"""Drafts: what an agent hands in takes the place of what stayed open; nothing else moves."""

import pytest

from agents.llm.drafts import Draft, blocks

TEXT = """def mine (i : Int) : Prop := i = 0
theorem o1 : 1 = 1 := by
  rfl
theorem o2 : 2 = 2 := by
  omega

-- the last
theorem proof : 3 = 3 := by
  exact rfl
"""
DRAFT = Draft(blocks(TEXT), ("o2",))


def test_a_text_is_divided_at_its_theorems_and_definitions() -> None:
    assert [block.name for block in DRAFT.blocks] == ["mine", "o1", "o2", "proof"]
    assert DRAFT.blocks[1].head == "theorem o1 : 1 = 1 := by ...\n"
    assert DRAFT.blocks[0].head == DRAFT.blocks[0].text


def test_a_changed_theorem_takes_its_place_and_its_lemmas_stand_before_it() -> None:
    made = DRAFT.with_("-- a remark\ntheorem help : 0 = 0 := rfl\n\ntheorem o2 : 2 = 2 := by\n  exact rfl\n")
    assert [block.name for block in blocks(made)] == ["mine", "o1", "help", "o2", "proof"]
    assert "omega" not in made and "theorem o1 : 1 = 1 := by\n  rfl\n" in made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("theorem other : 1 = 1 := rfl\n", "none of these is in the draft; what is open there: o2"),
        ("open Lean\ntheorem o2 : 2 = 2 := rfl\n", "each beginning at the start of a line"),
        ("", "give theorems and definitions"),
    ],
    ids=["foreign", "something-else-first", "empty"],
)
def test_what_changes_nothing_or_cannot_be_read_is_said(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DRAFT.with_(text)


def test_a_long_draft_is_shown_without_the_proofs_that_closed() -> None:
    assert DRAFT.shown(10_000) == DRAFT.text
    shown = DRAFT.shown(len(DRAFT.text) - 1)
    assert "theorem o1 : 1 = 1 := by ...\n" in shown
    assert "theorem o2 : 2 = 2 := by\n  omega\n" in shown
    assert len(DRAFT.shown(40)) == 40
