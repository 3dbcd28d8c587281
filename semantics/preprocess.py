"""The small preprocessor: `#define` of constants and expressions, conditionals, `#pragma unroll`, known
headers.

Macros are expanded on tokens; an expanded token carries the place of the macro's use. Anything else
that starts with `#` is refused."""

from dataclasses import dataclass

from semantics.ast import Define, Include
from semantics.conditions import Conditions
from semantics.lexer import Tok
from semantics.reserved import reserved_macro
from semantics.span import Refusal, Span

HEADERS = frozenset(
    "cuda_runtime.h cuda.h cuda_runtime_api.h device_launch_parameters.h math.h cmath float.h cfloat "
    "limits.h climits stdint.h cstdint stddef.h cstddef cuda_fp16.h cuda_bf16.h math_constants.h "
    "stdio.h cstdio stdlib.h cstdlib string.h cstring assert.h cassert time.h ctime iostream vector "
    "algorithm limits type_traits utility functional memory string device_functions.h "
    "cooperative_groups.h cooperative_groups/reduce.h".split()
)
_LIMIT = 200_000


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: `params` is None for an object-like one."""

    name: str
    params: tuple[str, ...] | None
    body: tuple[Tok, ...]


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """Tokens left for the parser, and the directives that were used up."""

    tokens: list[Tok]
    defines: tuple[Define, ...]
    includes: tuple[Include, ...]
    skipped: tuple[Span, ...] = ()


def preprocess(tokens: list[Tok]) -> Preprocessed:
    """Run directives and expand macros. Raises Refusal for any directive outside the language."""
    macros: dict[str, Macro] = {}
    seen: set[str] = set()
    out: list[Tok] = []
    defines: list[Define] = []
    includes: list[Include] = []
    i = 0
    text: list[Tok] = []

    def flush() -> None:
        out.extend(_expand(text, macros, frozenset()))
        if len(out) > _LIMIT:
            raise Refusal(
                f"more than {_LIMIT} tokens after macro expansion", text[0].span if text else out[0].span
            )
        text.clear()

    conditions = Conditions(tokens)
    while i < len(tokens):
        tok = tokens[i]
        if tok.kind == "newline":
            i += 1
            continue
        if tok.kind == "HASH" and tok.first:
            line: list[Tok] = []
            i += 1
            while i < len(tokens) and tokens[i].kind != "newline":
                line.append(tokens[i])
                i += 1
            word = line[0].text if line else ""
            if conditions.directive(tok, line, macros, lambda ts: _expand(ts, macros, frozenset())):
                pass
            elif not conditions.active:
                conditions.skip(tok.span)
            elif word == "define":
                flush()
                macro = _define(tok, line)
                if macro.name in macros:
                    raise Refusal(f"macro {macro.name} is defined twice", line[1].span, "use two names")
                if macro.name in seen:
                    raise Refusal(
                        f"macro {macro.name} is defined after its first use", line[1].span, "move it up"
                    )
                macros[macro.name] = macro
                defines.append(
                    Define(macro.name, macro.params, _text(macro.body), tok.span.to(line[-1].span))
                )
            elif word == "include":
                includes.append(_include(tok, line))
            elif word == "pragma":
                text.append(_pragma(tok, line))
            else:
                raise Refusal(
                    f"`#{word}` is outside the language",
                    tok.span.to(line[0].span) if line else tok.span,
                    "known: #define, #if, #ifdef, #ifndef, #include of CUDA and math headers, #pragma unroll",
                )
            continue
        if conditions.active:
            seen.add(tok.text)
            text.append(tok)
        else:
            conditions.skip(tok.span)
        i += 1
    flush()
    conditions.close()
    return Preprocessed(out, tuple(defines), tuple(includes), tuple(conditions.skipped))


def _define(tok: Tok, line: list[Tok]) -> Macro:
    if len(line) < 2 or not (line[1].text[0].isalpha() or line[1].text[0] == "_"):
        raise Refusal("#define needs a name", tok.span)
    name = line[1]
    if reserved_macro(name.text):
        raise Refusal(
            f"{name.text} cannot be a macro: it means something to CUDA", name.span, "choose another name"
        )
    for part in line[2:]:
        if part.kind == "HASH":
            raise Refusal("# and ## in macros are outside the language", part.span, "write the text out")
    rest = line[2:]
    touching = bool(rest) and rest[0].kind == "LPAR" and rest[0].span.column == name.span.end_column
    if not touching or rest[0].span.line != name.span.line:
        return Macro(name.text, None, tuple(rest))
    params: list[str] = []
    k = 1
    while k < len(rest) and rest[k].kind != "RPAR":
        if rest[k].kind == "ELLIPSIS":
            raise Refusal("variadic macros are outside the language", rest[k].span)
        if rest[k].kind != "COMMA":
            params.append(rest[k].text)
        k += 1
    if k >= len(rest):
        raise Refusal("macro parameter list is never closed", rest[0].span)
    return Macro(name.text, tuple(params), tuple(rest[k + 1 :]))


def _include(tok: Tok, line: list[Tok]) -> Include:
    name = "".join(t.text for t in line[1:])
    bare = name.strip('<>"')
    span = tok.span.to(line[-1].span)
    if bare not in HEADERS or len(name) != len(bare) + 2:
        raise Refusal(
            f"header {name or 'name missing'} is outside the language", span, "a candidate needs no headers"
        )
    return Include(name, span)


def _pragma(tok: Tok, line: list[Tok]) -> Tok:
    words = [t.text for t in line[1:]]
    span = tok.span.to(line[-1].span)
    if not words or words[0] != "unroll":
        raise Refusal(
            f"`#pragma {' '.join(words)}` is outside the language", span, "only #pragma unroll is known"
        )
    return Tok("PRAGMA", " ".join(words[1:]), span, True)


def _expand(tokens: list[Tok], macros: dict[str, Macro], busy: frozenset[str]) -> list[Tok]:
    if not macros:
        return list(tokens)
    out: list[Tok] = []
    i = 0
    while i < len(tokens):
        tok = tokens[i]
        macro = macros.get(tok.text)
        i += 1
        if macro is None or tok.text in busy:
            out.append(tok)
            continue
        if macro.params is None:
            body = [t.at(tok.span) for t in macro.body]
        else:
            if i >= len(tokens) or tokens[i].kind != "LPAR":
                out.append(tok)
                continue
            args, i, end = _arguments(tokens, i, tok)
            if len(args) == 1 and not args[0] and not macro.params:
                args = []
            if len(args) != len(macro.params):
                raise Refusal(
                    f"macro {tok.text} takes {len(macro.params)} arguments, not {len(args)}", tok.span
                )
            bound = {p: _expand(a, macros, busy) for p, a in zip(macro.params, args, strict=True)}
            body = _substitute(macro.body, bound, tok.span.to(end))
        out.extend(_expand(body, macros, busy | {tok.text}))
        if len(out) > _LIMIT:
            raise Refusal(f"more than {_LIMIT} tokens after macro expansion", tok.span)
    return out


def _substitute(body: tuple[Tok, ...], bound: dict[str, list[Tok]], span: Span) -> list[Tok]:
    out: list[Tok] = []
    for t in body:
        out.extend(bound[t.text] if t.text in bound else [t.at(span)])
    return out


def _arguments(tokens: list[Tok], i: int, name: Tok) -> tuple[list[list[Tok]], int, Span]:
    args: list[list[Tok]] = [[]]
    depth = 0
    while i < len(tokens):
        tok = tokens[i]
        i += 1
        if tok.kind in ("LPAR", "LSQB", "LBRACE"):
            depth += 1
            if depth == 1:
                continue
        elif tok.kind in ("RPAR", "RSQB", "RBRACE"):
            depth -= 1
            if depth == 0:
                return args, i, tok.span
        if tok.kind == "COMMA" and depth == 1:
            args.append([])
        else:
            args[-1].append(tok)
    raise Refusal(f"arguments of macro {name.text} are never closed", name.span)


def _text(tokens: tuple[Tok, ...]) -> str:
    return " ".join(t.text for t in tokens)
