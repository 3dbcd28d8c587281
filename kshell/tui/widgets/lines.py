"""A scrolling view of ready-made lines. Only the lines on the screen are ever drawn."""

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from kshell.tui.palette import Palette
from kshell.tui.widgets.strips import strip_of

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
        self._palette = Palette()
        self._lines: Sequence[Text] = ()
        self._base: Style | None = None
        self._drawn: dict[int, tuple[Text, int, int, Strip]] = {}

    @property
    def palette(self) -> Palette:
        """The styles lines are drawn with."""
        return self._palette

    @palette.setter
    def palette(self, palette: Palette) -> None:
        if palette is not self._palette:
            self._palette, self._base = palette, None
            self._drawn.clear()

    def notify_style_update(self) -> None:
        """The widget's own colours changed."""
        super().notify_style_update()
        self._base = None
        self._drawn.clear()

    @property
    def base(self) -> Style:
        """Colours under every line, kept: working them out anew for each line is slow."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

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
            self.extend_to(longest, len(lines))
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
            elif y < len(lines) and before is not None and isinstance(lines, list):
                lines[y] = before

    def extend_to(self, width: int, height: int) -> None:
        """Tell the scrollbars the size of the content. Setting `virtual_size` the usual way lays out the
        whole screen anew, many times a second in a busy session; a scrollbar that comes or goes still
        does."""
        size = Size(width, height)
        if size == self.virtual_size:
            return
        if not self.size:
            self.virtual_size = size
            return
        self.set_reactive(Lines.virtual_size, size)
        self._scroll_update(size)

    def line(self, y: int) -> Text:
        """Line number y, or an empty one beyond the end."""
        return self._lines[y] if 0 <= y < len(self._lines) else EMPTY

    def text(self) -> str:
        """All lines as plain text, for copying."""
        return "\n".join(line.plain.rstrip() for line in self._lines)

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen. The strip of a text that is still the same object is kept."""
        scroll_x, scroll_y = self.scroll_offset
        y += scroll_y
        text, width = self.line(y), self.size.width
        if self.text_selection is not None:
            return self.draw(self._selected(text, y)).crop_extend(scroll_x, scroll_x + width, self.base)
        kept = self._drawn.get(y)
        if kept is not None and kept[0] is text and kept[1:3] == (scroll_x, width):
            return kept[3]
        strip = self.draw(text).crop_extend(scroll_x, scroll_x + width, self.base)
        strip = strip.apply_offsets(scroll_x, y)
        if len(self._drawn) > 4 * max(1, self.size.height):
            self._drawn.clear()
        self._drawn[y] = (text, scroll_x, width, strip)
        return strip

    def draw(self, text: Text) -> Strip:
        """A text over the widget's colours."""
        return strip_of(text, self.app.console).apply_style(self.base)

    def _selected(self, text: Text, y: int) -> Text:
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None:
            return text
        text = text.copy()
        text.stylize(self.palette.cursor, span[0], len(text) if span[1] == -1 else span[1])
        return text

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
