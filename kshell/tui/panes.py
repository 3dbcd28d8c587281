"""Painting the panes of a session screen: each is rebuilt only when what it shows changed."""

from typing import TYPE_CHECKING

from rich.text import Text

from kshell.tui.draw.code import Mode, code_lines
from kshell.tui.draw.profile import profile_lines
from kshell.tui.draw.proof import proof_lines
from kshell.tui.draw.side import insight_lines
from kshell.tui.layout import PANES

if TYPE_CHECKING:
    from kshell.tui.screens.view import SessionView

NUMBERS = {pane: k for k, pane in enumerate(PANES, 1)}


class Painter:
    """Remembers what each pane was built from. A pane whose key is the same is left alone."""

    def __init__(self, screen: "SessionView") -> None:
        self._screen = screen
        self._keys: dict[str, tuple[object, ...]] = {}
        self._subjects: dict[str, object] = {}
        self._widths: dict[str, int] = {}

    def table(self, dirty: set[str], whole: bool) -> None:
        """Paint the rows of the population that changed."""
        screen = self._screen
        if screen.arrangement.population:
            screen.population.paint(screen.session, dirty, screen.shell.palette, whole)

    def panes(self, whole: bool) -> None:
        """Paint the strips, and the panes on the screen whose content changed."""
        screen = self._screen
        if whole:
            self._keys.clear()
        for group in screen.arrangement.groups:
            view = screen.views[group.shown]
            screen.strips[group.place].paint(
                group, NUMBERS, view.has_focus, self._note(group.shown), screen.shell.palette
            )
            self._pane(group.shown, group.place)

    def lines(self, pane: str, width: int) -> list[Text]:
        """What a pane other than the log shows, at this width."""
        screen = self._screen
        session, row, palette = screen.session, screen.row, screen.shell.palette
        match pane:
            case "code":
                return code_lines(session, row, screen.mode, width, palette)
            case "proof":
                return proof_lines(row, session.elapsed, width, palette)
            case "profile":
                return profile_lines(session, row, width, palette)
            case _:
                return insight_lines(session, width, palette)

    def text(self, pane: str, width: int = 100) -> str:
        """A pane as plain text, whether it is on the screen or not."""
        if pane == "log":
            self._screen.log_pane.take(self._screen.session)
            return self._screen.log_pane.text()
        return "\n".join(line.plain.rstrip() for line in self.lines(pane, width))

    def _note(self, pane: str) -> str:
        screen = self._screen
        row = screen.row
        if row is None:
            return ""
        match pane:
            case "code":
                return f"{row.label} {row.id[:7]} {screen.mode}"
            case "proof" if row.proof == "running" and row.obligations_total:
                return f"{row.label} {row.obligations_closed}/{row.obligations_total} closed"
            case "proof" | "profile":
                return row.label
            case _:
                return ""

    def _pane(self, pane: str, place: str) -> None:
        """Build a pane if what it shows changed. One that is new on the screen has no size yet: it gets
        the width of the pane whose place it takes."""
        screen = self._screen
        view = screen.views[pane]
        width = self._widths[place] = view.room if view.size.width else self._widths.get(place, 80)
        if pane == "log":
            screen.log_pane.take(screen.session)
            return
        key = self._key(pane, width)
        if self._keys.get(pane) == key:
            return
        self._keys[pane] = key
        closing = pane == "proof" and screen.row is not None and screen.row.proof == "running"
        subject: object = (screen.chosen, screen.mode if pane == "code" else closing)
        top = pane != "insights" and self._subjects.get(pane) != subject
        self._subjects[pane] = subject
        lines = self.lines(pane, width)
        view.show(lines, top=top)
        marked = -1
        if closing and not view.has_focus:
            marked = next((y for y, text in enumerate(lines) if text.plain[:1] == "◌"), len(lines) - 1)
        elif top and pane == "code":
            wrong = next((y for y, text in enumerate(lines) if "╰" in text.plain), 0)
            marked = min(len(lines) - 1, wrong + view.size.height // 2)
        if marked >= 0 and view.size.height:
            view.reveal(marked)
        elif marked >= 0:
            view.call_after_refresh(view.reveal, marked)

    def _key(self, pane: str, width: int) -> tuple[object, ...]:
        """Everything the pane's lines depend on, cheap to compare."""
        screen = self._screen
        session, row = screen.session, screen.row
        if pane == "insights":
            latest = session.insights[-1] if session.insights else None
            retracted = sum(insight.retracted for insight in session.insights)
            return (width, len(session.insights), len(session.notes), latest, retracted)
        if row is None:
            return (width, None)
        proof = (row.proof, len(row.obligations), row.obligations_closed, id(row.counterexample))
        match pane:
            case "code":
                best = session.best if screen.mode is Mode.BEST else None
                return (width, row.id, screen.mode, best, id(row.compile), id(row.validation), proof)
            case "proof":
                second = int(session.elapsed) if row.proof == "running" else 0
                said = tuple(row.attacks.items())
                return (width, row.id, proof, second, id(row.proof_record), row.export, row.promoted, said)
            case _:
                best_ms = tuple(session.round_best_ms.items())
                return (
                    width,
                    row.id,
                    id(row.profile),
                    id(row.validation),
                    id(row.compile),
                    session.best,
                    best_ms,
                )
