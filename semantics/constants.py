"""`__constant__` arrays that the launcher fills, rewritten to parameters of the kernels that read them.

    __constant__ float weights[64];
    ...
    cudaMemcpyToSymbol(weights, w, taps * sizeof(float), 0, cudaMemcpyDeviceToDevice);

A kernel, or a helper on the way to it, that mentions `weights` gets a pointer of that name in front of its
parameters, and a launch passes `w`. The number of bytes stays in the launcher as a constant: when sizes are
bound it must be that of the whole buffer `w` and fit the array."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from semantics import ast
from semantics.span import Refusal

BYTES, ROOM = "kshell_bytes_", "kshell_room_"
_COPY = "cudaMemcpyToSymbol"
_FORM = f"{_COPY}(array, buffer, bytes, 0, cudaMemcpyDeviceToDevice);"


def rewrite(items: tuple[ast.Item, ...]) -> tuple[ast.Item, ...]:
    """The items without such arrays. Raises Refusal for one that is never filled or that a name hides."""
    arrays = {
        v.name: v
        for item in items
        if isinstance(item, ast.Decl) and "__constant__" in item.storage
        for v in item.declarators
        if v.extents and v.init is None
    }
    if not arrays:
        return items
    return _Rewriter(items, arrays).run()


@dataclass(slots=True)
class _Rewriter:
    """One pass over a module's items."""

    items: tuple[ast.Item, ...]
    arrays: dict[str, ast.Declarator]

    def run(self) -> tuple[ast.Item, ...]:
        functions = {i.name: i for i in self.items if isinstance(i, ast.Function) and i.kind != "host"}
        for f in functions.values():
            self._check_hidden(f)
        reads = {name: self._reads(f, functions, set()) for name, f in functions.items()}
        return tuple(part for item in self.items for part in self._item(item, reads))

    def _check_hidden(self, f: ast.Function) -> None:
        for node in (*f.params, *_walk(f.body)):
            if isinstance(node, ast.Param | ast.Declarator) and node.name in self.arrays:
                raise Refusal(f"{node.name} hides the constant array of that name", node.span, "rename it")

    def _reads(self, f: ast.Function, functions: dict[str, ast.Function], seen: set[str]) -> set[str]:
        """Constant arrays that a function mentions, helpers included."""
        seen.add(f.name)
        found: set[str] = set()
        for node in _walk(f.body):
            if isinstance(node, ast.Name) and node.name in self.arrays:
                found.add(node.name)
            if isinstance(node, ast.Call) and node.name in functions and node.name not in seen:
                found |= self._reads(functions[node.name], functions, seen)
        return found

    def _item(self, item: ast.Item, reads: dict[str, set[str]]) -> Iterator[ast.Item]:
        match item:
            case ast.Decl() if any(v.name in self.arrays for v in item.declarators):
                rest = tuple(v for v in item.declarators if v.name not in self.arrays)
                if rest:
                    yield replace(item, declarators=rest)
            case ast.Prototype(head):
                yield replace(item, head=self._with_parameters(head, reads))
            case ast.Function() if item.kind == "host":
                yield self._launcher(item, reads)
            case ast.Function():
                whole = self._with_parameters(item, reads)
                yield replace(whole, body=_transform(item.body, lambda node: self._call(node, reads)))
            case _:
                yield item

    def _wanted(self, name: str, reads: dict[str, set[str]]) -> list[str]:
        return [a for a in self.arrays if a in reads.get(name, set())]

    def _with_parameters(self, f: ast.Function, reads: dict[str, set[str]]) -> ast.Function:
        added = []
        for name in self._wanted(f.name, reads):
            v = self.arrays[name]
            if len(v.extents) != 1:
                raise Refusal("a constant array has one dimension", v.span, "compute the index")
            added.append(ast.Param(replace(v.type, const=True, pointer=1), name, (), v.span))
        return replace(f, params=(*added, *f.params))

    def _call(self, node: Any, reads: dict[str, set[str]]) -> Any:
        if isinstance(node, ast.Call) and node.name in reads:
            own = tuple(ast.Name(a, node.span) for a in self._wanted(node.name, reads))
            return replace(node, args=(*own, *node.args))
        return node

    def _launcher(self, f: ast.Function, reads: dict[str, set[str]]) -> ast.Function:
        sources: dict[str, ast.Expr] = {}
        body: list[ast.Stmt] = []
        for s in f.body.body:
            match s:
                case ast.ExprStmt(ast.Call(name, _, args)) if name == _COPY:
                    body += self._copy(args, s, sources, _inputs(f))
                case ast.Launch():
                    missing = [a for a in self._wanted(s.kernel, reads) if a not in sources]
                    if missing:
                        where = self.arrays[missing[0]].span
                        raise Refusal(
                            f"constant array {missing[0]} is not filled before the launch", where, _FORM
                        )
                    own = tuple(sources[a] for a in self._wanted(s.kernel, reads))
                    body.append(replace(s, args=(*own, *s.args)))
                case _:
                    body.append(s)
        return replace(f, body=replace(f.body, body=tuple(body)))

    def _copy(
        self,
        args: tuple[ast.Expr, ...],
        s: ast.ExprStmt,
        sources: dict[str, ast.Expr],
        inputs: set[str],
    ) -> list[ast.Stmt]:
        match args:
            case (
                ast.Name(array),
                ast.Name() as source,
                size,
                ast.IntLit("0"),
                ast.Name("cudaMemcpyDeviceToDevice"),
            ) if array in self.arrays and array not in sources:
                v = self.arrays[array]
                if source.name not in inputs:
                    raise Refusal(
                        "a constant array is filled from an input", source.span, "which no kernel can change"
                    )
            case _:
                raise Refusal("a constant array is filled once, in this form", s.span, _FORM)
        kind = replace(v.type, const=True, pointer=1)
        vector = v.type.base[-1] in "234" and v.type.base[:-1] in ("float", "double", "int", "uint")
        sources[array] = ast.Cast(kind, (source,), "reinterpret_cast", s.span) if vector else source
        extent = v.extents[0] if v.extents[0] is not None else ast.IntLit("0", v.span)
        element = replace(v.type, const=False)
        room = ast.Binary("*", extent, ast.SizeOf(element, v.span), v.span)
        return [
            _constant(BYTES + array, size, s),
            _constant(ROOM + array, room, s),
        ]


def _inputs(launcher: ast.Function) -> set[str]:
    """Parameters of a launcher that no kernel writes."""
    return {p.name for p in launcher.params if p.type.pointer and p.type.const}


def _constant(name: str, value: ast.Expr, s: ast.ExprStmt) -> ast.Decl:
    kind = ast.CType("size_t", const=True, span=s.span)
    return ast.Decl((), (ast.Declarator(name, kind, (), value, False, s.span),), None, s.span)


def _walk(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for part in node:
            yield from _walk(part)
    elif is_dataclass(node) and not isinstance(node, type):
        yield node
        for f in fields(node):
            if f.name != "span":
                yield from _walk(getattr(node, f.name))


def _transform(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node, children first."""
    if isinstance(node, tuple):
        return tuple(_transform(part, change) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    parts = {f.name: _transform(getattr(node, f.name), change) for f in fields(node) if f.name != "span"}
    return change(replace(node, **parts))
