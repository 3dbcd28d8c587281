"""From one symbolic thread to every interleaving of the launch: the theorems that close a file."""

from semantics import core, spec
from semantics.lean import terms as show
from semantics.lean.kernel import ThreadFile
from semantics.symbolic.linear import Linear, literal

_SPEC = (
    "OutputSpec.denote, SExpr.denote, Ix.denote, IxCond.denote, IxOp.fn, flatIndex, unflatten, bindIx, "
    "RealOp.real, RealFn.real, List.reverse_cons, List.reverse_nil, List.nil_append, List.cons_append, "
    "if_true, if_false, Nat.reduceEqDiff, reduceIte, sumI_eq, maxI_eq"
)


def launch_theorem(
    plan: core.Plan, call: core.KernelCall, thread: ThreadFile, meaning: spec.Spec, numbers: dict[str, int]
) -> list[tuple[str, str, str]]:
    """Name, title and text of each theorem, the last of which proves `Claim`."""
    proof = thread.proof
    ranges = proof.coordinates
    owner = proof.owner.digits
    block = linear_number(owner, "b", call.grid)
    inside = linear_number(owner, "t", call.block)
    outputs = [(numbers[out.name], plan.buffers[out.name][0]) for out in meaning.outputs]
    functions = " ".join(f"(x {b})" for b in proof.inputs)
    found: list[tuple[str, str, str]] = []
    definitions = [
        "/-- Block and thread that write output cell `i`. -/",
        f"def owner (i : Int) : Int × Int := ({show.integer(block)}, {show.integer(inside)})",
    ]
    greatest = max(n for _, n in outputs)
    found.append(
        (
            "cover",
            "every output cell has a thread that writes it",
            "\n".join(
                [
                    *definitions,
                    f"theorem cover (i : Int) (i0 : 0 ≤ i) (i1 : i < {greatest}) : launch.has "
                    f"(owner i) := by",
                    f"  show 0 ≤ {show.integer(block)} ∧ {show.integer(block)} < "
                    f"({_count(call.grid)} : Int) ∧",
                    f"    0 ≤ {show.integer(inside)} ∧ {show.integer(inside)} < ({_count(call.block)} : Int)",
                    "  omega",
                ]
            ),
        )
    )
    for at, (b, n) in enumerate(outputs):
        found.append(spec_theorem(at, b, n, meaning.outputs[at].name, f"Y{b}", functions))
    found.append(("thread_of", "each thread of the launch is as assumed", _thread_of(call, thread, ranges)))
    found.append(
        ("correct", "every run of the launch is correct", _correct(plan, call, thread, outputs, functions))
    )
    return found


def spec_theorem(
    at: int, b: int, n: int, name: str, value: str, functions: str
) -> tuple[str, str, str]:
    """Output number `at`, in buffer `b` of `n` elements, denotes the function `value`."""
    lines = [
        f"theorem spec{b} (x : Nat → Int → R) (i : Int) (i0 : 0 ≤ i) (i1 : i < {n}) :",
        f"    (outputs[{at}]'(by decide)).denote x i = {value} {functions} i := by",
        f"  show ({_printed(at)}).denote x i = _",
        f"  simp only [outputs, List.getElem_cons_zero, List.getElem_cons_succ, {value}, {_SPEC}]",
        "  all_goals ks_spec",
    ]
    return f"spec{b}", f"the value proved for {name} is the one the spec denotes", "\n".join(lines)


def _printed(at: int) -> str:
    return f"outputs[{at}]'(by decide)"


def _count(extents: tuple[int, int, int]) -> int:
    return extents[0] * extents[1] * extents[2]


def linear_number(owner: dict[str, Linear], prefix: str, extents: tuple[int, int, int]) -> Linear:
    """The linear number of a block or thread from its coordinates, x fastest."""
    total, stride = literal(0), 1
    for dim, extent in zip("XYZ", extents, strict=True):
        total = total + owner.get(prefix + dim, literal(0)).scale(stride)
        stride *= extent
    return total


def block_coordinate(name: str, call: core.KernelCall) -> str:
    """The coordinate of block `b` or thread `t` by that name."""
    extents = call.grid if name[0] == "b" else call.block
    variable, (x, y, _) = name[0], extents
    match name[1]:
        case "X":
            return f"({variable} % {x})"
        case "Y":
            return f"({variable} / {x} % {y})"
        case _:
            return f"({variable} / {x * y})"


def _bounds(call: core.KernelCall) -> str:
    return (
        f"(b t : Int) (b0 : 0 ≤ b) (b1 : b < {_count(call.grid)}) (t0 : 0 ≤ t) (t1 : t < "
        f"{_count(call.block)})"
    )


def _permission(proof_outputs: list[int]) -> str:
    chosen = " ∨ ".join(f"a = {b}" for b in proof_outputs)
    return f"(fun a => {chosen})"


def _thread_of(call: core.KernelCall, thread: ThreadFile, ranges: dict[str, int]) -> str:
    proof = thread.proof
    outputs = list(proof.values)
    coordinates = " ".join(block_coordinate(name, call) for name in ranges)
    lines = [
        f"theorem thread_of {_bounds(call)} :",
        f"    Thread (launch.env b t : Env R) (tperm {_permission(outputs)} (fun _ i => owner "
        f"i) b t) {coordinates} := by",
        f"  have own : ∀ i, mine {coordinates} i → owner i = (b, t) := by",
        "    intro i h; simp only [mine] at h; simp only [owner]",
        "    refine Prod.ext ?_ ?_",
        "    · show _ = b; omega",
        "    · show _ = t; omega",
        "  constructor",
    ]
    for name, _ in proof.fields():
        if name.endswith(("_low", "_high")):
            lines.append("  · omega")
        elif name.startswith("rd"):
            b = int(name[2:])
            lines.append(
                "  · exact fun i h => .inr (own i h)"
                if b in outputs
                else "  · exact fun i => .inl (by decide)"
            )
        elif name.startswith("wr"):
            lines.append("  · exact fun i v h => ⟨by simp, own i h⟩")
        elif name.startswith(("tid", "bid")):
            lines.append(f"  · {special_is_coordinate(name, call)}")
        else:
            lines.append("  · rfl")
    return "\n".join(lines)


def special_is_coordinate(name: str, call: core.KernelCall) -> str:
    """A built-in variable is its coordinate, or 0 when there is only one."""
    what, dim = name.split("_")
    extents = call.grid if what == "bid" else call.block
    if extents["xyz".index(dim)] > 1:
        return "rfl"
    variable, (x, y, _) = what[0], extents
    form = {"x": f"{variable} % {x}", "y": f"{variable} / {x} % {y}", "z": f"{variable} / ({x} * {y})"}[dim]
    return f"show {form} = 0; omega"


def _correct(
    plan: core.Plan, call: core.KernelCall, thread: ThreadFile, outputs: list[tuple[int, int]], functions: str
) -> str:
    proof = thread.proof
    coordinates = " ".join(block_coordinate(name, call) for name in proof.coordinates)
    cells = " ∧ ".join(
        f"(a = {b} → 0 ≤ i → i < {n} → v = some (.fin (Y{b} {functions} i)))" for b, n in outputs
    )
    # the start of a thread: inputs in place, outputs that work in place untouched
    start = []
    for name, _ in proof.parts(proof.block.before):
        b = int(name[1:])
        n = proof.sizes[b]
        place = f"hp ({b}, {n}) (by simp [inputs])"
        if name[0] == "H":
            start.append(f"{place}")
        elif name[0] == "U":
            start.append(f"fun i i0 i1 _ _ => {place} i i0 i1")
        else:
            start.append("Done.none (fun i i0 _ _ => by omega)")
    names = [name for name, _ in proof.parts(proof.block.goal)]
    opened = ", ".join([*names, "_"])
    per_output = []
    for at, (b, _) in enumerate(outputs):
        if at < len(outputs) - 1:
            per_output.append("  refine ⟨?_, ?_⟩")
        body = f"intro ea i0 i1; subst ea; exact D{b} i i0 i1 (me i i0 (by omega) ho) i1"
        per_output.append(f"  · {body}")
    greatest = max(n for _, n in outputs)
    lines = [
        "theorem correct : Claim := by",
        "  intro R _ x M hp",
        "  show launch.Runs _ M",
        f"  refine elementwise_rule (by decide) ?_ {_permission([b for b, _ in outputs])} "
        f"(fun _ i => owner i)",
        f"    (fun a i v => {cells}) ?_ ?_",
        f"  · intro a; {_spaces(max([len(plan.buffers), *(n + 1 for n in proof.sizes)]))}",
        "  · intro b t r b0 b1 t0 t1 _",
        f"    have b1 : b < {_count(call.grid)} := b1",
        f"    have t1 : t < {_count(call.block)} := t1",
        f"    have me : ∀ i, 0 ≤ i → i < {greatest} → owner i = (b, t) → mine {coordinates} i := by",
        "      intro i i0 i1 h",
        "      have hb : (owner i).1 = b := by rw [h]",
        "      have ht : (owner i).2 = t := by rw [h]",
        "      simp only [owner] at hb ht; simp only [mine]; omega",
        f"    refine Stmt.wp_mono _ _ _ _ (fun σ h => ?_) (thread_ok (thread_of b t b0 b1 t0 "
        f"t1) ⟨r, M⟩ ⟨{', '.join([*start, 'trivial'])}⟩)",
        f"    obtain ⟨{opened}⟩ := h",
        "    intro a i ha ho",
        *(f"  {line}" for line in per_output),
        "  · intro M' H1 H2",
        "    refine ⟨?_, ?_⟩",
        "    · intro o ho i i0 i1",
        "      simp only [outputs, List.mem_cons, List.not_mem_nil, or_false] at ho",
    ]
    if len(outputs) == 1:
        (b, n) = outputs[0]
        lines += [
            "      subst ho",
            f"      have i1 : i < {n} := i1",
            f"      have h := {_projection('H1 ' + str(b) + ' i (by simp) (cover i i0 i1)', 0, 1)} rfl i0 i1",
            f"      exact h.trans (congrArg (fun r => some (Ext.fin r)) (spec{b} x i i0 i1).symm)",
        ]
    else:
        lines.append(f"      rcases ho with {' | '.join(['rfl'] * len(outputs))}")
        for at, (b, n) in enumerate(outputs):
            given = f"H1 {b} i (by simp) (cover i i0 (by omega))"
            lines += [
                f"      · have i1 : i < {n} := i1",
                f"        have h := {_projection(given, at, len(outputs))} rfl i0 i1",
                f"        exact h.trans (congrArg (fun r => some (Ext.fin r)) (spec{b} x i i0 i1).symm)",
            ]
    lines += [
        "    · intro a i ha _",
        "      refine H2 a i (.inl (fun h => ha ?_))",
        "      simpa [outputs] using h",
    ]
    return "\n".join(lines)


def _projection(term: str, at: int, count: int) -> str:
    """Conjunct `at` of `count`."""
    path = ".2" * at + (".1" if at < count - 1 else "")
    return f"({term}){path}"


def _spaces(count: int) -> str:
    """No array is shared: by cases on its number."""
    return f"rcases a with {'_ | ' * count}a <;> simp [Launch.space, launch]"
