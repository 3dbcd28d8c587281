"""The file of a candidate in every layout of its buffers: all apart, and, where the task declares it and no
`__restrict__` forbids it, outputs in the buffers of inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from semantics import aliasing, core, spec
from semantics.lean import file, statement
from semantics.lean.file import MARK, NAMESPACE, Emission, Step
from semantics.lean.kernel import array_numbers, header, numbers
from semantics.symbolic.state import Unsupported

SHARED = f"{NAMESPACE}.InPlace"
_FIRST = "namespace "


def emit(
    source: str,
    plan: core.Plan,
    meaning: spec.Spec,
    inputs: Sequence[str],
    inplace: Mapping[str, str] | None = None,
) -> Emission:
    """Emit the file of a candidate at one workload. `inplace` maps an output to the input whose buffer it
    may share, as the task declares it. Raises Unsupported when the automatic prover has no proof to offer,
    and for a call that C gives no meaning."""
    _check(plan)
    shared = aliasing.declared(plan, inplace or {}, meaning.inputs)
    apart = file.emit(source, plan, meaning, inputs)
    if not shared:
        return apart
    words = _words(shared)
    try:
        second = file.emit(
            "",
            aliasing.in_place(plan, shared),
            aliasing.moved_outputs(meaning, shared),
            inputs,
            SHARED,
            "in_place.",
            f"with {words}: ",
        )
    except Unsupported as reason:
        raise Unsupported(
            f"{reason.reason} with {words}, as the task allows; `__restrict__` says that they are apart",
            reason.line,
        ) from None
    said = _statement(plan, shared)
    lines = _with_layouts(apart.text).splitlines()
    at = len(lines)
    rest = second.text.splitlines()
    skipped = next(n for n, line in enumerate(rest) if line.startswith(_FIRST))
    lines += rest[skipped:]
    steps = [*_moved(apart.steps, at - len(apart.text.splitlines())), *_moved(second.steps, at - skipped)]
    lines += [f"namespace {NAMESPACE}", *said.splitlines()]
    first = len(lines) + 1
    lines += _joined()
    steps.append(
        Step("in_every_layout", "the launch is correct in every layout", plan.calls[0].span.line, first, len(lines))
    )
    lines += [f'#print "{MARK} in_every_layout"', f"end {NAMESPACE}"]
    return Emission(
        "\n".join(lines) + "\n",
        tuple(steps),
        f"{apart.statement}\n\n{said}",
        f"{NAMESPACE}.correct_in_every_layout",
    )


def statement_text(
    source: str,
    plan: core.Plan,
    meaning: spec.Spec,
    inputs: Sequence[str],
    inplace: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """A module with the claim of a candidate and nothing else, whether it can be proved or not, and the
    name of the proposition. Raises Unsupported for a call that C gives no meaning."""
    _check(plan)
    buffers = numbers(plan)
    said = statement.statement(
        source, plan, meaning, list(inputs), buffers, array_numbers(plan, plan.calls[0])
    )
    name = f"{NAMESPACE}.Claim"
    shared = aliasing.declared(plan, inplace or {}, meaning.inputs)
    if shared:
        said, name = f"{said}\n\n{_statement(plan, shared)}", f"{NAMESPACE}.ClaimInEveryLayout"
    text = "\n".join([*header((), NAMESPACE), said, f"end {NAMESPACE}", ""])
    return _with_layouts(text), name


def _moved(steps: Sequence[Step], by: int) -> list[Step]:
    return [replace(step, first=step.first + by, last=step.last + by) for step in steps]


def _check(plan: core.Plan) -> None:
    for call in plan.calls:
        for name, first, second, _ in aliasing.restricted(call):
            raise Unsupported(
                f"`{first.name}` and `{second.name}` both being `{name}` where one is `__restrict__`: "
                "C gives that no meaning",
                call.span.line,
            )


def _words(shared: Mapping[str, str]) -> str:
    return " and ".join(f"`{output}` in the buffer of `{name}`" for output, name in shared.items())


def _with_layouts(text: str) -> str:
    return text.replace("public import KShell.Auto\n", "public import KShell.Auto\npublic import KShell.Layout\n", 1)


def _statement(plan: core.Plan, shared: Mapping[str, str]) -> str:
    """What is claimed of all layouts."""
    buffers = numbers(plan)
    pairs = ", ".join(f"({buffers[output]}, {buffers[name]})" for output, name in shared.items())
    return "\n".join(
        [
            f"/-- How the buffers may lie: all apart, or {_words(shared)}. -/",
            f"def layouts : List Layout := [[], [{pairs}]]",
            "",
            "/-- The same claim, in every one of these layouts. -/",
            "def ClaimInEveryLayout : Prop :=",
            f"  ∀ (R : Type) [ExactReal R], CorrectIn R layouts {statement.subject(plan, buffers)}",
        ]
    )


def _joined() -> list[str]:
    return [
        "theorem correct_in_every_layout : ClaimInEveryLayout := by",
        "  intro R _ l hl",
        "  simp only [layouts, List.mem_cons, List.not_mem_nil, or_false] at hl",
        "  rcases hl with rfl | rfl",
        "  · exact correct R",
        "  · exact InPlace.correct R",
    ]
