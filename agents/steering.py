"""What a person's notes mean for the built-in generator.

A note is understood when it names a parameter with one of its values ("block 512"), a named choice
("online"), or a family ("float4", "one warp a row"); a word such as "avoid" or "no" before it turns the
wish round. Everything else is reported as not understood.
"""

import re
from dataclasses import dataclass

from scaffolds.families import Family, Schedule

from .bandit import Arm, Bandit

_NEGATIONS = {"no", "not", "avoid", "without", "never", "ban", "dont", "don't", "less"}
_WISH, _STRENGTH = 1.5, 6.0


@dataclass(frozen=True, slots=True)
class Steering:
    """Wishes drawn from the notes: arms to prefer, arms to avoid, notes that said nothing known."""

    prefer: tuple[Arm, ...] = ()
    avoid: tuple[Arm, ...] = ()
    unknown: tuple[str, ...] = ()

    def apply(self, bandit: Bandit) -> None:
        """Makes the wishes strong beliefs."""
        bandit.observe(self.prefer, _WISH, _STRENGTH)
        bandit.observe(self.avoid, -_WISH, _STRENGTH)

    def values(self, family: str) -> Schedule:
        """Wished values of a family's parameters."""
        return {name: value for owner, name, value in self.prefer if owner == family}

    def families(self) -> tuple[str, ...]:
        """Wished families."""
        return tuple(str(value) for owner, name, value in self.prefer if (owner, name) == ("", "family"))

    def forbids(self, family: str, schedule: Schedule) -> bool:
        """Whether a schedule has something to avoid."""
        pulled = {("", "family", family), *((family, n, v) for n, v in schedule.items())}
        return any(arm in pulled for arm in self.avoid)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def _find(words: list[str], phrase: list[str]) -> int | None:
    """Where `phrase` begins in `words`."""
    size = len(phrase)
    return next((i for i in range(len(words) - size + 1) if words[i : i + size] == phrase), None)


def _mentions(words: list[str], families: tuple[Family, ...]) -> list[tuple[int, Arm]]:
    found: list[tuple[int, Arm]] = []
    for family in families:
        style = _words(family.name.partition("-")[2])
        for phrase in (_words(family.name), style):
            place = _find(words, phrase) if phrase else None
            if place is not None:
                found.append((place, ("", "family", family.name)))
                break
        for parameter in family.parameters:
            for value in parameter.choices:
                arm: Arm = (family.name, parameter.name, value)
                if isinstance(value, str):
                    phrases = (
                        [_words(value)] if len(value) > 4 else [[*_words(parameter.name), *_words(value)]]
                    )
                else:
                    name = _words(parameter.name.replace("_", " "))
                    phrases = [[*name, str(value)], [*name, "size", str(value)]]
                    if parameter.name == "block":
                        phrases += [[str(value), "threads"], ["blocksize", str(value)]]
                places = [p for p in (_find(words, phrase) for phrase in phrases) if p is not None]
                if places:
                    found.append((places[0], arm))
    return found


def read_notes(notes: tuple[str, ...], families: tuple[Family, ...]) -> Steering:
    """The wishes in the notes, later notes after earlier ones."""
    prefer: list[Arm] = []
    avoid: list[Arm] = []
    unknown: list[str] = []
    for note in notes:
        words = _words(note)
        mentions = _mentions(words, families)
        if not mentions:
            unknown.append(note)
        for place, arm in mentions:
            negated = any(word in _NEGATIONS for word in words[max(0, place - 2) : place])
            (avoid if negated else prefer).append(arm)
    return Steering(tuple(prefer), tuple(avoid), tuple(unknown))
