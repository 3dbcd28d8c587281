"""Functions: kernels to core kernels, helpers inlined where they are called."""

from dataclasses import replace

from semantics import ast
from semantics.convert import convert, type_of
from semantics.core import IntType, IParam, Kernel, RParam, Scalar, Space
from semantics.declare import alias, freeze, global_item
from semantics.effects import addressed
from semantics.elaborate import evaluate, locate
from semantics.flow import assigned, escapes
from semantics.lexer import TYPE_WORDS
from semantics.lower import function_body, sequence
from semantics.pointers import recast
from semantics.reserved import reserved_function
from semantics.span import Refusal, Span
from semantics.state import Frame, State, Unit
from semantics.tidy import compact
from semantics.types import resolve
from semantics.values import (
    BYTE,
    BoolTy,
    Cell,
    CellRow,
    Entity,
    Int,
    Lost,
    Members,
    Nothing,
    Null,
    Ptr,
    PtrTy,
    PtrVar,
    Real,
    RealTy,
    Register,
    StructTy,
    Ty,
    Value,
    VecTy,
    VoidTy,
    constant,
    is_constant,
    literal,
    show,
)

_DEPTH = 24
_CALLS = 4000
TemplateArg = int | Ty


def make_unit(module: ast.Module) -> Unit:
    """Helpers and structs of a module. Refuses two functions of one name."""
    functions: dict[str, ast.Function] = {}
    names: set[str] = set()
    for item in module.items:
        if isinstance(item, ast.Function):
            if item.name in names:
                raise Refusal(
                    f"function {item.name} is defined twice", item.span, "overloads are outside the language"
                )
            names.add(item.name)
            if reserved_function(item.name):
                raise Refusal(f"{item.name} is a function of CUDA already", item.span, "choose another name")
            if item.kind == "device":
                functions[item.name] = item
    for item in module.items:
        if isinstance(item, ast.Prototype):
            _check_prototype(item, module)
    unit = Unit(functions, {}, inline_call)
    for item in module.items:
        if isinstance(item, ast.Prototype):
            unit.prototypes.setdefault(item.head.name, []).append(item.head)
    st = State(unit)
    for item in module.items:
        if isinstance(item, ast.Alias):
            alias(st, item)
        if isinstance(item, ast.Struct):
            if item.name in unit.structs or item.name in TYPE_WORDS:
                raise Refusal(f"type {item.name} is defined already", item.span, "choose another name")
            unit.structs[item.name] = _struct(st, item)
    return unit


def _check_prototype(prototype: ast.Prototype, module: ast.Module) -> None:
    """A prototype declares a function of the module, with its parameters."""
    head = prototype.head
    found = next((i for i in module.items if isinstance(i, ast.Function) and i.name == head.name), None)
    if found is None:
        raise Refusal(f"function {head.name} is declared but not defined", prototype.span, "define it")
    mine, other = ([(p.type, p.extents) for p in f.params] for f in (head, found))
    if (head.kind, head.returns, mine) != (
        found.kind,
        found.returns,
        other,
    ) or head.template != found.template:
        raise Refusal(f"{head.name} is declared and defined differently", prototype.span, "use one form")


def defaults(module_unit: Unit, f: ast.Function) -> tuple[ast.Expr | None, ...]:
    """Default arguments of a function's parameters, in the definition or in a prototype."""
    found = [p.default for p in f.params]
    for head in module_unit.prototypes.get(f.name, ()):
        found = [mine or p.default for mine, p in zip(found, head.params, strict=True)]
    return tuple(found)


def _struct(st: State, item: ast.Struct) -> StructTy:
    fields: list[tuple[str, Ty]] = []
    for d in item.fields:
        for v in d.declarators:
            if d.storage or v.extents or v.init is not None or v.type.pointer or v.type.const:
                raise Refusal("a struct holds plain scalars and vectors only", v.span)
            fields.append((v.name, resolve(st, v.type)))
    return StructTy(item.name, tuple(fields))


# ---------------------------------------------------------------- kernels


def lower_kernel(module: ast.Module, unit: Unit, f: ast.Function, targs: tuple[TemplateArg, ...]) -> Kernel:
    """One `__global__` function, specialised. Raises Refusal."""
    st = State(unit)
    for item in module.items:
        global_item(st, item)
    if f.returns.base != "void" or f.returns.pointer:
        raise Refusal("a kernel returns void", f.span)
    st.scopes.append({})
    st.types.append({})
    bind_template(st, f, list(targs), f.span)
    st.stack = st.instance = (f.name,)
    st.assigned, st.addressed = assigned(f.body, st.unit.functions), addressed(f.body)
    params = tuple(_kernel_param(st, p) for p in f.params)
    function_body(st, f.body.body, Frame(VoidTy()))
    unused = next((a for a in st.arrays if a.elem == "byte"), None)
    if unused is not None:
        st.arrays[st.arrays.index(unused)] = replace(unused, elem="float")
    kernel = Kernel(
        f.name,
        params,
        tuple(st.arrays),
        tuple(st.scalars),
        tuple(st.int_vars),
        tuple(st.real_vars),
        tuple(st.out),
        f.span,
    )
    return compact(kernel)


def _kernel_param(st: State, p: ast.Param) -> tuple[str, int]:
    if p.extents:
        raise Refusal("a kernel parameter is a scalar or a pointer", p.span, f"write a pointer: *{p.name}")
    ty = resolve(st, p.type)
    match ty:
        case PtrTy(elem, const):
            scalar = elem.elem if isinstance(elem, VecTy) else elem
            if not isinstance(scalar, IntType | RealTy):
                raise Refusal(f"pointers to {show(elem)} are outside the language", p.span)
            array = st.array(p.name, Space.GLOBAL, show(scalar), None, const, p.type.restrict)
            value = Ptr(array, None, elem, const)
            st.bind(p.name, _pointer_param(st, p, value), p.span)
            return "array", array
        case IntType():
            index = _scalar(st, p, ty)
            _scalar_param(st, p, Int(IParam(index, ty), ty), ty)
        case BoolTy():
            index = _scalar(st, p, IntType.I32)
            truth = convert(Int(IParam(index, IntType.I32), IntType.I32), ty, p.span)
            _scalar_param(st, p, truth, ty)
        case RealTy():
            index = _scalar(st, p, None)
            _scalar_param(st, p, Real(RParam(index), ty), ty)
        case _:
            raise Refusal(f"a kernel parameter of type {show(ty)} is outside the language", p.span)
    return "scalar", index


def _scalar(st: State, p: ast.Param, kind: IntType | None) -> int:
    st.scalars.append(Scalar(p.name, kind))
    return len(st.scalars) - 1


def _scalar_param(st: State, p: ast.Param, value: Value, ty: Ty) -> None:
    if p.name not in st.assigned:
        st.bind(p.name, value, p.span)
        return
    place = st.variable(p.name, ty, p.span, p.type.const)
    st.initialise(place, value, p.span)
    st.bind(p.name, place, p.span)


def _pointer_param(st: State, p: ast.Param, value: Ptr) -> Entity:
    if p.name not in st.assigned:
        return value
    var = st.int_var(p.name, IntType.I64)
    place = PtrVar(value.array, var, value.elem, value.const, value.dims)
    st.initialise(place, value, p.span)
    return replace(place, fixed=p.type.const_pointer, name=p.name)


# ---------------------------------------------------------------- templates


def bind_template(st: State, f: ast.Function, targs: list[TemplateArg], span: Span) -> None:
    """Bind template parameters to arguments, defaults filled in, in the innermost scope."""
    if len(targs) > len(f.template):
        raise Refusal(f"{f.name} takes {len(f.template)} template arguments, not {len(targs)}", span)
    for k, p in enumerate(f.template):
        if k < len(targs):
            arg = targs[k]
        elif p.default is not None:
            arg = template_argument(st, p.default)
        else:
            raise Refusal(f"template argument {p.name} of {f.name} is missing", span)
        bind_parameter(st, p, arg, span)


def bind_parameter(st: State, p: ast.TemplateParam, arg: TemplateArg, span: Span) -> None:
    """Bind one template parameter."""
    if p.type is None:
        if isinstance(arg, int):
            raise Refusal(f"template argument {p.name} must be a type", span)
        st.types[-1][p.name] = arg
        return
    if not isinstance(arg, int):
        raise Refusal(f"template argument {p.name} must be a constant", span)
    ty = resolve(st, p.type)
    if not isinstance(ty, IntType | BoolTy):
        raise Refusal("template parameters are integers or types", p.span)
    st.bind(p.name, convert(literal(arg, _fitting(arg)), ty, span), span)


def _fitting(value: int) -> IntType:
    return next(k for k in IntType if k.low <= value <= k.high)


def template_argument(st: State, arg: ast.Expr | ast.CType) -> TemplateArg:
    """A template argument as a type or a constant."""
    if isinstance(arg, ast.CType):
        return resolve(st, arg)
    value = evaluate(st, arg)
    known = constant(value)
    if known is None:
        raise Refusal("a template argument must be a compile-time constant", arg.span)
    return known


# ---------------------------------------------------------------- helpers


def with_defaults(unit: Unit, f: ast.Function, e: ast.Call) -> ast.Call:
    """The call with the default arguments it leaves out. Raises Refusal for a wrong number of them."""
    rest = defaults(unit, f)[len(e.args) :]
    if len(e.args) > len(f.params) or any(d is None for d in rest):
        raise Refusal(f"{f.name} takes {len(f.params)} arguments, not {len(e.args)}", e.span)
    return replace(e, args=(*e.args, *(d for d in rest if d is not None)))


def inline_call(st: State, f: ast.Function, e: ast.Call) -> Value:
    """Inline a helper: arguments to registers, body in a frame of its own, the result as a value."""
    if f.name in st.stack:
        raise Refusal(f"{f.name} calls itself; recursion is outside the language", e.span, "use a loop")
    if len(st.stack) > _DEPTH:
        raise Refusal(f"helpers nest deeper than {_DEPTH}", e.span)
    st.inlined += 1
    if st.inlined > _CALLS:
        raise Refusal(f"more than {_CALLS} calls of helpers in one kernel", e.span, "use loops")
    e = with_defaults(st.unit, f, e)
    arguments: list[Entity] = []
    for p, a in zip(f.params, e.args, strict=True):
        if p.type.reference and not p.type.const:
            arguments.append(freeze(st, locate(st, a), a.span))
        else:
            arguments.append(evaluate(st, a))
    targs = [template_argument(st, t) for t in e.targs]
    saved = st.scopes, st.types, st.stack, st.assigned, st.addressed, st.instance
    st.scopes, st.types = [saved[0][0], {}], [saved[1][0], {}]
    st.assigned, st.addressed = assigned(f.body, st.unit.functions), addressed(f.body)
    try:
        _bind_arguments(st, f, e, arguments, targs)
        types = tuple(show(t) for t in st.types[-1].values())
        st.stack = (*saved[2], f.name)
        st.instance = (f.name, *types, *_constants(st, f))
        return _run(st, f, e)
    finally:
        st.scopes, st.types, st.stack, st.assigned, st.addressed, st.instance = saved


def _constants(st: State, f: ast.Function) -> tuple[str, ...]:
    return tuple(str(st.scopes[1].get(p.name)) for p in f.template if p.type is not None)


def _bind_arguments(
    st: State, f: ast.Function, e: ast.Call, arguments: list[Entity], targs: list[TemplateArg]
) -> None:
    for p, targ in zip(f.template, targs, strict=False):
        bind_parameter(st, p, targ, e.span)
    if len(targs) > len(f.template):
        raise Refusal(f"{f.name} takes {len(f.template)} template arguments, not {len(targs)}", e.span)
    open_types = {p.name for p in f.template[len(targs) :] if p.type is None}
    for param, value in zip(f.params, arguments, strict=True):
        if param.type.base in open_types and param.type.base not in st.types[-1]:
            st.types[-1][param.type.base] = _deduce(param, value, e.span)
    for p in f.template[len(targs) :]:
        if p.name in st.types[-1] or p.name in st.scopes[-1]:
            continue
        if p.default is None:
            raise Refusal(
                f"template argument {p.name} of {f.name} cannot be deduced", e.span, "write it in the call"
            )
        bind_parameter(st, p, template_argument(st, p.default), e.span)
    for param, value, arg in zip(f.params, arguments, e.args, strict=True):
        _bind_argument(st, param, value, arg.span)


def _deduce(param: ast.Param, value: Entity, span: Span) -> Ty:
    if isinstance(value, Ptr | PtrVar):
        return value.elem
    if param.type.pointer:
        raise Refusal(f"argument {param.name} must be a pointer", span)
    if isinstance(value, Lost):
        raise Refusal("this pointer may point into different arrays here", span)
    return value.type if isinstance(value, Register | Members | Cell | CellRow) else type_of(value, span)


def _bind_argument(st: State, p: ast.Param, value: Entity, span: Span) -> None:
    ty = resolve(st, p.type, value=False)
    if p.type.reference and not p.type.const:
        own = value.elem if isinstance(value, PtrVar) else getattr(value, "type", None)
        if own != (ty.elem if isinstance(ty, PtrTy) else ty):
            raise Refusal(f"a reference to {show(ty)} needs a variable of that type", span)
        st.bind(p.name, value, span)
        return
    assert isinstance(value, Value)
    if p.extents:
        st.bind(p.name, _array_argument(st, p, value, ty, span), span)
        return
    if isinstance(ty, PtrTy):
        st.bind(p.name, _pointer_argument(st, p, value, ty, span), span)
        return
    converted = convert(value, ty, span)
    if p.name not in st.assigned and is_constant(converted):
        st.bind(p.name, converted, span)
        return
    place = st.variable(p.name, ty, span, p.type.const)
    st.initialise(place, converted, span)
    st.bind(p.name, place, span)


def _array_argument(st: State, p: ast.Param, value: Value, ty: Ty, span: Span) -> Entity:
    """An array parameter is a pointer to what lies below its first extent."""
    dims = tuple(constant(evaluate(st, e)) if e is not None else None for e in p.extents[1:])
    if not isinstance(value, Ptr) or value.elem != ty or value.dims != dims:
        raise Refusal(f"the argument does not match the array parameter {p.name}", span)
    if p.name in st.assigned:
        raise Refusal(f"the array parameter {p.name} is moved", p.span, "declare it as a pointer")
    if value.const and not p.type.const:
        raise Refusal("a pointer to const does not convert to a pointer to non-const", span, "add const")
    kept = st.copy(replace(value, const=value.const or p.type.const), span)
    return kept if isinstance(kept, Ptr) else value


def _pointer_argument(st: State, p: ast.Param, value: Value, ty: PtrTy, span: Span) -> Entity:
    if isinstance(value, Ptr) and value.dims:
        raise Refusal("a 2-D array does not convert to this pointer", span, "pass &a[0][0]")
    if isinstance(value, Ptr) and value.elem == BYTE:
        value = recast(st, value, ty, span)
    pointer = convert(value, ty, span)
    if isinstance(pointer, Null):
        return pointer
    assert isinstance(pointer, Ptr)
    if p.name in st.assigned:
        return _pointer_param(st, p, pointer)
    kept = st.copy(pointer, span)
    return kept if isinstance(kept, Ptr) else pointer


def _run(st: State, f: ast.Function, e: ast.Call) -> Value:
    returns = resolve(st, f.returns)
    if isinstance(returns, PtrTy):
        raise Refusal(
            f"helper {f.name} returns a pointer, which is outside the language", f.span, "return an index"
        )
    body = f.body.body
    last = body[-1] if body else None
    straight = (
        isinstance(last, ast.Return) and last.value is not None and not any(escapes(s) for s in body[:-1])
    )
    if (
        straight
        and isinstance(last, ast.Return)
        and last.value is not None
        and not isinstance(returns, VoidTy)
    ):
        saved = st.frame, st.loops
        st.frame, st.loops = Frame(returns), []
        sequence(st, list(body[:-1]))
        value = convert(evaluate(st, last.value), returns, last.span)
        st.frame, st.loops = saved
        return value
    frame = Frame(returns)
    function_body(st, body, frame)
    if isinstance(returns, VoidTy):
        return Nothing()
    if frame.result is None:
        raise Refusal(f"helper {f.name} never returns a value", f.span)
    return st.read(frame.result, e.span)
