"""Surface AST of a candidate: kernels, helpers, constants, one launcher.

Nodes are frozen and compare without their spans, so that `parse(print(parse(s))) == parse(s)`.
Parentheses are not kept; the printer puts back the ones that matter."""

from dataclasses import dataclass, field

from semantics.span import NOWHERE, Span

# ---------------------------------------------------------------- types


@dataclass(frozen=True, slots=True)
class CType:
    """A type as written: `base` is the canonical spelling (`unsigned`, `long long`, `float4`, `T`);
    `pointer` counts stars; `const` is that of the pointee or value."""

    base: str
    const: bool = False
    pointer: int = 0
    restrict: bool = False
    reference: bool = False
    volatile: bool = False
    const_pointer: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class IntLit:
    """Integer literal as written."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FloatLit:
    """Float literal as written."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BoolLit:
    """`true` or `false`."""

    value: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """`object.field`."""

    object: "Expr"
    member: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    """`base[index]`."""

    base: "Expr"
    index: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`name<targs>(args)`."""

    name: str
    targs: tuple["Expr | CType", ...]
    args: tuple["Expr", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """Prefix `+ - ! ~ * &`, `++`, `--`."""

    op: str
    operand: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Postfix:
    """`x++`, `x--`."""

    op: str
    operand: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Binary operator, `,` included."""

    op: str
    left: "Expr"
    right: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op value` with `op` out of `=`, `+=`, ..."""

    op: str
    target: "Expr"
    value: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ternary:
    """`cond ? then : other`."""

    cond: "Expr"
    then: "Expr"
    other: "Expr"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion. `style` is `c`, `static_cast`, `reinterpret_cast`, `call` (`T(args)`) or `brace`."""

    type: CType
    args: tuple["Expr", ...]
    style: str = "c"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SizeOf:
    """`sizeof(type)`."""

    type: CType
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SameType:
    """`std::is_same<a, b>::value`."""

    left: CType
    right: CType
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InitList:
    """`{a, b}` as an initialiser."""

    items: tuple["Expr | InitList", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expr = (
    IntLit
    | FloatLit
    | BoolLit
    | Name
    | Member
    | Index
    | Call
    | Unary
    | Postfix
    | Binary
    | Assign
    | Ternary
    | Cast
    | SizeOf
    | SameType
)


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Declarator:
    """One declared name: its full type, array extents (None for `[]`), initialiser.

    `call_init` marks `dim3 g(a, b)`: the initialiser is then an InitList."""

    name: str
    type: CType
    extents: tuple["Expr | None", ...] = ()
    init: "Expr | InitList | None" = None
    call_init: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Decl:
    """A declaration; `storage` lists `static extern shared constant constexpr device` in that order;
    `align` is the argument of `__align__`."""

    storage: tuple[str, ...]
    declarators: tuple[Declarator, ...]
    align: "Expr | None" = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ExprStmt:
    """An expression for its effect."""

    expr: Expr
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """`{ ... }`."""

    body: tuple["Stmt", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """`;`."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """`if [constexpr] (cond) then [else other]`."""

    cond: Expr
    then: "Stmt"
    other: "Stmt | None" = None
    constexpr: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For:
    """`for (init; cond; step) body`; `unroll` is the text after `#pragma unroll`, None without one."""

    init: "Decl | ExprStmt | None"
    cond: Expr | None
    step: Expr | None
    body: "Stmt"
    unroll: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class While:
    """`while (cond) body`."""

    cond: Expr
    body: "Stmt"
    unroll: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DoWhile:
    """`do body while (cond);`."""

    body: "Stmt"
    cond: Expr
    unroll: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """`return [value];`."""

    value: Expr | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Break:
    """`break;`."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """`continue;`."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Launch:
    """`kernel<targs><<<config>>>(args);`, only in the launcher."""

    kernel: str
    targs: tuple["Expr | CType", ...]
    config: tuple[Expr, ...]
    args: tuple[Expr, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StaticAssert:
    """`static_assert(cond, "message");`, `message` with its quotes."""

    cond: Expr
    message: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """`typename std::conditional<cond, then, other>::type`."""

    cond: Expr
    then: "CType | Conditional"
    other: "CType | Conditional"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alias:
    """`using name = type;`, or `typedef type name;`."""

    name: str
    type: CType | Conditional
    typedef: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Stmt = (
    StaticAssert
    | Alias
    | Decl
    | ExprStmt
    | Block
    | Empty
    | If
    | For
    | While
    | DoWhile
    | Return
    | Break
    | Continue
    | Launch
)


# ---------------------------------------------------------------- file scope


@dataclass(frozen=True, slots=True)
class TemplateParam:
    """`typename T` (`type` is None) or `int N`, with an optional default."""

    name: str
    type: CType | None
    default: "Expr | CType | None" = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Param:
    """A function parameter; `extents` of an array parameter `float a[4][8]`, which is a pointer. The name
    is empty where a prototype leaves it out."""

    type: CType
    name: str
    extents: tuple["Expr | None", ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    default: "Expr | None" = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function. `targs` are the arguments of an explicit specialisation; the parser rewrites those, so that
    a module has none. `kind` is `global`, `device` or `host` (the launcher). `specifiers` keeps the words
    that change no meaning (`static`, `inline`, `extern "C"`), `bounds` the launch bounds."""

    kind: str
    specifiers: tuple[str, ...]
    template: tuple[TemplateParam, ...]
    returns: CType
    name: str
    params: tuple[Param, ...]
    body: Block
    bounds: tuple[Expr, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    targs: tuple["Expr | CType", ...] = ()


@dataclass(frozen=True, slots=True)
class Prototype:
    """A function declared before it is defined: `head` is the function with an empty body."""

    head: Function
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Using:
    """`using namespace name;`."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Struct:
    """`struct Name { fields };`, plain data only."""

    name: str
    fields: tuple[Decl, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Define:
    """A macro as it was defined; its uses are already expanded in the AST."""

    name: str
    params: tuple[str, ...] | None
    body: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Include:
    """A header the language knows, as written with its brackets."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Item = Function | Prototype | Struct | Decl | StaticAssert | Alias | Using


@dataclass(frozen=True, slots=True)
class Module:
    """A whole candidate. `skipped` are the lines that an `#if` leaves out."""

    includes: tuple[Include, ...]
    defines: tuple[Define, ...]
    items: tuple[Item, ...]
    skipped: tuple[Span, ...] = field(default=(), compare=False, repr=False)

    def functions(self, kind: str) -> tuple[Function, ...]:
        """All functions of a kind, in source order."""
        return tuple(i for i in self.items if isinstance(i, Function) and i.kind == kind)
