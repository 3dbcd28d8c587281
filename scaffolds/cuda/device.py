"""The device side of a candidate, and its launches as a list a worker process can follow."""

import json
from dataclasses import dataclass
from fractions import Fraction

from scaffolds.layout import ELEMENT_BYTES
from scaffolds.program import template_arguments
from semantics import ast, core
from semantics.printer import print_item
from semantics.span import Refusal
from semantics.task import Task

PRELUDE = """\
#ifndef INFINITY
#define INFINITY (__int_as_float(0x7f800000))
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38f
#endif
#ifdef __CUDACC_RTC__
namespace std {
template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };
template <bool C, class A, class B> struct conditional { typedef A type; };
template <class A, class B> struct conditional<false, A, B> { typedef B type; };
}
#endif
"""


@dataclass(frozen=True, slots=True)
class DeviceText:
    """CUDA C++ without host code, and per launch of the launcher the kernel's name expression."""

    text: str
    kernels: tuple[str, ...]


def device_text(module: ast.Module) -> DeviceText:
    """What NVRTC compiles. Raises Refusal when the candidate has no launch."""
    launchers = module.functions("host")
    launches = [s for f in launchers for s in f.body.body if isinstance(s, ast.Launch)]
    if len(launchers) != 1 or not launches:
        raise Refusal("the candidate has no launcher with a kernel launch")
    items = [i for i in module.items if not (isinstance(i, ast.Function) and i.kind == "host")]
    names = tuple(f"{s.kernel}{template_arguments(s, launchers[0])}" for s in launches)
    return DeviceText(PRELUDE + "\n".join(print_item(i) for i in items) + "\n", names)


def _argument(
    value: str | int | Fraction, kind: tuple[str, int], kernel: core.Kernel
) -> list[str | int | float]:
    if isinstance(value, str):
        return ["buffer", value]
    scalar = kernel.scalars[kind[1]]
    if scalar.type is None:
        return ["float", float(value)]
    return [scalar.type.value, int(value)]


def plan_json(plan: core.Plan, task: Task, device: DeviceText) -> str:
    """The launches with everything known, as JSON: buffers with roles and bytes, calls in order."""
    inputs = {t.name for t in task.inputs}
    outputs = {t.name for t in task.outputs}
    buffers = {
        name: {
            "role": "input" if name in inputs else "output" if name in outputs else "workspace",
            "bytes": count * ELEMENT_BYTES[element],
        }
        for name, (count, element) in plan.buffers.items()
    }
    calls = [
        {
            "kernel": name,
            "grid": list(call.grid),
            "block": list(call.block),
            "shared": call.shared_bytes,
            "args": [
                _argument(a, p, call.kernel) for a, p in zip(call.args, call.kernel.params, strict=True)
            ],
        }
        for call, name in zip(plan.calls, device.kernels, strict=True)
    ]
    return json.dumps({"buffers": buffers, "calls": calls})
