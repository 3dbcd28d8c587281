"""A finding of the falsifier as text: the places in the source, two threads side by side for a race."""

from agents.falsifier import Finding
from semantics.faults import Fault
from semantics.span import Span

_WIDTH = 46


def render(finding: Finding, source: str, name: str) -> str:
    """Several lines: what and where, at which sizes, the source with carets, the values."""
    found = finding.counterexample
    lines = source.splitlines()
    place = f"{found.points[0].line}:{found.points[0].column}: " if found.points else ""
    out = [
        f"{name}:{place}{found.fault}: {found.message}"
        if place
        else f"{name}: {found.fault}: {found.message}"
    ]
    fault = finding.fault
    if fault is not None and fault.spans:
        if len(fault.threads) == 2 and len(fault.spans) == 2:
            out += ["", *_side_by_side(fault, lines)]
        else:
            for k in range(len(fault.spans)):
                out += _single(fault, k, lines)
    sizes = ", ".join(f"{axis}={value}" for axis, value in found.axes.items())
    out += ["", f"  smallest sizes found: {sizes}; inputs: {found.inputs}"]
    if found.expected is not None and found.got is not None:
        out.append(f"  expected {found.output}[{found.index}] = {found.expected:.9g}, got {found.got:.9g}")
    return "\n".join(out)


def _single(fault: Fault, k: int, lines: list[str]) -> list[str]:
    head = []
    if k < len(fault.threads):
        head = [f"  thread {_point(fault.threads[k])} of block {_point(fault.blocks[k])}{_did(fault, k)}"]
    return [*head, *(f"    {text}" for text in _excerpt(fault.spans[k], lines))]


def _side_by_side(fault: Fault, lines: list[str]) -> list[str]:
    columns = []
    for k in range(2):
        head = f"thread {_point(fault.threads[k])} of block {_point(fault.blocks[k])}"
        columns.append([head, _did(fault, k).lstrip(": "), *_excerpt(fault.spans[k], lines)])
    width = max(_WIDTH, *(len(text) for text in columns[0]))
    height = max(map(len, columns))
    left, right = (column + [""] * (height - len(column)) for column in columns)
    return [f"  {a:<{width}} | {b}".rstrip() for a, b in zip(left, right, strict=True)]


def _did(fault: Fault, k: int) -> str:
    what = fault.what[k] if k < len(fault.what) else ""
    value = fault.values[k] if k < len(fault.values) else None
    if not what:
        return ""
    if what in ("read", "write", "atomic add") and fault.index is not None:
        shown = "" if value is None else f" ({value:.6g})"
        return f": {what} of {fault.array}[{fault.index}]{shown}"
    return f": {what}"


def _excerpt(span: Span, lines: list[str]) -> list[str]:
    """`line N`, its text without indentation, a caret under the place."""
    if not 0 < span.line <= len(lines):
        return []
    full = lines[span.line - 1].expandtabs(1)
    text = full.strip()
    start = max(0, span.column - 1 - (len(full) - len(full.lstrip())))
    end = span.end_column - span.column if span.end_line == span.line else len(text) - start
    number = f"line {span.line}: "
    return [number + text, " " * (len(number) + start) + "^" * max(1, min(end, len(text) - start))]


def _point(at: tuple[int, int, int]) -> str:
    return f"({at[0]},{at[1]},{at[2]})"
