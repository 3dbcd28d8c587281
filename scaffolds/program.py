"""From a parsed candidate to a self-contained host program for device `cpu`.

The kernels and helpers become members of a struct in a generated C++ file; the launcher does not
appear in it: its geometry and arguments reach the program as a plan, one line a launch, computed from
the same `core.Plan` that the interpreter runs and the theorem speaks about."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from scaffolds.layout import ELEMENT_BYTES, shared_bytes
from semantics import ast, core
from semantics.printer import print_expr, print_item, print_type
from semantics.span import Refusal
from semantics.task import Task

CALLING_CONVENTION = (
    "PROGRAM --plan FILE [--in NAME=FILE]... [--out NAME=FILE]... [--times FILE] [--sets N] [--warmup N] "
    "[--repeats N] [--threads N] [--order fast|forward|reverse|random] [--seed N]; inputs are raw elements, "
    "one set after another; outputs are written with 4096 guard bytes before and behind every set; a line "
    "of times is SET NANOSECONDS DIGEST"
)

# Bytes on both sides of every buffer in an output file; the runtime has the same number.
RED_ZONE = 4096
# The bit pattern outputs, workspaces and red zones hold before a run: a quiet NaN.
POISON = 0x7FC0DEAD

# Operations that make threads wait for each other, and the member that carries each out. The first
# argument of the member is the source line.
_SYNCHRONIZING = {
    "__syncthreads": "kshell_sync",
    "__syncwarp": "kshell_warp",
    "__shfl_sync": "kshell_idx",
    "__shfl_up_sync": "kshell_up",
    "__shfl_down_sync": "kshell_down",
    "__shfl_xor_sync": "kshell_xor",
    "__ballot_sync": "kshell_ballot",
    "__any_sync": "kshell_any",
    "__all_sync": "kshell_all",
}
_FENCES = {"__threadfence": "kshell_fence", "__threadfence_block": "kshell_fence"}
_MEMBERS = {**_SYNCHRONIZING, **_FENCES}
# Marks become #line directives, so that diagnostics and debug information speak of the candidate.
_LINE_MARK = "KSHELL_LINE_"
_MARKED_LINE = re.compile(rf"^ *{_LINE_MARK}(\d+);$", re.MULTILINE)

_Node = TypeVar("_Node")


@dataclass(frozen=True, slots=True)
class HostProgram:
    """C++ text, and per launch of the launcher the kernel's name."""

    text: str
    launches: tuple[str, ...]


def cpu_folder() -> Path:
    """Folder of the shim's headers and runtime sources."""
    return Path(str(resources.files("scaffolds"))) / "cpu"


@dataclass(frozen=True, slots=True)
class _Several:
    """What a change puts in the place of one statement of a block."""

    parts: tuple[ast.Stmt, ...]


def _rewrite(node: _Node, change: Callable[[Any], Any]) -> _Node:
    """The tree with `change` applied to every node, children first."""
    if isinstance(node, tuple):
        changed = (_rewrite(n, change) for n in node)
        return tuple(  # type: ignore[return-value]
            part for n in changed for part in (n.parts if isinstance(n, _Several) else (n,))
        )
    if not is_dataclass(node) or isinstance(node, type):
        return node
    updates = {}
    for f in fields(node):
        old = getattr(node, f.name)
        new = _rewrite(old, change) if isinstance(old, tuple) or is_dataclass(old) else old
        if new is not old:
            updates[f.name] = new
    return change(replace(node, **updates) if updates else node)  # type: ignore[no-any-return]


def _walk(node: Any) -> Iterable[Any]:
    if isinstance(node, tuple):
        for n in node:
            yield from _walk(n)
    elif is_dataclass(node):
        yield node
        for f in fields(node):
            yield from _walk(getattr(node, f.name))


def _calls(function: ast.Function) -> set[str]:
    return {n.name for n in _walk(function.body) if isinstance(n, ast.Call)}


def synchronizes(module: ast.Module, kernel: str) -> bool:
    """Whether threads of a kernel wait for each other, helpers included."""
    bodies = {i.name: _calls(i) for i in module.items if isinstance(i, ast.Function)}
    seen: set[str] = set()
    todo = [kernel]
    while todo:
        name = todo.pop()
        if name in _SYNCHRONIZING:
            return True
        if name in bodies and name not in seen:
            seen.add(name)
            todo.extend(bodies[name])
    return False


def _member_call(node: Any) -> Any:
    if isinstance(node, ast.Call) and node.name in _MEMBERS:
        line = ast.IntLit(str(node.span.line), node.span)
        return replace(node, name=_MEMBERS[node.name], args=(line, *node.args))
    return node


class _SharedArrays:
    """Gives the shared arrays of one function their places in the block's arena."""

    def __init__(self, start: str) -> None:
        self.rooms = [start]

    def place(self, node: Any) -> Any:
        """A shared declaration becomes references into the arena; anything else is kept."""
        if not isinstance(node, ast.Decl) or "__shared__" not in node.storage:
            return node
        placed = []
        for d in node.declarators:
            element = print_type(replace(d.type, const=False))
            offset = " + ".join(self.rooms)
            if "extern" in node.storage:
                kind = replace(d.type, base="auto", pointer=1, const_pointer=True)
                call = f'kshell_dynamic<{element}>("{d.name}", {offset})'
            else:
                extents = "".join(f"[{print_expr(e) if e is not None else ''}]" for e in d.extents)
                kind = replace(d.type, base="auto", reference=True)
                call = f'kshell_static<{element}{extents}>("{d.name}", {offset})'
                self.rooms.append(f"kshell_room(sizeof({element}{extents}))")
            placed.append(ast.Decl((), (ast.Declarator(d.name, kind, init=ast.Name(call)),), span=node.span))
        return _Several(tuple(placed))


def _marked(statements: tuple[ast.Stmt, ...]) -> ast.Block:
    """A block in which a mark with the source line precedes every statement."""
    parts: list[ast.Stmt] = []
    for s in statements:
        if s.span.line:
            parts.append(ast.ExprStmt(ast.Name(f"{_LINE_MARK}{s.span.line}")))
        parts.append(s)
    return ast.Block(tuple(parts))


def _mark_lines(node: Any) -> Any:
    if isinstance(node, ast.Block):
        return replace(_marked(node.body), span=node.span)
    updates = {
        name: _marked((part,))
        for name in ("then", "other", "body")
        if isinstance(part := getattr(node, name, None), ast.Stmt) and not isinstance(part, ast.Block)
    }
    return replace(node, **updates) if updates else node


def _function_text(function: ast.Function, arena_start: str) -> str:
    arrays = _SharedArrays(arena_start)
    body = _rewrite(_rewrite(_rewrite(function.body, _member_call), arrays.place), _mark_lines)
    text = print_item(replace(function, body=body, specifiers=(), bounds=()))
    return _MARKED_LINE.sub(r'#line \1 "kernel.cu"', text)


def template_arguments(launch: ast.Launch, launcher: ast.Function) -> str:
    """The launch's template arguments with the launcher's constants put in."""
    if not launch.targs:
        return ""
    values = {
        d.name: d.init
        for s in launcher.body.body
        if isinstance(s, ast.Decl)
        for d in s.declarators
        if d.init is not None and not isinstance(d.init, ast.InitList)
    }

    def inline(node: Any) -> Any:
        if isinstance(node, ast.Name) and node.name in values:
            return _rewrite(values[node.name], inline)
        return node

    texts = []
    for targ in _rewrite(launch.targs, inline):
        texts.append(print_type(targ) if isinstance(targ, ast.CType) else f"({print_expr(targ)})")
    return f"<{', '.join(texts)}>"


def cpu_program(module: ast.Module) -> HostProgram:
    """The generated C++ file of a candidate. Raises Refusal when it has no launch."""
    launchers = module.functions("host")
    launches = [n for f in launchers for n in _walk(f.body) if isinstance(n, ast.Launch)]
    if len(launchers) != 1 or not launches:
        raise Refusal("the candidate has no launcher with a kernel launch")
    parts = ['#include "kshell_cpu.h"', f'#pragma message "{CALLING_CONVENTION}"']
    parts += [print_item(i) for i in module.items if not isinstance(i, ast.Function)]
    # Helpers place their arrays behind everything a kernel can have.
    functions = [
        *(_function_text(f, "131072") for f in module.functions("device")),
        *(_function_text(f, "0") for f in module.functions("global")),
    ]
    functions.append('#line 1 "launches"')
    waits = {launch.kernel: synchronizes(module, launch.kernel) for launch in launches}
    parts += ["struct kshell_code : kshell_base<uint3> {", *functions, "};"]
    if not all(waits.values()):
        parts += ["struct kshell_flat_code : kshell_base<kshell_index> {", *functions, "};"]
    parts.append('extern "C" const kshell_kernel kshell_kernels[] = {')
    for launch in launches:
        named = f"{launch.kernel}{template_arguments(launch, launchers[0])}"
        flat = "nullptr" if waits[launch.kernel] else f"kshell_entry<&kshell_flat_code::{named}>::flat"
        thread = f"kshell_entry<&kshell_code::{named}>::thread"
        parts.append(f'    {{"{launch.kernel}", {int(waits[launch.kernel])}, {thread}, {flat}}},')
    parts.append("};")
    parts.append(f'extern "C" const unsigned kshell_kernel_count = {len(launches)};')
    return HostProgram("\n".join(parts) + "\n", tuple(launch.kernel for launch in launches))


def _argument(value: str | int | Fraction) -> str:
    if isinstance(value, str):
        return f"@{value}"
    if isinstance(value, Fraction):
        return f"f:{float(value).hex()}"
    return str(int(value))


def plan_text(plan: core.Plan, task: Task) -> str:
    """The plan as the program reads it: buffers, then the launches in order."""
    inputs = {t.name for t in task.inputs}
    outputs = {t.name for t in task.outputs}
    lines = []
    for name, (count, element) in plan.buffers.items():
        role = "input" if name in inputs else "output" if name in outputs else "workspace"
        lines.append(f"buffer {name} {role} {count * ELEMENT_BYTES[element]}")
    for index, call in enumerate(plan.calls):
        args = [_argument(a) for a in call.args]
        shape = " ".join(str(n) for n in (*call.grid, *call.block))
        lines.append(
            f"call {index} {shape} {shared_bytes(call)} {call.shared_bytes} {len(args)} {' '.join(args)}"
        )
    return "\n".join(lines) + "\n"


def buffer_bytes(plan: core.Plan) -> Mapping[str, int]:
    """Size of every buffer of a plan in bytes."""
    return {name: count * ELEMENT_BYTES[element] for name, (count, element) in plan.buffers.items()}
