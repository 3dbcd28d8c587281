"""Text of reductions: over a thread's own elements, over a warp, over a block."""

from collections.abc import Callable
from dataclasses import dataclass

from .text import block

_Name = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Reduction:
    """A fold with one or more state variables.

    `states` gives each its neutral value; `absorb` is C text that folds element `@j` into the states
    `{name}`; `merge` folds the states `{name_other}` of another partial result into `{name}`."""

    states: dict[str, str]
    absorb: str
    merge: str

    def absorbed(self, index: str, place: _Name = str) -> str:
        """Statements that fold element `index` into the states kept at `place(name)`."""
        text = self.absorb.replace("@j", index)
        return text.format(**{name: place(name) for name in self.states})

    def merged(self, other: _Name, place: _Name = str) -> str:
        """Statements that fold the states found at `other(name)` into those at `place(name)`."""
        names = {name: place(name) for name in self.states}
        others = {f"{name}_other": other(name) for name in self.states}
        return self.merge.format(**names, **others)

    def declared(self) -> str:
        """Declarations of the states at their neutral values."""
        return "\n".join(f"float {name} = {start};" for name, start in self.states.items())


def total(name: str, element: str) -> Reduction:
    """A sum of `element`, C text over the index `@j`."""
    return Reduction({name: "0.0f"}, f"{{{name}}} += {element};", f"{{{name}}} += {{{name}_other}};")


def maximum(name: str, element: str) -> Reduction:
    """A maximum of `element`."""
    return Reduction(
        {name: "-INFINITY"},
        f"{{{name}}} = fmaxf({{{name}}}, {element});",
        f"{{{name}}} = fmaxf({{{name}}}, {{{name}_other}});",
    )


def states(pass_: tuple[Reduction, ...]) -> tuple[str, ...]:
    """Names of all state variables of a pass."""
    return tuple(name for r in pass_ for name in r.states)


def _each(pass_: tuple[Reduction, ...], text: Callable[[Reduction], str]) -> str:
    return "\n".join(text(r) for r in pass_)


def serial(pass_: tuple[Reduction, ...], first: str, stop: str, step: str) -> str:
    """Declares the states and folds the elements first, first+step, ... below `stop` of one thread."""
    advance = "++j" if step == "1" else f"j += {step}"
    body = _each(pass_, lambda r: r.absorbed("j"))
    declared = _each(pass_, Reduction.declared)
    return f"{declared}\nfor (int j = {first}; j < {stop}; {advance}) {{\n{block(body)}\n}}"


def accumulated(pass_: tuple[Reduction, ...], stop: str, ways: int) -> str:
    """Like `serial` over every element below `stop`, into `ways` independent partial results, then a
    loop over the remainder."""
    if ways == 1:
        return serial(pass_, "0", stop, "1")
    whole = f"{states(pass_)[0]}_whole"
    loop = f"#pragma unroll\nfor (int k = 0; k < {ways}; ++k) {{\n"

    def part(name: str) -> str:
        return f"{name}_part[k]"

    arrays = "\n".join(f"float {name}_part[{ways}];" for name in states(pass_))
    clear = "\n".join(f"{name}_part[k] = {start};" for r in pass_ for name, start in r.states.items())
    body = _each(pass_, lambda r: r.absorbed("j + k", part))
    join = _each(pass_, lambda r: r.merged(part))
    rest = _each(pass_, lambda r: r.absorbed("j"))
    return (
        f"{arrays}\n{loop}{block(clear)}\n}}\n"
        f"int {whole} = {stop} / {ways} * {ways};\n"
        f"for (int j = 0; j < {whole}; j += {ways}) {{\n{block(loop)}\n{block(body, 2)}\n    }}\n}}\n"
        f"{_each(pass_, Reduction.declared)}\n{loop}{block(join)}\n}}\n"
        f"for (int j = {whole}; j < {stop}; ++j) {{\n{block(rest)}\n}}"
    )


def shared(pass_: tuple[Reduction, ...], size: int) -> str:
    """Shared arrays `part_NAME` for `tree` and `warps`."""
    return "\n".join(f"__shared__ float part_{name}[{size}];" for name in states(pass_))


def tree(pass_: tuple[Reduction, ...]) -> str:
    """Combines over the block by halving; its size must be a power of two. Afterwards every thread
    holds the result and the shared arrays may be used again."""

    def mine(name: str) -> str:
        return f"part_{name}[threadIdx.x]"

    put = "\n".join(f"{mine(name)} = {name};" for name in states(pass_))
    fold = _each(pass_, lambda r: r.merged(lambda name: f"part_{name}[threadIdx.x + s]", mine))
    take = "\n".join(f"{name} = part_{name}[0];" for name in states(pass_))
    return (
        f"{put}\n__syncthreads();\n"
        "for (int s = blockDim.x / 2; s > 0; s /= 2) {\n"
        f"    if (threadIdx.x < s) {{\n{block(fold, 2)}\n    }}\n    __syncthreads();\n}}\n"
        f"{take}\n__syncthreads();"
    )


def warp_all(pass_: tuple[Reduction, ...]) -> str:
    """Combines over the warp by butterfly shuffles; every lane ends with the result."""
    lines = []
    for r in pass_:
        if len(r.states) == 1:
            lines.append(r.merged(lambda name: f"__shfl_xor_sync(0xffffffff, {name}, offset)"))
            continue
        for name in r.states:
            lines.append(f"float {name}_other = __shfl_xor_sync(0xffffffff, {name}, offset);")
        lines.append(r.merged(lambda name: f"{name}_other"))
    body = "\n".join(lines)
    return f"for (int offset = 16; offset > 0; offset /= 2) {{\n{block(body)}\n}}"


def warps(pass_: tuple[Reduction, ...]) -> str:
    """Combines over the block: shuffles in each warp, one slot a warp in the shared arrays, then every
    thread folds the slots. Needs `lane`, `warp` and `warps` in scope."""
    put = "\n".join(f"part_{name}[warp] = {name};" for name in states(pass_))
    clear = "\n".join(f"{name} = {start};" for r in pass_ for name, start in r.states.items())
    fold = _each(pass_, lambda r: r.merged(lambda name: f"part_{name}[w]"))
    return (
        f"{warp_all(pass_)}\n"
        f"if (lane == 0) {{\n{block(put)}\n}}\n__syncthreads();\n{clear}\n"
        f"for (int w = 0; w < warps; ++w) {{\n{block(fold)}\n}}\n__syncthreads();"
    )
