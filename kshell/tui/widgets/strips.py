"""Texts as strips: the quick way for lines made of pieces that follow each other."""

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip


def strip_of(text: Text, console: Console) -> Strip:
    """The strip of a one-line text. Spans that overlap, or styles given by name, go through rich."""
    plain, at = text.plain, 0
    base = text.style if isinstance(text.style, Style) else None
    segments: list[Segment] = []
    for start, end, style in text.spans:
        if start < at or not isinstance(style, Style):
            return Strip(text.render(console), text.cell_len)
        if start > at:
            segments.append(Segment(plain[at:start], base))
        if end > start:
            segments.append(Segment(plain[start:end], base + style if base else style))
        at = max(at, end)
    if at < len(plain):
        segments.append(Segment(plain[at:], base))
    return Strip(segments, text.cell_len)
