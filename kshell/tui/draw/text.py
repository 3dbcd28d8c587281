"""Small pieces every pane draws with: cells, durations, bars, sparklines, wrapped prose."""

from collections.abc import Sequence
from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

BLOCKS = "▁▂▃▄▅▆▇█"


def line(*parts: tuple[str, Style] | str) -> Text:
    """One line from styled pieces. Text is taken as it is: brackets are no markup."""
    out = Text(no_wrap=True, end="")
    for part in parts:
        if isinstance(part, str):
            out.append(printable(part))
        else:
            out.append(printable(part[0]), part[1])
    return out


def printable(text: str) -> str:
    """The text with tabs widened and control characters made visible, so that foreign text cannot
    steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ("    " if c == "\t" else "�") for c in text)


def fit(text: str, width: int) -> str:
    """The text cut or padded to `width` cells; a cut shows `…`."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(0, width - 1)) + "…"[:width]


def right(text: str, width: int) -> str:
    """The text at the right of `width` cells."""
    return fit(text, width) if len(text) >= width else text.rjust(width)


def prose(text: str, width: int, style: Style, indent: int = 0) -> list[Text]:
    """Text wrapped to the width, each line of it wrapped by itself."""
    out = []
    pad = " " * indent
    for part in text.splitlines() or [""]:
        part = printable(part)
        lead = " " * (len(part) - len(part.lstrip()) + 2) if part.startswith(" ") else ""
        rows = wrap(
            part, max(8, width - indent), subsequent_indent=lead[: width // 3], replace_whitespace=False
        )
        out += [line((pad + row, style)) for row in rows or [""]]
    return out


def bar(share: float, width: int) -> tuple[str, str]:
    """A bar in two pieces, filled and rest, together `width` cells."""
    share = min(1.0, max(0.0, share))
    filled = round(share * width)
    return "━" * filled, "─" * (width - filled)


def sparkline(values: Sequence[float], width: int) -> str:
    """At most `width` blocks, the last values; the lowest value is the lowest block."""
    shown = list(values)[-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    if high == low:
        return BLOCKS[3] * len(shown)
    return "".join(BLOCKS[round((v - low) / (high - low) * 7)] for v in shown)
