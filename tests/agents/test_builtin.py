"""The built-in generator on devices made of formulas."""

import asyncio
import random
import threading

import pytest

from agents import builtin
from agents.builtin import BuiltinGenerator, NoFamily, dropout, stalled_rounds
from agents.fingerprint import fingerprint
from agents.insight import distill
from agents.protocols import Proposal, Scored
from kshell import tasks
from scaffolds.families import families_of
from scaffolds.families.space import conservative_schedule, random_schedule
from semantics.task import Task
from tests.agents.synthetic import Speed, context, scored

RELU = tasks.get("relu")
GEMM = tasks.get("gemm")


def propose(**settings: object) -> list[Proposal]:
    return asyncio.run(BuiltinGenerator().propose(context(**settings)))  # type: ignore[arg-type]


def search(task: Task, speed: Speed, rounds: int, group: int = 4, seed: int = 0) -> tuple[Scored, ...]:
    history: tuple[Scored, ...] = ()
    for number in range(1, rounds + 1):
        proposals = propose(task=task, round_=number, group=group, seed=seed, history=history)
        history += tuple(
            scored(p, task, number, i, speed(p.family, p.schedule)) for i, p in enumerate(proposals)
        )
    return history


def peak(family: str, schedule: dict[str, int | str | bool]) -> float:
    """Best, 2.0, for blocks of 64x8 with patches of 4x8."""
    if family != "matmul-patch":
        return 0.5
    wanted = {"block_x": 8, "block_y": 4, "patch_rows": 4, "patch_cols": 8}
    distance = sum(abs(int(schedule[n]).bit_length() - v.bit_length()) for n, v in wanted.items())
    return 2.0 / (1 + 0.25 * distance)


def test_round_one_begins_with_the_conservative_kernel_and_spreads_over_families() -> None:
    proposals = propose(task=RELU, group=6)
    first = families_of(RELU)[0]
    assert proposals[0].family == first.name
    assert proposals[0].schedule == conservative_schedule(first, RELU, RELU.workload())
    assert "conservative" in proposals[0].strategy
    assert len({p.family for p in proposals}) == 6


@pytest.mark.parametrize("task", tasks.names())
def test_every_builtin_task_has_kernels(task: str) -> None:
    proposals = propose(task=tasks.get(task), group=5)
    assert len(proposals) == 5
    assert all("void launch(" in p.source and p.proposer == "builtin" for p in proposals)


def test_a_task_without_a_family_is_refused_in_one_line() -> None:
    odd = RELU.model_copy(update={"name": "fft", "family": "spectral"})
    with pytest.raises(NoFamily, match="no built-in kernel family for task fft"):
        propose(task=odd)


def test_a_chain_of_elementwise_functions_needs_only_its_spec() -> None:
    task = RELU.model_copy(update={"name": "chain", "family": "fused"})
    spec = tasks.spec_of(tasks.get("silu"), RELU.workload())
    proposals = asyncio.run(BuiltinGenerator(lambda _t, _w: spec).propose(context(task)))
    assert "expf(-" in proposals[0].source


def test_the_same_context_gives_the_same_proposals() -> None:
    one, two = search(GEMM, peak, 4, seed=3), search(GEMM, peak, 4, seed=3)
    assert [s.candidate for s in one] == [s.candidate for s in two]
    other = search(GEMM, peak, 4, seed=4)
    assert [s.candidate.id for s in one] != [s.candidate.id for s in other]


def test_no_program_is_proposed_twice() -> None:
    history = search(RELU, lambda _f, s: 1.0 + len(s), 12, group=6)
    prints = [fingerprint(s.candidate.source) for s in history]
    assert len(prints) == len(set(prints)) == 72


def test_an_exhausted_space_gives_fewer_proposals() -> None:
    history = search(RELU, lambda _f, _s: 1.0, 8, group=40)
    assert len(history) < 8 * 40
    assert propose(task=RELU, round_=9, history=history) == []


def test_the_search_beats_random_sampling_on_a_smooth_landscape() -> None:
    found = [max(s.reward.value for s in search(GEMM, peak, 8, seed=k)) for k in range(5)]
    drawn = []
    for k in range(5):
        rng = random.Random(k)
        families = families_of(GEMM)
        picks = [rng.choice(families) for _ in range(32)]
        drawn.append(max(peak(f.name, random_schedule(f, GEMM, GEMM.workload(), rng)) for f in picks))
    assert sum(found) > sum(drawn)
    assert sum(f >= 1.6 for f in found) >= 4


def test_later_rounds_improve_on_the_first() -> None:
    history = search(GEMM, peak, 6)
    first = max(s.reward.value for s in history if s.candidate.round == 1)
    last = max(s.reward.value for s in history if s.candidate.round == 6)
    assert last > first


def test_a_compile_error_is_repaired_by_dropping_the_choice_that_departed() -> None:
    family = families_of(GEMM)[2]
    plain = conservative_schedule(family, GEMM, GEMM.workload())
    start = {**plain, "block_y": 4}
    good = scored(Proposal("// good", "builtin", family=family.name, schedule=start), GEMM, 1, 0, 1.0)
    bad = Proposal("// bad", "builtin", good.candidate.id, family.name, {**start, "patch_cols": 16})
    failed = scored(bad, GEMM, 2, 0, -1.0)
    proposals = propose(task=GEMM, round_=3, history=(good, failed))
    repair = next(p for p in proposals if p.strategy.startswith("repair"))
    assert repair.parent == failed.candidate.id
    assert repair.schedule == {**start, "patch_cols": 8}
    assert "patch_cols 16 -> 8 (did not compile)" in repair.strategy


def test_a_wrong_result_retreats_to_the_conservative_schedule() -> None:
    family = families_of(GEMM)[3]
    plain = conservative_schedule(family, GEMM, GEMM.workload())
    wrong = scored(
        Proposal("// wrong", "builtin", None, family.name, {**plain, "tile_inner": 16}), GEMM, 1, 0, 0.0
    )
    proposals = propose(task=GEMM, round_=2, history=(wrong,))
    assert proposals[0].strategy.startswith("retreat")
    assert (proposals[0].family, proposals[0].schedule) == (family.name, plain)
    again = scored(proposals[0], GEMM, 2, 0, 0.0)
    further = propose(task=GEMM, round_=3, history=(wrong, again))
    assert further[0].family == families_of(GEMM)[0].name


def test_failures_take_at_most_half_of_the_group() -> None:
    def broken(family: str, _schedule: dict[str, int | str | bool]) -> float:
        return 1.0 if family == "elementwise-guarded" else 0.0

    history = search(RELU, broken, 1, group=6)
    proposals = propose(task=RELU, round_=2, group=4, history=history)
    assert sum(p.strategy.startswith(("retreat", "repair")) for p in proposals) <= 2


def test_banned_candidates_are_not_built_on_and_pinned_ones_are() -> None:
    history = search(GEMM, peak, 3)
    best = max(history, key=lambda s: s.reward.value).candidate.id
    for seed in range(4):
        proposals = propose(task=GEMM, round_=4, seed=seed, history=history, banned=(best,))
        assert all(p.parent != best for p in proposals)
    weak = min((s for s in history), key=lambda s: s.reward.value).candidate.id
    parents = [
        p.parent
        for seed in range(4)
        for p in propose(task=GEMM, round_=4, seed=seed, history=history, pinned=(weak,))
    ]
    assert weak in parents


def test_a_note_steers_and_a_note_not_understood_is_said_so() -> None:
    history = search(RELU, lambda _f, _s: 1.0, 1)
    notes = ("prefer float4", "block 512", "make it sing")
    proposals = propose(task=RELU, round_=2, history=history, notes=notes)
    assert any(p.family == "elementwise-float4" and p.schedule["block"] == 512 for p in proposals)
    assert "note not understood: 'make it sing'" in proposals[0].strategy
    avoided = propose(task=RELU, round_=2, group=8, history=history, notes=("avoid float4", "no block 1024"))
    assert all(p.family != "elementwise-float4" and p.schedule.get("block") != 1024 for p in avoided)


def test_insights_are_followed_and_named() -> None:
    family = families_of(GEMM)[2]
    plain = conservative_schedule(family, GEMM, GEMM.workload())
    before = scored(Proposal("// a", "builtin", None, family.name, plain), GEMM, 1, 0, 1.0)
    after = scored(
        Proposal("// b", "builtin", None, family.name, {**plain, "patch_cols": 8}), GEMM, 1, 1, 3.0
    )
    insight = distill(before, after, GEMM, "cpu").model_copy(update={"id": 7})
    named = [
        p
        for seed in range(10)
        for p in propose(task=GEMM, round_=2, seed=seed, history=(before,), insights=(insight,))
        if 7 in p.insights
    ]
    assert named
    assert all(p.schedule["patch_cols"] == 8 or p.family == family.name for p in named)


def test_dropout_grows_with_stall_and_is_bounded() -> None:
    flat = search(RELU, lambda _f, _s: 1.0, 5)
    assert stalled_rounds(flat) == 4
    assert [dropout(n) for n in (0, 1, 2)] == [0.0, 0.15, 0.3]
    assert dropout(50) == 0.6
    rising = search(RELU, lambda _f, s: 1.0, 1)
    assert stalled_rounds(rising) == 0


def test_a_kernel_of_another_author_is_rewritten_when_it_is_good() -> None:
    source = (
        "__global__ void mine(const float* x, float* y, int n) {\n"
        "    for (int i = threadIdx.x; i < n; i += 32) { y[i] = fmaxf(x[i], 0.0f); }\n}\n"
        "void launch(const float* x, float* y, int n) { mine<<<1, 32>>>(x, y, n); }\n"
    )
    foreign = scored(Proposal(source, "llm"), RELU, 1, 0, 5.0)
    found = [
        p
        for seed in range(12)
        for p in propose(task=RELU, round_=2, seed=seed, history=(foreign,))
        if p.parent == foreign.candidate.id
    ]
    assert found
    assert all(p.family == "" and "mine<<<1, 32>>>" in p.source for p in found)
    assert found[0].schedule == {"rewrite": "unroll i by 4"}


def test_proposals_leave_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    waited: list[bool] = []

    def slow(_round: object) -> list[Proposal]:
        waited.append(release.wait(10))
        return []

    monkeypatch.setattr(builtin._Round, "proposals", slow)

    async def both() -> list[Proposal]:
        proposing = asyncio.create_task(BuiltinGenerator().propose(context(RELU)))
        await asyncio.sleep(0)
        release.set()
        return await proposing

    assert asyncio.run(both()) == []
    assert waited == [True]
