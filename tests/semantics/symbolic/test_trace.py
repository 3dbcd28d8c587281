from fractions import Fraction

import pytest

from kshell import tasks
from kshell.prover.keys import subject
from semantics import core
from semantics.lean.file import emit
from semantics.lean.kernel import array_numbers, numbers
from semantics.symbolic import terms
from semantics.symbolic.linear import Linear, choice, literal, variable
from semantics.symbolic.loops import accumulated_total
from semantics.symbolic.owners import invert
from semantics.symbolic.state import Context, Unsupported
from semantics.symbolic.trace import Block, Executor, Fork, Repeat

from ...kshell.prover import sources


def traced(source: str, name: str, **axes: int) -> Block:
    task = tasks.get(name)
    plan = subject(source, task, task.workload(**axes)).plan
    call = plan.calls[0]
    sizes = {number: plan.buffers[buffer][0] for buffer, number in numbers(plan).items()}
    output = numbers(plan)[task.outputs[0].name]
    mapping = array_numbers(plan, call)
    return Executor(Context(call, mapping, sizes), {output: sizes[output]}, frozenset()).run()


def test_a_grid_stride_loop_advances_by_the_grid() -> None:
    block = traced(sources.GRID_STRIDE, "gelu_tanh", n=16385)
    loop = block.nodes[-1]
    assert isinstance(loop, Repeat) and loop.count is None
    (index,) = [x for _, x, _ in block.all_stores()]
    assert index == variable("bX").scale(256) + variable("tX") + variable(loop.counter).scale(4096)


def test_an_accumulator_becomes_a_sum_of_what_a_round_adds() -> None:
    block = traced(sources.GEMV, "gemv", M=64, N=96)
    ((_, index, _),) = block.all_stores()
    assert index == variable("bX").scale(64) + variable("tX") or index == variable("tX")
    totals = [term for node in _points(block) for term in node if isinstance(term, terms.Total)]
    assert literal(96) in [total.count for total in totals]


def _points(block: Block) -> list[list[object]]:
    found: list[list[object]] = []
    for node in block.nodes:
        found.append(list(node.after.reals.values()))
        for inner in ("then", "other", "body"):
            if hasattr(node, inner):
                found += _points(getattr(node, inner))
    return found


def test_a_side_of_a_branch_that_the_sizes_rule_out_is_not_entered() -> None:
    unknown = "float v = x[i]; for (int k = 0; k < 3; ++k) v = v * v + 1.0f; y[i] = v;"
    both = f"if (n % 4 == 0) {{ float v = x[i]; y[i] = v / (1.0f + expf(-v)); }} else {{ {unknown} }}"
    head, tail = sources.GUARDED.split("        float v")[0], sources.GUARDED.split("expf(-v));")[1]
    block = traced(head + both + tail, "silu", n=16384)
    (guard,) = [node for node in block.nodes if isinstance(node, Fork)]
    (inner,) = guard.then.nodes
    assert isinstance(inner, Fork) and inner.other.unreached and not inner.then.unreached
    assert inner.then.nodes and not inner.other.nodes
    assert guard.other.unreached, "a grid of exactly n threads"


def test_a_loop_with_bounds_that_depend_on_the_thread_has_a_count_when_its_sum_is_read() -> None:
    bounded = sources.GEMV.replace("int k = 0; k < N", "int k = max(0, 3 - row); k < min(N, row)")
    totals = [
        term
        for node in _points(traced(bounded, "gemv", M=64, N=96))
        for term in node
        if isinstance(term, terms.Total)
    ]
    row = variable("tX")
    expected = choice(literal(96), row, False) - choice(literal(0), literal(3) - row, True)
    assert expected in [total.count for total in totals]


@pytest.mark.parametrize("swapped", [False, True])
def test_several_additions_of_a_round_are_one_element(swapped: bool) -> None:
    a, b, before = terms.Cell(0, variable("k")), terms.Cell(1, variable("k")), terms.Named("$0", "before")

    def add(x: terms.Term, y: terms.Term) -> terms.Term:
        return terms.Binary(core.RealOp.ADD, *((y, x) if swapped else (x, y)))

    zero = terms.Number(Fraction(0))
    total = accumulated_total(zero, before, add(add(before, a), b), "k")
    both = terms.Binary(core.RealOp.ADD, a, b)
    assert total == terms.Total("ks", variable("k"), terms.substitute(both, {"k": variable("ks")}))
    assert accumulated_total(zero, before, add(add(before, a), before), "k") is None


def test_a_shuffle_of_another_kind_is_beyond_the_automatic_prover_and_the_line_is_named() -> None:
    task = tasks.get("gemv")
    down = sources.WARP.replace("__shfl_xor_sync", "__shfl_down_sync")
    known = subject(down, task, task.workload(M=8, N=32))
    with pytest.raises(Unsupported, match="other than a reduction by xor shuffles") as refused:
        emit(down, known.plan, known.meaning, ["A", "x"])
    assert refused.value.line == 3


def test_owners_are_read_off_the_store_index() -> None:
    index = variable("bX").scale(1024) + variable("tX").scale(4)
    owner = invert([index, index.plus(3)], {"bX": 16, "tX": 256})
    assert _at(owner.digits["bX"], 5000) == 4
    assert _at(owner.digits["tX"], 5000) == (5000 % 1024) // 4


def test_strides_that_do_not_divide_each_other_are_taken_apart_from_the_top() -> None:
    index = variable("bY").scale(300) + variable("bX").scale(16) + variable("tX")
    owner = invert([index], {"bX": 18, "bY": 7, "tX": 16})
    for cell in (0, 15, 16, 299 - 12, 300, 1000):
        y, x, t = (_at(owner.digits[name], cell) for name in ("bY", "bX", "tX"))
        assert 300 * y + 16 * x + t == cell


def _at(x: Linear, cell: int) -> int:
    return x.substitute({"i": literal(cell)}).constant
