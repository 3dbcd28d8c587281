"""The population table: one line a candidate, one line a round."""

import re
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text

from insights_db.records import ProofStatus, Stage
from kshell.tui.draw.text import fit, line, right
from kshell.tui.model import Session
from kshell.tui.palette import Palette
from kshell.tui.row import Row
from kshell.tui.units import milliseconds

COLUMNS: tuple[tuple[str, int], ...] = (
    ("kernel", 7),
    ("stage", 11),
    ("reward", 7),
    ("time", 9),
    ("roof", 7),
    ("proof", 13),
    ("from", 6),
)
NUMBERS = {"reward": 6, "time": 8, "roof": 5}
_MOVE = re.compile(r"\w+ [0-9a-f]{12}: ")
_OPENING = re.compile(r"(open with|start with|explore|as noted:|conservative) ")


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the table: a candidate, or the heading of a round when `candidate` is empty."""

    round: int
    candidate: str = ""


def items(session: Session, by_reward: bool) -> list[Item]:
    """The lines in order: rounds with their candidates, or candidates from the best down."""
    rows = [session.rows[key] for key in session.order]
    if by_reward:
        rows.sort(key=lambda row: (-(row.value if row.value is not None else -2.0), row.id))
        return [Item(row.candidate.round, row.id) for row in rows]
    out: list[Item] = []
    for row in sorted(rows, key=lambda row: row.candidate.round):
        if not out or out[-1].round != row.candidate.round:
            out.append(Item(row.candidate.round))
        out.append(Item(row.candidate.round, row.id))
    return out


def header(width: int, palette: Palette, by_reward: bool = False, rooflines: bool = True) -> Text:
    """The names of the columns; `▾` behind reward says that the table is sorted by it."""
    names = "  "
    for name, size in COLUMNS:
        if name == "roof" and not rooflines:
            continue
        if name not in NUMBERS:
            names += fit(name, size)
            continue
        after = "▾" if by_reward and name == "reward" else " "
        names += fit(right(name, NUMBERS[name]) + after, size)
    return line((fit(names + " change", width), palette.dim))


def heading(session: Session, number: int, width: int, palette: Palette) -> Text:
    """`round 2 ──── best 4.38 ms`."""
    best = session.round_best_ms.get(number)
    tail = " running" if number == session.round and not session.over else ""
    if best is not None:
        tail = f" best {milliseconds(best)}"
    head = f"  round {number} "
    return line(
        (head, palette.note),
        ("─" * max(1, width - len(head) - len(tail)), palette.faint),
        (tail, palette.dim),
    )


def row_line(session: Session, row: Row, width: int, palette: Palette, current: bool) -> Text:
    """One candidate. What a colour says, a sign or a word says too. Without any roofline in the session
    its column gives way to the change."""
    flag = "★" if row.id == session.best else "◆" if row.pinned else " "
    parent = session.rows.get(row.candidate.parent or "")
    origin = parent.label if parent else (row.candidate.parent or "·")[:5]
    stage, stage_style = stage_cell(row, palette)
    proof, proof_style = proof_cell(row, palette)
    value = row.value
    reward = "·" if value is None else f"{value:.2f}" if value > 0 else f"{value:.0f}"
    latency = "·" if row.median_ms is None else milliseconds(row.median_ms)
    share = row.profile.roofline if row.profile and row.profile.ok else None
    roof = "·" if share is None else f"{share:.0%}"
    left = width - 2 - sum(size for name, size in COLUMNS if name != "roof" or session.rooflines)
    name_style = palette.accent if row.id == session.best else palette.text
    reward_style = palette.dim if value is None else palette.bad if value <= 0 else palette.text
    return line(
        ("❯ " if current else "  ", palette.accent),
        (fit(f"{row.label} {flag}", 7), name_style),
        (fit(stage, 11), stage_style),
        (right(reward, 6) + " ", reward_style),
        (fit(right(latency, 8), 9), palette.text if row.median_ms is not None else palette.dim),
        (fit(right(roof, 5), 7) if session.rooflines else "", palette.dim),
        (fit(proof, 13), proof_style),
        (fit(origin, 6), palette.dim),
        (fit(" " + change(row, session.task), max(0, left)), palette.dim),
    )


def change(row: Row, task: str = "") -> str:
    """What was done to make it, what tells kernels apart first: the kernel it was done to has a column of
    its own, and families of the task are named without it."""
    candidate = row.candidate
    told = candidate.strategy or candidate.family
    told = _MOVE.sub("", told, count=1) if candidate.parent else told
    return _OPENING.sub("", told, count=1).removeprefix(f"{task}-")


def stage_cell(row: Row, palette: Palette) -> tuple[str, Style]:
    """Sign and word of the stage a candidate is in, or failed in."""
    if row.banned:
        return "⊘ banned", palette.dim
    if row.proof is ProofStatus.REFUTED and not row.failed:
        return "✗ wrong", palette.bad
    if row.failed:
        word = {Stage.COMPILE: "compile", Stage.VALIDATE: "wrong", Stage.PROFILE: "timing"}.get(
            row.stage, row.stage
        )
        return f"✗ {word}", palette.bad
    match row.stage:
        case Stage.PROPOSED | Stage.PARSE:
            return "◌ compiling", palette.dim
        case Stage.COMPILE:
            return "◔ checking", palette.dim
        case Stage.VALIDATE:
            return "◑ timing", palette.dim
        case Stage.PROFILE:
            return "◕ timed", palette.text
        case Stage.DONE:
            return "✓ correct", palette.text


def proof_cell(row: Row, palette: Palette) -> tuple[str, Style]:
    """Sign and word of a candidate's proof."""
    if row.promoted:
        return "✓ PROMOTED", palette.good
    match row.proof:
        case ProofStatus.NONE:
            return "·", palette.dim
        case ProofStatus.RUNNING:
            total = row.obligations_total
            count = f"◐ {row.obligations_closed}/{total}"
            told = f"{count} closed"
            return (told if len(told) < 13 else count) if total else "◐ proving", palette.note
        case ProofStatus.PROVEN:
            return "✓ proven", palette.good
        case ProofStatus.UNPROVEN:
            return "? unproven", palette.warn
        case ProofStatus.REFUTED:
            return "✗ refuted", palette.bad
        case ProofStatus.REFUSED:
            return "⊘ refused", palette.warn
        case ProofStatus.ERROR:
            return "! error", palette.bad
