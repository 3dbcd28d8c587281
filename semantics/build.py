"""Parse actions: grammar reductions to AST nodes, with the checks a grammar cannot state."""

from dataclasses import dataclass, replace
from typing import Any

from lark import Token, Transformer

from semantics import ast
from semantics.span import Refusal, Span

_STORAGE = ("static", "extern", "__shared__", "__constant__", "constexpr", "__device__")
_INT_SPELLING = {
    "": "int",
    "int": "int",
    "signed": "int",
    "int signed": "int",
    "unsigned": "unsigned",
    "int unsigned": "unsigned",
    "uint": "unsigned",
    "long": "long",
    "int long": "long",
    "long unsigned": "unsigned long",
    "int long unsigned": "unsigned long",
    "long long": "long long",
    "int long long": "long long",
    "long long unsigned": "unsigned long long",
    "int long long unsigned": "unsigned long long",
    "short": "short",
    "int short": "short",
    "short unsigned": "unsigned short",
    "int short unsigned": "unsigned short",
    "char": "char",
    "char signed": "signed char",
    "char unsigned": "unsigned char",
    "half": "half",
    "__half": "half",
    "nv_bfloat16": "__nv_bfloat16",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """`__align__(e)` or `__launch_bounds__(e, ...)` among specifiers."""

    kind: str
    args: tuple[ast.Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Head:
    """Pointer words and name of a declarator, and the arguments of a specialisation."""

    words: tuple[Token, ...]
    name: Token
    targs: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Initial:
    """Initialiser and its form."""

    value: "ast.Expr | ast.InitList"
    call: bool = False


@dataclass(frozen=True, slots=True)
class Specs:
    """Specifiers sorted out."""

    base: str
    const: bool
    volatile: bool
    words: tuple[str, ...]
    marks: tuple[Mark, ...]
    span: Span


def place(child: Any) -> Span:
    """Place of a token or node."""
    if isinstance(child, Token):
        return Span(child.line or 0, child.column or 0, child.end_line or 0, child.end_column or 0)
    if isinstance(child, Head):
        return place(child.name)
    return child.span  # type: ignore[no-any-return]


def over(children: list[Any]) -> Span:
    """From the first to the last child that is there."""
    there = [c for c in children if c is not None and c != []]
    return place(there[0]).to(place(there[-1]))


def real(children: list[Any]) -> list[Any]:
    """Children that are no tokens and no missing options."""
    return [c for c in children if c is not None and not isinstance(c, Token)]


def base_type(words: list[Token], span: Span) -> str:
    """Canonical spelling of a list of type words. Raises Refusal for an impossible mix."""
    texts = [w.value for w in words]
    if len(texts) == 1:
        return str(_INT_SPELLING.get(texts[0], texts[0]))
    key = " ".join(sorted(texts))
    if not texts:
        raise Refusal("type is missing", span)
    if key not in _INT_SPELLING:
        raise Refusal(f"`{' '.join(texts)}` is no type of the language", span)
    return _INT_SPELLING[key]


def make_type(words: list[Token], pointer: tuple[Token, ...], span: Span) -> ast.CType:
    """A CType from type words and pointer words. Raises Refusal for volatile or two-star types."""
    kinds = [p.type for p in pointer]
    stars = kinds.count("STAR")
    after = kinds[kinds.index("STAR") :] if stars else []
    return ast.CType(
        base=base_type([w for w in words if w.type == "TYPE_WORD"], span),
        const=any(w.type == "CONST" for w in words) or (not stars and "CONST" in kinds),
        pointer=stars,
        restrict="RESTRICT" in kinds,
        reference="AMP" in kinds,
        volatile=any(w.type == "VOLATILE" for w in words),
        const_pointer="CONST" in after,
        span=span,
    )


class Builder(Transformer[Token, Any]):
    """One method a rule of grammar.lark; children include every token of the rule."""

    def start(self, items: list[Any]) -> list[Any]:
        return [part for item in items for part in (item if isinstance(item, list) else [item])]

    # ---- file scope

    def prototype(self, c: list[Any]) -> ast.Prototype:
        head = self.function([*c[:-1], ast.Block(())])
        return ast.Prototype(head, place(c[2]))

    def using_namespace(self, c: list[Any]) -> ast.Using:
        if c[2].value != "std":
            raise Refusal("only `using namespace std;` is known", place(c[2]), "write the names out")
        return ast.Using(c[2].value, over(c))

    def linkage(self, c: list[Any]) -> list[Any]:
        """`extern "C" { ... }` marks each function in it."""
        if c[0].value != 'extern "C"':
            raise Refusal("strings are outside the language", place(c[0]), 'only extern "C" is known')
        out: list[Any] = []
        for item in self.start(c[2:-1]):
            if isinstance(item, ast.Prototype):
                item = replace(item, head=_with_linkage(item.head))
            out.append(_with_linkage(item) if isinstance(item, ast.Function) else item)
        return out

    def alias(self, c: list[Any]) -> ast.Alias:
        return ast.Alias(c[1].value, c[3], False, over(c))

    def typedef(self, c: list[Any]) -> ast.Alias:
        *words, name = c[1:-1]
        if not words:
            raise Refusal("typedef needs a type and a name", over(c))
        return ast.Alias(name.value, make_type(words, (), over(words)), True, over(c))

    def same_type(self, c: list[Any]) -> ast.SameType:
        wanted = c[0].value == "std::is_same"
        if wanted != (c[7] is not None) or (wanted and c[7].value != "value"):
            raise Refusal("the form is std::is_same<A, B>::value or std::is_same_v<A, B>", place(c[0]))
        return ast.SameType(c[2], c[4], over(c))

    def function(self, c: list[Any]) -> ast.Function:
        template, specs, head, _, params, _, body = c
        words = specs.words
        kind = "global" if "__global__" in words else "device" if "__device__" in words else "host"
        bad = [w for w in words if w in ("__shared__", "__constant__", "constexpr")]
        if (bad and bad != ["constexpr"]) or (kind == "global" and "__device__" in words):
            raise Refusal("these specifiers do not go together on a function", specs.span)
        if "__host__" in words and kind != "device":
            raise Refusal(
                "host functions are outside the language", specs.span, "only the launcher runs on the host"
            )
        align = [m for m in specs.marks if m.kind == "align"]
        if align:
            raise Refusal("__align__ does not go on a function", align[0].span)
        bounds = tuple(a for m in specs.marks for a in m.args)
        keep = tuple(w for w in words if w not in ("__global__", "__device__"))
        returns = _declared_type(specs, head)
        return ast.Function(
            kind,
            keep,
            tuple(template or ()),
            returns,
            head.name.value,
            tuple(params or ()),
            body,
            bounds,
            place(head),
            head.targs,
        )

    def template(self, c: list[Any]) -> list[ast.TemplateParam]:
        return real(c)

    def template_param(self, c: list[Any]) -> ast.TemplateParam:
        return ast.TemplateParam(c[1].value, None, c[3], place(c[1]))

    def value_param(self, c: list[Any]) -> ast.TemplateParam:
        return ast.TemplateParam(c[1].value, c[0], c[3], place(c[1]))

    def params(self, c: list[Any]) -> list[ast.Param]:
        return real(c)

    def param(self, c: list[Any]) -> ast.Param:
        specs, head, *extents = c[:-2]
        if specs.words or specs.marks:
            raise Refusal("a parameter takes a type and a name only", specs.span)
        sizes = tuple(e[0] for e in extents)
        return ast.Param(_declared_type(specs, head), head.name.value, sizes, place(head), c[-1])

    def unnamed(self, c: list[Any]) -> ast.Param:
        specs, *words = c
        if specs.words or specs.marks:
            raise Refusal("a parameter takes a type and a name only", specs.span)
        return ast.Param(_pointed_type(specs, tuple(words), specs.span), "", (), specs.span)

    def struct(self, c: list[Any]) -> ast.Struct:
        return ast.Struct(c[1].value, tuple(real(c)), over(c))

    # ---- declarations

    def declaration(self, c: list[Any]) -> ast.Decl:
        specs = c[0]
        if any(m.kind == "bounds" for m in specs.marks):
            raise Refusal("__launch_bounds__ goes on a kernel", specs.span)
        strange = [w for w in specs.words if w not in _STORAGE]
        if strange:
            raise Refusal(f"`{strange[0]}` does not go on a variable", specs.span)
        storage = tuple(w for w in _STORAGE if w in specs.words)
        align = next((m.args[0] for m in specs.marks if m.kind == "align"), None)
        declarators = []
        for head, extents, initial in real(c[1:]):
            kind = _declared_type(specs, head)
            value = initial.value if initial else None
            declarators.append(
                ast.Declarator(
                    head.name.value, kind, extents, value, bool(initial and initial.call), place(head)
                )
            )
        return ast.Decl(storage, tuple(declarators), align, specs.span.to(place(c[-1])))

    def specs(self, c: list[Any]) -> Specs:
        tokens = [t for t in c if isinstance(t, Token)]
        span = over(c)
        words: list[str] = []
        for t in tokens:
            if t.type == "STRING":
                if t.value != '"C"':
                    raise Refusal("strings are outside the language", place(t), 'only extern "C" is known')
                words.append(t.value)
            elif t.type not in ("TYPE_WORD", "CONST", "VOLATILE"):
                words.append(t.value)
        marks = tuple(m for m in c if isinstance(m, Mark))
        base = base_type([t for t in tokens if t.type == "TYPE_WORD"], span)
        kinds = [t.type for t in tokens]
        return Specs(base, "CONST" in kinds, "VOLATILE" in kinds, tuple(words), marks, span)

    def align(self, c: list[Any]) -> Mark:
        return Mark("align", (c[2],), over(c))

    def bounds(self, c: list[Any]) -> Mark:
        return Mark("bounds", tuple(c[2]), over(c))

    def special_head(self, c: list[Any]) -> Head:
        return Head(tuple(c[:-4]), c[-4], tuple(c[-2]))

    def chosen(self, c: list[Any]) -> ast.Conditional:
        plain = c[1].value == "std::conditional_t"
        if plain != (c[9] is None) or (not plain and c[10].value != "type"):
            raise Refusal("the form is typename std::conditional<C, A, B>::type", place(c[1]))
        return ast.Conditional(c[3], c[5], c[7], place(c[1]))

    def declarator_head(self, c: list[Any]) -> Head:
        return Head(tuple(c[:-1]), c[-1])

    def declarator(self, c: list[Any]) -> tuple[Head, tuple[Any, ...], Initial | None]:
        return c[0], tuple(e[0] for e in c[1:-1]), c[-1]

    def extent(self, c: list[Any]) -> tuple[Any]:
        return (c[1],)

    def init_value(self, c: list[Any]) -> Initial:
        return Initial(c[1])

    def init_brace(self, c: list[Any]) -> Initial:
        return Initial(c[0])

    def init_call(self, c: list[Any]) -> Initial:
        return Initial(ast.InitList(tuple(c[1]), over(c)), True)

    def init_list(self, c: list[Any]) -> ast.InitList:
        return ast.InitList(tuple(real(c)), over(c))

    def type(self, c: list[Any]) -> ast.CType:
        words: list[Token] = []
        rest = list(c)
        while rest and rest[0].type in ("TYPE_WORD", "CONST", "VOLATILE"):
            words.append(rest.pop(0))
        return make_type(words, tuple(rest), over(c))

    # ---- statements

    def block(self, c: list[Any]) -> ast.Block:
        return ast.Block(tuple(c[1:-1]), over(c))

    def expr_stmt(self, c: list[Any]) -> ast.ExprStmt:
        return ast.ExprStmt(c[0], over(c))

    def empty(self, c: list[Any]) -> ast.Empty:
        return ast.Empty(over(c))

    def if_stmt(self, c: list[Any]) -> ast.If:
        return ast.If(c[2], c[4], c[6] if len(c) > 6 else None, False, over(c))

    def if_constexpr(self, c: list[Any]) -> ast.If:
        return ast.If(c[3], c[5], c[7] if len(c) > 7 else None, True, over(c))

    def for_stmt(self, c: list[Any]) -> ast.For:
        init = None if isinstance(c[2], ast.Empty) else c[2]
        return ast.For(init, c[3], c[5], c[7], None, over(c))

    def no_init(self, c: list[Any]) -> ast.Empty:
        return ast.Empty(over(c))

    def while_stmt(self, c: list[Any]) -> ast.While:
        return ast.While(c[2], c[4], None, over(c))

    def do_stmt(self, c: list[Any]) -> ast.DoWhile:
        return ast.DoWhile(c[1], c[4], None, over(c))

    def unrolled(self, c: list[Any]) -> Any:
        return replace(c[1], unroll=c[0].value, span=over(c))

    def return_stmt(self, c: list[Any]) -> ast.Return:
        return ast.Return(c[1], over(c))

    def break_stmt(self, c: list[Any]) -> ast.Break:
        return ast.Break(over(c))

    def continue_stmt(self, c: list[Any]) -> ast.Continue:
        return ast.Continue(over(c))

    def static_assert(self, c: list[Any]) -> ast.StaticAssert:
        return ast.StaticAssert(c[2], c[4].value if c[4] else None, over(c))

    def launch_plain(self, c: list[Any]) -> ast.Launch:
        return ast.Launch(c[0].value, (), tuple(c[2]), tuple(c[5] or ()), over(c))

    def launch_template(self, c: list[Any]) -> ast.Launch:
        return ast.Launch(c[0].value, tuple(c[2]), tuple(c[5]), tuple(c[8] or ()), over(c))

    def targs(self, c: list[Any]) -> list[Any]:
        return real(c)

    def args(self, c: list[Any]) -> list[Any]:
        return real(c)

    # ---- expressions

    def binary(self, c: list[Any]) -> ast.Binary:
        return ast.Binary(c[1].value, c[0], c[2], over(c))

    def assign(self, c: list[Any]) -> ast.Assign:
        return ast.Assign(c[1].value, c[0], c[2], over(c))

    def ternary(self, c: list[Any]) -> ast.Ternary:
        return ast.Ternary(c[0], c[2], c[4], over(c))

    def prefix(self, c: list[Any]) -> ast.Unary:
        return ast.Unary(c[0].value, c[1], over(c))

    def c_cast(self, c: list[Any]) -> ast.Cast:
        return ast.Cast(c[1], (c[3],), "c", over(c))

    def size_of(self, c: list[Any]) -> ast.SizeOf:
        return ast.SizeOf(c[2], over(c))

    def index(self, c: list[Any]) -> ast.Index:
        return ast.Index(c[0], c[2], over(c))

    def member(self, c: list[Any]) -> ast.Member:
        return ast.Member(c[0], c[2].value, over(c))

    def postfix_op(self, c: list[Any]) -> ast.Postfix:
        return ast.Postfix(c[1].value, c[0], over(c))

    def call(self, c: list[Any]) -> ast.Call:
        return ast.Call(c[0].value, (), tuple(c[2] or ()), over(c))

    def workspace(self, c: list[Any]) -> ast.Call:
        if c[0].value != "KSHELL_WORKSPACE":
            raise Refusal("a type is no argument", c[2].span)
        return ast.Call(c[0].value, (c[2],), (c[4],), over(c))

    def template_call(self, c: list[Any]) -> ast.Call:
        return ast.Call(c[0].value, tuple(c[2]), tuple(c[5] or ()), over(c))

    def cxx_cast(self, c: list[Any]) -> ast.Cast:
        return ast.Cast(c[2], (c[5],), c[0].value, over(c))

    def call_cast(self, c: list[Any]) -> ast.Cast:
        kind = make_type([c[0]], (), place(c[0]))
        return ast.Cast(kind, tuple(c[2] or ()), "call", over(c))

    def name(self, c: list[Any]) -> ast.Name:
        return ast.Name(c[0].value, place(c[0]))

    def int_lit(self, c: list[Any]) -> ast.IntLit:
        return ast.IntLit(c[0].value, place(c[0]))

    def float_lit(self, c: list[Any]) -> ast.FloatLit:
        return ast.FloatLit(c[0].value, place(c[0]))

    def true(self, c: list[Any]) -> ast.BoolLit:
        return ast.BoolLit(True, place(c[0]))

    def false(self, c: list[Any]) -> ast.BoolLit:
        return ast.BoolLit(False, place(c[0]))

    def paren(self, c: list[Any]) -> Any:
        return c[1]


def _with_linkage(f: ast.Function) -> ast.Function:
    words = f.specifiers if '"C"' in f.specifiers else ("extern", '"C"', *f.specifiers)
    return replace(f, specifiers=words)


def _declared_type(specs: Specs, head: Head) -> ast.CType:
    return _pointed_type(specs, head.words, specs.span.to(place(head)))


def _pointed_type(specs: Specs, words: tuple[Token, ...], span: Span) -> ast.CType:
    kinds = [w.type for w in words]
    stars = kinds.count("STAR")
    return ast.CType(
        base=specs.base,
        const=specs.const or (not stars and "CONST" in kinds),
        pointer=stars,
        restrict="RESTRICT" in kinds,
        reference="AMP" in kinds,
        volatile=specs.volatile,
        const_pointer=bool(stars) and "CONST" in kinds[kinds.index("STAR") :],
        span=span,
    )
