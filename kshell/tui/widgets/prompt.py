"""The command line: completes commands, and remembers what was typed."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from kshell.tui.commands import COMMANDS


class Prompt(Input):
    """Up and down go through what was typed before; right takes the completion."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "earlier(1)", show=False),
        Binding("down", "earlier(-1)", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(
            placeholder="command, such as /note use float4 loads", id="prompt", select_on_focus=False
        )
        self._typed: list[str] = []
        self._back = 0

    def open(self, text: str) -> None:
        """Start a new line with this text."""
        if self.suggester is None:
            from textual.suggester import SuggestFromList

            self.suggester = SuggestFromList([f"/{command.name}" for command in COMMANDS])
        self._back = 0
        self._put(text)

    def remember(self, text: str) -> None:
        """Keep a line that was typed; the same line twice is kept once."""
        if not self._typed or self._typed[-1] != text:
            self._typed.append(text)

    def action_earlier(self, by: int) -> None:
        """Show the line typed so many lines before the one shown."""
        self._back = max(0, min(len(self._typed), self._back + by))
        self._put(self._typed[-self._back] if self._back else "/")

    def _put(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)
