"""Questions and notices on top of a screen. All of them work with the arrow keys, Enter and Escape."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from kshell.tui.draw.text import line, prose
from kshell.tui.palette import Palette
from kshell.tui.widgets.lines import Lines


class Choices(Lines):
    """The answers of a question, one a line, with a cursor."""

    def __init__(self, answers: Sequence[tuple[str, str, str]]) -> None:
        super().__init__(id="choices")
        self.answers = answers
        self.at = 0

    def draw_all(self) -> None:
        """Draw the answers anew."""
        out: list[Text] = []
        for k, (_, label, why) in enumerate(self.answers):
            on = k == self.at
            text = line(
                ("❯ " if on else "  ", self.palette.accent),
                (f"{label:<9}", self.palette.title if on else self.palette.text),
                (why, self.palette.dim),
            )
            if on:
                text.pad_right(max(0, self.size.width - text.cell_len))
                text.stylize(self.palette.cursor)
            out.append(text)
        self.show(out)

    def on_click(self, event: events.Click) -> None:
        """A click answers."""
        y = self.place(event.offset)
        if 0 <= y < len(self.answers) and isinstance(self.screen, Ask):
            self.screen.dismiss(self.answers[y][0])


class Ask(ModalScreen[str]):
    """One question with a few answers (value, label, why). Escape gives the empty string."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k,shift+tab", "move(-1)", show=False, priority=True),
        Binding("down,j,tab", "move(1)", show=False, priority=True),
        Binding("enter", "answer", show=False, priority=True),
        Binding("escape,q", "dismiss('')", show=False),
    ]

    def __init__(
        self, title: str, text: str, answers: Sequence[tuple[str, str, str]], palette: Palette
    ) -> None:
        super().__init__()
        self._title, self._text, self._palette = title, text, palette
        self._choices = Choices(answers)
        self._body = Lines(id="body")

    def compose(self) -> ComposeResult:
        """Title and text above the answers."""
        with Vertical(id="dialog"):
            yield self._body
            yield self._choices

    def on_mount(self) -> None:
        """Fill in."""
        self._body.can_focus = False
        self._choices.styles.height = len(self._choices.answers)
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        palette = self._palette
        lines = [
            line((self._title, palette.title)),
            *prose(self._text, self._body.room, palette.dim),
            Text(""),
        ]
        self._body.styles.height = len(lines)
        self._body.show(lines)
        self._choices.palette = palette
        self._choices.draw_all()
        self._choices.focus()

    def on_resize(self) -> None:
        """Wrap anew."""
        self.call_after_refresh(self._draw)

    def action_move(self, by: int) -> None:
        """Move to another answer."""
        self._choices.at = (self._choices.at + by) % len(self._choices.answers)
        self._choices.draw_all()

    def action_answer(self) -> None:
        """Give the answer under the cursor."""
        self.dismiss(self._choices.answers[self._choices.at][0])


class Page(ModalScreen[None]):
    """A page of text, built for the width it gets: the help, the summary of a session. `note` stands at
    the foot."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,escape,q,question_mark", "dismiss", show=False, priority=True),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
    ]

    def __init__(self, build: Callable[[int], list[Text]], palette: Palette, note: str = "") -> None:
        super().__init__()
        self._build, self._palette, self._note = build, palette, note
        self._body = Lines(id="page-body")
        self._foot = Lines(id="page-foot")

    def compose(self) -> ComposeResult:
        """The text, and how to close it."""
        with Vertical(id="page"):
            yield self._body
            yield self._foot

    def on_mount(self) -> None:
        """Fill in."""
        self._body.palette = self._palette
        self._foot.can_focus = False
        palette = self._palette
        keys = line(("Enter ", palette.accent), ("closes   ", palette.dim), ("↑ ↓ ", palette.accent))
        self._foot.show([keys + line((f"scroll   {self._note}".rstrip(), palette.dim))])
        self._body.focus()

    def on_resize(self) -> None:
        """Build for another width; the page is as high as its text, or as the screen allows."""
        width = min(84, self.size.width * 96 // 100) - 7
        lines = self._build(width)
        self._body.styles.height = min(len(lines), max(3, self.size.height * 92 // 100 - 5))
        self._body.show(lines)

    def text(self) -> str:
        """The page as plain text."""
        return self._body.text()

    def action_scroll(self, by: int) -> None:
        """Scroll by so many lines."""
        self._body.scroll_to(y=self._body.scroll_offset.y + by, animate=False)
