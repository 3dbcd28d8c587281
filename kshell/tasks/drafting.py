"""From what a model proposes to a Task. The proposal is data: its forward function is lines of arithmetic
over a closed list of operations, checked before anything runs, and it first runs in a process of its own."""

import ast
import re
from collections.abc import Mapping
from typing import Any

from agents.llm.failures import LLMFailure
from agents.llm.ledger import CapReached, PriceUnknown
from agents.llm.manifest import NoManifest, draft
from agents.llm.synthesizer import choose
from kshell.config import Config
from kshell.engine.settings import Settings
from kshell.errors import UserError
from kshell.tasks.making import Draft
from kshell.tasks.module_text import module_text
from kshell.tasks.operations import OPERATIONS
from semantics.axes import evaluate
from semantics.span import Refusal
from semantics.task import Roofline, Task, Tensor

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_TAKEN = frozenset(("torch", "nn", "Tensor", "Model", "self"))
_MOST = 64
_FUNCTIONS = frozenset(OPERATIONS) - frozenset(
    ("getattr", "getitem", "truediv", "radd", "rsub", "rmul", "iadd", "isub", "imul", "itruediv")
)
_NODES = (
    ast.Module, ast.Assign, ast.Return, ast.Expr, ast.Name, ast.Load, ast.Store, ast.Constant, ast.BinOp,
    ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.Call, ast.Attribute, ast.Tuple,
    ast.keyword,
)  # fmt: skip


class Bad(ValueError):
    """A proposal that does not hold; the message is one line."""


def operations() -> str:
    """The functions a proposal may use."""
    return ", ".join(sorted(_FUNCTIONS))


def checked_lines(lines: list[str], names: set[str]) -> list[str]:
    """The lines of a forward function, when they are assignments and a return over `names` and the closed
    list of functions. Raises Bad."""
    text = "\n".join(lines)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        raise Bad("forward is not lines of Python, each an assignment or a return") from None
    known = set(names)
    for statement in tree.body:
        _check_expression(statement, known)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if name not in names | _TAKEN:
                known.add(name)
            case ast.Return(value=value) if value is not None and statement is tree.body[-1]:
                pass
            case _:
                raise Bad(
                    f"`{ast.unparse(statement)[:80]}` is no assignment to a new name and no last return"
                )
    if not tree.body or not isinstance(tree.body[-1], ast.Return):
        raise Bad("forward does not end in a return")
    return [ast.unparse(statement) for statement in tree.body]


def _check_expression(statement: ast.stmt, known: set[str]) -> None:
    functions: set[int] = set()
    for node in ast.walk(statement):
        if not isinstance(node, _NODES):
            raise Bad(f"{type(node).__name__} is not allowed in forward")
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name) as function):
                if name not in _FUNCTIONS:
                    raise Bad(f"the function {name!r} is not in the list")
                functions.add(id(function))
                if isinstance(owner, ast.Name) and owner.id == "torch":
                    functions.add(id(owner))
            case ast.Call():
                raise Bad("only torch.NAME(...) and methods may be called")
            case ast.Attribute() if id(node) not in functions:
                raise Bad(f"the attribute {node.attr!r} is not a call of a listed function")
            case ast.Name(id=name, ctx=ast.Load()) if name not in known and id(node) not in functions:
                raise Bad(f"{name!r} is no input, axis or earlier line")
            case ast.Constant(value=value) if not isinstance(value, int | float):
                raise Bad(f"the constant {value!r} is not a number")
            case _:
                pass


def build(proposal: Mapping[str, Any]) -> Draft:
    """The draft of a proposal; nothing of it has run yet. Raises Bad."""
    name = _name(proposal.get("name"), "name")
    axes = proposal.get("axes")
    if not isinstance(axes, dict) or not axes or len(axes) > 12:
        raise Bad("axes maps each size to its value")
    for axis, value in axes.items():
        _name(axis, "axis")
        if type(value) is not int or not 1 <= value <= 2**24:
            raise Bad(f"axis {axis} has the value {value!r}; give a whole number from 1 to {2**24}")
    inputs, outputs = (_tensors(proposal.get(kind), kind, axes) for kind in ("inputs", "outputs"))
    names = [t.name for t in (*inputs, *outputs)] + list(axes)
    if len(set(names)) != len(names):
        raise Bad("two tensors or axes have the same name")
    lines = proposal.get("forward")
    if not isinstance(lines, list) or not 0 < len(lines) <= _MOST:
        raise Bad(f"forward is a list of 1 to {_MOST} lines")
    if not all(isinstance(line, str) for line in lines):
        raise Bad("each line of forward is text")
    body = checked_lines(lines, {t.name for t in inputs} | set(axes))
    title = " ".join(str(proposal.get("title") or name).split())[:120]
    assumptions = proposal.get("assumptions")
    if not isinstance(assumptions, list):
        raise Bad("assumptions is a list of lines")
    said = tuple(" ".join(str(a).split())[:200] for a in assumptions[:20] if str(a).strip())
    moved = " + ".join("4*" + "*".join(f"({s})" for s in (t.shape or (1,))) for t in (*inputs, *outputs))
    task = Task(
        name=name.lower(),
        title=title,
        family="custom",
        axes=axes,
        inputs=inputs,
        outputs=outputs,
        reference=module_text(title, [t.name for t in inputs], inputs, axes, body, len(outputs)),
        roofline=Roofline(flops="1", bytes=moved),
    )
    return Draft(task, (*said, "float32, contiguous, row-major"))


def _name(value: object, what: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value in _TAKEN:
        raise Bad(f"{value!r} cannot be the name of a {what}: letters, digits and underscores")
    return value


def _tensors(value: object, kind: str, axes: Mapping[str, int]) -> tuple[Tensor, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= 16:
        raise Bad(f"{kind} is a list of tensors")
    found = []
    for entry in value:
        if not isinstance(entry, dict) or not isinstance(entry.get("shape"), list):
            raise Bad(f"each of {kind} has a name and a shape")
        shape = tuple(entry["shape"])
        for size in shape:
            if not isinstance(size, str | int) or isinstance(size, bool):
                raise Bad(f"the size {size!r} of {kind} is no name, number or expression")
            try:
                ok = evaluate(size, axes) >= 1
            except ValueError as error:
                raise Bad(str(error)) from None
            if not ok:
                raise Bad(f"the size {size!r} is less than one")
        found.append(Tensor(name=_name(entry.get("name"), "tensor"), shape=shape))
    return tuple(found)


async def held(proposal: Mapping[str, Any]) -> "Draft | str":
    """The draft of a proposal that builds, runs in a process of its own, and has a meaning in the spec
    language; else what is wrong with it, one line."""
    from kshell.tasks.pytorch import measured
    from kshell.tasks.rehearsal import rehearse

    try:
        made = build(proposal)
        await rehearse(made.task)
        return Draft(measured(made.task), made.assumptions)
    except (Bad, UserError, ValueError) as error:
        return " ".join(str(error).split())[:400]
    except Refusal as refusal:
        return str(refusal)


async def by_model(text: str, code: str, model: str, max_usd: float | None, config: Config) -> Draft:
    """The draft a model makes of a sentence or of C code, with distributions chosen by the synthesizer.
    Raises UserError."""
    from kshell.models import team

    roles = team(Settings(model=model, max_usd=max_usd), config)
    try:
        writer = roles.llm("manifest")
        made = await draft(writer, text, code, operations(), held)
        task = await choose(roles.llm("synthesis"), made.task)
    except (NoManifest, LLMFailure, CapReached, PriceUnknown) as error:
        raise UserError(f"no task was made of it: {error}") from None
    paid = roles.spent()
    cost = f"{paid.tokens} tokens, {paid.usd:.4f} dollars" if paid.usd else f"{paid.tokens} tokens"
    return Draft(task, made.assumptions, f"{writer.model}, {cost}")
