"""One buffer behind several arrays: what a call binds, what `__restrict__` forbids, and the calls of a plan
when an output lies in the buffer of an input.

A task declares which output may share the buffer of which input (`Task.inplace`). Without
`__restrict__` C gives a shared buffer its plain meaning; with it, on either of two pointers to one buffer
through which something is stored, the behaviour is undefined."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from semantics import core, spec
from semantics.walk import walk


def bound(call: core.KernelCall) -> dict[int, str]:
    """Buffer name of each global array of the kernel, by the array's id."""
    return {
        number: argument
        for (kind, number), argument in zip(call.kernel.params, call.args, strict=True)
        if kind == "array" and isinstance(argument, str)
    }


def stored(kernel: core.Kernel) -> set[int]:
    """The arrays a kernel stores to."""
    return {s.array for s in walk(kernel.body) if isinstance(s, core.Store | core.AtomicAdd)}


def restricted(call: core.KernelCall) -> Iterator[tuple[str, core.Array, core.Array, set[int]]]:
    """Two parameters of a call on one buffer, one of them `__restrict__`, with a store through either:
    the buffer, both arrays, and the ids stored through."""
    kernel = call.kernel
    written = stored(kernel)
    pairs = sorted(bound(call).items())
    for position, (one, name) in enumerate(pairs):
        for other, other_name in pairs[position + 1 :]:
            if name == other_name and written & {one, other}:
                first, second = kernel.arrays[one], kernel.arrays[other]
                if first.restrict or second.restrict:
                    yield name, first, second, written & {one, other}


def in_place(plan: core.Plan, shared: Mapping[str, str]) -> core.Plan:
    """The plan with every output of `shared` (output to input) in the buffer of its input. Buffers keep
    their names and numbers; those of the outputs are not used. Raises ValueError when two buffers that
    are to be one have different sizes."""
    for output, name in shared.items():
        if plan.buffers[output] != plan.buffers[name]:
            raise ValueError(f"{output} and {name} differ in size or type, so they cannot share a buffer")

    def moved(call: core.KernelCall) -> core.KernelCall:
        args = tuple(shared.get(arg, arg) if isinstance(arg, str) else arg for arg in call.args)
        return replace(call, args=args)

    return replace(plan, calls=tuple(moved(call) for call in plan.calls))


def declared(plan: core.Plan, inplace: Mapping[str, str], inputs: Collection[str]) -> dict[str, str]:
    """The declared aliasing that the source admits, output to input: both are buffers of the plan, of one
    size and type, and no `__restrict__` promises that they are apart."""
    shared: dict[str, str] = {}
    for output, name in inplace.items():
        one = {output: name}
        if (
            name in inputs
            and name not in shared.values()
            and output in plan.buffers
            and plan.buffers[output] == plan.buffers.get(name)
            and not any(True for call in in_place(plan, one).calls for _ in restricted(call))
        ):
            shared |= one
    return shared


def moved_outputs(meaning: spec.Spec, shared: Mapping[str, str]) -> spec.Spec:
    """The spec with outputs named by the buffer they lie in."""
    outputs = tuple(replace(out, name=shared.get(out.name, out.name)) for out in meaning.outputs)
    return replace(meaning, outputs=outputs)
