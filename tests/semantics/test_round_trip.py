"""print(parse(s)) parses to the same AST, for generated modules and for every mutation that parses;
random text and mutated kernels are refused, never crash."""

import random
import string
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semantics import ast
from semantics.lexer import tokenize
from semantics.parser import parse
from semantics.printer import print_expr, print_module
from semantics.program import load
from semantics.span import Refusal
from tests.semantics.corpus_tasks import kernels

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

names = st.sampled_from(["a", "b", "acc", "i", "x", "y", "threadIdx", "_v1"])
members = st.sampled_from(["x", "y", "z", "w", "sum"])
bases = st.sampled_from(
    [
        "float",
        "int",
        "unsigned",
        "long long",
        "unsigned long long",
        "size_t",
        "bool",
        "double",
        "float4",
        "half",
    ]
)
types = st.builds(
    ast.CType,
    base=bases,
    const=st.booleans(),
    pointer=st.integers(0, 1),
)
targets = st.builds(ast.Name, names)
literals = st.one_of(
    st.builds(ast.IntLit, st.sampled_from(["0", "1", "42", "0xffffffffu", "7LL", "3u", "010"])),
    st.builds(ast.FloatLit, st.sampled_from(["0.0f", "1e-5f", ".5", "3.", "2.5e+3f"])),
    st.builds(ast.BoolLit, st.booleans()),
)
binary_operators = st.sampled_from("+ - * / % << >> & | ^ && || == != < > <= >= ,".split())
assign_operators = st.sampled_from("= += -= *= /= %= <<= >>= &= |= ^=".split())


def _grow(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    args = st.lists(inner, max_size=3).map(tuple)
    places = st.one_of(
        targets,
        st.builds(ast.Index, targets, inner),
        st.builds(ast.Member, targets, members),
        st.builds(ast.Unary, st.just("*"), inner),
    )
    return st.one_of(
        st.builds(ast.Member, inner, members),
        st.builds(ast.Index, inner, inner),
        st.builds(ast.Call, st.sampled_from(["expf", "helper", "min"]), st.just(()), args),
        st.builds(ast.Unary, st.sampled_from(["+", "-", "!", "~", "*", "&", "++", "--"]), inner),
        st.builds(ast.Postfix, st.sampled_from(["++", "--"]), inner),
        st.builds(ast.Binary, binary_operators, inner, inner),
        st.builds(ast.Assign, assign_operators, places, inner),
        st.builds(ast.Ternary, inner, inner, inner),
        st.builds(
            ast.Cast,
            types,
            inner.map(lambda e: (e,)),
            st.sampled_from(["c", "static_cast", "reinterpret_cast"]),
        ),
        st.builds(
            ast.Cast,
            st.sampled_from(["float", "int"]).map(ast.CType),
            inner.map(lambda e: (e,)),
            st.just("call"),
        ),
        st.builds(ast.SizeOf, types),
        st.builds(ast.SameType, types, types),
    )


expressions = st.recursive(st.one_of(targets, literals), _grow, max_leaves=12)
initialisers = st.recursive(
    expressions, lambda inner: st.builds(ast.InitList, st.lists(inner, max_size=3).map(tuple)), max_leaves=4
)


@st.composite
def declarations(draw: st.DrawFn) -> ast.Decl:
    first = draw(types)
    declarators = []
    for _ in range(draw(st.integers(1, 2))):
        kind = replace(first, pointer=draw(st.integers(0, 1)))
        extents = draw(st.lists(st.one_of(literals, targets), max_size=2).map(tuple))
        declarators.append(
            ast.Declarator(draw(names), kind, extents, draw(st.one_of(st.none(), initialisers)))
        )
    storage = draw(
        st.sampled_from([(), ("static",), ("constexpr",), ("__shared__",), ("extern", "__shared__")])
    )
    return ast.Decl(storage, tuple(declarators), draw(st.one_of(st.none(), st.just(ast.IntLit("16")))))


def _blocks(inner: st.SearchStrategy[ast.Stmt]) -> st.SearchStrategy[ast.Stmt]:
    block = st.builds(ast.Block, st.lists(inner, max_size=3).map(tuple))
    unroll = st.sampled_from([None, "", "4"])
    return st.one_of(
        block,
        st.builds(ast.If, expressions, block, st.one_of(st.none(), inner), st.booleans()),
        st.builds(ast.While, expressions, inner, unroll),
        st.builds(ast.DoWhile, inner, expressions, unroll),
        st.builds(
            ast.For,
            st.one_of(st.none(), declarations(), st.builds(ast.ExprStmt, expressions)),
            st.one_of(st.none(), expressions),
            st.one_of(st.none(), expressions),
            inner,
            unroll,
        ),
    )


simple = st.one_of(
    st.builds(ast.ExprStmt, expressions),
    declarations(),
    st.just(ast.Empty()),
    st.builds(ast.Alias, st.just("Whole"), types.map(lambda t: replace(t, pointer=0)), st.booleans()),
    st.just(ast.Break()),
    st.just(ast.Continue()),
    st.builds(ast.Return, st.one_of(st.none(), expressions)),
)
statements = st.recursive(simple, _blocks, max_leaves=5)


@st.composite
def modules(draw: st.DrawFn) -> ast.Module:
    body = ast.Block(tuple(draw(st.lists(statements, max_size=4))))
    params = tuple(ast.Param(draw(types), name) for name in draw(st.lists(names, max_size=3, unique=True)))
    helper = ast.Function(
        "device",
        (),
        (),
        draw(types),
        "helper",
        tuple(replace(p, default=draw(st.one_of(st.none(), expressions))) for p in params),
        body,
    )
    unnamed = tuple(ast.Param(p.type, "") for p in params)
    prototype = ast.Prototype(replace(helper, params=unnamed, body=ast.Block(())))
    template = draw(
        st.sampled_from(
            [
                (),
                (ast.TemplateParam("N", ast.CType("int"), None),),
                (
                    ast.TemplateParam("T", None, None),
                    ast.TemplateParam("F", ast.CType("bool"), ast.IntLit("1")),
                ),
            ]
        )
    )
    kernel = ast.Function(
        "global",
        (),
        template,
        ast.CType("void"),
        "kernel",
        params,
        body,
        draw(st.sampled_from([(), (ast.IntLit("256"),), (ast.IntLit("256"), ast.IntLit("2"))])),
    )
    targs = (ast.CType("float"), ast.IntLit("3")) if template else ()
    launch = ast.Launch("kernel", targs, tuple(draw(st.lists(expressions, min_size=2, max_size=3))), ())
    host = ast.Function(
        "host", ("extern", '"C"'), (), ast.CType("void"), "launch", params, ast.Block((launch,))
    )
    struct = ast.Struct("Pair", (ast.Decl((), (ast.Declarator("sum", ast.CType("float")),)),))
    return ast.Module(
        (ast.Include("<math.h>"),),
        (ast.Define("UNUSED", ("p",), "( p ) + 1"), ast.Define("EMPTY", None, "")),
        (ast.Using("std"), struct, prototype, draw(declarations()), kernel, helper, host),
    )


@given(expressions)
@QUICK
def test_printed_expression_parses_to_itself(e: ast.Expr) -> None:
    source = f"__global__ void k() {{ {print_expr(e)}; }}"
    (kernel,) = parse(source).items
    assert isinstance(kernel, ast.Function)
    assert kernel.body.body == (ast.ExprStmt(e),)


@given(modules())
@QUICK
def test_printed_module_parses_to_itself(module: ast.Module) -> None:
    assert parse(print_module(module)) == module


@given(st.text(alphabet=string.printable, max_size=200))
@QUICK
def test_random_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse(text)
    except Refusal as refusal:
        assert refusal.reason


@given(st.text(max_size=80))
@QUICK
def test_random_unicode_is_parsed_or_refused(text: str) -> None:
    try:
        load(f"__global__ void k(float* y) {{ {text} }}\nvoid launch(float* y) {{ k<<<1, 1>>>(y); }}")
    except Refusal as refusal:
        assert refusal.render(text)


def _mutations(source: str, rng: random.Random, count: int) -> list[str]:
    """The source with a token deleted, doubled, swapped or replaced."""
    tokens = [t for t in tokenize(source) if t.kind != "newline" or t.text]
    texts = [t.text for t in tokens]
    out = []
    for _ in range(count):
        changed = list(texts)
        k, other = rng.randrange(len(changed)), rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                del changed[k]
            case 1:
                changed.insert(k, changed[k])
            case 2:
                changed[k], changed[other] = changed[other], changed[k]
            case 3:
                changed[k] = changed[other]
            case _:
                changed[k] = rng.choice(
                    ["0", "*", "&", "-1", "}", "float4", "x", "n", "1.5f", "<", "return", "++"]
                )
        out.append(" ".join(changed))
    return out


@pytest.mark.parametrize("path", kernels(), ids=lambda p: p.stem)
def test_mutated_kernels_load_or_are_refused_and_print_back(path) -> None:  # type: ignore[no-untyped-def]
    rng = random.Random(path.stem)
    refused = 0
    for source in _mutations(path.read_text(), rng, 40):
        try:
            program = load(source)
        except Refusal as refusal:
            assert refusal.reason
            refused += 1
            continue
        assert parse(print_module(program.module)) == program.module
    assert refused > 0
