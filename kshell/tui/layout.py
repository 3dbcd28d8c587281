"""Which panes are on the screen: a pure function of the size and of what the person looked at last."""

from collections.abc import Sequence
from dataclasses import dataclass

PANES = ("code", "proof", "profile", "insights", "log")
MINIMUM = (64, 16)
WIDE = 120
TALL = 34


@dataclass(frozen=True, slots=True)
class Group:
    """Panes that share a place; `shown` is the one on the screen."""

    place: str
    panes: tuple[str, ...]
    shown: str


@dataclass(frozen=True, slots=True)
class Arrangement:
    """`mode` is small, narrow, wide or tall. `groups` are the places in use: main (right column or lower
    half), evidence (lower right), side (lower left). `population` says whether the table is shown."""

    mode: str
    groups: tuple[Group, ...]
    population: bool = True

    @property
    def visible(self) -> frozenset[str]:
        """Panes on the screen."""
        return frozenset(group.shown for group in self.groups)


def arrange(width: int, height: int, recent: Sequence[str], zoom: str = "") -> Arrangement:
    """Places for this size in cells. `recent` lists all panes, the one looked at last first; `zoom`
    names the only pane, or `population`, to show."""
    if width < MINIMUM[0] or height < MINIMUM[1]:
        return Arrangement("small", (), False)
    mode = "narrow" if width < WIDE else "tall" if height >= TALL else "wide"
    if zoom == "population":
        return Arrangement(mode, ())
    if zoom:
        side = mode != "narrow" and zoom in ("insights", "log")
        return Arrangement(mode, (Group("side" if side else "main", PANES, recent[0]),), False)

    def group(place: str, *panes: str) -> Group:
        return Group(place, panes, next(pane for pane in recent if pane in panes))

    if mode == "narrow":
        one = group("main", *PANES)
        return Arrangement(
            mode, (Group("side", PANES, one.shown) if one.shown in ("insights", "log") else one,)
        )
    if mode == "wide":
        return Arrangement(
            mode, (group("main", "code", "proof", "profile"), group("side", "insights", "log"))
        )
    return Arrangement(
        mode,
        (group("main", "code"), group("evidence", "proof", "profile"), group("side", "insights", "log")),
    )
