"""The population table as a widget: a cursor over candidates, rows painted only when they changed."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip

from kshell.tui.draw import population as draw
from kshell.tui.model import Session
from kshell.tui.palette import Palette
from kshell.tui.widgets.bars import OneLine
from kshell.tui.widgets.lines import Lines
from kshell.tui.widgets.strips import strip_of


class Chosen(Message):
    """The cursor is on another candidate."""

    def __init__(self, candidate: str) -> None:
        super().__init__()
        self.candidate = candidate


class Opened(Message):
    """Enter on a candidate: show it large."""

    def __init__(self, candidate: str) -> None:
        super().__init__()
        self.candidate = candidate


class Table(Lines):
    """Lines drawn on demand from the model, with a cursor that skips the headings."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("home", "move(-100000)", "First", show=False),
        Binding("end,G", "move(100000)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="table")
        self.session = Session()
        self.items: list[draw.Item] = []
        self.at: dict[str, int] = {}
        self.chosen = ""

    def line(self, y: int) -> Text:
        """Draw line y of the table."""
        if not 0 <= y < len(self.items):
            return Text("")
        item = self.items[y]
        if not item.candidate:
            return draw.heading(self.session, item.round, self.room, self.palette)
        current = item.candidate == self.chosen
        row = self.session.rows[item.candidate]
        return draw.row_line(self.session, row, self.room, self.palette, current)

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen, the one under the cursor marked over its whole width."""
        y += self.scroll_offset.y
        base = self.base
        if 0 <= y < len(self.items) and self.items[y].candidate and self.items[y].candidate == self.chosen:
            base += self.palette.cursor if self.has_focus else self.palette.cursor_idle
        strip = strip_of(self.line(y), self.app.console).apply_style(base)
        return strip.crop_extend(0, self.size.width, base)

    def choose(self, candidate: str) -> None:
        """Put the cursor on a candidate."""
        old, self.chosen = self.chosen, candidate
        if candidate not in self.at:
            return
        for key in {old, candidate} & self.at.keys():
            self.refresh_line(self.at[key])
        y = self.at[candidate]
        heading = y > 0 and not self.items[y - 1].candidate
        if heading:
            self.reveal(y - 1)
        self.reveal(y)

    def action_move(self, by: int) -> None:
        """Move the cursor by so many candidates."""
        keys = [item.candidate for item in self.items if item.candidate]
        if not keys:
            return
        here = keys.index(self.chosen) if self.chosen in keys else 0
        self.post_message(Chosen(keys[max(0, min(len(keys) - 1, here + by))]))

    def action_open(self) -> None:
        """Open the candidate under the cursor."""
        if self.chosen:
            self.post_message(Opened(self.chosen))

    def on_click(self, event: events.Click) -> None:
        """Choose the candidate that was clicked; a double click opens it."""
        y = self.place(event.offset)
        if 0 <= y < len(self.items) and (candidate := self.items[y].candidate):
            self.post_message(Chosen(candidate))
            if event.chain == 2:
                self.post_message(Opened(candidate))

    def on_focus(self) -> None:
        """The cursor looks stronger with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks weaker without the focus."""
        self.refresh()


class Population(Vertical):
    """Header and table."""

    def __init__(self) -> None:
        super().__init__(id="population")
        self.header = OneLine(id="columns")
        self.table = Table()
        self.by_reward = False

    def compose(self) -> ComposeResult:
        """The header stays, the table scrolls."""
        yield self.header
        yield self.table

    def paint(self, session: Session, dirty: set[str], palette: Palette, whole: bool) -> None:
        """Paint the rows named in `dirty`; all of them with `whole` or when rows came or moved."""
        table = self.table
        table.session = session
        if whole or table.palette is not palette:
            table.palette = palette
            whole = True
        moved = self.by_reward and bool(dirty & session.rows.keys())
        if whole or moved or "population" in dirty:
            table.items = draw.items(session, self.by_reward)
            table.at = {item.candidate: y for y, item in enumerate(table.items) if item.candidate}
            table.extend_to(table.room, len(table.items))
            self.header.show(draw.header(table.room, palette, self.by_reward, session.rooflines))
            table.refresh()
            if table.chosen in table.at:
                table.reveal(table.at[table.chosen])
            return
        for key in dirty & table.at.keys():
            table.refresh_line(table.at[key])
        if dirty & table.at.keys():
            for y, item in enumerate(table.items):
                if not item.candidate:
                    table.refresh_line(y)
