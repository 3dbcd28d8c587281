"""When two candidates are the same program."""

import hashlib
import re
from functools import lru_cache

from semantics.parser import parse
from semantics.printer import print_module
from semantics.span import Refusal


@lru_cache(maxsize=8192)
def fingerprint(source: str) -> str:
    """Equal for sources with equal ASTs, which differ only in comments, layout, redundant braces and
    parentheses, and macros. A source outside the language counts by its text. Hex digits."""
    try:
        text = print_module(parse(source))
    except Refusal:
        text = _plain(source)
    return fingerprint_of_printed(text)


def fingerprint_of_printed(text: str) -> str:
    """The fingerprint of a text that `print_module` made, without parsing it again."""
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(source: str) -> str:
    """The text without comments, one token a line."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    return "\n".join(re.findall(r"\w+|[^\w\s]", bare))
