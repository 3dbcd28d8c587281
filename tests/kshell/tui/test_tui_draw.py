"""Drawing is pure: lines that fit, say things without colour, and never read foreign text as markup."""

import pytest
from rich.text import Text

from insights_db.records import Proof, ProofStatus
from kshell import events as ev
from kshell.bench._streams import candidate, source
from kshell.engine.state import CandidateState, SessionState
from kshell.tui.draw import population as table
from kshell.tui.draw.code import Mode, code_lines, highlight
from kshell.tui.draw.profile import profile_lines
from kshell.tui.draw.proof import proof_lines
from kshell.tui.draw.side import budget_line, insight_lines, title_line
from kshell.tui.draw.text import bar, fit, printable, sparkline
from kshell.tui.model import Session
from kshell.tui.palette import DARK, LIGHT, Palette
from kshell.tui.row import Row
from kshell.tui.screens.help import help_lines, summary_lines
from kshell.tui.units import clock, milliseconds
from tests.kshell.tui.fakes import sample

PALETTE = Palette.of(DARK)


def text_of(lines: list[Text]) -> str:
    return "\n".join(line.plain for line in lines)


def row_of(session: Session, label: str) -> Row:
    row = session.find(label)
    assert row is not None
    return row


@pytest.mark.parametrize("width", [64, 80, 120])
def test_every_line_of_the_table_has_the_width(width: int) -> None:
    session = Session.of(sample())
    assert table.header(width, PALETTE).cell_len == width
    for item in table.items(session, by_reward=False):
        if item.candidate:
            line = table.row_line(session, session.rows[item.candidate], width, PALETTE, current=True)
        else:
            line = table.heading(session, item.round, width, PALETTE)
        assert line.cell_len == width, line.plain


def test_the_table_says_everything_without_colour() -> None:
    session = Session.of(sample())
    lines = {
        row.label: table.row_line(session, row, 100, Palette(), current=False).plain
        for row in session.rows.values()
    }
    assert "✗ compile" in lines["1.3"] and "-1" in lines["1.3"]
    assert "✗ wrong" in lines["1.4"] and "✗ refuted" in lines["1.4"]
    assert "? unproven" in lines["2.2"]
    assert "★" in lines["3.1"] and "✓ PROMOTED" in lines["3.1"] and "53%" in lines["3.1"]


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("open with softmax-warp: one warp a row", "warp: one warp a row"),
        ("explore softmax-split (block 64)", "split (block 64)"),
        ("broadcast the scale", "broadcast the scale"),
    ],
)
def test_the_change_begins_with_what_tells_kernels_apart(told: str, shown: str) -> None:
    row = row_of(Session.of(sample()), "1.1")
    row.known.candidate = row.candidate.model_copy(update={"strategy": told, "parent": None})
    assert table.change(row, "softmax") == shown


def test_an_insight_helps_hurts_or_gains_nothing() -> None:
    session = Session.of(sample())
    known = session.insights[0]
    for change, word in ((-0.5, "✗ hurts"), (0.01, "≈ no gain")):
        session.insights[:] = [known.model_copy(update={"effective": False, "change": change})]
        assert text_of(insight_lines(session, 80, PALETTE)).startswith(word)


def test_sorting_by_reward_has_the_best_first_and_failures_last() -> None:
    session = Session.of(sample())
    labels = [session.rows[item.candidate].label for item in table.items(session, by_reward=True)]
    assert labels[:2] == ["3.1", "3.2"]
    assert labels[-2:] == ["1.4", "1.3"]


def test_source_shows_where_the_race_is() -> None:
    session = Session.of(sample())
    lines = text_of(code_lines(session, row_of(session, "1.4"), Mode.SOURCE, 80, PALETTE))
    racing = next(line for line in lines.splitlines() if "fmaxf(part[t], part[t + s])" in line)
    assert "✗" in racing
    assert "RACE: thread 64 of block 0" in lines


def test_a_refused_kernel_shows_the_diagnostics_first() -> None:
    session = Session.of(sample())
    first = code_lines(session, row_of(session, "1.3"), Mode.SOURCE, 80, PALETTE)[0].plain
    assert "double is not supported" in first


def test_a_diff_counts_and_folds() -> None:
    session = Session.of(sample())
    lines = text_of(code_lines(session, row_of(session, "3.1"), Mode.PARENT, 80, PALETTE))
    assert "2.2 → 3.1  +1 -1" in lines
    assert "- #define THREADS 128" in lines and "+ #define THREADS 256" in lines
    assert "lines alike" in lines


def test_a_diff_without_a_parent_says_so() -> None:
    session = Session.of(sample())
    lines = text_of(code_lines(session, row_of(session, "1.1"), Mode.PARENT, 80, PALETTE))
    assert "1.1 has no parent in this session" in lines
    assert "__global__" in lines


def test_highlighting_keeps_the_text() -> None:
    text = source(64)
    assert "\n".join(line.plain for line in highlight(text, PALETTE)) + "\n" == text


def test_foreign_text_is_neither_markup_nor_control() -> None:
    nasty = "float x[3]; // [bold red]no[/] \x1b[31m \x07 \t end"
    [line] = highlight(nasty, PALETTE)
    assert "[bold red]no[/]" in line.plain
    assert "\x1b" not in line.plain and "\x07" not in line.plain
    assert printable("a\tb") == "a    b"


def test_the_proof_pane_names_the_goal_that_is_stuck() -> None:
    session = Session.of(sample())
    lines = text_of(proof_lines(row_of(session, "2.2"), session.elapsed, 80, PALETTE))
    assert "? unproven" in lines
    assert "unsolved goal" in lines
    assert "did not close within 30 s" in lines


def test_the_proof_pane_of_a_promoted_kernel_shows_theorem_and_certificate() -> None:
    session = Session.of(sample())
    lines = text_of(proof_lines(row_of(session, "3.1"), session.elapsed, 80, PALETTE))
    assert "theorem softmax_correct" in lines
    assert "axioms propext" in lines
    assert "exported to exports/" in lines
    assert lines.count("✓") >= 9


def test_a_running_proof_counts_seconds_and_what_is_left() -> None:
    events = sample()
    k = [k for k, e in enumerate(events) if isinstance(e, ev.ObligationClosed)][-3]
    session = Session.of(events[: k + 1])
    lines = text_of(proof_lines(row_of(session, "3.1"), session.elapsed + 5, 80, PALETTE))
    assert "◐ 6/8 closed" in lines
    assert "◌ 2 more to decide" in lines


def test_the_profile_compares_with_the_baseline() -> None:
    session = Session.of(sample())
    lines = text_of(profile_lines(session, row_of(session, "3.1"), 80, PALETTE))
    assert (
        "3.57 ms ± 107 µs" in lines
        and "2.25x the baseline" in lines
        and "baseline 8.05 ms  torch eager" in lines
    )
    assert "best by round  6.41 ms" in lines
    assert "✓ 4 cases" in lines


def test_insights_show_the_newest_first_and_say_what_is_retracted() -> None:
    session = Session.of(sample())
    session.insights[0] = session.insights[0].model_copy(update={"retracted": True})
    lines = [line.plain for line in insight_lines(session, 80, PALETTE)]
    assert lines[0].startswith("✓ helps  +0.42 ± 0.04  block size")
    assert any(line.startswith("⊘ retracted  +0.58 ± 0.04  keep exp in y") for line in lines)


@pytest.mark.parametrize("width", [64, 80, 140])
def test_bars_fit_the_screen(width: int) -> None:
    for events in (sample()[:3], sample()):
        session = Session.of(events)
        assert title_line(session, width, PALETTE).cell_len == width
        assert budget_line(session, width, PALETTE).cell_len <= width


def test_the_budget_shows_an_estimate_while_it_runs_and_done_after() -> None:
    assert "left" in budget_line(Session.of(sample()[:40]), 120, PALETTE).plain
    assert "done" in budget_line(Session.of(sample()), 120, PALETTE).plain


def test_the_summary_says_where_the_export_is_or_that_nothing_is_proven() -> None:
    session = Session.of(sample())
    assert "exported to exports/" in text_of(summary_lines(session, 76, PALETTE))
    events = [e for e in sample() if not isinstance(e, ev.CandidatePromoted)]
    lines = text_of(summary_lines(Session.of(events), 76, PALETTE))
    assert "validated but unproven" in lines
    assert "No kernel was promoted" in lines


def test_help_fits_and_names_every_group() -> None:
    lines = help_lines(Session.of(sample()), 70, PALETTE)
    assert max(line.cell_len for line in lines) <= 70
    text = text_of(lines)
    for head in ("What to do now", "Session", "Kernel", "View", "Replay", "Signs"):
        assert head in text


def test_pieces() -> None:
    assert (clock(7), clock(750), clock(11250)) == ("0:07", "12:30", "3:07:30")
    assert (milliseconds(0.1071), milliseconds(3.57), milliseconds(1500)) == ("107 µs", "3.57 ms", "1.50 s")
    assert (milliseconds(0.00146), milliseconds(99.96), milliseconds(999.7)) == (
        "1.46 µs",
        "100 ms",
        "1.00 s",
    )
    assert sparkline([1, 2, 3], 2) == "▁█" and sparkline([], 3) == "" and sparkline([2, 2], 9) == "▄▄"
    assert bar(0.5, 10) == ("━━━━━", "─────") and bar(7, 4) == ("━━━━", "")
    assert fit("abcdef", 4) == "abc…" and fit("ab", 4) == "ab  " and fit("abc", 0) == ""


def test_status_and_palettes_have_no_gap() -> None:
    known = CandidateState(candidate(1, 1, source(64)), "cpu")
    row = Row(known, SessionState())
    for status in ProofStatus:
        known.proof = Proof(candidate=known.id, key="", status=status)
        sign, _ = table.proof_cell(row, PALETTE)
        assert sign
    for theme in (DARK, LIGHT):
        assert Palette.of(theme, no_color=True).cursor.reverse
