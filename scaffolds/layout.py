"""Sizes of element types and the device's limits on a launch."""

from semantics import core
from semantics.span import Refusal

ELEMENT_BYTES = {
    "float": 4,
    "int": 4,
    "unsigned": 4,
    "unsigned int": 4,
    "bool": 1,
    "long": 8,
    "long long": 8,
    "unsigned long": 8,
    "unsigned long long": 8,
    "size_t": 8,
    "float2": 8,
    "float3": 12,
    "float4": 16,
    "int2": 8,
    "int4": 16,
    "half": 2,
    "__half": 2,
    "__nv_bfloat16": 2,
    "double": 8,
}

MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
# Bytes of shared memory a block gets: without an opt-in call on the host, and declared statically.
MAX_SHARED = 48 * 1024


def static_shared_bytes(kernel: core.Kernel) -> int:
    """Bytes of a kernel's static shared arrays."""
    return sum(
        a.size * ELEMENT_BYTES.get(a.elem, 4)
        for a in kernel.arrays
        if a.space == core.Space.SHARED and a.size is not None
    )


def shared_bytes(call: core.KernelCall) -> int:
    """Bytes of the arena a launch of device `cpu` uses: arrays, the gaps behind them, dynamic part."""
    rooms = sum(
        (a.size * ELEMENT_BYTES.get(a.elem, 4) + 63) // 64 * 64 + 64
        for a in call.kernel.arrays
        if a.space == core.Space.SHARED and a.size is not None
    )
    return rooms + call.shared_bytes


def check_limits(plan: core.Plan) -> None:
    """Raises Refusal for a launch no device accepts: too many threads, blocks or shared bytes."""
    for call in plan.calls:
        name, span = call.kernel.name, call.span
        threads = call.block[0] * call.block[1] * call.block[2]
        if threads > MAX_THREADS or any(b > m for b, m in zip(call.block, MAX_BLOCK, strict=True)):
            raise Refusal(f"{name} asks for blocks of {call.block}; a block has at most 1024 threads", span)
        if any(g > m for g, m in zip(call.grid, MAX_GRID, strict=True)):
            raise Refusal(f"{name} asks for a grid of {call.grid}; the limit is {MAX_GRID}", span)
        if min(*call.grid, *call.block) < 1:
            raise Refusal(f"{name} asks for an empty launch: grid {call.grid}, block {call.block}", span)
        shared = static_shared_bytes(call.kernel) + call.shared_bytes
        if shared > MAX_SHARED:
            raise Refusal(f"{name} asks for {shared} bytes of shared memory a block; the limit is {MAX_SHARED}", span)
