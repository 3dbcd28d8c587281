"""Explicit specialisations of helper templates, rewritten to what they mean.

`template <> float f<float>(float x) { ... }` becomes a helper of its own, and `f` chooses it by
`if constexpr` on its template parameters: one meaning for the lowering and for every compiler."""

from dataclasses import replace

from semantics import ast
from semantics.span import Refusal

_PREFIX = "kshell_special"


def rewrite(items: tuple[ast.Item, ...]) -> tuple[ast.Item, ...]:
    """The items without explicit specialisations. Raises Refusal for those of kernels, and for one whose
    template is unknown or takes other arguments."""
    special = [i for i in items if isinstance(i, ast.Function) and i.targs]
    if not special:
        return items
    for name in dict.fromkeys(f.name for f in special):
        items = _without(items, name, [f for f in special if f.name == name])
    return items


def _without(items: tuple[ast.Item, ...], name: str, special: list[ast.Function]) -> tuple[ast.Item, ...]:
    primary = next((i for i in items if isinstance(i, ast.Function) and i.name == name and not i.targs), None)
    declared = next((i.head for i in items if isinstance(i, ast.Prototype) and i.head.name == name), None)
    head = primary or declared
    if head is None or not head.template:
        raise Refusal(f"there is no template {name} to specialise", special[0].span, "declare it before")
    if any(f.kind != "device" for f in (head, *special)):
        raise Refusal("only helpers are specialised", special[0].span, "write two kernels")
    named = tuple(replace(p, name=p.name or f"a{k}", default=None) for k, p in enumerate(head.params))
    chain: ast.Stmt | None = primary.body if primary is not None else ast.Block(())
    made: list[ast.Function] = []
    for k, f in reversed(list(enumerate(special))):
        if len(f.targs) != len(head.template) or len(f.params) != len(head.params):
            raise Refusal(f"{name} is specialised with other parameters than it has", f.span)
        own = f"{_PREFIX}_{name}_{k}"
        made.insert(0, replace(f, name=own, targs=(), template=()))
        call = ast.Call(own, (), tuple(ast.Name(p.name, f.span) for p in named), f.span)
        void = f.returns.base == "void" and not f.returns.pointer
        body: tuple[ast.Stmt, ...] = (ast.Return(call, f.span),)
        if void:
            body = (ast.ExprStmt(call, f.span), ast.Return(None, f.span))
        chain = ast.If(_matches(head, f), ast.Block(body, f.span), chain, True, f.span)
    assert chain is not None
    whole = replace(head, params=named, body=ast.Block((chain,), head.body.span))
    last = max(k for k, i in enumerate(items) if isinstance(i, ast.Function) and i.name == name and i.targs)
    out: list[ast.Item] = []
    for k, item in enumerate(items):
        if isinstance(item, ast.Function) and item.name == name:
            if not item.targs and declared is None:
                out.append(ast.Prototype(replace(head, body=ast.Block(())), head.span))
            elif item.targs:
                out.append(made[special.index(item)])
            if k == last:
                out.append(whole)
        else:
            out.append(item)
    if primary is not None and items.index(primary) > last:
        raise Refusal(f"{name} is specialised before it is defined", special[0].span, "move it down")
    return tuple(out)


def _matches(head: ast.Function, f: ast.Function) -> ast.Expr:
    """The condition that the template parameters are the arguments of a specialisation."""
    parts: list[ast.Expr] = []
    for parameter, argument in zip(head.template, f.targs, strict=True):
        if isinstance(argument, ast.CType):
            own = ast.CType(parameter.name, span=f.span)
            parts.append(ast.SameType(own, argument, f.span))
        else:
            parts.append(ast.Binary("==", ast.Name(parameter.name, f.span), argument, f.span))
    cond = parts[0]
    for part in parts[1:]:
        cond = ast.Binary("&&", cond, part, f.span)
    return cond
