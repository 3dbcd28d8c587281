"""Mutants of a candidate: one small change each, by the rules of mutation studies of kernel proofs.

R1 arithmetic, R2 loads and stores, R3 barriers, R4 registers, R5 loop ranges. Applied to kernels and
device helpers, never to the launcher. A mutant may be equivalent to its original, or not compile.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from semantics import ast
from semantics.printer import print_expr, print_module
from semantics.span import Span

Path = tuple[tuple[str, int | None], ...]


class Rule(StrEnum):
    """What a mutation changes."""

    ARITHMETIC = "R1"
    MEMORY = "R2"
    BARRIER = "R3"
    REGISTER = "R4"
    RANGE = "R5"


@dataclass(frozen=True, slots=True)
class Mutant:
    """`label` says the change, `line` where in the original; `source` is the mutant's text."""

    rule: Rule
    label: str
    line: int
    source: str


@dataclass(frozen=True, slots=True)
class _Site:
    """A node of a function: where it is, and what it is inside of."""

    path: Path
    node: Any
    in_index: bool
    in_header: bool
    is_target: bool


_SWAPPED = {"+": "-", "-": "+", "*": "+", "/": "*", "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*="}
_OTHER_CALL = {"fmaxf": "fminf", "fminf": "fmaxf", "max": "min", "min": "max"}
_BARRIERS = frozenset({"__syncthreads", "__syncwarp"})
_WIDER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def mutants(module: ast.Module) -> Iterator[Mutant]:
    """Every mutant, in source order for each rule. Two with the same text are one."""
    seen = {print_module(module)}
    for rule, apply in _RULES.items():
        for place, item in enumerate(module.items):
            if not isinstance(item, ast.Function) or item.kind == "host":
                continue
            sites = list(_sites(item.body, (("body", None),)))
            for site, new, label in apply(item, sites):
                changed = _put(module, (("items", place), *site.path), new)
                source = print_module(changed)
                if source not in seen:
                    seen.add(source)
                    yield Mutant(rule, label, _line(site.node), source)


def _line(node: Any) -> int:
    span: Span = node.span
    return span.line


# ---------------------------------------------------------------- walking

_Change = tuple[_Site, Any, str]


def _sites(
    node: Any, path: Path, in_index: bool = False, in_header: bool = False, is_target: bool = False
) -> Iterator[_Site]:
    yield _Site(path, node, in_index, in_header, is_target)
    for field in fields(node):
        value = getattr(node, field.name)
        index = in_index or (isinstance(node, ast.Index) and field.name == "index")
        header = in_header or (
            isinstance(node, ast.For | ast.While) and field.name in ("init", "cond", "step")
        )
        target = field.name in ("target", "base") or (
            isinstance(node, ast.Unary | ast.Postfix) and node.op in ("++", "--", "&")
        )
        if isinstance(value, tuple):
            for place, item in enumerate(value):
                if is_dataclass(item):
                    yield from _sites(item, (*path, (field.name, place)), index, header)
        elif is_dataclass(value) and not isinstance(value, Span):
            yield from _sites(value, (*path, (field.name, None)), index, header, target)


def _put(node: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    (name, place), rest = path[0], path[1:]
    old = getattr(node, name)
    if place is None:
        return replace(node, **{name: _put(old, rest, new)})
    items = (*old[:place], _put(old[place], rest, new), *old[place + 1 :])
    return replace(node, **{name: items})


# ---------------------------------------------------------------- rules


def _arithmetic(_: ast.Function, sites: list[_Site]) -> Iterator[_Change]:
    for site in sites:
        node = site.node
        if site.in_index or site.in_header:
            continue
        match node:
            case ast.Binary(op) | ast.Assign(op) if op in _SWAPPED:
                yield site, replace(node, op=_SWAPPED[op]), f"`{op}` becomes `{_SWAPPED[op]}`"
            case ast.Call(name) if name in _OTHER_CALL:
                yield site, replace(node, name=_OTHER_CALL[name]), f"{name} becomes {_OTHER_CALL[name]}"
            case ast.Unary("-"):
                yield site, node.operand, f"`{print_expr(node)}` loses its sign"
            case ast.FloatLit(text):
                other = "1.0f" if float(text.rstrip("fF")) == 0 else "0.0f"
                yield site, replace(node, text=other), f"{text} becomes {other}"


def _memory(_: ast.Function, sites: list[_Site]) -> Iterator[_Change]:
    one = ast.IntLit("1")
    for site in sites:
        match site.node:
            case ast.Index(_, index):
                for op in ("+", "-"):
                    shifted = replace(site.node, index=ast.Binary(op, index, one))
                    yield site, shifted, f"`{print_expr(site.node)}` becomes `{print_expr(shifted)}`"
            case ast.ExprStmt(ast.Assign("=", ast.Index())):
                yield site, ast.Empty(), f"`{print_expr(site.node.expr)}` is dropped"


def _barriers(_: ast.Function, sites: list[_Site]) -> Iterator[_Change]:
    for site in sites:
        match site.node:
            case ast.ExprStmt(ast.Call(name)) if name in _BARRIERS:
                yield site, ast.Empty(), f"{name}() is dropped"


def _registers(function: ast.Function, sites: list[_Site]) -> Iterator[_Change]:
    known: list[tuple[str, ast.CType, Path]] = [
        (p.name, p.type, ()) for p in function.params if not p.type.pointer
    ]
    for site in sites:
        if isinstance(site.node, ast.Declarator) and not site.node.extents and not site.node.type.pointer:
            known.append((site.node.name, site.node.type, site.path[:-1]))
    for site in sites:
        if not isinstance(site.node, ast.Name) or site.is_target:
            continue
        visible = {name: type_ for name, type_, declared in known if _in_scope(site.path, declared)}
        mine = visible.get(site.node.name)
        for other, type_ in visible.items():
            if mine is not None and other != site.node.name and type_.base == mine.base:
                yield site, replace(site.node, name=other), f"`{site.node.name}` becomes `{other}`"


def _in_scope(path: Path, declared: Path) -> bool:
    """Whether a place comes after a declaration statement (its path; empty for parameters) and inside
    the block or loop that holds it."""
    if not declared:
        return True
    holder, (_, place) = declared[:-1], declared[-1]
    if path[: len(holder)] != holder or len(path) <= len(holder):
        return False
    here = path[len(holder)][1]
    return place is None or (here is not None and here > place)


def _ranges(_: ast.Function, sites: list[_Site]) -> Iterator[_Change]:
    one = ast.IntLit("1")
    for site in sites:
        node = site.node
        if not isinstance(node, ast.For):
            continue
        match node.cond:
            case ast.Binary(op, _, right) if op in _WIDER:
                widened = replace(node.cond, op=_WIDER[op])
                yield site, replace(node, cond=widened), f"loop condition `{op}` becomes `{_WIDER[op]}`"
                shorter = replace(node.cond, right=ast.Binary("-", right, one))
                yield site, replace(node, cond=shorter), f"loop bound becomes `{print_expr(shorter.right)}`"
        match node.init:
            case ast.Decl(_, (ast.Declarator() as declared,)) if isinstance(declared.init, _Expression):
                later = replace(declared, init=ast.Binary("+", declared.init, one))
                init = replace(node.init, declarators=(later,))
                yield site, replace(node, init=init), "the loop starts one later"
        match node.step:
            case ast.Assign("+=" | "/=" | ">>=", _, value):
                step = replace(node.step, value=ast.Binary("+", value, one))
                yield site, replace(node, step=step), f"the step becomes `{print_expr(step)}`"
            case ast.Unary("++", operand) | ast.Postfix("++", operand):
                two = ast.Assign("+=", operand, ast.IntLit("2"))
                yield site, replace(node, step=two), "the step becomes 2"


_Expression = (
    ast.IntLit | ast.FloatLit | ast.Name | ast.Member | ast.Index | ast.Call | ast.Unary | ast.Binary
    | ast.Ternary | ast.Cast
)  # fmt: skip
_RULES: dict[Rule, Callable[[ast.Function, list[_Site]], Iterator[_Change]]] = {
    Rule.ARITHMETIC: _arithmetic,
    Rule.MEMORY: _memory,
    Rule.BARRIER: _barriers,
    Rule.REGISTER: _registers,
    Rule.RANGE: _ranges,
}
