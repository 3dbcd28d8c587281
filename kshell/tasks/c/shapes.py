"""How flat indices of a C loop nest divide into dimensions."""

import re
from dataclasses import dataclass, field

from kshell.tasks.c.terms import Place, Poly
from semantics.span import NOWHERE, Refusal, Span

_BEYOND = (
    "the built-in reader knows row-major arrays that are read and written whole; a language model may do"
)


@dataclass(slots=True)
class Access:
    """An index as it is written: one polynomial, or one a dimension for `a[i][j]`."""

    parts: tuple[Poly, ...]
    span: Span


@dataclass(slots=True)
class Arrays:
    """Extents of loops and the accesses of each array; later the shape of each array."""

    extents: dict[str, Poly] = field(default_factory=dict)
    accesses: dict[str, list[Access]] = field(default_factory=dict)
    shapes: dict[str, tuple[Poly, ...]] = field(default_factory=dict)

    def note(self, array: str, parts: tuple[Poly, ...], span: Span) -> None:
        """Remember an access."""
        self.accesses.setdefault(array, []).append(Access(parts, span))

    def settle(self) -> None:
        """Find the shape of every array. Raises Refusal for an index that is not row-major."""
        for array, found in self.accesses.items():
            richest = max(found, key=lambda access: (len(access.parts), len(self._loops(access))))
            self.shapes[array] = self._shape(array, richest)

    def place(self, array: str, parts: tuple[Poly, ...], span: Span) -> Place:
        """A loop variable or a number for each dimension. Raises Refusal for any other index."""
        shape = self.shapes[array]
        if len(parts) == 1 and len(shape) > 1:
            parts = self._divided(array, parts[0], shape, span)
        if len(parts) != len(shape):
            raise Refusal(f"{array} is used with {len(parts)} and with {len(shape)} indices", span, _BEYOND)
        found: list[str | int] = []
        for part, extent in zip(parts, shape, strict=True):
            names = sorted(part.names() & set(self.extents))
            number = part.number
            if number is not None:
                found.append(number)
            elif len(names) == 1 and part == Poly.of(names[0]):
                if self.extents[names[0]] != extent:
                    raise Refusal(
                        f"{array} has {extent.text()} elements there and the loop over "
                        f"{plain(names[0])} runs to {self.extents[names[0]].text()}",
                        span,
                        _BEYOND,
                    )
                found.append(names[0])
            else:
                raise Refusal(f"the index {said(part)} of {array} is not a loop variable", span, _BEYOND)
        return tuple(found)

    def _loops(self, access: Access) -> set[str]:
        return {name for part in access.parts for name in part.names() if name in self.extents}

    def _shape(self, array: str, access: Access) -> tuple[Poly, ...]:
        if len(access.parts) > 1:
            return tuple(self._extent(array, part, access.span) for part in access.parts)
        flat = access.parts[0]
        names = sorted(
            self._loops(access), key=lambda n: self._order(flat.coefficient(n), access.span), reverse=True
        )
        if not names:
            return (Poly.of(1),)
        stride, shape = Poly.of(1), []
        for name in reversed(names):
            if flat.coefficient(name) != stride:
                step = flat.coefficient(name)
                raise Refusal(
                    f"{plain(name)} moves the index of {array} by {said(step) if step else '?'}, not by "
                    f"{stride.text()}",
                    access.span,
                    _BEYOND,
                )
            shape.append(self.extents[name])
            stride = stride * self.extents[name]
        return tuple(reversed(shape))

    def _extent(self, array: str, part: Poly, span: Span) -> Poly:
        names = sorted(part.names() & set(self.extents))
        if part.number is not None:
            return Poly.of(part.number + 1)
        if len(names) != 1:
            raise Refusal(f"the index {said(part)} of {array} is not a loop variable", span, _BEYOND)
        return self.extents[names[0]]

    @staticmethod
    def _order(coefficient: Poly | None, span: Span) -> tuple[int, int]:
        """Sorts strides: more factors first, then larger numbers."""
        if coefficient is None or len(coefficient.parts) != 1:
            raise Refusal("this index is not a sum of loop variables times sizes", span, _BEYOND)
        monomial, count = coefficient.parts[0]
        return len(monomial), count

    def _divided(self, array: str, flat: Poly, shape: tuple[Poly, ...], span: Span) -> tuple[Poly, ...]:
        strides = [Poly.of(1)]
        for extent in reversed(shape[1:]):
            strides.insert(0, strides[0] * extent)
        parts = [Poly() for _ in shape]
        rest = flat
        for name in sorted(flat.names() & set(self.extents)):
            stride = flat.coefficient(name)
            if stride is None or stride not in strides:
                raise Refusal(f"the index {said(flat)} does not fit the shape of {array}", span, _BEYOND)
            place = strides.index(stride)
            parts[place] = parts[place] + Poly.of(name)
            rest = rest - stride * Poly.of(name)
        if rest != Poly():
            raise Refusal(f"the index {said(flat)} of {array} is shifted", span, _BEYOND)
        return tuple(parts)


def beyond(what: str, span: Span = NOWHERE) -> Refusal:
    """A refusal of something the built-in reader does not read."""
    return Refusal(what, span, "the built-in reader does not read this; a language model may")


def plain(variable: str) -> str:
    """A loop variable as it is written."""
    return variable.partition("@")[0]


def said(poly: Poly) -> str:
    """An index for a person."""
    return re.sub(r"@\d+", "", poly.text())
