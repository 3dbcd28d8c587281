"""A Task of a C or CUDA file with one loop nest, with everything that was assumed said."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kshell.errors import UserError
from kshell.tasks.c.kernel import as_loops
from kshell.tasks.c.nest import Effect, Nest
from kshell.tasks.c.shapes import beyond
from kshell.tasks.c.terms import Cell, Poly, nodes
from kshell.tasks.c.torch_text import Printer, python_name
from kshell.tasks.module_text import module_text
from semantics import ast
from semantics.literals import int_literal
from semantics.parser import parse
from semantics.task import Roofline, Task, Tensor

_ONE_AXIS, _MORE_AXES = 16384, 128
_REALS = ("float", "double")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+\(?(\d+)\)?[ \t]*(?://.*)?$", re.M)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.M)
_MAIN = re.compile(r"^[ \t]*(?:int|void)[ \t]+main[ \t]*\(", re.M)
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(?!unroll).*$", re.M)


@dataclass(frozen=True, slots=True)
class Reading:
    """A task, what was assumed to make it, one line each, and the function it was read from."""

    task: Task
    assumptions: tuple[str, ...]
    function: ast.Function
    module: ast.Module


def read(
    path: str | Path,
    sizes: Mapping[str, int] | None = None,
    scalars: Mapping[str, float] | None = None,
    function: str | None = None,
) -> Reading:
    """The task of the loop nest in a C or CUDA file. `sizes` gives values to size names, `scalars` to
    float parameters; the others get those of the file's constants, or stated defaults.

    Raises UserError for a file that cannot be read, Refusal with the place for code that is not one
    loop nest over row-major arrays."""
    try:
        source = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read the C file: {error.strerror or error}") from None
    return reading(source, sizes or {}, scalars or {}, function)


def reading(
    source: str, sizes: Mapping[str, int], scalars: Mapping[str, float], function: str | None = None
) -> Reading:
    """`read` of a text."""
    constants = {name: int(value) for name, value in _DEFINE.findall(source)}
    text = source
    for pattern in (_DEFINE, _INCLUDE, _PRAGMA):
        text = pattern.sub("", text)
    text = _without_main(text)
    module = parse(re.sub(r"\brestrict\b", "__restrict__", text))
    constants |= _file_constants(module)
    chosen = as_loops(_chosen(module, function))
    return _Reader(module, chosen, constants, dict(sizes), dict(scalars)).reading()


def _without_main(text: str) -> str:
    """The text without its `main`, which calls what a task does not need; lines keep their numbers."""
    found = _MAIN.search(text)
    start = text.find("{", found.end()) if found else -1
    if found is None or start < 0:
        return text
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            gone = text[found.start() : at + 1]
            return text[: found.start()] + "\n" * gone.count("\n") + text[at + 1 :]
    return text


def _file_constants(module: ast.Module) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in module.items:
        if isinstance(item, ast.Decl):
            for one in item.declarators:
                if isinstance(one.init, ast.IntLit) and one.type.base == "int":
                    found[one.name] = int_literal(one.init.text)[0]
    return found


def _chosen(module: ast.Module, wanted: str | None) -> ast.Function:
    """The function to read: the one asked for, the one kernel, or the one with array parameters that
    no other calls."""
    functions = [item for item in module.items if isinstance(item, ast.Function)]
    if wanted is not None:
        for one in functions:
            if one.name == wanted:
                return one
        raise UserError(
            f"--function {wanted}: the file has {', '.join(f.name for f in functions) or 'no function'}"
        )
    kernels = [f for f in functions if f.kind == "global"]
    arrays = [f for f in functions if any(p.type.pointer or p.extents for p in f.params)]
    called = {n.name for f in functions for n in _calls(f)}
    candidates = kernels or [f for f in arrays if f.name not in called]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise beyond("the file has no function with array parameters")
    names = ", ".join(f.name for f in candidates)
    raise UserError(f"the file has several functions to read ({names}); choose one with --function NAME")


def _calls(function: ast.Function) -> list[ast.Call]:
    from kshell.tasks.c.kernel import every

    return [node for node in every(function.body) if isinstance(node, ast.Call)]


class _Reader:
    def __init__(
        self,
        module: ast.Module,
        function: ast.Function,
        constants: dict[str, int],
        sizes: dict[str, int],
        scalars: dict[str, float],
    ) -> None:
        self.module, self.function, self.constants = module, function, constants
        self.sizes, self.scalars = sizes, scalars
        self.assumed: list[str] = []
        pointers = [p for p in function.params if p.type.pointer or p.extents]
        for p in pointers:
            if p.type.base not in _REALS or p.type.pointer > 1:
                raise beyond(f"{p.name} is an array of {p.type.base}", p.span)
        self.pointers = [p.name for p in pointers]
        numbers = [p for p in function.params if p not in pointers]
        self.reals = [p.name for p in numbers if p.type.base in _REALS]
        self.integers = [p.name for p in numbers if p.type.base not in _REALS]
        if any(p.type.base == "double" for p in function.params):
            self.assumed.append("double is taken as float32")

    def reading(self) -> Reading:
        helpers = {
            f.name: f for f in self.module.items if isinstance(f, ast.Function) and f is not self.function
        }
        sizes = {*self.integers, *self.constants}
        nest = Nest(set(self.pointers), sizes, set(self.reals), helpers)
        effects = nest.run(self.function.body)
        if not effects:
            raise beyond(f"{self.function.name} stores nothing", self.function.span)
        shapes = nest.known.shapes
        self._check_coverage(effects, shapes)
        inputs = self._inputs(effects)
        outputs = {name: f"{name}_out" if name in inputs else name for name in effects}
        for name, renamed in outputs.items():
            if name != renamed:
                self.assumed.append(f"{name} is updated in place: the task reads {name} and writes {renamed}")
        printer = Printer(shapes, {*self.pointers, *sizes, *self.reals})
        results = [printer.output(effect.at, effect.value) for effect in effects.values()]
        axes = self._axes(printer, results, [shapes[n] for n in (*inputs, *effects)])
        task = self._task(inputs, outputs, shapes, axes, printer.lines, results)
        self.assumed.append("row-major, contiguous arrays that do not overlap")
        return Reading(task, tuple(self.assumed), self.function, self.module)

    def _inputs(self, effects: dict[str, Effect]) -> list[str]:
        used = {n.array for e in effects.values() for n in nodes(e.value) if isinstance(n, Cell)}
        return [name for name in self.pointers if name in used]

    @staticmethod
    def _check_coverage(effects: dict[str, Effect], shapes: dict[str, tuple[Poly, ...]]) -> None:
        for name, effect in effects.items():
            for part, extent in zip(effect.at, shapes[name], strict=True):
                if not isinstance(part, str) and extent != Poly.of(1):
                    raise beyond(f"{name} is written in part only")

    def _axes(self, printer: Printer, results: list[str], shapes: list[tuple[Poly, ...]]) -> dict[str, int]:
        """The sizes in use: those given, those of the file, or defaults that are stated."""
        text = " ".join([*printer.lines, *results, *(p.text() for shape in shapes for p in shape)])
        used = set(re.findall(r"[A-Za-z_]\w*", text))
        wanted = [n for n in (*self.integers, *self.constants) if n in used]
        for name in (*wanted, *self.reals):
            if python_name(name) != name:
                raise beyond(f"a size or float named {name}")
        unknown = sorted(set(self.sizes) - set(wanted))
        if unknown:
            raise UserError(
                f"--size {unknown[0]}: the function has no such size; it has {', '.join(wanted) or 'none'}"
            )
        open_ = [n for n in wanted if n not in self.sizes and n not in self.constants]
        default = _ONE_AXIS if len(wanted) == 1 else _MORE_AXES
        if open_:
            self.assumed.append(f"{', '.join(open_)} = {default}: give --size {open_[0]}=N to choose")
        return {n: self.sizes.get(n, self.constants.get(n, default)) for n in wanted}

    def _reals(self, text: str) -> dict[str, float]:
        """The float parameters in use: those given, or defaults that are stated."""
        used = [name for name in self.reals if re.search(rf"\b{name}\b", text)]
        if unknown := sorted(set(self.scalars) - set(used)):
            raise UserError(
                f"--scalar {unknown[0]}: the function has no such float; it has {', '.join(used) or 'none'}"
            )
        found = {name: self.scalars.get(name, 1e-5 if "eps" in name.lower() else 1.0) for name in used}
        self.assumed += [
            f"{name} = {value:g}: give --scalar {name}=X to choose"
            for name, value in found.items()
            if name not in self.scalars
        ]
        return found

    def _task(
        self,
        inputs: list[str],
        outputs: dict[str, str],
        shapes: dict[str, tuple[Poly, ...]],
        axes: dict[str, int],
        lines: list[str],
        results: list[str],
    ) -> Task:
        from kshell.tasks.pytorch import measured, moved_bytes

        text = " ".join([*lines, *results])
        reals = self._reals(text)
        given = tuple(Tensor(name=n, shape=tuple(p.size() for p in shapes[n])) for n in inputs)
        made = tuple(Tensor(name=to, shape=tuple(p.size() for p in shapes[n])) for n, to in outputs.items())
        title = f"The C function {self.function.name}"
        draft = Task(
            name=self.function.name,
            title=title,
            family="custom",
            axes=axes,
            inputs=given,
            outputs=made,
            scalars=reals,
            inplace={to: n for n, to in outputs.items() if n != to},
            reference=module_text(
                title,
                [python_name(n) for n in inputs],
                given,
                {**axes, **reals},
                [*lines, f"return {', '.join(results)}"],
                len(results),
            ),
            roofline=Roofline(flops="1", bytes=moved_bytes((*given, *made))),
        )
        return measured(draft)
