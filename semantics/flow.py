"""Where control may go: which jumps leave a statement and whether it can end normally."""

from semantics import ast


def escapes(s: ast.Stmt) -> frozenset[str]:
    """Jumps (`break`, `continue`, `return`) inside a statement that leave it."""
    match s:
        case ast.Break():
            return frozenset({"break"})
        case ast.Continue():
            return frozenset({"continue"})
        case ast.Return():
            return frozenset({"return"})
        case ast.Block(body):
            return frozenset().union(*(escapes(b) for b in body))
        case ast.If(_, then, other):
            return escapes(then) | (escapes(other) if other else frozenset())
        case ast.For() | ast.While() | ast.DoWhile():
            return escapes(s.body) & {"return"}
        case _:
            return frozenset()


def completes(s: ast.Stmt) -> bool:
    """Whether control can reach the end of the statement (loops are assumed to end)."""
    match s:
        case ast.Break() | ast.Continue() | ast.Return():
            return False
        case ast.Block(body):
            return all(completes(b) for b in body)
        case ast.If(_, then, other):
            return other is None or completes(then) or completes(other)
        case _:
            return True


def assigned(s: ast.Stmt, functions: dict[str, ast.Function]) -> set[str]:
    """Names that statements assign after their declaration, by any operator or through a reference."""
    from semantics.effects import children, root

    out: set[str] = set()

    def visit(e: ast.Expr | ast.InitList | None) -> None:
        if e is None:
            return
        if isinstance(e, ast.InitList):
            for item in e.items:
                visit(item)
            return
        target = e.target if isinstance(e, ast.Assign) else None
        if isinstance(e, ast.Postfix) or (isinstance(e, ast.Unary) and e.op in ("++", "--")):
            target = e.operand
        while isinstance(target, ast.Member):
            target = target.object
        if isinstance(target, ast.Name):
            out.add(target.name)
        if isinstance(e, ast.Call) and e.name in functions:
            for p, a in zip(functions[e.name].params, e.args, strict=False):
                if p.type.reference and not p.type.const:
                    out.update(r for r in [root(a)] if r)
        for child in children(e):
            visit(child)

    def walk(s: ast.Stmt | None) -> None:
        match s:
            case ast.Decl(_, declarators):
                for v in declarators:
                    visit(v.init)
                    if v.type.reference and v.init is not None and not isinstance(v.init, ast.InitList):
                        out.update(r for r in [root(v.init)] if r)
            case ast.ExprStmt(e):
                visit(e)
            case ast.Block(body):
                for b in body:
                    walk(b)
            case ast.If(cond, then, other):
                visit(cond)
                walk(then)
                walk(other)
            case ast.For(init, cond, step, body):
                walk(init)
                visit(cond)
                visit(step)
                walk(body)
            case ast.While(cond, body) | ast.DoWhile(body, cond):
                visit(cond)
                walk(body)
            case ast.Return(value):
                visit(value)
            case _:
                pass

    walk(s)
    return out
