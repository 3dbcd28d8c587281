"""The code pane: highlighted source with what is known about its lines, and diffs."""

from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache

from rich.style import Style
from rich.text import Text

from insights_db.records import ProofStatus
from kshell.tui.draw.text import line, printable, prose
from kshell.tui.model import Session
from kshell.tui.palette import Palette
from kshell.tui.row import Row


class Mode(StrEnum):
    """What the code pane shows."""

    SOURCE = "source"
    PARENT = "diff to parent"
    BEST = "diff to best"

    @property
    def next(self) -> "Mode":
        """The mode after this one."""
        modes = list(Mode)
        return modes[(modes.index(self) + 1) % len(modes)]


def code_lines(session: Session, row: Row | None, mode: Mode, width: int, palette: Palette) -> list[Text]:
    """The pane's lines for one candidate. Lines longer than the pane are not wrapped."""
    if row is None:
        return [line(("No kernel yet. The first round is on its way.", palette.dim))]
    if mode is Mode.SOURCE:
        return source_lines(row, width, palette)
    other = row.candidate.parent if mode is Mode.PARENT else session.best
    base = session.rows.get(other or "")
    if base is None:
        why = "has no parent in this session" if mode is Mode.PARENT else "has no best to compare with yet"
        return [
            line((f"{row.label} {why}; here is its source.", palette.dim)),
            *source_lines(row, width, palette),
        ]
    if base is row:
        return [line((f"{row.label} is the best itself.", palette.dim)), *source_lines(row, width, palette)]
    return diff_lines(base, row, palette)


def source_lines(row: Row, width: int, palette: Palette) -> list[Text]:
    """Numbered source. In the margin: `✗` where a counterexample happened, `✓` or `?` where an
    obligation of the proof speaks about the line. A compile failure is shown first."""
    out: list[Text] = []
    if row.compile and not row.compile.ok:
        out += [line((text, palette.bad)) for text in row.compile.diagnostics.splitlines()] + [Text("")]
    elif row.validation and not row.validation.ok:
        out += [*prose(row.validation.reason, width, palette.bad), Text("")]
    marks = _marks(row, palette)
    notes = _notes(row)
    for number, code in enumerate(highlight(row.candidate.source, palette), 1):
        mark, style = marks.get(number, (" ", palette.dim))
        out.append(line((f"{number:>4} ", palette.faint), (f"{mark} ", style)) + code)
        out += [line(("      ╰ ", palette.bad), (text, palette.bad)) for text in notes.get(number, ())]
    return out


def _marks(row: Row, palette: Palette) -> dict[int, tuple[str, Style]]:
    marks: dict[int, tuple[str, Style]] = {}
    for obligation in row.obligations.values():
        if not obligation.line:
            continue
        if obligation.status is ProofStatus.PROVEN:
            marks.setdefault(obligation.line, ("✓", palette.good))
        else:
            marks[obligation.line] = ("?", palette.warn)
    if row.counterexample:
        marks.update({point.line: ("✗", palette.bad) for point in row.counterexample.points})
    return marks


def _notes(row: Row) -> dict[int, list[str]]:
    if row.counterexample is None:
        return {}
    notes: dict[int, list[str]] = {}
    for point in row.counterexample.points:
        where = f"thread {_triple(point.thread)} of block {_triple(point.block)}" if point.thread else "here"
        notes.setdefault(point.line, []).append(f"{row.counterexample.fault}: {where}")
    return notes


def _triple(value: tuple[int, int, int] | None) -> str:
    return "?" if value is None else str(value[0]) if value[1:] == (0, 0) else ",".join(map(str, value))


def diff_lines(base: Row, row: Row, palette: Palette) -> list[Text]:
    """Every line of both sources, marked `+` and `-`; long unchanged parts are folded."""
    old, new = base.candidate.source.splitlines(), row.candidate.source.splitlines()
    old_code, new_code = highlight(base.candidate.source, palette), highlight(row.candidate.source, palette)
    body: list[Text] = []
    added = removed = 0
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            body += _unchanged(new_code, c, d, len(new), palette)
            continue
        for k in range(a, b):
            body.append(_changed(f"{k + 1:>4} - ", old_code[k], palette.removed, palette.bad))
        for k in range(c, d):
            body.append(_changed(f"{k + 1:>4} + ", new_code[k], palette.added, palette.good))
        removed, added = removed + b - a, added + d - c
    title = line(
        (f"{base.label} → {row.label}  ", palette.title),
        (f"+{added} ", palette.good),
        (f"-{removed}", palette.bad),
        (f"   {row.candidate.strategy}", palette.dim),
    )
    return [title, Text(""), *body]


def _changed(gutter: str, code: Text, background: Style, sign: Style) -> Text:
    out = line((gutter, sign)) + code
    out.stylize(background)
    return out


def _unchanged(code: list[Text], start: int, stop: int, total: int, palette: Palette) -> list[Text]:
    keep_head = 0 if start == 0 else 3
    keep_tail = 0 if stop == total else 3
    numbers = list(range(start, stop))
    if len(numbers) <= keep_head + keep_tail + 2:
        return [line((f"{k + 1:>4}   ", palette.faint)) + code[k] for k in numbers]
    head, tail = numbers[:keep_head], numbers[len(numbers) - keep_tail :]
    hidden = len(numbers) - len(head) - len(tail)
    fold = line((f"   ⋯   {hidden} lines alike", palette.faint))
    show = [[line((f"{k + 1:>4}   ", palette.faint)) + code[k] for k in part] for part in (head, tail)]
    return [*show[0], fold, *show[1]]


@lru_cache(maxsize=64)
def _tokens(source: str, language: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The source's lines as (kind, text) pieces."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.token import Comment, Keyword, Name, Number, String  # type: ignore[import-untyped]

    kinds = (
        (Comment.Preproc, "directive"),
        (Comment.PreprocFile, "directive"),
        (Comment, "comment"),
        (Keyword.Type, "type"),
        (Keyword, "keyword"),
        (Name.Builtin, "function"),
        (Name.Function, "function"),
        (Number, "number"),
        (String, "string"),
    )
    lines: list[list[tuple[str, str]]] = [[]]
    for token, value in get_lexer_by_name(language, stripnl=False, ensurenl=False).get_tokens(source):
        kind = next((name for root, name in kinds if token in root), "text")
        first, *rest = value.split("\n")
        lines[-1].append((kind, first))
        for part in rest:
            lines.append([(kind, part)])
    if lines and not any(text for _, text in lines[-1]):
        lines.pop()
    return tuple(tuple((kind, printable(text)) for kind, text in pieces if text) for pieces in lines)


def highlight(source: str, palette: Palette, language: str = "cuda") -> list[Text]:
    """One Text a line of the source; the language is a name of pygments."""
    tokens = _tokens(source, language)
    return [line(*((text, getattr(palette, kind)) for kind, text in pieces)) for pieces in tokens]
