"""The part of a file that a person reads: the kernel beside its source, the launch, the premise, the
spec, and what is claimed. Nothing here depends on how it is proved."""

from collections.abc import Sequence
from fractions import Fraction

from semantics import core, spec
from semantics.lean.syntax import Printer, number, rational
from semantics.symbolic.state import Unsupported


def statement(
    source: str,
    plan: core.Plan,
    meaning: spec.Spec,
    inputs: Sequence[str],
    numbers: dict[str, int],
    arrays: dict[int, int],
) -> str:
    """Definitions `body`, `launch`, `inputs`, `outputs` and the proposition `Claim`. Without a source
    there is no comment about it."""
    call = plan.calls[0]
    lines = []
    if source:
        lines += ["/-!", "The source:", "```"]
        lines += [line.replace("-/", "- /").replace("/-", "/ -") for line in source.splitlines()]
        lines += ["```", "-/", ""]
    lines += [f"/-- The code of one thread of `{call.kernel.name}`. -/", "def body : Stmt :="]
    lines.append(Printer(call.kernel, arrays).pretty(call.kernel.body, source.splitlines()))
    lines += ["", "/-- Buffers: " + ", ".join(f"{n} is {name}" for name, n in numbers.items()) + ". -/"]
    lines.append("def launch : Launch where")
    lines.append(f"  kernel := ⟨[{', '.join(_declarations(plan, call, numbers, arrays))}], body⟩")
    lines.append(f"  grid := ⟨{', '.join(map(str, call.grid))}⟩")
    lines.append(f"  block := ⟨{', '.join(map(str, call.block))}⟩")
    lines.append(f"  args := [{', '.join(_arguments(call))}]")
    sizes = [f"({numbers[name]}, {plan.buffers[name][0]})" for name in inputs if name in numbers]
    lines += ["", "/-- The inputs that are in memory: buffer and number of elements. -/"]
    lines.append(f"def inputs : List (Nat × Nat) := [{', '.join(sizes)}]")
    lines += ["", "/-- What the outputs are. -/", "def outputs : List OutputSpec := ["]
    lines.append(",\n".join(f"  {_output(out, meaning, numbers)}" for out in meaning.outputs) + "]")
    lines += [
        "",
        "/-- The premise can be met: there is a memory with the inputs in it. -/",
        "example (R : Type) [ExactReal R] (x : Nat → Int → R) : ∃ M, Placed inputs x M :=",
        "  ⟨fun a i => some (.fin (x a i)), fun _ _ _ _ _ => rfl⟩",
        "",
        "/-- Every run of the launch, in every interleaving, from every memory with the inputs in place, is",
        "finite, free of faults, races and deadlocks, leaves in the outputs what their specification denotes",
        "and changes nothing else. -/",
        f"def Claim : Prop := ∀ (R : Type) [ExactReal R], Correct R {subject(plan, numbers)}",
    ]
    return "\n".join(lines)


def subject(plan: core.Plan, numbers: dict[str, int]) -> str:
    """What `Correct` and `CorrectIn` are said of: launches, inputs, outputs, scratch buffers."""
    scratch = ", ".join(str(numbers[name]) for name in plan.workspaces)
    return f"[launch] inputs outputs [{scratch}]"


def _declarations(
    plan: core.Plan, call: core.KernelCall, numbers: dict[str, int], arrays: dict[int, int]
) -> list[str]:
    """Entry `a` declares array number `a`; numbers that the kernel does not use have size 0."""
    used = {arrays[at]: array for at, array in enumerate(call.kernel.arrays)}
    sizes = {number_: plan.buffers[name][0] for name, number_ in numbers.items()}
    found = []
    for at in range(max([*used, *numbers.values()], default=-1) + 1):
        array = used.get(at)
        if array is None:
            found.append("⟨.global, 0⟩")
        else:
            size = sizes[at] if array.space is core.Space.GLOBAL else (array.size or call.shared_bytes // 4)
            found.append(f"⟨.{array.space.value}, {size}⟩")
    return found


def _arguments(call: core.KernelCall) -> list[str]:
    """The scalar arguments in the order of the scalar parameters. The syntax has no types of parameters, so
    that each value is in the range of its own is checked here: raises Unsupported where it is not."""
    values = {
        at: arg for (kind, at), arg in zip(call.kernel.params, call.args, strict=True) if kind == "scalar"
    }
    found = []
    for at, scalar in enumerate(call.kernel.scalars):
        value = values[at]
        assert not isinstance(value, str)
        if scalar.type is None:
            found.append(f".rat {rational(Fraction(value))}")
        elif scalar.type.low <= value <= scalar.type.high and value == int(value):
            found.append(f".int {number(int(value))}")
        else:
            raise Unsupported(f"{scalar.name} = {value}, which its type does not hold", call.span.line)
    return found


def _output(out: spec.OutputSpec, meaning: spec.Spec, numbers: dict[str, int]) -> str:
    variables: dict[str, int] = {name: at for at, name in enumerate(out.vars)}
    body = _Spec(meaning, numbers, variables).expression(out.body)
    pairs = ", ".join(
        f"({variables[name]}, {extent})" for name, extent in zip(out.vars, out.extents, strict=True)
    )
    return f"{{ buffer := {numbers[out.name]}, vars := [{pairs}], body := {body} }}"


class _Spec:
    """Prints spec expressions; `variables` numbers the bound index variables."""

    def __init__(self, meaning: spec.Spec, numbers: dict[str, int], variables: dict[str, int]) -> None:
        self.meaning = meaning
        self.numbers = numbers
        self.variables = variables

    def expression(self, e: spec.SExpr) -> str:
        match e:
            case spec.Const(value):
                return f"(.const {rational(value)})"
            case spec.Read(name, at):
                dims = ", ".join(map(str, self.meaning.inputs[name]))
                return f"(.read {self.numbers[name]} [{dims}] [{', '.join(self.index(i) for i in at)}])"
            case spec.Un(fn, a):
                return f"(.un .{fn.value} {self.expression(a)})"
            case spec.Bin(op, a, b):
                return f"(.bin .{op.value} {self.expression(a)} {self.expression(b)})"
            case spec.Sum(var, extent, body):
                return f"(.sum {self._bind(var)} {extent} {self.expression(body)})"
            case spec.MaxOver(var, extent, body):
                return f"(.maxOver {self._bind(var)} {extent} {self.expression(body)})"
            case spec.Where(cond, a, b):
                return f"(.ite {self.condition(cond)} {self.expression(a)} {self.expression(b)})"

    def _bind(self, var: str) -> int:
        return self.variables.setdefault(var, len(self.variables))

    def index(self, e: spec.Ix) -> str:
        match e:
            case spec.IxLit(value):
                return f"(.lit {number(value)})"
            case spec.IxVar(name):
                return f"(.var {self.variables[name]})"
            case spec.IxBin(op, a, b):
                return f"(.bin .{op.value} {self.index(a)} {self.index(b)})"

    def condition(self, c: spec.IxCond) -> str:
        match c:
            case spec.IxCmp(op, a, b):
                return f"(.cmp .{op.value} {self.index(a)} {self.index(b)})"
            case spec.IxAll(parts):
                if not parts:
                    return ".tt"
                text = self.condition(parts[0])
                for part in parts[1:]:
                    text = f"(.and {text} {self.condition(part)})"
                return text
