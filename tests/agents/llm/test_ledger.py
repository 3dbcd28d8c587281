"""The account of model calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.ledger import CapReached, Caps, Ledger, Price, Usage

PRICES = {"m": Price(2.0, 8.0)}


def test_reservations_count_until_they_are_settled() -> None:
    ledger = Ledger(Caps(tokens=1000), PRICES)
    held = ledger.reserve("m", 300, 300)
    with pytest.raises(CapReached, match="600 reserved"):
        ledger.reserve("m", 300, 300)
    assert ledger.settle(held, Usage(300, 10)) == pytest.approx((300 * 2 + 10 * 8) / 1e6)
    ledger.reserve("m", 300, 300)
    assert ledger.tokens == 310


def test_a_released_call_costs_nothing_and_settling_twice_is_an_error() -> None:
    ledger = Ledger(Caps(usd=1), PRICES)
    ledger.release(ledger.reserve("m", 10, 10))
    held = ledger.reserve("m", 10, 10)
    ledger.settle(held, Usage(10, 10))
    with pytest.raises(KeyError):
        ledger.settle(held, Usage(10, 10))
    assert ledger.calls == 1


def test_wall_time_is_a_cap() -> None:
    now = [0.0]
    ledger = Ledger(Caps(seconds=60), PRICES, clock=lambda: now[0])
    ledger.reserve("m", 1, 1)
    now[0] = 61.0
    with pytest.raises(CapReached, match="60 seconds"):
        ledger.reserve("m", 1, 1)


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 500), st.integers(0, 500), st.booleans())),
    st.floats(0.0001, 0.02),
)
def test_honest_calls_never_pass_the_cap(calls: list[tuple[int, int, int, bool]], cap: float) -> None:
    ledger = Ledger(Caps(usd=cap), PRICES)
    held = []
    for prompt, most, output, settle in calls:
        try:
            held.append((ledger.reserve("m", prompt, most), prompt, min(most, output)))
        except CapReached:
            continue
        if settle:
            reservation, took, gave = held.pop(0)
            ledger.settle(reservation, Usage(took, gave))
    for reservation, took, gave in held:
        ledger.settle(reservation, Usage(took, gave))
    assert ledger.usd <= cap + 1e-12
