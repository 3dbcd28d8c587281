"""Conditionals of the preprocessor: `#if`, `#ifdef`, `#ifndef`, `#elif`, `#else`, `#endif`.

What is left out is remembered by its place. A condition must come out the same for every compiler that
sees the source: a name that a compiler or the architecture decides is refused."""

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from semantics.lexer import Tok
from semantics.literals import int_literal
from semantics.span import Refusal, Span

HEADER_MACROS = frozenset(
    "INFINITY NAN NULL FLT_MAX FLT_MIN FLT_EPSILON INT_MAX INT_MIN UINT_MAX LLONG_MAX HUGE_VALF "
    "M_PI M_SQRT2 M_SQRT1_2 M_2_SQRTPI M_LOG2E M_LN2 M_E M_PI_2 M_PI_4 M_1_PI M_2_PI M_LN10 M_LOG10E".split()
)
_KNOWN = {"__CUDACC__": True, "__cplusplus": True}
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_WORDS = ("if", "ifdef", "ifndef", "elif", "else", "endif")


@dataclass(slots=True)
class _Branch:
    """One open conditional: whether it is read now, and whether a branch of it was."""

    active: bool
    taken: bool
    span: Span
    ended: bool = False


@dataclass(slots=True)
class Conditions:
    """The open conditionals of a text."""

    tokens: list[Tok]
    skipped: list[Span] = field(default_factory=list)
    _open: list[_Branch] = field(default_factory=list)

    @property
    def active(self) -> bool:
        """Whether text is read here."""
        return all(b.active for b in self._open)

    def skip(self, span: Span) -> None:
        """Remember a place that is left out."""
        if not self.skipped or self.skipped[-1].line != span.line:
            self.skipped.append(span)

    def close(self) -> None:
        """The end of the text. Raises Refusal for a conditional that is still open."""
        if self._open:
            raise Refusal("#if without #endif", self._open[-1].span, "add #endif")

    def directive(
        self, tok: Tok, line: list[Tok], macros: Container[str], expand: Callable[[list[Tok]], list[Tok]]
    ) -> bool:
        """Carry out a directive; False when it is no conditional. Raises Refusal."""
        word = line[0].text if line else ""
        if word not in _WORDS:
            return False
        if word in ("if", "ifdef", "ifndef"):
            holds = self.active and self._condition(word, tok, line, macros, expand)
            self._open.append(_Branch(holds, holds, tok.span))
            return True
        if not self._open:
            raise Refusal(f"#{word} without #if", tok.span)
        branch = self._open[-1]
        if word == "endif":
            self._open.pop()
            return True
        if branch.ended:
            raise Refusal(f"#{word} after #else", tok.span)
        branch.active = False
        outside = self.active or all(b.active for b in self._open[:-1])
        if word == "else":
            branch.ended, branch.active = True, not branch.taken
        elif outside and not branch.taken:
            branch.active = self._condition("if", tok, line, macros, expand)
        branch.taken = branch.taken or branch.active
        return True

    def _condition(
        self,
        word: str,
        tok: Tok,
        line: list[Tok],
        macros: Container[str],
        expand: Callable[[list[Tok]], list[Tok]],
    ) -> bool:
        span = tok.span.to(line[-1].span)
        if word != "if":
            if len(line) != 2:
                raise Refusal(f"#{word} needs one name", span)
            return _defined(line[1], macros) == (word == "ifdef")
        plain: list[Tok] = []
        rest = line[1:]
        while rest:
            t = rest.pop(0)
            if t.text == "defined" and rest:
                name = rest.pop(0)
                if name.kind == "LPAR" and len(rest) > 1:
                    name = rest.pop(0)
                    rest.pop(0)
                plain.append(Tok("INT", str(int(_defined(name, macros))), t.span))
            else:
                plain.append(t)
        reader = _Reader(expand(plain), span)
        value = reader.level(0)
        if reader.at < len(reader.tokens):
            raise Refusal("this condition is outside the language", span, "compare integers")
        return value != 0


def _defined(name: Tok, macros: Container[str]) -> bool:
    if name.text in macros or name.text in HEADER_MACROS:
        return True
    if name.text in _KNOWN:
        return _KNOWN[name.text]
    if name.text.startswith("_") or name.text.startswith(("CUDA", "NDEBUG")):
        raise Refusal(
            f"{name.text} depends on the compiler", name.span, "a candidate means the same for every compiler"
        )
    return False


class _Reader:
    """Integer expressions of `#if`."""

    def __init__(self, tokens: list[Tok], span: Span) -> None:
        self.tokens, self.span, self.at = tokens, span, 0

    def next(self) -> Tok:
        if self.at >= len(self.tokens):
            raise Refusal("this condition ends too early", self.span)
        self.at += 1
        return self.tokens[self.at - 1]

    def level(self, k: int) -> int:
        if k == len(_LEVELS):
            return self.primary()
        value = self.level(k + 1)
        while self.at < len(self.tokens) and self.tokens[self.at].text in _LEVELS[k]:
            op = self.next().text
            value = self.apply(op, value, self.level(k + 1))
        return value

    def apply(self, op: str, a: int, b: int) -> int:
        if op in ("/", "%"):
            if b == 0:
                raise Refusal("division by zero", self.span)
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if op == "/" else a - b * quotient
        return int(
            {
                "||": a != 0 or b != 0,
                "&&": a != 0 and b != 0,
                "==": a == b,
                "!=": a != b,
                "<": a < b,
                ">": a > b,
                "<=": a <= b,
                ">=": a >= b,
                "+": a + b,
                "-": a - b,
                "*": a * b,
            }[op]
        )

    def primary(self) -> int:
        t = self.next()
        if t.kind == "LPAR":
            value = self.level(0)
            if self.next().kind != "RPAR":
                raise Refusal("this condition is outside the language", self.span, "compare integers")
            return value
        if t.text == "!":
            return int(self.primary() == 0)
        if t.text == "-":
            return -self.primary()
        if t.kind == "INT":
            try:
                return int_literal(t.text)[0]
            except ValueError as error:
                raise Refusal(str(error), t.span) from None
        if t.kind == "NAME" and not t.text.startswith("_"):
            return 0
        raise Refusal(
            f"{t.text!r} in a condition depends on the compiler", t.span, "use macros of the source"
        )
