"""Numbers as they are written: float literals become exact rationals, integer literals get C's type."""

from fractions import Fraction

from semantics.core import IntType


def real_literal(number: str | float) -> Fraction:
    """The shortest decimal that rounds to the same float32, as a rational.

    Takes the text of a C literal (`0.1f`, `1e-5`, `.5`) or a Python float. Raises ValueError when the
    text is no number or the value is not finite in float32."""
    import numpy as np

    text = number.rstrip("fFlL") if isinstance(number, str) else repr(float(number))
    with np.errstate(over="ignore", under="ignore"):
        value = np.float32(float.fromhex(text) if text[:2] in ("0x", "0X") else float(text))
    if not np.isfinite(value):
        raise ValueError(f"{number} is not finite in float32")
    return Fraction(str(value))


def int_literal(text: str) -> tuple[int, IntType]:
    """Value and type of a C integer literal with an optional suffix out of u, l, ll, ul, ull.

    A decimal literal takes the first of int, long long that holds it; hexadecimal, octal and binary
    ones may also become unsigned. Raises ValueError when nothing holds it."""
    digits = text.replace("'", "")
    body = digits.rstrip("uUlL")
    suffix = digits[len(body) :].lower()
    if suffix not in ("", "u", "l", "ll", "ul", "lu", "ull", "llu"):
        raise ValueError(f"unknown suffix {suffix!r}")
    decimal = not (body.startswith("0") and len(body) > 1)
    if not decimal and body[1] in "89":
        raise ValueError(f"{text} is no octal number")
    if body[:2] in ("0x", "0X"):
        value = int(body, 16)
    elif body[:2] in ("0b", "0B"):
        value = int(body, 2)
    else:
        value = int(body, 10 if decimal else 8)
    wide = "l" in suffix
    if "u" in suffix:
        candidates = [IntType.U64] if wide else [IntType.U32, IntType.U64]
    elif decimal:
        candidates = [IntType.I64] if wide else [IntType.I32, IntType.I64]
    else:
        candidates = [IntType.I64, IntType.U64] if wide else list(IntType)
    for kind in candidates:
        if value <= kind.high:
            return value, kind
    raise ValueError(f"{text} fits no integer type")
