"""CUDA C text to the surface AST. Raises Refusal with line, column and a hint for anything else."""

from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from semantics import ast, constants, groups, specialise
from semantics.build import Builder
from semantics.lexer import REFUSED_WORDS, Tok, tokenize
from semantics.preprocess import preprocess
from semantics.span import NOWHERE, Refusal, Span

_DEPTH = 100
_TREE = 130


class _Tokens(Lexer):
    """Hands tokens that are already made to lark."""

    def __init__(self, conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Any:
        for t in lexer_state:
            s = t.span
            yield Token(t.kind, t.text, None, s.line, s.column, s.end_line, s.end_column)


@lru_cache(maxsize=1)
def _parser() -> Lark:
    text = resources.files("semantics").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=_Tokens, transformer=Builder(), maybe_placeholders=True)


def parse(source: str) -> ast.Module:
    """The module of a candidate's text. Raises Refusal."""
    pre = preprocess(tokenize(source))
    headers = frozenset(i.name.strip('<>"') for i in pre.includes)
    tokens = _classify(_unscoped(groups.rewrite(pre.tokens, headers)))
    if not tokens:
        raise Refusal("the source is empty", NOWHERE, "write at least one __global__ kernel and a launcher")
    _check_nesting(tokens)
    try:
        items = _parser().parse(cast(Any, tokens))
    except UnexpectedToken as error:
        raise _unexpected(error, tokens) from None
    whole = constants.rewrite(specialise.rewrite(tuple(cast(list[ast.Item], items))))
    module = ast.Module(pre.includes, pre.defines, whole, pre.skipped)
    _check_depth(module)
    return module


def _check_depth(module: ast.Module) -> None:
    """The tree is no deeper than the recursive passes over it can follow."""
    stack: list[tuple[Any, int, Span]] = [(module, 0, NOWHERE)]
    while stack:
        node, depth, span = stack.pop()
        if isinstance(node, tuple):
            stack.extend((child, depth, span) for child in node)
        elif is_dataclass(node) and not isinstance(node, Span):
            span = getattr(node, "span", span)
            if depth > _TREE:
                raise Refusal(f"statements or expressions nest deeper than {_TREE}", span, "split them")
            stack.extend((getattr(node, f.name), depth + 1, span) for f in fields(node))


_STD = frozenset(
    "abs fabs exp expm1 log log1p log2 log10 exp2 sqrt rsqrt cbrt sin cos tan tanh sinh cosh asin "
    "acos atan atan2 pow floor ceil round trunc rint fmod erf erfc fma fmax fmin hypot".split()
)
_SAME = ("is_same", "is_same_v")
_CHOICE = ("conditional", "conditional_t")


def _unscoped(tokens: list[Tok]) -> list[Tok]:
    """`std::` before a function or type that means the same without it is one token with its name, and
    `extern "C"` before a brace is one token."""
    out: list[Tok] = []
    i = 0
    while i < len(tokens):
        name = tokens[i + 2] if i + 2 < len(tokens) else None
        if name is not None and (tokens[i].kind, tokens[i + 1].kind, name.kind) == (
            "EXTERN",
            "STRING",
            "LBRACE",
        ):
            span = tokens[i].span.to(tokens[i + 1].span)
            out.append(Tok("LINKAGE", f"extern {tokens[i + 1].text}", span, tokens[i].first))
            i += 2
            continue
        if tokens[i].text != "std" or tokens[i + 1].kind != "SCOPE" or name is None:
            out.append(tokens[i])
            i += 1
            continue
        span = tokens[i].span.to(name.span)
        if name.text in _CHOICE:
            out.append(Tok("CONDITIONAL", f"std::{name.text}", span, tokens[i].first))
        elif name.text in _SAME:
            out.append(Tok("SAME_TYPE", f"std::{name.text}", span, tokens[i].first))
        elif name.text in ("max", "min"):
            raise Refusal(f"std::{name.text} is host code to nvcc", span, f"write {name.text}")
        elif name.text in _STD or (name.kind == "TYPE_WORD" and name.text.endswith("_t")):
            out.append(Tok(name.kind, name.text, span, tokens[i].first))
        else:
            raise Refusal(
                f"std::{name.text} is outside the language", span, "known: functions of <cmath>, std::is_same"
            )
        i += 3
    return out


def _classify(tokens: list[Tok]) -> list[Tok]:
    """Turn names of template type parameters and structs into TYPE_WORD, template functions before
    `<` into TEMPLATE_NAME; refuse words the language refuses by name."""
    types: set[str] = set()
    templates: set[str] = set()
    for i, tok in enumerate(tokens):
        if tok.text in REFUSED_WORDS and tok.kind == "NAME":
            reason, hint = REFUSED_WORDS[tok.text]
            raise Refusal(reason, tok.span, hint)
        after = tokens[i + 1] if i + 1 < len(tokens) else tok
        if tok.kind in ("TYPENAME_WORD", "STRUCT", "USING") and after.kind == "NAME":
            types.add(after.text)
        if tok.kind == "TYPEDEF":
            end = next((j for j in range(i, len(tokens)) if tokens[j].kind == "SEMI"), i)
            types.add(tokens[end - 1].text)
        if tok.kind == "TEMPLATE":
            name = _template_name(tokens, i + 1)
            if name:
                templates.add(name)
    # `half` is a type of a header that few sources need, and a name that many use: `int half = n / 2;`.
    variable = any(
        after.text == "half" and (before.kind == "TYPE_WORD" or before.text in types)
        for before, after in pairwise(tokens)
    )
    out: list[Tok] = []
    for i, tok in enumerate(tokens):
        if variable and tok.text == "half":
            tok = Tok("NAME", tok.text, tok.span, tok.first)
        elif tok.kind == "NAME" and tok.text in types:
            tok = Tok("TYPE_WORD", tok.text, tok.span, tok.first)
        elif (
            tok.kind == "NAME"
            and tok.text in templates
            and i + 1 < len(tokens)
            and tokens[i + 1].kind == "LT"
        ):
            tok = Tok("TEMPLATE_NAME", tok.text, tok.span, tok.first)
        out.append(tok)
    return out


def _template_name(tokens: list[Tok], i: int) -> str:
    """Name of the function behind `template <...>`: the last name before its parameter list."""
    depth, name = 0, ""
    for j in range(i, len(tokens)):
        tok = tokens[j]
        if tok.kind == "LT":
            depth += 1
        elif tok.kind == "GT":
            depth -= 1
        elif tok.kind in ("LBRACE", "SEMI"):
            return ""
        elif depth == 0 and tok.kind == "LPAR" and name:
            return name
        elif depth == 0:
            name = tok.text if tok.kind == "NAME" else ""
    return ""


def _check_nesting(tokens: list[Tok]) -> None:
    """Brackets match, and nesting stays within what a person writes."""
    closing = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}
    stack: list[Tok] = []
    for tok in tokens:
        if tok.kind in ("LPAR", "LSQB", "LBRACE"):
            stack.append(tok)
            if len(stack) > _DEPTH:
                raise Refusal(f"nesting is deeper than {_DEPTH}", tok.span)
        elif tok.kind in closing:
            if not stack:
                raise Refusal(f"`{tok.text}` closes nothing", tok.span)
            opened = stack.pop()
            if opened.kind != closing[tok.kind] and tok.kind == "RBRACE":
                raise Refusal(
                    f"`{opened.text}` is never closed", opened.span, f"line {tok.span.line} ends its block"
                )
            if opened.kind != closing[tok.kind]:
                raise Refusal(
                    f"`{tok.text}` does not close `{opened.text}` of line {opened.span.line}", tok.span
                )
    if stack:
        raise Refusal(f"`{stack[-1].text}` is never closed", stack[-1].span)


_HINTS = {
    "SCOPE": ("namespaces are outside the language", "use the plain name, e.g. max or fmaxf"),
    "ARROW": ("`->` is outside the language", "use an index"),
    "COLON": ("labels and access specifiers are outside the language", ""),
    "ELLIPSIS": ("variadic functions are outside the language", ""),
    "STRING": ("strings are outside the language", 'a kernel prints nothing; only extern "C" is known'),
    "TYPENAME_WORD": ("classes are outside the language", "use a plain struct"),
}


def _unexpected(error: UnexpectedToken, tokens: list[Tok]) -> Refusal:
    token = error.token
    if token.type == "$END":
        return Refusal("unexpected end of the source", tokens[-1].span)
    span = Span(token.line or 0, token.column or 0, token.end_line or 0, token.end_column or 0)
    if token.type in _HINTS:
        reason, hint = _HINTS[token.type]
        return Refusal(reason, span, hint)
    after = next((n for t, n in pairwise(tokens) if t.span == span), None)
    names = after is not None and after.kind in ("NAME", "STAR", "AMP", "CONST")
    if names and token.type == "NAME" and "TYPE_WORD" in error.accepts and "NAME" not in error.accepts:
        return Refusal(
            f"unknown type {token.value!r}", span, "known: float, int, unsigned, long long, size_t, ..."
        )
    before = next((t for t, n in pairwise(tokens) if n.span == span), None)
    if before is not None and before.kind == "NAME" and token.type in ("NAME", "STAR", "AMP"):
        return Refusal(
            f"unknown type {before.text!r}",
            before.span,
            "known: float, int, unsigned, long long, size_t, ...",
        )
    if before is not None and before.kind == "NAME" and token.type == "LT":
        return Refusal(f"unknown template {before.text!r}", before.span)
    if token.type == "LSQB" and (before is None or before.kind not in ("NAME", "RSQB", "RPAR")):
        return Refusal("lambdas and attributes are outside the language", span, "use a __device__ helper")
    if token.type == "PRAGMA":
        return Refusal("#pragma unroll must stand before a loop", span)
    if "SEMI" in error.accepts and token.type not in ("RPAR", "RSQB", "COMMA"):
        if before is not None and before.span.end_line < span.line:
            line, column = before.span.end_line, before.span.end_column
            return Refusal("expected `;`", Span(line, column, line, column + 1))
        return Refusal(f"expected `;` before {token.value!r}", span)
    return Refusal(f"unexpected {token.value!r}", span)
