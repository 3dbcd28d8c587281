"""One-line widgets: the title, the strips over the panes, the budget, and the last line with hints
and messages."""

from rich.text import Text
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from kshell.tui.commands import COMMANDS
from kshell.tui.draw.text import line
from kshell.tui.layout import Group
from kshell.tui.palette import Palette
from kshell.tui.widgets.strips import strip_of


class OneLine(Widget):
    """Shows one Text; painting an equal one again costs nothing."""

    DEFAULT_CSS = "OneLine { height: 1; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.line = Text("")

    def show(self, text: Text) -> None:
        """Replace the line."""
        if text != self.line:
            self.line = text
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line, cut or padded to the width."""
        strip = strip_of(self.line, self.app.console)
        return strip.crop_extend(0, self.size.width, None).apply_style(self.rich_style)


class PaneChosen(Message):
    """A pane's name was clicked."""

    def __init__(self, pane: str) -> None:
        super().__init__()
        self.pane = pane


class PaneStrip(OneLine):
    """The names of the panes of a group with their keys; the shown one is marked."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._places: list[tuple[int, int, str]] = []

    def paint(
        self, group: Group, numbers: dict[str, int], focused: bool, note: str, palette: Palette
    ) -> None:
        """Draw the strip; `note` is what the shown pane says about itself."""
        text = line((" ", palette.faint))
        self._places = []
        for pane in group.panes:
            start = text.cell_len
            on = pane == group.shown
            mark = "▸" if on and focused else "•" if on else " "
            text.append(f"{mark}{numbers[pane]} ", palette.accent if on else palette.faint)
            text.append(pane.capitalize(), (palette.title if on else palette.dim))
            text.append("  ", palette.faint)
            self._places.append((start, text.cell_len, pane))
        if note:
            text.append(f" {note} ", palette.note)
        rest = max(0, self.size.width - text.cell_len - 1)
        text.append("─" * rest, palette.faint)
        self.show(text)

    def on_click(self, event: events.Click) -> None:
        """Choose the pane whose name was clicked."""
        for start, stop, pane in self._places:
            if start <= event.x < stop:
                self.post_message(PaneChosen(pane))


class LastLine(OneLine):
    """Keys to press, or for a while a message."""

    def paint(
        self,
        message: str,
        bad: bool,
        width: int,
        palette: Palette,
        running: bool,
        replay: bool,
        promoted: bool,
    ) -> None:
        """Draw the message, or the hints that fit: a proof can be asked for while a session runs, and
        there is something to export once a kernel is promoted."""
        if message:
            self.show(
                line((" ! " if bad else " ", palette.bad), (message, palette.warn if bad else palette.text))
            )
            return
        text = line((" ", palette.dim))
        hints = [(c.shown, c.footer) for c in COMMANDS if c.footer]
        if replay:
            hints[1:1] = [("+ -", "speed"), ("[ ]", "seek")]
        elif not running:
            hints = [hint for hint in hints if hint[1] != "pause"]
        if not running:
            hints = [hint for hint in hints if hint[1] not in ("prove", "note")]
        if not promoted:
            hints = [hint for hint in hints if hint[1] != "export"]
        wanted = {"help": 0, "quit": 1, "pause": 2, "command": 3, "speed": 4, "seek": 4, "export": 4}
        wanted |= {"prove": 5, "note": 5}
        fitting: set[str] = set()
        used = 1
        for key, label in sorted(hints, key=lambda hint: wanted.get(hint[1], 9)):
            used += len(key) + len(label) + 4
            if used <= width:
                fitting.add(label)
        for key, label in hints:
            if label in fitting:
                text.append(f"{key} ", palette.accent)
                text.append(f"{label}   ", palette.dim)
        self.show(text)
