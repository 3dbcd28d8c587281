"""Colours: two themes of our own, and the styles the panes draw with, derived from any theme."""

from dataclasses import dataclass, replace

from rich.style import Style
from textual.theme import Theme

PLAIN, BOLD = Style(), Style(bold=True)
REVERSED, UNDERLINED = Style(reverse=True), Style(underline=True)

DARK = Theme(
    name="kshell-dark",
    primary="#7aa2c8",
    secondary="#8f9bb3",
    accent="#7fc8c0",
    success="#8fbf8a",
    warning="#d9b36c",
    error="#d98080",
    foreground="#d4d9e0",
    background="#14171c",
    surface="#191d24",
    panel="#222832",
    dark=True,
    variables={"block-cursor-foreground": "#d4d9e0", "input-selection-background": "#7aa2c8 35%"},
)
LIGHT = Theme(
    name="kshell-light",
    primary="#2f6690",
    secondary="#5c6779",
    accent="#1f7a74",
    success="#2f7a3d",
    warning="#8a6100",
    error="#a8393e",
    foreground="#22262c",
    background="#f7f6f2",
    surface="#efede7",
    panel="#e3e0d8",
    dark=False,
)


def _mix(a: str, b: str, share: float) -> str:
    """`share` of colour a over b; both are `#rrggbb`."""
    pairs = ((int(a[k : k + 2], 16), int(b[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(x * share + y * (1 - share)):02x}" for x, y in pairs)


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles by what they mean. The defaults draw without any colour."""

    text: Style = PLAIN
    dim: Style = PLAIN
    faint: Style = PLAIN
    title: Style = BOLD
    accent: Style = PLAIN
    good: Style = PLAIN
    warn: Style = PLAIN
    bad: Style = BOLD
    note: Style = PLAIN
    cursor: Style = REVERSED
    cursor_idle: Style = UNDERLINED
    added: Style = PLAIN
    removed: Style = PLAIN
    keyword: Style = PLAIN
    type: Style = PLAIN
    function: Style = PLAIN
    number: Style = PLAIN
    string: Style = PLAIN
    comment: Style = PLAIN
    directive: Style = PLAIN

    @classmethod
    def of(cls, theme: Theme, no_color: bool = False) -> "Palette":
        """The styles of a theme. Themes that leave colours out, or name them, get the defaults of
        ours; without colour, weight and reversal carry what colour would."""
        own = DARK if theme.dark else LIGHT

        def colour(name: str) -> str:
            value = getattr(theme, name)
            return (
                value
                if isinstance(value, str) and value.startswith("#") and len(value) == 7
                else getattr(own, name)
            )

        fore, back = colour("foreground"), colour("background")
        accent, good, warn, bad = colour("accent"), colour("success"), colour("warning"), colour("error")
        primary = colour("primary")
        cursor = Style(bgcolor=_mix(primary, back, 0.28))
        out = cls(
            text=Style(color=fore),
            dim=Style(color=_mix(fore, back, 0.62)),
            faint=Style(color=_mix(fore, back, 0.34)),
            title=Style(color=fore, bold=True),
            accent=Style(color=accent),
            good=Style(color=good),
            warn=Style(color=warn),
            bad=Style(color=bad),
            note=Style(color=primary),
            cursor=cursor,
            cursor_idle=Style(bgcolor=_mix(fore, back, 0.10)),
            added=Style(bgcolor=_mix(good, back, 0.16)),
            removed=Style(bgcolor=_mix(bad, back, 0.16)),
            keyword=Style(color=_mix(primary, fore, 0.8)),
            type=Style(color=accent),
            function=Style(color=_mix(warn, fore, 0.55)),
            number=Style(color=_mix(good, fore, 0.75)),
            string=Style(color=good),
            comment=Style(color=_mix(fore, back, 0.45), italic=True),
            directive=Style(color=_mix(bad, fore, 0.55)),
        )
        if no_color:
            return replace(out, cursor=REVERSED, cursor_idle=UNDERLINED, bad=BOLD)
        return out
