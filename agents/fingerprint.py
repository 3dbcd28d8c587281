"""When two candidates are the same program."""

import hashlib
import re


def fingerprint(source: str) -> str:
    """Equal for sources that differ only in comments and white space. Hex digits."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    lines = [line.strip() for line in text.splitlines()]
    directives = [" ".join(line.split()) for line in lines if line.startswith("#")]
    code = " ".join(line for line in lines if not line.startswith("#"))
    return hashlib.sha256("\n".join([*directives, *re.findall(r"\w+|[^\w\s]", code)]).encode()).hexdigest()
