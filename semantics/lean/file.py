"""The Lean file of a candidate: statement first, then the obligations, then the theorem."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from semantics import core, spec
from semantics.lean import statement
from semantics.lean.barriers import BlockFile, block_file
from semantics.lean.kernel import array_numbers, header, local_tactics, numbers, prelude, thread_file
from semantics.lean.launch import launch_theorem
from semantics.lean.lemmas import Goal
from semantics.lean.meaning import output_term
from semantics.lean.syntax import check_provable
from semantics.symbolic.pieces import has_barrier, has_shuffle
from semantics.symbolic.state import Unsupported

NAMESPACE = "KShell.Candidate"
MARK = "kshell:closed"
_TACTIC = re.compile(r"\bks_\w+")


@dataclass(frozen=True, slots=True)
class Step:
    """One theorem of the file: its lines (1-based, inclusive), and the source line it speaks about."""

    name: str
    title: str
    source_line: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Emission:
    """A file to check. `statement` is the text a person reads: definitions and the theorem's statement."""

    text: str
    steps: tuple[Step, ...]
    statement: str
    theorem: str


class _Writer:
    """Collects lines. `prefix` goes before the names of steps, `where` before their titles."""

    def __init__(self, prefix: str = "", where: str = "") -> None:
        self.lines: list[str] = []
        self.steps: list[Step] = []
        self.prefix = prefix
        self.where = where
        self._tactics: dict[str, str] = {}

    def head(self, literals: Sequence[str], namespace: str) -> None:
        """The head of the file. From here on the names of local tactics stand for their text."""
        self.add(header(literals, namespace))
        self._tactics = local_tactics(literals)

    def quote(self, text: str) -> None:
        """Text that stays as it is."""
        self.lines += text.split("\n")

    def add(self, text: str | Sequence[str]) -> None:
        for part in [text] if isinstance(text, str) else text:
            self.lines += _TACTIC.sub(self._spelled, part).split("\n")

    def _spelled(self, found: re.Match[str]) -> str:
        return self._tactics.get(found.group(), found.group())

    def step(self, name: str, title: str, line: int, text: str) -> None:
        """A theorem and the mark after it that says Lean has come past it."""
        first = len(self.lines) + 1
        self.add(text)
        self.steps.append(Step(self.prefix + name, self.where + title, line, first, len(self.lines)))
        self.add(f'#print "{MARK} {self.prefix}{name}"')


def emit(
    source: str,
    plan: core.Plan,
    meaning: spec.Spec,
    inputs: Sequence[str],
    namespace: str = NAMESPACE,
    prefix: str = "",
    where: str = "",
) -> Emission:
    """Emit the file of a candidate at one workload, in one layout of its buffers. `prefix` and `where` mark
    the names and titles of its steps. Raises Unsupported when the automatic prover has no proof to offer
    for kernels of this shape."""
    for launched in plan.calls:
        check_provable(launched.kernel)
    if len(plan.calls) != 1:
        raise Unsupported("a sequence of kernels", plan.calls[1].span.line if plan.calls else 0)
    call = plan.calls[0]
    buffers = numbers(plan)
    given = [buffers[name] for name in inputs if name in buffers]
    values = {buffers[out.name]: output_term(out, meaning.inputs, buffers) for out in meaning.outputs}
    writer = _Writer(prefix, where)
    said = statement.statement(source, plan, meaning, list(inputs), buffers, array_numbers(plan, call))
    if has_barrier(call.kernel.body) or has_shuffle(call.kernel.body):
        return _with_barriers(writer, block_file(plan, call, inputs, values, meaning), said, namespace)
    thread = thread_file(plan, call, given, values)
    writer.head(thread.literals, namespace)
    writer.quote(said)
    writer.add(prelude(thread.proof))
    writer.add(thread.proof.definitions)
    for goal in thread.goals:
        writer.step(goal.name, goal.title, goal.line, goal.text)
    writer.step(
        "thread",
        "one thread runs without a fault to its post",
        call.kernel.span.line,
        "\n".join(thread.theorem),
    )
    for name, title, text in launch_theorem(plan, call, thread, meaning, buffers):
        writer.step(name, title, call.span.line, text)
    writer.add(f"end {namespace}")
    return Emission("\n".join(writer.lines) + "\n", tuple(writer.steps), said, f"{namespace}.correct")


def _with_barriers(writer: _Writer, made: BlockFile, said: str, namespace: str) -> Emission:
    """The file of a kernel with barriers. Theorems of a phase are named `Pn.name` and stand in the
    namespace of the phase."""
    writer.head(made.literals, namespace)
    writer.quote(said)
    for item in made.items:
        if isinstance(item, Goal):
            writer.step(item.name, item.title, item.line, item.text)
        else:
            writer.add(item)
    writer.add(f"end {namespace}")
    return Emission("\n".join(writer.lines) + "\n", tuple(writer.steps), said, f"{namespace}.correct")
