"""Mutants: each rule changes what it says, one thing at a time, and the text stays in the language."""

import difflib

import pytest

from semantics.mutate import Mutant, Rule, mutants
from semantics.parser import parse
from semantics.printer import print_module
from semantics.program import load
from semantics.span import Refusal

SOURCE = """
__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += 64) sum += x[blockIdx.x * n + i];
    s[t] = sum;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] = s[t] + s[t + k];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

void launch(const float* x, float* y, int rows, int n) { row_sum<<<rows, 64>>>(x, y, n); }
"""


@pytest.fixture(scope="module")
def found() -> list[Mutant]:
    return list(mutants(parse(SOURCE)))


def labels(found: list[Mutant], rule: Rule) -> list[tuple[int, str]]:
    return [(m.line, m.label) for m in found if m.rule is rule]


def test_every_rule_applies(found: list[Mutant]) -> None:
    assert {m.rule for m in found} == set(Rule)


def test_arithmetic_swaps_operators_outside_indices_and_loop_headers(found: list[Mutant]) -> None:
    assert labels(found, Rule.ARITHMETIC) == [
        (5, "0.0f becomes 1.0f"),
        (6, "`+=` becomes `-=`"),
        (10, "`+` becomes `-`"),
    ]


def test_memory_shifts_indices_and_drops_stores(found: list[Mutant]) -> None:
    assert (10, "`s[t + k]` becomes `s[t + k + 1]`") in labels(found, Rule.MEMORY)
    assert (7, "`s[t] = sum` is dropped") in labels(found, Rule.MEMORY)
    assert (13, "`y[blockIdx.x] = s[0]` is dropped") in labels(found, Rule.MEMORY)


def test_each_barrier_is_dropped_once(found: list[Mutant]) -> None:
    assert labels(found, Rule.BARRIER) == [
        (8, "__syncthreads() is dropped"),
        (11, "__syncthreads() is dropped"),
    ]


def test_registers_are_confused_with_others_of_their_type(found: list[Mutant]) -> None:
    assert (10, "`t` becomes `k`") in labels(found, Rule.REGISTER)
    assert all("`sum` becomes" not in label for _, label in labels(found, Rule.REGISTER))


def test_loop_ranges_change_start_bound_and_step(found: list[Mutant]) -> None:
    assert labels(found, Rule.RANGE)[:4] == [
        (6, "loop condition `<` becomes `<=`"),
        (6, "loop bound becomes `n - 1`"),
        (6, "the loop starts one later"),
        (6, "the step becomes `i += 64 + 1`"),
    ]


def test_a_mutant_differs_from_its_original_in_one_place(found: list[Mutant]) -> None:
    original = print_module(parse(SOURCE)).splitlines()
    for m in found:
        changed = [
            line
            for line in difflib.ndiff(original, m.source.splitlines())
            if line.startswith(("- ", "+ ")) and line[2:].strip()
        ]
        assert 1 <= len(changed) <= 2, m.label
    assert len({m.source for m in found}) == len(found)


def test_mutants_are_in_the_language_or_refused_with_a_place(found: list[Mutant]) -> None:
    loaded = 0
    for m in found:
        try:
            load(m.source)
            loaded += 1
        except Refusal as refusal:
            assert refusal.span.line
    assert loaded > 0.8 * len(found)
