"""The reading of a C file is checked by running the file: its function, as a kernel of one thread in the
interpreter, against the reference that was made of it."""

from dataclasses import replace

from agents.falsifier import Attack, oracle_of_specs
from insights_db.records import Counterexample
from kshell.tasks.c.kernel import every, loop, rewritten
from kshell.tasks.c.task import Reading
from semantics import ast
from semantics.printer import print_item
from semantics.program import load

_BUFFER = "kshell_given"


def disagreement(reading: Reading, seconds: float = 1.5) -> Counterexample | None:
    """Sizes and inputs at which the reference does not give what the function gives; None when none was
    found. Raises Refusal when the function cannot be run as a kernel."""
    from kshell.tasks import reference, trace

    source = as_candidate(reading)
    oracle = oracle_of_specs(trace.spec_of, reference.compute)
    task = reading.task
    attack = Attack(load(source), source, task, task.workload(), oracle, seconds)
    finding = attack.search()
    return finding.counterexample if finding is not None else None


def as_candidate(reading: Reading) -> str:
    """The function as a candidate of its task, with one thread. An array that is updated in place is
    copied to the output first."""
    task, function = reading.task, reading.function
    parts: list[str] = []
    for item in reading.module.items:
        if isinstance(item, ast.Function) and item.name in _helpers(reading):
            parts.append(print_item(replace(item, kind="device", specifiers=())))
    copied = {given: output for output, given in task.inplace.items()}
    given = {t.name for t in task.inputs} - set(copied)
    params = [_flat(p, p.name in given) for p in function.params]
    names = [copied.get(p.name, p.name) for p in params]
    constants = [axis for axis in task.axes if axis not in names]
    params += [ast.Param(ast.CType("int"), axis) for axis in constants]
    names += constants
    body: tuple[ast.Stmt, ...] = _plain_types(_flat_indices(function), given).body
    for name, output in copied.items():
        params.append(ast.Param(ast.CType("float", const=True, pointer=1), f"{_BUFFER}_{name}"))
        names.append(name)
        shape = next(t.shape for t in task.outputs if t.name == output)
        parts.append(f"#define {_BUFFER}_{name}_size ({'*'.join(f'({s})' for s in shape)})")
        body = (_copy(f"{_BUFFER}_{name}", name), *body)
    kernel = replace(
        function, kind="global", specifiers=(), params=tuple(params), body=ast.Block(body), returns=_VOID
    )
    parts += [print_item(kernel), _launcher(reading, kernel.name, names)]
    return "\n".join(parts) + "\n"


def _copy(source: str, target: str) -> ast.For:
    at = ast.Name("kshell_k")
    move = ast.Assign("=", ast.Index(ast.Name(target), at), ast.Index(ast.Name(source), at))
    return loop(at.name, ast.Name(f"{source}_size"), ast.ExprStmt(move))


def _plain_types(body: ast.Block, read_only: set[str]) -> ast.Block:
    """The body with floats for doubles, and constant pointers into arrays that are only read."""
    constant = set(read_only)

    def change(node: object) -> object:
        if isinstance(node, ast.CType) and node.base == "double":
            return replace(node, base="float")
        if isinstance(node, ast.Declarator) and node.type.pointer:
            names = {n.name for n in every(node.init) if isinstance(n, ast.Name)}
            if names & constant:
                constant.add(node.name)
                return replace(node, type=replace(node.type, const=True))
        return node

    changed = rewritten(body, change)
    assert isinstance(changed, ast.Block)
    return changed


def _flat_indices(function: ast.Function) -> ast.Block:
    """The body with `a[i][j]` of array parameters as one index."""
    extents = {p.name: p.extents for p in function.params if len(p.extents) > 1}

    def change(node: object) -> object:
        if not isinstance(node, ast.Index):
            return node
        indices, base = [node.index], node.base
        while isinstance(base, ast.Index):
            indices.insert(0, base.index)
            base = base.base
        if not isinstance(base, ast.Name) or len(extents.get(base.name, ())) != len(indices):
            return node
        flat = indices[0]
        for index, extent in zip(indices[1:], extents[base.name][1:], strict=True):
            assert extent is not None
            flat = ast.Binary("+", ast.Binary("*", flat, extent), index)
        return ast.Index(base, flat)

    changed = rewritten(function.body, change)
    assert isinstance(changed, ast.Block)
    return changed


_VOID = ast.CType("void")


def _helpers(reading: Reading) -> set[str]:
    """Functions that the function calls, directly or through others."""
    known = {i.name: i for i in reading.module.items if isinstance(i, ast.Function)}
    found: set[str] = set()
    stack = [reading.function]
    while stack:
        for node in every(stack.pop().body):
            if isinstance(node, ast.Call) and node.name in known and node.name not in found:
                found.add(node.name)
                stack.append(known[node.name])
    return found


def _flat(param: ast.Param, read_only: bool) -> ast.Param:
    """An array is a pointer, a constant one when it is only read; doubles become floats."""
    kind = replace(param.type, base="float" if param.type.base == "double" else param.type.base)
    kind = replace(kind, const=kind.const or read_only)
    return replace(param, type=replace(kind, pointer=1) if param.extents else kind, extents=())


def _launcher(reading: Reading, kernel: str, names: list[str]) -> str:
    task = reading.task
    params = [f"const float* {t.name}" for t in task.inputs] + [f"float* {t.name}" for t in task.outputs]
    params += [f"int {axis}" for axis in task.axes]
    params += [f"float {name}" for name in task.scalars]
    unused = {p.name for p in reading.function.params} - set(task.axes) - set(task.scalars)
    unused -= {t.name for t in (*task.inputs, *task.outputs)}
    given = ["0" if name in unused else name for name in names]
    return f"void launch({', '.join(params)}) {{\n    {kernel}<<<1, 1>>>({', '.join(given)});\n}}"
