"""A storm of events: every key is answered, and memory does not grow. `kshell bench tui` says how fast."""

import pytest

from kshell.bench.tui import measure

MEGABYTES = 24.0


@pytest.mark.xdist_group("soak")
def test_every_key_is_answered_in_a_storm_of_events_and_memory_is_flat() -> None:
    told = measure(10_000, 6, warm=4, patience=60.0)
    assert told["keys"] >= 2
    assert told["events_per_second"] > 200
    assert told["memory_growth_mb"] < MEGABYTES
