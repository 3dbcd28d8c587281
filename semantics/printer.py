"""Surface AST back to CUDA C. `parse(print_module(m)) == m` for every module the parser made."""

from semantics import ast

_LEVEL = {
    ",": 0,
    "||": 3,
    "&&": 4,
    "|": 5,
    "^": 6,
    "&": 7,
    "==": 8,
    "!=": 8,
    "<": 9,
    ">": 9,
    "<=": 9,
    ">=": 9,
    "<<": 10,
    ">>": 10,
    "+": 11,
    "-": 11,
    "*": 12,
    "/": 12,
    "%": 12,
}
_ASSIGN, _TERNARY, _ADDITIVE, _UNARY, _POSTFIX = 1, 2, 11, 13, 14
_INDENT = "    "


def print_module(module: ast.Module) -> str:
    """The module as CUDA C text, macros already expanded (their definitions stay on top)."""
    parts = [f"#include {i.name}" for i in module.includes]
    for d in module.defines:
        params = "" if d.params is None else f"({', '.join(d.params)})"
        parts.append(f"#define {d.name}{params} {d.body}".rstrip())
    for item in module.items:
        parts.append("")
        parts.append(print_item(item))
    return "\n".join(parts).lstrip("\n") + "\n"


def print_item(item: ast.Item) -> str:
    """One function, struct or declaration."""
    if isinstance(item, ast.Decl):
        return _decl(item)
    if isinstance(item, ast.StaticAssert):
        return _static_assert(item)
    if isinstance(item, ast.Alias):
        return _alias(item)
    if isinstance(item, ast.Using):
        return f"using namespace {item.name};"
    if isinstance(item, ast.Prototype):
        return f"{print_head(item.head)};"
    if isinstance(item, ast.Struct):
        fields = "".join(f"{_INDENT}{_decl(f)}\n" for f in item.fields)
        return f"struct {item.name} {{\n{fields}}};"
    return f"{print_head(item)} {_block(item.body, '')}"


def print_head(f: ast.Function) -> str:
    """A function up to its body."""
    template = ""
    if f.template:
        template = f"template <{', '.join(_template_param(p) for p in f.template)}>\n"
    words = list(f.specifiers)
    if f.kind != "host":
        words.append(f"__{f.kind}__")
    if f.bounds:
        words.append(f"__launch_bounds__({', '.join(print_expr(b, _ASSIGN) for b in f.bounds)})")
    if '"C"' in words:
        words.remove('"C"')
        words[words.index("extern") : words.index("extern") + 1] = ["extern", '"C"']
    params = ", ".join(_param(p) for p in f.params)
    return f"{template}{' '.join([*words, _declared(f.returns, f.name)])}({params})"


def print_type(t: ast.CType) -> str:
    """A type without a name."""
    out = ("const " if t.const else "") + ("volatile " if t.volatile else "") + _BASE.get(t.base, t.base)
    out += "*" * t.pointer
    if t.const_pointer:
        out += " const"
    return out + ("&" if t.reference else "") + (" __restrict__" if t.restrict else "")


_BASE = {"unsigned": "unsigned int", "half": "__half"}


def _param(p: ast.Param) -> str:
    default = "" if p.default is None else f" = {print_expr(p.default, _ASSIGN)}"
    return _declared(p.type, p.name).rstrip() + _extents(p.extents) + default


def _choice(t: ast.CType | ast.Conditional) -> str:
    if isinstance(t, ast.CType):
        return print_type(t)
    parts = f"{print_expr(t.cond, _LEVEL['=='])}, {_choice(t.then)}, {_choice(t.other)}"
    return f"typename std::conditional<{parts}>::type"


def _alias(a: ast.Alias) -> str:
    kind = _choice(a.type)
    return f"typedef {kind} {a.name};" if a.typedef else f"using {a.name} = {kind};"


def _declared(t: ast.CType, name: str) -> str:
    return f"{print_type(t)} {name}"


def _template_param(p: ast.TemplateParam) -> str:
    if p.type is None:
        default = f" = {print_type(p.default)}" if isinstance(p.default, ast.CType) else ""
        return f"typename {p.name}{default}"
    default = f" = {_targ(p.default)}" if p.default is not None else ""
    return f"{print_type(p.type)} {p.name}{default}"


def _targ(a: ast.Expr | ast.CType) -> str:
    return print_type(a) if isinstance(a, ast.CType) else print_expr(a, _ADDITIVE)


def _static_assert(s: ast.StaticAssert) -> str:
    message = "" if s.message is None else f", {s.message}"
    return f"static_assert({print_expr(s.cond, _ASSIGN)}{message});"


def _decl(d: ast.Decl) -> str:
    words = list(d.storage)
    if d.align is not None:
        words.append(f"__align__({print_expr(d.align)})")
    first = d.declarators[0].type
    words.append(
        ("const " if first.const else "")
        + ("volatile " if first.volatile else "")
        + _BASE.get(first.base, first.base)
    )
    return f"{' '.join(words)} {', '.join(_declarator(v) for v in d.declarators)};"


def _declarator(v: ast.Declarator) -> str:
    out = (
        "*" * v.type.pointer + (" const " if v.type.const_pointer else "") + ("&" if v.type.reference else "")
    )
    out += (" __restrict__ " if v.type.restrict else "") + v.name
    out += _extents(v.extents)
    if v.init is None:
        return out
    if v.call_init and isinstance(v.init, ast.InitList):
        return f"{out}({', '.join(_init(i) for i in v.init.items)})"
    return f"{out} = {_init(v.init)}"


def _extents(extents: tuple[ast.Expr | None, ...]) -> str:
    return "".join(f"[{'' if e is None else print_expr(e)}]" for e in extents)


def _init(i: ast.Expr | ast.InitList) -> str:
    if isinstance(i, ast.InitList):
        return "{" + ", ".join(_init(x) for x in i.items) + "}"
    return print_expr(i, _ASSIGN)


# ---------------------------------------------------------------- statements


def _block(b: ast.Block, pad: str) -> str:
    inner = "".join(print_stmt(s, pad + _INDENT) for s in b.body)
    return "{\n" + inner + pad + "}"


def _body(s: ast.Stmt, pad: str) -> str:
    """A statement under a header, on the same line when it is a block."""
    if isinstance(s, ast.Block):
        return f" {_block(s, pad)}\n"
    return "\n" + print_stmt(s, pad + _INDENT)


def print_stmt(s: ast.Stmt, pad: str = "") -> str:
    """One statement with its line ends."""
    match s:
        case ast.Decl():
            return f"{pad}{_decl(s)}\n"
        case ast.ExprStmt(expr):
            return f"{pad}{print_expr(expr)};\n"
        case ast.Block():
            return f"{pad}{_block(s, pad)}\n"
        case ast.Empty():
            return f"{pad};\n"
        case ast.StaticAssert():
            return f"{pad}{_static_assert(s)}\n"
        case ast.Alias():
            return f"{pad}{_alias(s)}\n"
        case ast.Return(value):
            return f"{pad}return;\n" if value is None else f"{pad}return {print_expr(value)};\n"
        case ast.Break():
            return f"{pad}break;\n"
        case ast.Continue():
            return f"{pad}continue;\n"
        case ast.Launch():
            targs = f"<{', '.join(_targ(a) for a in s.targs)}>" if s.targs else ""
            config = ", ".join(print_expr(e, _ASSIGN) for e in s.config)
            return f"{pad}{s.kernel}{targs}<<<{config}>>>({_args(s.args)});\n"
        case ast.If():
            return _if(s, pad)
        case _:
            return _loop(s, pad)


def _if(s: ast.If, pad: str) -> str:
    head = f"{pad}if {'constexpr ' if s.constexpr else ''}({print_expr(s.cond)})"
    if s.other is None:
        return head + _body(s.then, pad)
    then = s.then
    if not isinstance(then, ast.Block) and _open_if(then):
        # `if (a) if (b) x; else y;` cannot be printed bare when the `else` belongs to the outer `if`.
        raise ValueError("an if without else directly under an if with else cannot be printed")
    return f"{head}{_body(then, pad)}{pad}else{_body(s.other, pad)}"


def _open_if(s: ast.Stmt | None) -> bool:
    """Whether a following `else` would attach inside `s`."""
    match s:
        case ast.If():
            return s.other is None or _open_if(s.other)
        case ast.For() | ast.While():
            return _open_if(s.body)
        case _:
            return False


def _loop(s: ast.For | ast.While | ast.DoWhile, pad: str) -> str:
    pragma = "" if s.unroll is None else f"{pad}#pragma unroll {s.unroll}".rstrip() + "\n"
    if isinstance(s, ast.While):
        return f"{pragma}{pad}while ({print_expr(s.cond)}){_body(s.body, pad)}"
    if isinstance(s, ast.DoWhile):
        return f"{pragma}{pad}do{_body(s.body, pad)}{pad}while ({print_expr(s.cond)});\n"
    init = (
        ";"
        if s.init is None
        else _decl(s.init)
        if isinstance(s.init, ast.Decl)
        else f"{print_expr(s.init.expr)};"
    )
    cond = "" if s.cond is None else f" {print_expr(s.cond)}"
    step = "" if s.step is None else f" {print_expr(s.step)}"
    return f"{pragma}{pad}for ({init}{cond};{step}){_body(s.body, pad)}"


# ---------------------------------------------------------------- expressions


def print_expr(e: ast.Expr, level: int = 0) -> str:
    """An expression, in parentheses when it binds weaker than `level`."""
    text, own = _expr(e)
    return f"({text})" if own < level else text


def _expr(e: ast.Expr) -> tuple[str, int]:
    match e:
        case ast.IntLit(text) | ast.FloatLit(text):
            return text, 15
        case ast.BoolLit(value):
            return ("true" if value else "false"), 15
        case ast.Name(name):
            return name, 15
        case ast.Member(obj, field):
            level = 16 if isinstance(obj, ast.IntLit | ast.FloatLit) else _POSTFIX
            return f"{print_expr(obj, level)}.{field}", _POSTFIX
        case ast.Index(base, index):
            return f"{print_expr(base, _POSTFIX)}[{print_expr(index)}]", _POSTFIX
        case ast.Call("KSHELL_WORKSPACE", (ast.CType() as kind,), args):
            return f"KSHELL_WORKSPACE({print_type(kind)}, {_args(args)})", _POSTFIX
        case ast.Call(name, targs, args):
            mid = f"<{', '.join(_targ(a) for a in targs)}>" if targs else ""
            return f"{name}{mid}({_args(args)})", _POSTFIX
        case ast.Unary(op, operand):
            inner = print_expr(operand, _UNARY)
            gap = " " if inner[0] == op[-1] and op[-1] in "+-&" else ""
            return f"{op}{gap}{inner}", _UNARY
        case ast.Postfix(op, operand):
            return f"{print_expr(operand, _POSTFIX)}{op}", _POSTFIX
        case ast.Binary(op, left, right):
            own = _LEVEL[op]
            right_level = _ASSIGN if op == "," else own + 1
            gap = "" if op == "," else " "
            return f"{print_expr(left, own)}{gap}{op} {print_expr(right, right_level)}", own
        case ast.Assign(op, target, value):
            return f"{print_expr(target, _UNARY)} {op} {print_expr(value, _ASSIGN)}", _ASSIGN
        case ast.Ternary(cond, then, other):
            return f"{print_expr(cond, 3)} ? {print_expr(then)} : {print_expr(other, _ASSIGN)}", _TERNARY
        case ast.Cast(kind, args, style):
            if style == "c":
                return f"({print_type(kind)}){print_expr(args[0], _UNARY)}", _UNARY
            if style == "call":
                return f"{kind.base}({_args(args)})", _POSTFIX
            return f"{style}<{print_type(kind)}>({print_expr(args[0])})", _POSTFIX
        case ast.SizeOf(kind):
            return f"sizeof({print_type(kind)})", _UNARY
        case ast.SameType(left, right):
            return f"std::is_same<{print_type(left)}, {print_type(right)}>::value", _POSTFIX


def _args(args: tuple[ast.Expr, ...]) -> str:
    return ", ".join(print_expr(a, _ASSIGN) for a in args)
