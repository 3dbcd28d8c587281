"""The Lean file of a kernel with barriers: pieces, the block, the launch."""

from collections.abc import Sequence
from dataclasses import dataclass

from semantics import core, spec
from semantics.lean import terms as show
from semantics.lean.blocks import Blocks
from semantics.lean.kernel import array_numbers, literals_of, numbers
from semantics.lean.launch import linear_number, spec_theorem
from semantics.lean.lemmas import Goal
from semantics.lean.pieces import Item, Pieces
from semantics.lean.syntax import Printer
from semantics.symbolic import phases
from semantics.symbolic.owners import coordinates
from semantics.symbolic.pieces import Phase, Piece, Segment
from semantics.symbolic.state import Context, Unsupported
from semantics.symbolic.terms import Term


@dataclass(frozen=True, slots=True)
class BlockFile:
    """The items of a file in order, and the literals its terms mention."""

    items: list[Item]
    literals: list[str]


def cut(plan: core.Plan, call: core.KernelCall, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[Piece, ...]:
    """The pieces of a kernel with barriers; inputs and outputs by name. Raises Unsupported."""
    return _walker(plan, call, inputs, outputs).kernel()


def _walker(
    plan: core.Plan, call: core.KernelCall, inputs: Sequence[str], outputs: Sequence[str]
) -> phases.Walker:
    kernel, line = call.kernel, call.kernel.span.line
    mapping, buffers = array_numbers(plan, call), numbers(plan)
    shared: dict[int, int] = {}
    own: set[int] = set()
    for at, array in enumerate(kernel.arrays):
        if array.elem != "float":
            raise Unsupported(f"array {array.name!r} of {array.elem}", line)
        if array.space is core.Space.SHARED:
            shared[mapping[at]] = array.size or call.shared_bytes // 4
        elif array.space is core.Space.LOCAL:
            own.add(at)
    if len(outputs) != 1 or outputs[0] in inputs:
        raise Unsupported("several outputs, or an output that is also an input, with barriers", line)
    sizes = {number: plan.buffers[name][0] for name, number in buffers.items()}
    found = coordinates(call)
    used = set(mapping.values())
    return phases.Walker(
        Context(call, {at: number for at, number in mapping.items() if at not in own}, sizes),
        {n: e for n, e in found.items() if n[0] == "t"},
        {n: e for n, e in found.items() if n[0] == "b"},
        shared,
        {buffers[name]: sizes[buffers[name]] for name in outputs},
        frozenset(buffers[name] for name in inputs if buffers.get(name) in used),
    )


def block_file(
    plan: core.Plan, call: core.KernelCall, inputs: Sequence[str], values: dict[int, Term], meaning: spec.Spec
) -> BlockFile:
    """Cut the kernel into pieces and emit everything up to `correct`. Raises Unsupported."""
    kernel, line = call.kernel, call.kernel.span.line
    walker = _walker(plan, call, inputs, [out.name for out in meaning.outputs])
    pieces = walker.kernel()
    mapping, buffers = array_numbers(plan, call), numbers(plan)
    sizes = {number: plan.buffers[name][0] for name, number in buffers.items()}
    used = set(mapping.values())
    given = tuple(buffers[name] for name in inputs if buffers.get(name) in used)
    printer = Printer(kernel, mapping)
    every = {b: n for b, n in (sizes | walker.shared).items() if b in used}
    for at, array in enumerate(kernel.arrays):
        if array.space is core.Space.LOCAL:
            every[mapping[at]] = array.size or 0
    emit = Pieces(walker.context, printer, coordinates(call), every, given, values)
    last = pieces[-1].last if isinstance(pieces[-1], Segment) else pieces[-1]
    assert isinstance(last, Phase)
    ((b, _),) = values.items()
    if b not in last.written:
        raise Unsupported("a kernel that stores no output after its last barrier", line)
    head: list[str] = []
    functions = f"({emit.functions} : Int → R) " if given else ""
    owner = linear_number(last.written[b].digits, "b", call.grid)
    head += [
        "/-- Cell `i` of the output, from the spec. -/",
        f"def Out{b} {functions}(i : Int) : R := {show.scalar(values[b])}",
        "/-- The block that owns a cell. -/",
        f"def gown (a : Nat) (i : Int) : Option Nat := if a = {b} then some ({show.integer(owner)} : Int).toNat else none",
    ]
    emit.items.append(head)
    emit.items += emit.places()
    (start, _), code, lines = Blocks(emit).chain(pieces, {}, {}, None)
    functions_x = " ".join(f"(x {a})" for a in given)
    n = sizes[b]
    name, title, text = spec_theorem(0, b, n, meaning.outputs[0].name, f"Out{b}", functions_x)
    emit.items.append(Goal(name, title, line, text))
    binders = " ".join([*emit.functions_binders({}), *emit.place_binders({})])
    kernel_text = [
        f"theorem kernel_ok {binders} {{β : BSt R}} (h : Each launch {emit.start(start)} β) :",
        "    kernelWp launch gown b launch.kernel.body (fun m => ∀ i : Int, 0 ≤ i → "
        f"i < {n} → gown {b} i = some b → m {b} i = some (.fin (Out{b} {emit.functions} i))) β := by",
        f"  show kernelWp launch gown b {code} _ β",
        *(f"  {one}" for one in lines),
    ]
    emit.items.append(Goal("kernel_ok", "every block runs to its post", line, "\n".join(kernel_text)))
    emit.items.append(Goal("correct", "every run of the launch is correct", call.span.line, _correct(emit, b, n, show.integer(owner))))
    literals = sorted({one for proof in emit.proofs for one in literals_of(proof)})
    return BlockFile(emit.items, literals)


def _correct(emit: Pieces, b: int, n: int, owner: str) -> str:
    start = [
        f"fun i i0 i1 => (initial_global (L := launch) (a := {a}) (by decide)).trans (hp ({a}, {emit.sizes[a]}) (by simp [inputs]) i i0 i1)"
        for a in emit.inputs
    ]
    functions = " ".join(f"(x {a})" for a in emit.inputs)
    lines = [
        "theorem correct : Claim := by",
        "  intro R _ x M hp",
        "  show launch.Runs _ M",
        "  refine grid_rule (by decide) gown (fun b m => ∀ i : Int, 0 ≤ i → "
        f"i < {n} → gown {b} i = some b → m {b} i = some (.fin (Out{b} {functions} i))) ?_ ?_",
        "  · intro b hb regs _",
        f"    have hb : b < {emit.blocks} := hb",
        "    refine kernel_ok hb (fun t ht => ?_)",
        f"    exact ⟨{', '.join([*start, 'trivial'])}⟩",
        "  · intro M' H1 H2",
        "    refine ⟨fun o ho i i0 i1 => ?_, fun a i ha _ => H2 a i (.inr fun b' _ => ?_)⟩",
        "    · simp only [outputs, List.mem_singleton] at ho",
        "      subst ho",
        f"      have i1 : i < {n} := i1",
        f"      have hg : gown {b} i = some ({owner} : Int).toNat := by unfold gown; rw [if_pos rfl]",
        f"      obtain ⟨m, h1, h2⟩ := H1 _ (show ({owner} : Int).toNat < {emit.blocks} by omega)",
        f"      refine (h2 {b} i (by decide) hg).trans ((h1 i i0 i1 hg).trans ?_)",
        f"      exact congrArg (fun r => some (Ext.fin r)) (spec{b} x i i0 i1).symm",
        "    · unfold gown",
        f"      rw [if_neg (fun e => ha (by simp [outputs, e]))]",
        "      simp",
    ]
    return "\n".join(lines)
