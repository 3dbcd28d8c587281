"""How many of a folder of public `.cu` files the language reads, and why it refuses the rest.

    python bench/parse_rate.py FOLDER [--json]

Such a file has host code around its kernels, which no candidate has. Each file is adapted by rule, never
by hand: includes (but those of cooperative groups), host functions and what only they use are cut,
wrapping namespaces and `extern "C"` blocks are opened, and a launcher is added that launches every kernel
once, its parameters being the kernels' own (a pointer to vectors is cast from one to scalars; a type
parameter is float, an integer one the number in the file's own launch, its default or 4; a `__constant__`
array is filled from a parameter). The adapted text is loaded as any candidate is; a file counts when that
succeeds.
"""

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_WRAPPER = re.compile(r"\s*(?:namespace\s*[\w:]*|extern\s*\"C\"|inline\s+namespace\s+\w+)\s*\{")
_KERNEL = re.compile(
    r"(?:template\s*<(?P<template>[^{};]*?)>\s*)?(?:[\w\"\s]|\((?:[^()]|\([^()]*\))*\))*?__global__"
    r"(?P<head>[^{;]*?)\b(?P<name>(?!__launch_bounds__)\w+)\s*\((?P<params>[^{;()]*)\)\s*\{",
    re.DOTALL,
)
_CONSTANT = re.compile(r"__constant__\s+(\w+)\s+(\w+)\s*\[([^\]]+)\]\s*;")
_DEVICE = ("__global__", "__device__", "__constant__")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A file: its name, and the reason of its refusal (empty when it loads)."""

    name: str
    reason: str


def strip_comments(text: str) -> str:
    """The text without comments; strings stay."""
    return _COMMENT.sub(lambda m: " " if m.group().startswith("/") else m.group(), text)


def chunks(text: str) -> list[str]:
    """Items at file scope: directives, declarations up to `;`, definitions with their bodies. Wrapping
    namespaces and `extern "C"` blocks are opened."""
    out: list[str] = []
    i, start, open_wrappers = 0, 0, 0
    while i < len(text):
        wrapper = _WRAPPER.match(text, start) if i == start else None
        if wrapper:
            open_wrappers += 1
            i = start = wrapper.end()
        elif text[i] == "#" and not text[start:i].strip():
            end = re.compile(r"(?<!\\)\n|\Z").search(text, i)
            assert end is not None
            out.append(text[i : end.start()])
            i = start = max(end.end(), i + 1)
        elif text[i] in "([{":
            i = _closing(text, i)
            body = text[start:i]
            if text[i - 1] == "}" and not re.search(
                r"(=|\bstruct\b[^(){}]*|\bclass\b[^(){}]*)\s*\{", body[:400]
            ):
                out.append(body)
                start = i
        elif text[i] == ";":
            out.append(text[start : i + 1])
            i = start = i + 1
        elif text[i] == "}" and open_wrappers and not text[start:i].strip():
            open_wrappers -= 1
            i = start = i + 1
        else:
            i += 1
    rest = text[start:].strip()
    return [c.strip() for c in [*out, rest] if c.strip() and c.strip() != ";"]


def _closing(text: str, i: int) -> int:
    """Position behind the bracket that closes the one at `i`."""
    depth = 0
    for j in range(i, len(text)):
        if text[j] in "([{":
            depth += 1
        elif text[j] in ")]}":
            depth -= 1
            if depth == 0:
                return j + 1
    return len(text)


def device_side(text: str) -> str:
    """What a candidate takes of a file: kernels, helpers, and the macros, types and constants they use."""
    items = chunks(strip_comments(text))
    kept = {k for k, item in enumerate(items) if any(word in _head(item) for word in _DEVICE)}
    kept |= {k for k, item in enumerate(items) if re.match(r"#\s*include\s*<cooperative_groups", item)}
    while True:
        used = {w for k in kept for w in _WORD.findall(items[k])}
        more = {k for k, item in enumerate(items) if k not in kept and _defines(item) & used}
        if not more:
            return "\n\n".join(items[k] for k in sorted(kept)) + "\n"
        kept |= more


def _head(item: str) -> str:
    return "" if item.startswith("#") else item.split("{")[0]


def _defines(item: str) -> set[str]:
    """Names that an item outside device code defines: a macro, a type, a constant."""
    macro = re.match(r"#\s*define\s+(\w+)", item) or re.match(r"namespace\s+(\w+)\s*=", item)
    if macro:
        return {macro.group(1)}
    if item.startswith("#") or "<<<" in item:
        return set()
    named = re.match(r"(?:template\s*<[^{}]*?>\s*)?(?:struct|enum|using|typedef)\b([^{;]*)", item)
    if named:
        return set(_WORD.findall(named.group(1))) | set(_WORD.findall(item.rsplit("}", 1)[-1]))
    constant = re.match(r"(?:static\s+|inline\s+)*(?:const|constexpr)\s[^({]*?(\w+)\s*(?:\[[^=]*)?=", item)
    return {constant.group(1)} if constant else set()


def with_launcher(device: str, whole: str) -> str:
    """The device code with a launcher that launches every kernel once."""
    params: dict[str, str] = {}
    launches: list[str] = []
    for kernel in _KERNEL.finditer(device):
        args = []
        for written in _split(kernel["params"]):
            match = re.match(r"(?P<type>.*?)(?P<name>\w+)\s*(?:=.*)?$", written, re.DOTALL)
            if match is None:
                continue
            kind = _launcher_type(match["type"], kernel["template"] or "")
            scalars = re.sub(r"\b(float|double|int|uint)[234]\b", r"\1", kind) if "*" in kind else kind
            name = match["name"]
            while params.get(name, scalars) != scalars:
                name += "_"
            params[name] = scalars
            args.append(name if scalars == kind else f"reinterpret_cast<{kind}>({name})")
        targs = _template_arguments(kernel["name"], kernel["template"], whole)
        launches.append(f"    {kernel['name']}{targs}<<<2, 256, 8192>>>({', '.join(args)});")
    for kind, name, extent in _CONSTANT.findall(device):
        scalars = re.sub(r"\b(float|double|int|uint)[234]\b", r"\1", kind)
        params[f"{name}_values"] = f"const {scalars}*"
        copied = f"{name}, {name}_values, ({extent}) * sizeof({kind}), 0, cudaMemcpyDeviceToDevice"
        launches.insert(0, f"    cudaMemcpyToSymbol({copied});")
    declared = ", ".join(f"{kind} {name}" for name, kind in params.items())
    return f"{device}\nvoid launch({declared}) {{\n" + "\n".join(launches) + "\n}\n"


def _launcher_type(written: str, template: str) -> str:
    for name in re.findall(r"(?:typename|class)\s+(\w+)", template):
        written = re.sub(rf"\b{name}\b", "float", written)
    return re.sub(r"\b(?:__restrict__|__restrict|restrict)\b", "", written).strip()


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for c in text:
        depth += (c in "(<[") - (c in ")>]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip() and p.strip() != "void"]


def _template_arguments(name: str, template: str | None, whole: str) -> str:
    if not template:
        return ""
    found = re.search(rf"\b{name}\s*<([\w\s,]*)>\s*<<<", whole)
    given = _split(found.group(1)) if found else []
    out = []
    for k, parameter in enumerate(_split(template)):
        if re.match(r"typename|class", parameter):
            out.append("float")
        elif k < len(given) and given[k].isdigit():
            out.append(given[k])
        elif "=" in parameter:
            out.append(parameter.split("=")[1].strip())
        else:
            out.append("true" if parameter.startswith("bool") else "4")
    return f"<{', '.join(out)}>" if out else ""


def read(path: Path) -> Outcome:
    """Adapt and load one file."""
    from semantics.program import load
    from semantics.span import Refusal

    whole = path.read_text(encoding="utf-8", errors="replace")
    source = with_launcher(device_side(whole), strip_comments(whole))
    try:
        load(source)
    except Refusal as refusal:
        line = source.split("\n")[refusal.span.line - 1].strip() if refusal.span.line else ""
        return Outcome(path.stem, f"{refusal.reason} | {line}")
    return Outcome(path.stem, "")


def main() -> int:
    """Print how many files load, and the refusals by reason; exit code 0."""
    parser = argparse.ArgumentParser(
        description="How many of a folder of public .cu files the language reads."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    outcomes = [read(path) for path in sorted(options.folder.glob("*.cu"))]
    refused = [o for o in outcomes if o.reason]
    reasons = Counter(o.reason.split(" | ")[0] for o in refused)
    if options.json:
        found = {"read": len(outcomes) - len(refused), "total": len(outcomes), "refused": dict(reasons)}
        print(json.dumps(found, indent=2))
        return 0
    for o in refused:
        print(f"{o.name}: {o.reason}")
    total = max(1, len(outcomes))
    print(
        f"{len(outcomes) - len(refused)} of {len(outcomes)} read ({100 * (total - len(refused)) // total} %)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
