"""Source positions and the one exception for source that is outside the language."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of source, 1-based lines and columns."""

    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: "Span") -> "Span":
        """The range from this start to the other's end."""
        return Span(self.line, self.column, other.end_line, other.end_column)


NOWHERE = Span(0, 0, 0, 0)


class Refusal(Exception):
    """The source is outside the supported language. Exit code 3.

    `str()` is one line; `render` adds the source line and a caret."""

    def __init__(self, reason: str, span: Span = NOWHERE, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.hint = hint

    def __str__(self) -> str:
        where = f"{self.span.line}:{self.span.column}: " if self.span.line else ""
        return f"{where}{self.reason}" + (f" ({self.hint})" if self.hint else "")

    def render(self, source: str, name: str = "kernel.cu") -> str:
        """`name:line:column: reason`, the source line, a caret under the place, the hint."""
        if not self.span.line:
            return f"{name}: {self}"
        lines = source.splitlines()
        text = lines[self.span.line - 1].expandtabs(1) if self.span.line <= len(lines) else ""
        width = self.span.end_column - self.span.column if self.span.end_line == self.span.line else 1
        caret = " " * (self.span.column - 1) + "^" * max(1, min(width, len(text) - self.span.column + 1))
        out = f"{name}:{self.span.line}:{self.span.column}: {self.reason}\n    {text}\n    {caret}"
        return out + (f"\n    {self.hint}" if self.hint else "")


class NullAccess(Refusal):
    """A null pointer is indexed or dereferenced; in code that cannot run because of it, that is fine."""
