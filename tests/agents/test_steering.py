"""Notes of a person as wishes."""

import pytest

from agents.steering import read_notes
from kshell import tasks
from scaffolds.families import families_of

ELEMENTWISE = families_of(tasks.get("relu"))
SOFTMAX = families_of(tasks.get("softmax"))


@pytest.mark.parametrize("note", ["block 512", "use block=512", "block size 512", "512 threads please"])
def test_a_block_size_is_understood_in_the_ways_people_write_it(note: str) -> None:
    steering = read_notes((note,), ELEMENTWISE)
    assert steering.values("elementwise-guarded") == {"block": 512}
    assert steering.unknown == ()


def test_families_and_named_choices_are_understood() -> None:
    assert read_notes(("prefer float4",), ELEMENTWISE).families() == ("elementwise-float4",)
    assert read_notes(("grid-stride, block 128",), ELEMENTWISE).values("elementwise-grid-stride") == {
        "block": 128
    }
    assert read_notes(("try online",), SOFTMAX).values("softmax-thread") == {"passes": "online"}


def test_a_negation_turns_the_wish_round() -> None:
    steering = read_notes(("avoid float4",), ELEMENTWISE)
    assert steering.prefer == ()
    assert steering.forbids("elementwise-float4", {"block": 256})
    assert not steering.forbids("elementwise-guarded", {"block": 256})


def test_what_names_nothing_is_reported() -> None:
    assert read_notes(("faster!", "block 37"), ELEMENTWISE).unknown == ("faster!", "block 37")
