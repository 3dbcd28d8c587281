"""Symbolic execution of a C function: loops over arrays become sums, maxima and element-wise terms.

A loop body runs once, on a symbolic iteration. What it changes is then said for the whole loop: an
element by element store covers the dimension, `acc + e` is a sum, `max(acc, e)` a maximum. Everything
else is refused with its place; nothing is guessed."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from kshell.tasks.c.scalars import Values, literal
from kshell.tasks.c.shapes import Arrays, beyond
from kshell.tasks.c.terms import Bin, Cell, Fold, Num, Place, Poly, Prev, Size, Term, moved, nodes, rebuilt
from kshell.tasks.c.terms import variables as depends
from semantics import ast
from semantics.span import Span

_LEAST = -3e38


@dataclass(slots=True)
class Effect:
    """What an iteration leaves in an array: the value of the element at a place."""

    at: Place
    value: Term


@dataclass(slots=True)
class Scope:
    """One iteration of a loop (number 0 is the call itself)."""

    number: int
    loop: str = ""
    start: int = 0
    scalars: dict[str, Term] = field(default_factory=dict)
    ints: dict[str, Poly] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    pointers: dict[str, tuple[str, Poly]] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)


class Nest:
    """Runs one function. `arrays` are its pointer parameters, `sizes` the names integers may use,
    `reals` its float parameters, `helpers` the functions it may call."""

    def __init__(
        self, arrays: set[str], sizes: set[str], reals: set[str], helpers: dict[str, ast.Function]
    ) -> None:
        self.arrays, self.sizes, self.reals = arrays, sizes, reals
        self.known = Arrays()
        self.scopes = [Scope(0)]
        self.helpers = helpers
        self._probing = True
        self._loops = 0
        self._values = Values(self)

    def run(self, body: ast.Block) -> dict[str, Effect]:
        """The effects of the call. Runs twice: first for the shapes, then for the values."""
        self._block(body)
        self.known.settle()
        self._probing, self._loops, self.scopes = False, 0, [Scope(0)]
        self._block(body)
        return self.scopes[0].effects

    # ------------------------------------------------------------ names

    def integer(self, name: str) -> Poly | None:
        """The value of an integer variable, loop variable or size; None for another name."""
        for scope in reversed(self.scopes):
            if name in scope.ints:
                return scope.ints[name]
            if name in scope.scalars:
                return None
        return Poly.of(name) if name in self.sizes else None

    def pointer(self, name: str) -> tuple[str, Poly] | None:
        """The array and the offset a pointer stands for; None for another name."""
        for scope in reversed(self.scopes):
            if name in scope.pointers:
                return scope.pointers[name]
            if name in scope.scalars or name in scope.ints:
                return None
        return (name, Poly()) if name in self.arrays else None

    def real(self, name: str, span: Span) -> Term:
        """The value of a float variable or parameter."""
        for scope in reversed(self.scopes):
            if name in scope.scalars:
                return scope.scalars[name]
        if name in self.reals:
            return Size(Poly.of(name))
        whole = self.integer(name)
        if whole is not None:
            return Size(whole)
        raise beyond(f"{name} has no value here", span)

    def bind(self, name: str, value: Term) -> None:
        """Assign a float variable in the innermost scope."""
        self.scopes[-1].scalars[name] = value

    # ------------------------------------------------------------ arrays

    def read(self, array: str, parts: tuple[Poly, ...], span: Span) -> Term:
        """An element as the innermost iteration sees it."""
        if self._probing:
            self.known.note(array, parts, span)
            return Num(0.0)
        return self._seen(array, self.known.place(array, parts, span), len(self.scopes) - 1, span)

    def store(self, array: str, parts: tuple[Poly, ...], value: Term, span: Span) -> None:
        """Assign an element."""
        if self._probing:
            self.known.note(array, parts, span)
            return
        self._put(array, self.known.place(array, parts, span), value, len(self.scopes) - 1, span)

    def _seen(self, array: str, at: Place, depth: int, span: Span) -> Term:
        scope = self.scopes[depth]
        effect = scope.effects.get(array)
        if effect is None:
            return Cell(array, at, scope.number)
        places: dict[str, str | int] = {}
        for own, wanted in zip(effect.at, at, strict=True):
            if own == wanted:
                continue
            if not isinstance(own, str) or own in self._open(depth):
                raise beyond(f"{array} is read at a place that another iteration writes", span)
            places[own] = wanted
        return moved(effect.value, places)

    def _put(self, array: str, at: Place, value: Term, depth: int, span: Span) -> None:
        scope = self.scopes[depth]
        known, opened = scope.effects.get(array), self._open(depth)
        if known is not None:
            same = [
                a == b or (isinstance(a, str) and isinstance(b, str) and a not in opened and b not in opened)
                for a, b in zip(known.at, at, strict=True)
            ]
            if not all(same):
                raise beyond(f"{array} is written at two kinds of places", span)
        if len({part for part in at if isinstance(part, str)}) != sum(isinstance(p, str) for p in at):
            raise beyond(f"{array} is written on a diagonal", span)
        scope.effects[array] = Effect(at, value)

    def _open(self, depth: int) -> set[str]:
        return {scope.loop for scope in self.scopes[: depth + 1]}

    # ------------------------------------------------------------ statements

    def _block(self, body: ast.Stmt) -> None:
        match body:
            case ast.Block(body=statements):
                for statement in statements:
                    self._block(statement)
            case ast.Decl():
                self._declare(body)
            case ast.ExprStmt(expr=expr):
                self._values.effect(expr)
            case ast.For():
                self._for(body)
            case ast.If():
                self._if(body)
            case ast.Empty():
                return
            case ast.Return(value=None) if len(self.scopes) == 1:
                return
            case _:
                name = type(body).__name__.lower()
                raise beyond(f"a {name} statement is not a loop nest", body.span)

    def declare_all(self, body: ast.Block) -> Term:
        """The value of a helper: straight-line code that ends in a return."""
        for statement in body.body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self._values.value(statement.value)
            self._block(statement)
        raise beyond("a helper ends without a value", body.span)

    def _declare(self, decl: ast.Decl) -> None:
        for one in decl.declarators:
            if one.extents:
                raise beyond(f"{one.name} is a local array", one.span)
            if one.type.pointer:
                if one.init is None or isinstance(one.init, ast.InitList):
                    raise beyond(f"the pointer {one.name} has no value", one.span)
                self.scopes[-1].pointers[one.name] = self._values.place(one.init)
                continue
            if one.type.base in ("float", "double"):
                if isinstance(one.init, ast.InitList):
                    raise beyond(f"{one.name} has a list of values", one.span)
                self.bind(one.name, self._values.value(one.init) if one.init is not None else Num(0.0))
                self.scopes[-1].local.add(one.name)
            elif one.init is not None and not isinstance(one.init, ast.InitList):
                self.scopes[-1].ints[one.name] = self._values.index(one.init)
            elif one.init is None and one.type.base in ("int", "long", "size_t", "unsigned"):
                continue
            else:
                raise beyond(f"{one.name} of type {one.type.base} is not read", one.span)

    def _if(self, statement: ast.If) -> None:
        """`if (e > m) m = e;` and its like are a maximum or a minimum."""
        assign = _assignment(statement.then)
        other = _assignment(statement.other) if statement.other is not None else None
        fits = statement.other is None or (other is not None and assign and other.target == assign.target)
        if assign is None or not fits:
            raise beyond("an if that is not a maximum or a minimum", statement.span)
        otherwise = other.value if other is not None else assign.target
        chosen = ast.Ternary(statement.cond, assign.value, otherwise, statement.span)
        self._values.effect(ast.Assign("=", assign.target, chosen, statement.span))

    # ------------------------------------------------------------ loops

    def _for(self, loop: ast.For) -> None:
        name, start, extent = self._header(loop)
        self._loops += 1
        variable = f"{name}@{self._loops}"
        self.known.extents[variable] = extent
        scope = Scope(self._loops, variable, start, ints={name: Poly.of(variable)})
        for changed in assigned(loop.body):
            if any(changed in outer.scalars for outer in self.scopes):
                scope.scalars[changed] = Prev(changed, scope.number)
        self.scopes.append(scope)
        self._block(loop.body)
        if self._probing:
            self.scopes.pop()
        else:
            self._close(loop.span)

    def _header(self, loop: ast.For) -> tuple[str, int, Poly]:
        name = ""
        first: ast.Expr | ast.InitList | None = None
        match loop.init:
            case ast.Decl(declarators=(one,)) if one.init is not None:
                name, first = one.name, one.init
            case ast.ExprStmt(expr=ast.Assign(op="=", target=ast.Name(name=own), value=value)):
                name, first = own, value
            case _:
                pass
        if first is None or isinstance(first, ast.InitList):
            raise beyond("this loop does not start with its variable", loop.span)
        start = self._values.index(first).number
        end: Poly | None = None
        match loop.cond:
            case ast.Binary(op=op, left=ast.Name(name=tested), right=limit) if tested == name:
                bound = self._values.index(limit)
                end = bound if op in ("<", "!=") else bound + Poly.of(1) if op == "<=" else None
            case _:
                pass
        if end is None or start is None or not steps_by_one(loop.step, name):
            raise beyond("this loop does not count up by one to a size", loop.span)
        if end.names() & set(self.known.extents):
            raise beyond("the end of this loop depends on another loop", loop.span)
        if start not in (0, 1):
            raise beyond(f"this loop starts at {start}", loop.span)
        return name, start, end

    def _close(self, span: Span) -> None:
        """Say what the loop of the innermost scope did, in the scope around it."""
        scope = self.scopes.pop()
        depth = len(self.scopes) - 1
        for array, effect in scope.effects.items():
            value = self._resolved(effect.value, scope, span)
            if scope.loop in effect.at:
                if scope.start:
                    raise beyond(f"this loop leaves out the first element of {array}", span)
                before = Cell(array, effect.at, scope.number)
                value = _replaced(value, before, self._seen(array, effect.at, depth, span))
            else:
                before = Cell(array, effect.at, scope.number)
                initial = self._seen(array, effect.at, depth, span)
                value = self._fold(before, value, scope, initial, span)
            self._left_over(value, scope, span)
            self._put(array, effect.at, value, depth, span)
        for name, value in scope.scalars.items():
            if name in scope.local or value == Prev(name, scope.number):
                continue
            value = self._resolved(value, scope, span)
            value = self._fold(Prev(name, scope.number), value, scope, self.real(name, span), span)
            self._left_over(value, scope, span)
            self.bind(name, value)

    def _resolved(self, value: Term, scope: Scope, span: Span) -> Term:
        """Elements of arrays the loop does not write, as the scope around it sees them."""

        def change(node: Term) -> Term:
            if isinstance(node, Cell) and node.scope == scope.number and node.array not in scope.effects:
                return self._seen(node.array, node.at, len(self.scopes) - 1, span)
            return node

        return rebuilt(value, change)

    def _left_over(self, value: Term, scope: Scope, span: Span) -> None:
        for node in nodes(value):
            if isinstance(node, Cell | Prev) and node.scope == scope.number:
                what = node.array if isinstance(node, Cell) else node.name
                raise beyond(f"an iteration uses {what} of another iteration", span)

    def _fold(self, before: Term, value: Term, scope: Scope, initial: Term, span: Span) -> Term:
        """The value after the loop of something that becomes `value` of `before` in each iteration."""
        if not any(node == before for node in nodes(value)):
            if scope.loop in depends(value) or scope.start:
                raise beyond("only the last iteration of this loop counts", span)
            return value
        for op, unit in (("+", 0.0), ("max", _LEAST), ("min", -_LEAST)):
            parts = list(_parts(value, op))
            rest = [part for part in parts if part != before]
            if len(rest) == len(parts) - 1 and rest:
                return self._folded(op, unit, rest, scope, initial, span)
        raise beyond("this loop is neither a sum nor a maximum", span)

    def _folded(
        self, op: str, unit: float, rest: list[Term], scope: Scope, initial: Term, span: Span
    ) -> Term:
        body = rest[0]
        for part in rest[1:]:
            body = Bin(op, body, part)
        total: Term = Fold(op, scope.loop, body)
        if scope.loop not in depends(body):
            total = Bin("*", Size(self.known.extents[scope.loop]), body) if op == "+" else body
        first = moved(body, {scope.loop: 0})
        if initial == first and (scope.start == 1 or op != "+"):
            return total
        if scope.start:
            raise beyond("this loop starts at 1 and its first element is not the value before it", span)
        empty = isinstance(initial, Num) and (
            initial.value == 0.0
            if op == "+"
            else abs(initial.value) >= abs(unit) and initial.value * unit > 0
        )
        return total if empty else Bin(op, initial, total)


def _assignment(statement: ast.Stmt) -> ast.Assign | None:
    """The plain assignment that a branch is, if it is one."""
    while isinstance(statement, ast.Block) and len(statement.body) == 1:
        statement = statement.body[0]
    match statement:
        case ast.ExprStmt(expr=ast.Assign(op="=") as assign):
            return assign
        case _:
            return None


def _parts(value: Term, op: str) -> Iterator[Term]:
    match value:
        case Bin(op=own, a=a, b=b) if own == op:
            yield from _parts(a, op)
            yield from _parts(b, op)
        case Bin(op="-", a=a, b=b) if op == "+":
            yield from _parts(a, op)
            yield Bin("*", Num(-1.0), b)
        case _:
            yield value


def _replaced(value: Term, old: Term, new: Term) -> Term:
    return rebuilt(value, lambda node: new if node == old else node)


def assigned(statement: Any) -> set[str]:
    """Names that a statement assigns."""
    found: set[str] = set()
    stack = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack += node
        elif is_dataclass(node) and not isinstance(node, type):
            match node:
                case ast.Assign(target=ast.Name(name=name)):
                    found.add(name)
                case ast.Unary(op="++" | "--", operand=ast.Name(name=name)):
                    found.add(name)
                case ast.Postfix(operand=ast.Name(name=name)):
                    found.add(name)
                case _:
                    pass
            stack += [getattr(node, f.name) for f in fields(node)]
    return found


def steps_by_one(step: ast.Expr | None, name: str) -> bool:
    """Whether the step of a loop is `name++` in one of its forms."""
    match step:
        case (
            ast.Unary(op="++", operand=ast.Name(name=own)) | ast.Postfix(op="++", operand=ast.Name(name=own))
        ):
            return own == name
        case ast.Assign(op="+=", target=ast.Name(name=own), value=ast.IntLit(text=text)):
            return own == name and literal(text) == 1
        case _:
            return False
