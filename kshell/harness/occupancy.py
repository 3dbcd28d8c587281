"""How much of a multiprocessor a launch can fill, from what its compiler reports.

The rules are those of NVIDIA's occupancy calculator: registers are given to warps in units of 256, shared
memory to blocks in units of 128 bytes beside 1 KiB that the system keeps for each."""

from dataclasses import dataclass

WARP = 32
_REGISTER_UNIT, _SHARED_UNIT = 256, 128


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """Limits of one multiprocessor: threads, blocks, 32-bit registers, bytes of shared memory, and the
    bytes the system keeps for a block. The defaults are those of compute capability 9.0."""

    threads: int = 2048
    blocks: int = 32
    registers: int = 65536
    shared_bytes: int = 233472
    reserved_bytes: int = 1024


def resident_blocks(registers: int, shared_bytes: int, threads: int, limits: Multiprocessor) -> int:
    """Blocks of `threads` threads that fit at once; 0 when not even one does."""
    warps = -(-threads // WARP)
    of_a_warp = -(-registers * WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    of_a_block = -(-(shared_bytes + limits.reserved_bytes) // _SHARED_UNIT) * _SHARED_UNIT
    found = [limits.blocks, limits.threads // (warps * WARP)]
    if of_a_warp:
        found.append(limits.registers // of_a_warp // warps)
    found.append(limits.shared_bytes // of_a_block)
    return min(found)


def occupancy(registers: int, shared_bytes: int, threads: int, limits: Multiprocessor) -> float:
    """Share of the multiprocessor's threads that can be resident, 0 to 1."""
    warps = -(-threads // WARP)
    return resident_blocks(registers, shared_bytes, threads, limits) * warps * WARP / limits.threads
