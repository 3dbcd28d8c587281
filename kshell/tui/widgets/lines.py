"""A scrolling view of ready-made lines. Only the lines on the screen are ever drawn."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from kshell.tui.palette import Palette

EMPTY = Text("")


class Lines(ScrollView, can_focus=True):
    """Shows a sequence of one-line Texts. Text can be selected with the mouse."""

    DEFAULT_CSS = """
    Lines { background: transparent; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("h", "scroll_left", "Left", show=False),
        Binding("l", "scroll_right", "Right", show=False),
        Binding("G", "scroll_end", "End", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.palette = Palette()
        self._lines: Sequence[Text] = ()

    @property
    def room(self) -> int:
        """Cells a line may use, the scrollbar's column kept free."""
        return max(1, min(self.scrollable_content_region.width, self.size.width - 1))

    def show(self, lines: Sequence[Text], *, top: bool = False) -> None:
        """Replace the lines; with `top`, scroll back to the first. Lines that did not change are not
        painted again."""
        old, self._lines = self._lines, lines
        longest = max((line.cell_len for line in lines), default=0)
        if (longest, len(lines)) != (self.virtual_size.width, self.virtual_size.height):
            self.virtual_size = Size(longest, len(lines))
        if top:
            self.scroll_to(0, 0, animate=False, immediate=True)
            self.refresh()
            return
        first = self.scroll_offset.y
        for y in range(first, first + self.size.height):
            before = old[y] if y < len(old) else None
            after = lines[y] if y < len(lines) else None
            if before is not after and before != after:
                self.refresh_line(y)

    def line(self, y: int) -> Text:
        """Line number y, or an empty one beyond the end."""
        return self._lines[y] if 0 <= y < len(self._lines) else EMPTY

    def text(self) -> str:
        """All lines as plain text, for copying."""
        return "\n".join(line.plain.rstrip() for line in self._lines)

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        scroll_x, scroll_y = self.scroll_offset
        return self.draw(self.line(y + scroll_y), scroll_x, y + scroll_y)

    def draw(self, text: Text, scroll_x: int, y: int) -> Strip:
        """A Text as a strip of the widget's width, the selected part of it reversed."""
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(y)) is not None:
            start, end = span
            text = text.copy()
            text.stylize(self.palette.cursor, start, len(text) if end == -1 else end)
        strip = Strip(text.render(self.app.console), text.cell_len)
        strip = strip.crop_extend(scroll_x, scroll_x + self.size.width, None)
        return strip.apply_style(self.rich_style).apply_offsets(scroll_x, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text under a mouse selection."""
        return selection.extract("\n".join(line.plain for line in self._lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint again as the selection grows."""
        self.refresh()

    def reveal(self, y: int) -> None:
        """Scroll as little as needed to have line y in view."""
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if y < top:
            self.scroll_to(y=y, animate=False, immediate=True)
        elif y >= top + height:
            self.scroll_to(y=y - height + 1, animate=False, immediate=True)

    def place(self, offset: Offset) -> int:
        """The line number under a place on the widget."""
        return int(offset.y + self.scroll_offset.y)

    def region_of(self, y: int) -> Region:
        """Where line y is, in the widget's own coordinates."""
        return Region(0, y - self.scroll_offset.y, self.size.width, 1)
