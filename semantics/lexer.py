"""Source text to tokens with positions. Comments vanish here; nothing else does."""

import re
from dataclasses import dataclass, replace

from semantics.span import Refusal, Span

TYPE_WORDS = frozenset(
    "void bool char short int long unsigned signed float double size_t half __half __nv_bfloat16 nv_bfloat16 "
    "float2 float3 float4 double2 double3 double4 int2 int3 int4 uint2 uint3 uint4 dim3 auto "
    "int32_t uint32_t int64_t uint64_t uint8_t int8_t uintptr_t uint half2 __half2 __nv_bfloat162".split()
)

KEYWORDS = {
    "if": "IF",
    "else": "ELSE",
    "for": "FOR",
    "while": "WHILE",
    "do": "DO",
    "return": "RETURN",
    "break": "BREAK",
    "continue": "CONTINUE",
    "using": "USING",
    "namespace": "NAMESPACE",
    "typedef": "TYPEDEF",
    "template": "TEMPLATE",
    "typename": "TYPENAME_WORD",
    "class": "TYPENAME_WORD",
    "struct": "STRUCT",
    "sizeof": "SIZEOF",
    "static_assert": "STATIC_ASSERT",
    "true": "TRUE",
    "false": "FALSE",
    "static_cast": "CXX_CAST",
    "reinterpret_cast": "CXX_CAST",
    "const": "CONST",
    "constexpr": "CONSTEXPR",
    "volatile": "VOLATILE",
    "static": "STATIC",
    "extern": "EXTERN",
    "inline": "INLINE",
    "__inline__": "INLINE",
    "__forceinline__": "INLINE",
    "__noinline__": "INLINE",
    "__global__": "GLOBAL",
    "__device__": "DEVICE",
    "__host__": "HOST",
    "__shared__": "SHARED",
    "__constant__": "CONSTANT",
    "__restrict__": "RESTRICT",
    "__restrict": "RESTRICT",
    "__align__": "ALIGN",
    "alignas": "ALIGN",
    "__launch_bounds__": "LAUNCH_BOUNDS",
}

REFUSED_WORDS = {
    "switch": ("`switch` is outside the language", "use if / else if"),
    "case": ("`case` is outside the language", "use if / else if"),
    "goto": ("`goto` is outside the language", "use break, continue or return"),
    "asm": ("inline assembly is outside the language", "its meaning cannot be checked"),
    "__asm__": ("inline assembly is outside the language", "its meaning cannot be checked"),
    "new": ("`new` is outside the language", "use shared or local arrays"),
    "delete": ("`delete` is outside the language", "use shared or local arrays"),
    "try": ("exceptions are outside the language", ""),
    "throw": ("exceptions are outside the language", ""),
    "union": ("`union` is outside the language", "use casts the language knows"),
    "enum": ("`enum` is outside the language", "use constexpr int constants"),
    "operator": ("operator functions are outside the language", "use a named __device__ helper"),
    "virtual": ("classes are outside the language", ""),
    "const_cast": ("`const_cast` is outside the language", "declare the pointer without const"),
    "dynamic_cast": ("`dynamic_cast` is outside the language", ""),
    "__attribute__": ("`__attribute__` is outside the language", "remove it"),
    "__cluster_dims__": ("clusters are outside the language", ""),
    "__managed__": ("managed variables are outside the language", "pass a tensor or a workspace"),
    "register": ("`register` is outside the language", "remove it"),
}

PUNCTUATION = {
    "<<<": "LAUNCH_OPEN",
    ">>>": "LAUNCH_CLOSE",
    "<<=": "ASSIGN_OP",
    ">>=": "ASSIGN_OP",
    "...": "ELLIPSIS",
    "->": "ARROW",
    "++": "INCDEC",
    "--": "INCDEC",
    "<<": "SHIFT",
    ">>": "SHIFT",
    "<=": "LE",
    ">=": "GE",
    "==": "EQUALITY",
    "!=": "EQUALITY",
    "&&": "ANDAND",
    "||": "OROR",
    "+=": "ASSIGN_OP",
    "-=": "ASSIGN_OP",
    "*=": "ASSIGN_OP",
    "/=": "ASSIGN_OP",
    "%=": "ASSIGN_OP",
    "&=": "ASSIGN_OP",
    "|=": "ASSIGN_OP",
    "^=": "ASSIGN_OP",
    "::": "SCOPE",
    "{": "LBRACE",
    "}": "RBRACE",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    ";": "SEMI",
    ",": "COMMA",
    ".": "DOT",
    "?": "QUESTION",
    ":": "COLON",
    "=": "EQUAL",
    "<": "LT",
    ">": "GT",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "&": "AMP",
    "|": "BAR",
    "^": "CARET",
    "!": "BANG",
    "~": "TILDE",
}

_PATTERN = re.compile(
    r"(?P<space>[ \t\r\f\v]+|\\\r?\n)"
    r"|(?P<newline>\n)"
    r"|(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)"
    r"|(?P<float>0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+[fFlL]?\b"
    r"|(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fFlL]?(?![\w.])|\d+[eE][+-]?\d+[fFlL]?(?![\w.])|\d+[fF](?![\w.]))"
    r"|(?P<int>(?:0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*)[uUlL]*(?![\w.]))"
    r"|(?P<word>[A-Za-z_]\w*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<hash>\#\#?)"
    r"|(?P<punct>" + "|".join(re.escape(p) for p in sorted(PUNCTUATION, key=len, reverse=True)) + r")"
)


@dataclass(frozen=True, slots=True)
class Tok:
    """A token: its terminal of the grammar, its text, its place, whether it is first on its line."""

    kind: str
    text: str
    span: Span
    first: bool = False

    def at(self, span: Span) -> "Tok":
        """The same token at another place (macro expansion reports the place of use)."""
        return replace(self, span=span)


def tokenize(source: str) -> list[Tok]:
    """Tokens of the whole text; a `newline` token ends each logical line, for the preprocessor.

    Raises Refusal at the first character no token starts with, at an unterminated comment or a word
    that the language refuses by name."""
    out: list[Tok] = []
    line, line_start, first, pos = 1, 0, True, 0
    while pos < len(source):
        match = _PATTERN.match(source, pos)
        column = pos - line_start + 1
        if match is None or (match.lastgroup == "punct" and source.startswith("/*", pos)):
            raise _bad_character(source, pos, Span(line, column, line, column + 1))
        text, group = match.group(), match.lastgroup
        if text[0] == "\\":
            _check_splice(source, match, Span(line, column, line, column + 1))
        if text.startswith("//") and text.rstrip().endswith("\\"):
            raise Refusal(
                "a // comment ends with a backslash", Span(line, column, line, column + 2), "remove it"
            )
        start = Span(line, column, line, column + len(text))
        newlines = text.count("\n")
        pos = match.end()
        if newlines:
            line += newlines
            line_start = match.start() + text.rindex("\n") + 1
        if group == "newline":
            out.append(Tok("newline", text, start))
            first = True
        elif group not in ("space", "comment"):
            out.append(Tok(_kind(group or "", text), text, start, first))
            first = False
    return out


def _check_splice(source: str, match: re.Match[str], span: Span) -> None:
    """A backslash at the end of a line must not join two tokens into one."""
    before, after = source[match.start() - 1 : match.start()], source[match.end() : match.end() + 1]
    if before.strip() and after.strip():
        raise Refusal("a backslash joins two lines without a space between", span, "put a space before it")


def _kind(group: str, text: str) -> str:
    if group == "word":
        if text in TYPE_WORDS:
            return "TYPE_WORD"
        return KEYWORDS.get(text, "NAME")
    if group == "punct":
        return PUNCTUATION[text]
    return {"float": "FLOAT", "int": "INT", "string": "STRING", "hash": "HASH"}[group]


def _bad_character(source: str, pos: int, span: Span) -> Refusal:
    if source.startswith("/*", pos):
        return Refusal("comment is never closed", span, "add */")
    if source[pos] == '"':
        return Refusal("string is never closed", span)
    if source[pos] == "'":
        return Refusal("character literals are outside the language", span, "use integers")
    if source[pos].isdigit() or source[pos] == ".":
        return Refusal("malformed number", span)
    return Refusal(f"unexpected character {source[pos]!r}", span)
