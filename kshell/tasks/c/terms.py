"""What the reader of C computes with: index polynomials, and scalar terms over array elements."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Monomial = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Poly:
    """A polynomial with integer coefficients over size names and loop variables."""

    parts: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def of(value: int | str) -> "Poly":
        """A number or a name."""
        if isinstance(value, str):
            return Poly((((value,), 1),))
        return Poly((((), value),)) if value else Poly()

    @staticmethod
    def _made(parts: dict[Monomial, int]) -> "Poly":
        return Poly(tuple(sorted((m, c) for m, c in parts.items() if c)))

    def __add__(self, other: "Poly") -> "Poly":
        parts = dict(self.parts)
        for monomial, count in other.parts:
            parts[monomial] = parts.get(monomial, 0) + count
        return Poly._made(parts)

    def __neg__(self) -> "Poly":
        return Poly(tuple((m, -c) for m, c in self.parts))

    def __sub__(self, other: "Poly") -> "Poly":
        return self + -other

    def __mul__(self, other: "Poly") -> "Poly":
        parts: dict[Monomial, int] = {}
        for m, c in self.parts:
            for n, d in other.parts:
                product = tuple(sorted((*m, *n)))
                parts[product] = parts.get(product, 0) + c * d
        return Poly._made(parts)

    @property
    def number(self) -> int | None:
        """The value of a constant, None when names occur."""
        if not self.parts:
            return 0
        monomial, count = self.parts[0]
        return count if len(self.parts) == 1 and not monomial else None

    def names(self) -> set[str]:
        """Every name that occurs."""
        return {name for monomial, _ in self.parts for name in monomial}

    def coefficient(self, name: str) -> "Poly | None":
        """The factor of a name that occurs linearly; None when it occurs otherwise."""
        parts: dict[Monomial, int] = {}
        for monomial, count in self.parts:
            if monomial.count(name) > 1:
                return None
            if name in monomial:
                rest = list(monomial)
                rest.remove(name)
                parts[tuple(rest)] = count
        return Poly._made(parts)

    def text(self) -> str:
        """An expression of names, as axes and Python read it."""
        found = ""
        for monomial, count in self.parts:
            factors = [*([str(abs(count))] if abs(count) != 1 or not monomial else []), *monomial]
            sign = (" - " if found else "-") if count < 0 else (" + " if found else "")
            found += sign + "*".join(factors)
        return found or "0"

    def size(self) -> str | int:
        """The entry of a shape."""
        number = self.number
        return number if number is not None else self.text()


Place = tuple["str | int", ...]
"""Where an element is: a loop variable or a number for each dimension."""


@dataclass(frozen=True, slots=True)
class Num:
    """A literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Size:
    """A size as a real number."""

    poly: Poly


@dataclass(frozen=True, slots=True)
class Cell:
    """An element of an array as it was before an iteration of the loop `scope` (0: before the call)."""

    array: str
    at: Place
    scope: int


@dataclass(frozen=True, slots=True)
class Prev:
    """A variable as it was before an iteration of the loop `scope`."""

    name: str
    scope: int


@dataclass(frozen=True, slots=True)
class Un:
    """A function of one number, by its name in torch, or `neg`."""

    fn: str
    a: "Term"


@dataclass(frozen=True, slots=True)
class Bin:
    """`+ - * /`, `max`, `min`."""

    op: str
    a: "Term"
    b: "Term"


@dataclass(frozen=True, slots=True)
class Fold:
    """A sum or a maximum or minimum over a loop variable."""

    op: str
    var: str
    body: "Term"


Term = Num | Size | Cell | Prev | Un | Bin | Fold


def rebuilt(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with `change` applied to every node, leaves first."""
    match term:
        case Un(fn, a):
            return change(Un(fn, rebuilt(a, change)))
        case Bin(op, a, b):
            return change(Bin(op, rebuilt(a, change), rebuilt(b, change)))
        case Fold(op, var, body):
            return change(Fold(op, var, rebuilt(body, change)))
        case _:
            return change(term)


def nodes(term: Term) -> Iterator[Term]:
    """Every node of a term."""
    yield term
    match term:
        case Un(a=a):
            yield from nodes(a)
        case Bin(a=a, b=b):
            yield from nodes(a)
            yield from nodes(b)
        case Fold(body=body):
            yield from nodes(body)
        case _:
            return


def moved(term: Term, places: dict[str, "str | int"]) -> Term:
    """The term with loop variables replaced in the places of elements."""

    def change(node: Term) -> Term:
        if isinstance(node, Cell):
            return Cell(node.array, tuple(_moved(p, places) for p in node.at), node.scope)
        return node

    return rebuilt(term, change)


def _moved(part: "str | int", places: dict[str, "str | int"]) -> "str | int":
    return places.get(part, part) if isinstance(part, str) else part


def variables(term: Term) -> set[str]:
    """Loop variables the value depends on."""
    match term:
        case Cell(at=at):
            return {p for p in at if isinstance(p, str)}
        case Size(poly=poly):
            return poly.names()
        case Un(a=a):
            return variables(a)
        case Bin(a=a, b=b):
            return variables(a) | variables(b)
        case Fold(var=var, body=body):
            return variables(body) - {var}
        case _:
            return set()
