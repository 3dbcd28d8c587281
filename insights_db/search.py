"""Turning what a person typed into a safe full-text query."""

import re


def quoted(text: str) -> str:
    """An FTS5 query for any of the words of `text`, each quoted so that `C++`, `ld.global.v4`, `NOT` or a
    lone quote are words like any other. Empty when no word has a letter or digit."""
    words = [word.replace('"', '""') for word in text.split() if re.search(r"\w", word)]
    return " OR ".join(f'"{word}"' for word in words)
