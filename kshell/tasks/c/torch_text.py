"""Terms of a loop nest as lines of PyTorch, over whole tensors."""

import keyword
from dataclasses import dataclass, field

from kshell.tasks.c.shapes import beyond
from kshell.tasks.c.terms import Bin, Cell, Fold, Num, Poly, Size, Term, Un
from kshell.tasks.c.terms import variables as depends

_UNITS = {"+": 0.0, "max": float("-inf"), "min": float("inf")}
_TAKEN = frozenset(("torch", "nn", "Tensor", "Model", "self", "max", "min"))


def python_name(name: str) -> str:
    """A C name as a Python name."""
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name


@dataclass(frozen=True, slots=True)
class Tensor:
    """A Python expression and the loop variables that are its dimensions, in order. One without
    dimensions may be a plain Python number."""

    text: str
    dims: tuple[str, ...]
    plain: bool = False


@dataclass(slots=True)
class Printer:
    """Prints outputs. `shapes` are those of the arrays; `order` is the canonical order of dimensions."""

    shapes: dict[str, tuple[Poly, ...]]
    taken: set[str]
    lines: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    _undone: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    _known: dict[Fold, Tensor] = field(default_factory=dict)

    def output(self, dims: tuple[str | int, ...], value: Term) -> str:
        """An output over its dimensions, as an expression; sums before it are lines of their own."""
        wanted = tuple(d for d in dims if isinstance(d, str))
        self.order += [d for d in wanted if d not in self.order]
        found = self._arranged(self._print(value), wanted)
        if found.dims != wanted or (found.plain and not wanted):
            raise beyond("an output that does not depend on every index it is stored at")
        text = found.text
        for place, part in enumerate(dims):
            if not isinstance(part, str):
                text = f"torch.unsqueeze({text}, {place})"
        return text

    # ------------------------------------------------------------ terms

    def _print(self, term: Term) -> Tensor:
        match term:
            case Num(value):
                return Tensor(_number(value), (), True)
            case Size(poly):
                if any("@" in name for name in poly.names()):
                    raise beyond("a value that is made of a loop variable")
                text = poly.text()
                return Tensor(text if text.isidentifier() or text.isdigit() else f"({text})", (), True)
            case Cell(array, at):
                return self._cell(array, at)
            case Un(fn, a):
                return self._function(fn, self._print(a))
            case Bin(op, a, b):
                return self._binary(op, a, b)
            case Fold():
                return self._fold(term)
            case _:
                raise beyond("a value of another iteration")

    def _cell(self, array: str, at: tuple[str | int, ...]) -> Tensor:
        names = [part for part in at if isinstance(part, str)]
        if len(names) != len(at) or len(set(names)) != len(names):
            raise beyond(f"{array} is read at {', '.join(str(p).partition('@')[0] for p in at)}")
        self.order += [n for n in names if n not in self.order]
        return self._arranged(
            Tensor(python_name(array), tuple(names)), tuple(sorted(names, key=self.order.index))
        )

    def _function(self, fn: str, a: Tensor) -> Tensor:
        if fn == "neg":
            return Tensor(f"(-{a.text})", a.dims, a.plain)
        if a.plain:
            if fn not in ("sqrt", "rsqrt"):
                raise beyond(f"{fn} of a constant")
            return Tensor(f"({a.text}) ** {0.5 if fn == 'sqrt' else -0.5}", (), True)
        return Tensor(f"torch.{fn}({a.text})", a.dims)

    def _binary(self, op: str, x: Term, y: Term) -> Tensor:
        for one, other in ((x, y), (y, x)):
            if isinstance(one, Num) and one.value == _UNITS.get(op):
                return self._print(other)
        a, b = self._print(x), self._print(y)
        if op in ("max", "min") and (a.plain or b.plain):
            return self._clamped(op, *((a, b) if b.plain else (b, a)))
        dims = tuple(d for d in self.order if d in {*a.dims, *b.dims})
        left, right = self._spread(a, dims), self._spread(b, dims)
        if op in ("max", "min"):
            return Tensor(f"torch.{'maximum' if op == 'max' else 'minimum'}({left}, {right})", dims)
        return Tensor(f"({left} {op} {right})", dims, a.plain and b.plain)

    def _clamped(self, op: str, a: Tensor, limit: Tensor) -> Tensor:
        """A maximum or minimum with a number, by relu: there is no other way to say it in the table."""
        if a.plain:
            return Tensor(f"{op}({a.text}, {limit.text})", (), True)
        if op == "max":
            inner = f"torch.relu({a.text})" if limit.text == "0.0" else f"torch.relu({a.text} - {limit.text})"
            return Tensor(inner if limit.text == "0.0" else f"({inner} + {limit.text})", a.dims)
        return Tensor(f"({limit.text} - torch.relu({limit.text} - {a.text}))", a.dims)

    # ------------------------------------------------------------ folds

    def _fold(self, fold: Fold) -> Tensor:
        if fold not in self._known:
            found = self._product(fold) or self._reduced(fold)
            name = self._name()
            self.lines.append(f"{name} = {found.text}")
            self._known[fold] = Tensor(name, found.dims)
        return self._known[fold]

    def _name(self) -> str:
        number = len(self._known) + 1
        while f"t{number}" in self.taken:
            number += 1
        self.taken.add(f"t{number}")
        return f"t{number}"

    def _reduced(self, fold: Fold) -> Tensor:
        self.order += [fold.var] if fold.var not in self.order else []
        body = self._print(fold.body)
        place = body.dims.index(fold.var)
        dims = tuple(d for d in body.dims if d != fold.var)
        match fold.op:
            case "+":
                return Tensor(f"torch.sum({body.text}, dim={place})", dims)
            case "max":
                return Tensor(f"torch.amax({body.text}, dim={place})", dims)
            case _:
                return Tensor(f"-torch.amax(-{body.text}, dim={place})", dims)

    def _product(self, fold: Fold) -> Tensor | None:
        """A sum of products with an index of its own on either side is a matrix product."""
        if fold.op != "+" or not isinstance(fold.body, Bin) or fold.body.op != "*":
            return None
        a, b = depends(fold.body.a), depends(fold.body.b)
        left, right, both = a - b, b - a, a & b
        if fold.var not in both or len(left) != 1 or len(right) != 1:
            return None
        self.order += [fold.var] if fold.var not in self.order else []
        x, y = self._print(fold.body.a), self._print(fold.body.b)
        batch = tuple(d for d in x.dims if d in both and d != fold.var)
        (row,), (column,) = tuple(left), tuple(right)
        one = self._arranged(x, (*batch, row, fold.var)).text
        two = self._arranged(y, (*batch, fold.var, column)).text
        found = Tensor(f"torch.matmul({one}, {two})", (*batch, row, column))
        return self._arranged(found, tuple(sorted(found.dims, key=self.order.index)))

    # ------------------------------------------------------------ dimensions

    def _arranged(self, tensor: Tensor, wanted: tuple[str, ...]) -> Tensor:
        """The tensor with its dimensions in another order."""
        dims, text = list(tensor.dims), tensor.text
        if sorted(dims) != sorted(wanted):
            return tensor
        for place, name in enumerate(wanted):
            at = dims.index(name)
            if at != place:
                text = self._transposed(text, place, at)
                dims[place], dims[at] = dims[at], dims[place]
        return Tensor(text, tuple(dims), tensor.plain)

    def _transposed(self, text: str, one: int, two: int) -> str:
        if text in self._undone and self._undone[text][1:] == (one, two):
            return self._undone[text][0]
        made = f"torch.transpose({text}, {one}, {two})"
        self._undone[made] = (text, one, two)
        return made

    @staticmethod
    def _spread(tensor: Tensor, dims: tuple[str, ...]) -> str:
        """The tensor with dimensions of size one where it has none of `dims`, but for leading ones."""
        text, own = tensor.text, list(tensor.dims)
        for place, name in enumerate(dims):
            before = [d for d in dims[:place] if d in own]
            if own and name not in own and before:
                own.insert(len(before), name)
                text = f"torch.unsqueeze({text}, {len(before)})"
        return text


def _number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise beyond("infinity as a value")
    return repr(value)
