import argparse

from kshell import tasks
from kshell.bench import proofs


def listed(*words: str) -> list[proofs.Kernel]:
    parser = argparse.ArgumentParser()
    proofs.configure(parser)
    return list(proofs._kernels(parser.parse_args(list(words))))


def test_each_way_to_compute_is_a_variant_of_its_family() -> None:
    found = {k.choices for k in listed("--suite", "level1", "--task", "softmax", "--variant", "thread")}
    assert found == {"", "accumulators=4", "passes=online", "divide=reciprocal", "exponentials=keep"}


def test_the_suite_has_every_task_of_level_one() -> None:
    assert {k.task.name for k in listed("--suite", "level1")} == set(tasks.names())


def test_ragged_sizes_add_the_plain_schedule_of_each_family_once_more() -> None:
    plain = listed("--task", "relu")
    both = listed("--task", "relu", "--ragged")
    assert len(both) == 2 * len(plain)
    assert {k.workload.axes["n"] for k in both} == {16384, 16385}


def test_short_axes_stay_as_they_are_at_ragged_sizes() -> None:
    axes = proofs.ragged(tasks.get("conv2d").workload()).axes
    assert axes == {"batch": 1, "cin": 17, "cout": 33, "H": 33, "k": 3, "pad": 1}


def test_the_summary_counts_level_one_tasks_only() -> None:
    def outcome(task: str, proven: bool, seconds: float) -> proofs.Outcome:
        return proofs.Outcome(task, "v", "", {"n": 4}, proven, 3, None, seconds, 10, "" if proven else "why")

    found = proofs._summary(
        [outcome("relu", True, 4.0), outcome("scale", True, 8.0), outcome("gemm", False, 1.0)]
    )
    assert (found["proven"], found["total"]) == (2, 3)
    assert (found["tasks"], found["tasks_proven"]) == (2, 1)
    assert found["median_seconds_warm"] == 6.0
