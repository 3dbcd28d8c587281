"""The interpreter against the host compiler: random integer programs that it runs without a fault give the
numbers that the compiled program prints, unsigned values that wrap and those of 2^63 and more included."""

from pathlib import Path

import numpy as np

from semantics import interp
from semantics.program import load
from semantics.span import Refusal
from tests.semantics.test_against_compiler import Generator, X, _compiled, _task

# Programs whose size_t values leave the range of int64 stand first.
SEEDS = (1222, 1575, *range(2000, 2090))


def test_random_programs_agree(tmp_path: Path) -> None:
    task = _task()
    sources: list[str] = []
    expected: list[list[int]] = []
    for seed in SEEDS:
        source = Generator(seed).source(f"k{len(sources)}")
        try:
            program = load(source)
        except Refusal:
            continue
        result = interp.run(program.plan(task, task.workload()), {"x": np.array(X)}, fuel=100_000)
        if result.faults or result.unwritten:
            continue
        sources.append(source)
        expected.append([int(v) for v in result.outputs["y"]])
    assert len(sources) >= 20
    for got, numbers, source in zip(_compiled(sources, tmp_path), expected, sources, strict=True):
        assert got == numbers, source


WIDE = """
__global__ void wide(const int* x, int* y, int n) {
    int t = threadIdx.x;
    size_t big = (size_t)0 - (size_t)(t + 1);
    unsigned long long top = 1ULL << 63;
    size_t kept[2] = {big, top + (size_t)t};
    y[5 * t] = (int)(big % 9973);
    y[5 * t + 1] = (int)(big / 1000000007ULL % 1000);
    y[5 * t + 2] = big > top ? 1 : 2;
    y[5 * t + 3] = (int)(kept[1] >> 60) + (int)(kept[0] & 255);
    y[5 * t + 4] = (int)(max(big, top) % 101) + (t > 2 ? (big < kept[1]) : (int)(kept[1] % 7));
}
void launch(const int* x, int* y, int n) { wide<<<1, 6>>>(x, y, n); }
"""


def test_values_beyond_int64_are_exact() -> None:
    task = _task()
    result = interp.run(load(WIDE).plan(task, task.workload()), {"x": np.array(X)})
    assert result.faults == ()
    wanted: list[int] = []
    for t in range(6):
        big, top = 2**64 - (t + 1), 2**63
        other = top + t
        last = int(big < other) if t > 2 else other % 7
        parts = [big % 9973, big // 1000000007 % 1000, 1, (other >> 60) + (big & 255)]
        wanted += [*parts, max(big, top) % 101 + last]
    assert [int(v) for v in result.outputs["y"]] == wanted
