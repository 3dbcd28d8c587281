"""Which panes are shown at which size."""

import pytest

from kshell.tui.layout import PANES, arrange


def test_one_pane_at_80_columns() -> None:
    now = arrange(80, 24, PANES)
    assert (now.mode, now.visible, now.population) == ("narrow", {"code"}, True)
    assert now.groups[0].panes == PANES


def test_insights_take_the_place_at_the_side_when_narrow() -> None:
    now = arrange(80, 24, ["insights", "code", "proof", "profile", "log"])
    assert [(g.place, g.shown) for g in now.groups] == [("side", "insights")]


def test_two_columns_from_120() -> None:
    assert arrange(119, 24, PANES).mode == "narrow"
    assert arrange(120, 24, PANES).visible == {"code", "insights"}


def test_code_and_proof_together_when_tall() -> None:
    now = arrange(140, 40, ["log", "profile", "code", "proof", "insights"])
    assert now.visible == {"code", "profile", "log"}


@pytest.mark.parametrize(("width", "height"), [(63, 24), (80, 15), (40, 12)])
def test_too_small_shows_nothing(width: int, height: int) -> None:
    now = arrange(width, height, PANES)
    assert (now.mode, now.visible, now.population) == ("small", frozenset(), False)


@pytest.mark.parametrize("width", [80, 140])
def test_zoom_shows_one(width: int) -> None:
    assert arrange(width, 40, PANES, "population").visible == frozenset()
    for pane in PANES:
        recent = [pane, *(p for p in PANES if p != pane)]
        now = arrange(width, 40, recent, pane)
        assert (now.visible, now.population) == ({pane}, False)
