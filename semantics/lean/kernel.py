"""One Lean file for one kernel launch: definitions, obligations, theorem."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from semantics import core
from semantics.lean import terms as show
from semantics.lean.lemmas import Goal
from semantics.lean.syntax import Printer
from semantics.lean.thread import ThreadProof
from semantics.symbolic import terms
from semantics.symbolic.owners import coordinates, invert
from semantics.symbolic.state import Context, Unsupported, coordinate
from semantics.symbolic.terms import Term
from semantics.symbolic.trace import Executor


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """The parts of a file about one symbolic thread."""

    proof: ThreadProof
    theorem: list[str]
    literals: list[str]

    @property
    def goals(self) -> list[Goal]:
        return self.proof.goals


def numbers(plan: core.Plan) -> dict[str, int]:
    """Buffer numbers: the tensors and workspaces in the order of the plan."""
    return {name: at for at, name in enumerate(plan.buffers)}


def array_numbers(plan: core.Plan, call: core.KernelCall) -> dict[int, int]:
    """The number in Lean of each array of a kernel: its buffer, or one after all buffers."""
    known = numbers(plan)
    found: dict[int, int] = {}
    arguments = {
        at: arg for (kind, at), arg in zip(call.kernel.params, call.args, strict=True) if kind == "array"
    }
    spare = len(known)
    for at, _ in enumerate(call.kernel.arrays):
        if at in arguments:
            found[at] = known[str(arguments[at])]
        else:
            found[at] = spare
            spare += 1
    return found


def thread_file(
    plan: core.Plan, call: core.KernelCall, inputs: Sequence[int], values: dict[int, Term]
) -> ThreadFile:
    """Trace the kernel and emit its thread obligations. Raises Unsupported."""
    kernel = call.kernel
    mapping = array_numbers(plan, call)
    globals_ = {at: mapping[at] for at, array in enumerate(kernel.arrays) if array.space is core.Space.GLOBAL}
    for at, array in enumerate(kernel.arrays):
        if array.elem != "float":
            raise Unsupported(f"array {array.name!r} of {array.elem}", kernel.span.line)
        if at not in globals_ and array.space is not core.Space.LOCAL:
            raise Unsupported(f"the {array.space.value} array {array.name!r}", kernel.span.line)
    own = {mapping[at]: array.size or 0 for at, array in enumerate(kernel.arrays) if at not in globals_}
    sizes = {number: plan.buffers[name][0] for name, number in numbers(plan).items()}
    context = Context(call, globals_, sizes)
    outputs = {b: sizes[b] for b in values}
    inplace = frozenset(b for b in inputs if b in values)
    block = Executor(context, outputs, inplace).run()
    found = coordinates(call)
    stores = block.all_stores()
    owner = invert([index for _, index, _ in stores], found)
    used = set(globals_.values())
    proof = ThreadProof(
        Printer(kernel, mapping),
        block,
        found,
        owner,
        {b: n for b, n in sizes.items() if b in used} | own,
        tuple(b for b in inputs if b in used),
        {b: v for b, v in values.items() if b in used},
        context_facts(context, Printer(kernel, mapping).block(kernel.body)),
    )
    theorem = proof.build()
    literals = sorted(set(literals_of(proof)))
    return ThreadFile(proof, theorem, literals)


def context_facts(context: Context, body: str) -> dict[str, str]:
    """What the environment says of the built-in variables and parameters that `body` mentions: name and
    proposition."""
    call = context.call
    facts: dict[str, str] = {}
    for what in core.Special:
        for dim in core.Dim:
            at = "xyz".index(dim.value)
            extent = (call.block if what in (core.Special.TID, core.Special.BDIM) else call.grid)[at]
            if what in (core.Special.BDIM, core.Special.GDIM):
                value = str(extent)
            else:
                value = coordinate(what, dim) if extent > 1 else "0"
            if f"(.special .{what.value} .{dim.value})" in body:
                facts[f"{what.value}_{dim.value}"] = f"E.special .{what.value} .{dim.value} = {value}"
    for at, scalar in enumerate(call.kernel.scalars):
        argument = context.argument(at)
        if scalar.type is None:
            facts[f"param{at}"] = f"E.rparam {at} = {show.literal(Fraction(argument))}"
        else:
            facts[f"param{at}"] = f"E.iparam {at} = {argument}"
    return facts


def literals_of(proof: ThreadProof) -> Iterator[str]:
    """Every literal the terms of the proof mention, as Lean writes it."""

    def within(t: Term) -> Iterator[str]:
        match t:
            case terms.Number(value):
                yield show.literal(value)
            case terms.OfInt(n) if n.is_constant:
                yield show.scalar(t)
            case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
                yield from within(a)
                yield from within(b)
            case terms.Unary(_, a) | terms.Total(_, _, a) | terms.Largest(_, _, a):
                yield from within(a)
            case _:
                pass

    for value in proof.values.values():
        yield from within(value)

    def walk(block: object) -> Iterator[str]:
        from semantics.symbolic.trace import Block, Fork, Point, Repeat

        assert isinstance(block, Block)
        for node in block.nodes:
            match node:
                case Point(value=value) if value is not None:
                    yield from within(value)
                case Fork():
                    yield from walk(node.then)
                    yield from walk(node.other)
                case Repeat():
                    yield from walk(node.body)
                case _:
                    pass
            for real in node.after.reals.values():
                yield from within(real)
            for local in node.after.locals.values():
                for held in (local.new, local.old):
                    yield from within(held) if held is not None else ()

    yield from walk(proof.block)


def prelude(proof: ThreadProof) -> list[str]:
    """Definitions the theorems speak about."""
    mine = " ∧ ".join(f"{show.integer(x)} = {name}" for name, x in proof.owner.digits.items()) or "True"
    names = f"({proof.names} : Int) " if proof.names else ""
    lines = [
        "/-- The output cells of a thread. -/",
        f"def mine {names}(i : Int) : Prop := {mine}",
    ]
    for b, value in proof.values.items():
        functions = f"({proof.functions} : Int → R) " if proof.inputs else ""
        lines.append(f"/-- Cell `i` of output buffer {b}, from the spec. -/")
        lines.append(f"def Y{b} {functions}(i : Int) : R := {show.scalar(value)}")
    lines.append("/-- What is known of a thread: coordinates, parameters, sizes, permission. -/")
    lines.append(f"structure Thread (E : Env R) (P : Perm R) {names}: Prop where")
    lines += [f"  {name} : {text}" for name, text in proof.fields()]
    return lines


SETUP = (
    "open scoped Classical",
    "set_option linter.unusedSimpArgs false",
    "set_option linter.unusedVariables false",
    "set_option linter.unusedSectionVars false",
    "set_option maxRecDepth 4000",
    "attribute [local irreducible] foldTo sumI maxI maxE foldZ",
)
"""What the tactics of a file rely on, after KShell and KShell.Auto are open."""


def header(literals: Sequence[str], namespace: str) -> list[str]:
    """The head of a file: imports, the literals as numerals."""
    lines = [
        "module",
        "public import KShell.Auto",
        "@[expose] public section",
        "noncomputable section",
        f"namespace {namespace}",
        "open KShell KShell.Auto ExactReal Lean.Grind",
        *SETUP,
        "variable {R : Type} [ExactReal R]",
    ]
    for at, text in enumerate(literals):
        words = text.strip("()").replace("(", "").replace(")", "").split()
        value = words[1] if words[0] == "ofInt" or words[2] == "1" else f"{words[1]} / {words[2]}"
        lines.append(f"theorem lit{at} : ({text} : R) = {value} := by simp only [ofRat, ofInt]; grind")
    return lines


def local_tactics(literals: Sequence[str]) -> dict[str, str]:
    """The tactics of a file by name, each as one tactic in parentheses. They are written out where they
    are used: a macro of its own costs every file more than a second."""
    names = ", ".join([*(f"lit{at}" for at in range(len(literals))), "ofRat_one", "ofInt_zero", "ofInt_one"])
    return {
        "ks_spec": "(repeat' (first | with_reducible rfl | omega | (funext j) | (apply propext; omega) | (congr 1)))",
        "ks_fold": "(first | with_reducible rfl "
        "| (simp only [sumI_zero, maxE_zero, foldZ_zero, plus_zero, Ext.max_ninf, Int.toNat_zero, Int.zero_mul, Int.mul_zero, "
        f"Int.zero_add, Int.add_zero, {names}]; done) "
        f"| (simp (disch := omega) only [sumI_step, maxE_step, foldZ_step, plus_assoc, {names}]; done) "
        "| (simp (disch := omega) only [maxE_step, max_right]; done) "
        f"| (simp (disch := omega) only [maxE_fin, Int.reduceToNat, Nat.reduceLT, {names}]; done) "
        "| grind "
        f"| ((try simp (disch := omega) only [sumI_step, maxE_step, foldZ_step, Int.reduceToNat, {names}]) <;> grind))",
        "ks_ring": f"(first | with_reducible rfl | ((try simp only [{names}]) <;> grind) "
        f"| (simp only [maxR, minR, absR, {names}] <;> grind))",
        "ks_defined": "((repeat' (first | (refine And.intro ?_ ?_) | intro _)) "
        f"<;> first | trivial | omega | ((try simp only [{names}] at *) <;> grind))",
    }
