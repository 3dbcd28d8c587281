"""The log as a widget: capped, drawn on demand, following the end until the person scrolls up."""

from rich.text import Text
from textual.strip import Strip

from kshell.tui.draw.side import log_line
from kshell.tui.model import LogLine, Session
from kshell.tui.widgets.lines import EMPTY, Lines


class Log(Lines):
    """Draws entries of the session's log. A burst costs one repaint of the visible lines."""

    def __init__(self) -> None:
        super().__init__(id="log")
        self._entries: list[LogLine] = []
        self._logged = -1
        self._tail = True

    def take(self, session: Session) -> None:
        """Show the log as it is now."""
        if session.logged == self._logged:
            return
        dropped = max(0, session.logged - self._logged - (len(session.log) - len(self._entries)))
        self._entries, self._logged = list(session.log), session.logged
        self.extend_to(max(1, self.size.width), len(self._entries))
        if self._tail:
            self.scroll_end(animate=False, immediate=True)
        elif dropped:
            self.scroll_to(y=max(0, self.scroll_offset.y - dropped), animate=False, immediate=True)
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The end is followed as long as the person leaves the log there."""
        super().watch_scroll_y(old_value, new_value)
        if self.size.height:
            self._tail = new_value >= self.max_scroll_y

    def on_resize(self) -> None:
        """Keep the end in view."""
        if self._tail:
            self.scroll_end(animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen. Entries move up all the time, so nothing is kept."""
        scroll_x, scroll_y = self.scroll_offset
        text = self.line(y + scroll_y)
        if self.text_selection is not None:
            text = self._selected(text, y + scroll_y)
        strip = self.draw(text).crop_extend(scroll_x, scroll_x + self.size.width, self.base)
        return strip.apply_offsets(scroll_x, y + scroll_y)

    def line(self, y: int) -> Text:
        """Draw one entry."""
        return log_line(self._entries[y], self.palette) if 0 <= y < len(self._entries) else EMPTY

    def text(self) -> str:
        """The whole log as plain text."""
        return "\n".join(log_line(entry, self.palette).plain.rstrip() for entry in self._entries)
