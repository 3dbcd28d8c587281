"""Meaning-preserving rewrites of a candidate's AST, beyond what its schedule can say.

Each rewrite keeps the value of every output over exact arithmetic and the set of memory cells a thread
touches. They apply to any parsed candidate, whoever wrote it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

from semantics import ast
from semantics.parser import parse
from semantics.printer import print_expr, print_module

Path = tuple[tuple[str, int | None], ...]
_SMALL_LOOP = 64
_FLOAT = ("float",)


@dataclass(frozen=True, slots=True)
class Variant:
    """A rewritten candidate: what was done, and the text."""

    label: str
    source: str


# ---------------------------------------------------------------- walking and replacing


def walk(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every AST node below (and with) `node`, with its path."""
    yield path, node
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for place, item in enumerate(value):
                if is_dataclass(item):
                    yield from walk(item, (*path, (field.name, place)))
        elif is_dataclass(value) and field.name != "span":
            yield from walk(value, (*path, (field.name, None)))


def put(node: Any, path: Path, new: Any) -> Any:
    """`node` with the node at `path` replaced."""
    if not path:
        return new
    (name, place), rest = path[0], path[1:]
    old = getattr(node, name)
    if place is None:
        return replace(node, **{name: put(old, rest, new)})
    items = list(old)
    items[place] = put(items[place], rest, new)
    return replace(node, **{name: tuple(items)})


def substitute(node: Any, old: Any, new: Any) -> Any:
    """`node` with every sub-node equal to `old` replaced by `new`."""
    if node == old:
        return new
    changes: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            items = tuple(substitute(i, old, new) if is_dataclass(i) else i for i in value)
            if items != value:
                changes[field.name] = items
        elif is_dataclass(value) and field.name != "span":
            item = substitute(value, old, new)
            if item != value:
                changes[field.name] = item
    return replace(node, **changes) if changes else node


def _nodes(node: Any) -> Iterator[Any]:
    return (n for _, n in walk(node))


def _names(node: Any) -> set[str]:
    return {n.name for n in _nodes(node) if isinstance(n, ast.Name)}


def _declared(node: Any) -> set[str]:
    return {d.name for d in _nodes(node) if isinstance(d, ast.Declarator)}


def _written(node: Any) -> set[str]:
    """Names that a piece of code assigns (whole variables and arrays), or declares."""
    found = _declared(node)
    for n in _nodes(node):
        target = None
        if isinstance(n, ast.Assign):
            target = n.target
        elif isinstance(n, ast.Unary | ast.Postfix) and n.op in ("++", "--", "&"):
            target = n.operand
        while isinstance(target, ast.Index | ast.Member):
            target = target.base if isinstance(target, ast.Index) else target.object
        if target is not None:
            found |= {target.name} if isinstance(target, ast.Name) else _names(target)
    return found


def _types(function: ast.Function) -> dict[str, ast.Declarator | ast.Param]:
    """Declarations by name; a name declared twice with different types is left out."""
    found: dict[str, ast.Declarator | ast.Param] = {}
    clash: set[str] = set()
    for n in _nodes(function):
        if isinstance(n, ast.Declarator | ast.Param):
            if n.name in found and found[n.name].type != n.type:
                clash.add(n.name)
            found[n.name] = n
    return {name: d for name, d in found.items() if name not in clash}


def _is_scalar(declared: ast.Declarator | ast.Param | None, bases: tuple[str, ...]) -> bool:
    if declared is None or declared.type.pointer or declared.type.base not in bases:
        return False
    return not (isinstance(declared, ast.Declarator) and declared.extents)


def _fresh(module: ast.Module, stem: str) -> str:
    taken = _names(module) | {d.name for d in _nodes(module) if isinstance(d, ast.Declarator | ast.Param)}
    return next(n for n in (stem, *(f"{stem}{k}" for k in range(2, 1000))) if n not in taken)


def _kernels(module: ast.Module) -> Iterator[tuple[Path, ast.Function]]:
    for place, item in enumerate(module.items):
        if isinstance(item, ast.Function) and item.kind != "host":
            yield (("items", place),), item


def _before(function: ast.Function, path: Path, statement: ast.Stmt) -> ast.Function | None:
    """The function with `statement` put before the one at `path`, which must stand in a block."""
    name, place = path[-1]
    if name != "body" or place is None:
        return None
    owner: Any = function
    for field, index in path[:-1]:
        owner = getattr(owner, field) if index is None else getattr(owner, field)[index]
    if not isinstance(owner, ast.Block):
        return None
    grown = replace(owner, body=(*owner.body[:place], statement, *owner.body[place:]))
    changed: ast.Function = put(function, path[:-1], grown)
    return changed


def _declare(type_: str, name: str, value: ast.Expr) -> ast.Decl:
    declarator = ast.Declarator(name, ast.CType(type_), (), value)
    return ast.Decl((), (declarator,))


def _loop_name(loop: ast.For) -> str:
    names = sorted(_declared(loop.init)) if loop.init is not None else []
    return names[0] if names else "loop"


# ---------------------------------------------------------------- the rewrites


def _unroll(module: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Add `#pragma unroll` to a loop, or take it away."""
    for path, node in walk(module):
        if not isinstance(node, ast.For) or not path or _in_launcher(module, path):
            continue
        name = _loop_name(node)
        if node.unroll is None:
            limit = node.cond.right if isinstance(node.cond, ast.Binary) else None
            literal = isinstance(limit, ast.IntLit) and limit.text.isdigit()
            if literal and isinstance(limit, ast.IntLit) and int(limit.text) <= _SMALL_LOOP:
                yield f"unroll {name}", put(module, path, replace(node, unroll=""))
            elif not literal:
                yield f"unroll {name} by 4", put(module, path, replace(node, unroll="4"))
        else:
            yield f"roll {name}", put(module, path, replace(node, unroll=None))


def _in_launcher(module: ast.Module, path: Path) -> bool:
    place = path[0][1]
    item = module.items[place] if place is not None and path[0][0] == "items" else None
    return not isinstance(item, ast.Function) or item.kind == "host"


def _fuse(module: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """`acc += a * b` as one fused multiply-add, in every place of a kernel where `acc` is a float."""
    for path, function in _kernels(module):
        types = _types(function)
        changed = function
        for place, node in walk(function):
            if not isinstance(node, ast.Assign) or node.op != "+=":
                continue
            product, base = node.value, node.target
            while isinstance(base, ast.Index):
                base = base.base
            if not isinstance(product, ast.Binary) or product.op != "*" or not isinstance(base, ast.Name):
                continue
            declared = types.get(base.name)
            if declared is None or declared.type.base not in _FLOAT:
                continue
            call = ast.Call("fmaf", (), (product.left, product.right, node.target))
            changed = put(changed, place, ast.Assign("=", node.target, call))
        if changed != function:
            yield "fused multiply-add", put(module, path, changed)


def _reciprocal(module: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Division by a float that a loop does not change becomes multiplication by its reciprocal."""
    for path, function in _kernels(module):
        types = _types(function)
        for place, loop in walk(function):
            if not isinstance(loop, ast.For):
                continue
            fixed = _written(loop)
            divisors = {
                n.right.name
                for n in _nodes(loop.body)
                if isinstance(n, ast.Binary) and n.op == "/" and isinstance(n.right, ast.Name)
            }
            for name in sorted(divisors - fixed):
                if not _is_scalar(types.get(name), _FLOAT):
                    continue
                inverse = _fresh(module, f"{name}_inverse")
                body = _divide_by(loop.body, name, inverse)
                value = ast.Binary("/", ast.FloatLit("1.0f"), ast.Name(name))
                changed = put(function, place, replace(loop, body=body))
                grown = _before(changed, place, _declare("float", inverse, value))
                if grown is not None:
                    yield f"reciprocal of {name}", put(module, path, grown)


def _divide_by(node: Any, name: str, inverse: str) -> Any:
    changed = node
    for n in list(_nodes(node)):
        if isinstance(n, ast.Binary) and n.op == "/" and n.right == ast.Name(name):
            changed = substitute(changed, n, ast.Binary("*", n.left, ast.Name(inverse)))
    return changed


def _hoist(module: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """An integer product in an index that a loop does not change is computed before the loop."""
    for path, function in _kernels(module):
        types = _types(function)
        for place, loop in walk(function):
            if not isinstance(loop, ast.For):
                continue
            varying = _written(loop)
            fixed: list[ast.Expr] = []
            for n in _nodes(loop.body):
                if not isinstance(n, ast.Index):
                    continue
                for product in _products(n.index):
                    names = _names(product)
                    whole = names and not names & varying and not any(product in _nodes(f) for f in fixed)
                    if whole and all(_is_scalar(types.get(x), ("int",)) for x in names):
                        fixed.append(product)
            for product in fixed:
                held = _fresh(module, "offset")
                body = substitute(loop.body, product, ast.Name(held))
                changed = put(function, place, replace(loop, body=body))
                grown = _before(changed, place, _declare("int", held, product))
                if grown is not None:
                    yield f"hoist {print_expr(product)}", put(module, path, grown)


def _products(index: ast.Expr) -> list[ast.Expr]:
    """Products of names, literals and sums of them inside an index expression, largest first."""
    allowed = (ast.Binary, ast.Name, ast.IntLit)
    found = []
    for n in _nodes(index):
        arithmetic = isinstance(n, ast.Binary) and n.op == "*"
        if arithmetic and all(isinstance(m, allowed) for m in _nodes(n)):
            found.append(n)
    return found


def _interchange(module: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Swap two perfectly nested counted loops whose bodies only add to a float: sums commute."""
    for path, outer in walk(module):
        if not isinstance(outer, ast.For) or not path or _in_launcher(module, path):
            continue
        inner = _only(outer.body)
        if not isinstance(inner, ast.For) or not _counted(outer) or not _counted(inner):
            continue
        a, b = _loop_name(outer), _loop_name(inner)
        heads = (inner.init, inner.cond, inner.step, outer.init, outer.cond, outer.step)
        mixed = any(h is not None and {a, b} <= _names(h) | _declared(h) for h in heads)
        if mixed or not _only_adds(inner.body) or _crosses(outer, inner):
            continue
        swapped = replace(inner, body=ast.Block((replace(outer, body=inner.body),)))
        yield f"interchange {a} and {b}", put(module, path, swapped)


def _crosses(outer: ast.For, inner: ast.For) -> bool:
    """Whether the head of one loop reads a name that the body writes or the other loop counts."""
    heads = [h for loop in (outer, inner) for h in (loop.init, loop.cond, loop.step) if h is not None]
    counters = {_loop_name(outer), _loop_name(inner)}
    read = set().union(*(_names(h) for h in heads)) - counters
    own = all(
        _names(h) & counters <= {_loop_name(loop)}
        for loop in (outer, inner)
        for h in (loop.init, loop.cond, loop.step)
        if h is not None
    )
    return bool(read & _written(inner.body)) or not own


def _only(body: ast.Stmt) -> ast.Stmt:
    while isinstance(body, ast.Block) and len(body.body) == 1:
        body = body.body[0]
    return body


def _counted(loop: ast.For) -> bool:
    """`for (int v = ...; v < ...; ++v)` with `v` not written in the body."""
    name = _loop_name(loop)
    return (
        isinstance(loop.init, ast.Decl)
        and len(loop.init.declarators) == 1
        and isinstance(loop.cond, ast.Binary)
        and loop.cond.left == ast.Name(name)
        and isinstance(loop.step, ast.Unary | ast.Postfix | ast.Assign)
        and name not in _written(loop.body)
    )


def _only_adds(body: ast.Stmt) -> bool:
    """Only local declarations, conditions, and `+=` to places that nothing else here reads."""
    adds: set[str] = set()
    for n in _nodes(body):
        if isinstance(n, ast.Assign):
            base: Any = n.target
            while isinstance(base, ast.Index):
                base = base.base
            if n.op != "+=" or not isinstance(base, ast.Name):
                return False
            adds.add(base.name)
        elif _disorderly(n):
            return False
    reads = [n.name for n in _nodes(body) if isinstance(n, ast.Name)]
    targets = [n for n in _nodes(body) if isinstance(n, ast.Assign)]
    return bool(adds) and all(reads.count(a) == sum(a in _names(t.target) for t in targets) for a in adds)


def _disorderly(node: Any) -> bool:
    """Whether the order of executions of a node may matter beyond the sums it adds to."""
    match node:
        case ast.Unary(op="++" | "--" | "&" | "*") | ast.Postfix():
            return True
        case ast.Break() | ast.Continue() | ast.Return() | ast.While() | ast.DoWhile() | ast.For():
            return True
        case ast.Call(name=name):
            return name.startswith(("__", "atomic"))
    return False


_REWRITES: tuple[Callable[[ast.Module], Iterator[tuple[str, ast.Module]]], ...] = (
    _unroll,
    _fuse,
    _reciprocal,
    _hoist,
    _interchange,
)


@lru_cache(maxsize=256)
def variants(source: str) -> tuple[Variant, ...]:
    """Every single rewrite of a candidate, as printed from its AST. Raises semantics.span.Refusal when it
    does not parse."""
    module = parse(source)
    found = []
    seen = {source}
    for rewrite in _REWRITES:
        for label, changed in rewrite(module):
            text = print_module(changed)
            if text not in seen:
                seen.add(text)
                found.append(Variant(label, text))
    return tuple(found)
