"""Sizes of element types and of shared memory."""

from semantics import core

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


def shared_bytes(call: core.KernelCall) -> int:
    """Bytes of the arena a launch of device `cpu` uses: arrays, the gaps behind them, dynamic part."""
    rooms = sum(
        (a.size * ELEMENT_BYTES.get(a.elem, 4) + 63) // 64 * 64 + 64
        for a in call.kernel.arrays
        if a.space == core.Space.SHARED and a.size is not None
    )
    return rooms + call.shared_bytes
