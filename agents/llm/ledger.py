"""What model calls may cost and have cost: reserve before a call, settle after it.

One ledger serves every agent of a session. A reservation counts against the caps until it is settled,
so concurrent calls together cannot pass them. Prices are dollars a million tokens and are never
guessed: with a cap in dollars, a model without a price is refused."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


class CapReached(Exception):
    """A call was not made because it could pass a cap. The message is one line."""


class PriceUnknown(Exception):
    """A cap in dollars is set and nobody said what the model costs. The message is one line."""


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars a million tokens."""

    input: float
    output: float

    def of(self, prompt_tokens: int, output_tokens: int) -> float:
        """Dollars of a call."""
        return (prompt_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Caps:
    """None is no cap. `seconds` is wall time since the ledger was made."""

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, and whether the provider said so or we estimated."""

    prompt: int
    output: int
    estimated: bool = False

    @property
    def total(self) -> int:
        """Prompt and output."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room kept for one call."""

    number: int
    model: str
    usd: float
    tokens: int


@dataclass(slots=True)
class Ledger:
    """The account of a session. `prices` by model name; `clock` gives seconds."""

    caps: Caps = Caps()
    prices: Mapping[str, Price] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    _held: dict[int, Reservation] = field(default_factory=dict)
    _number: int = 0
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock()

    def price(self, model: str) -> Price | None:
        """The price of a model, None when nobody said."""
        return self.prices.get(model)

    def reserve(self, model: str, prompt_tokens: int, max_output_tokens: int) -> Reservation:
        """Room for the dearest this call can be. Raises CapReached, PriceUnknown."""
        price = self.price(model)
        if self.caps.usd is not None and price is None:
            raise PriceUnknown(
                f"a cap in dollars is set and the price of {model} is unknown; put it into the "
                f'configuration: [prices."{model}"] input = DOLLARS, output = DOLLARS (a million tokens)'
            )
        usd = price.of(prompt_tokens, max_output_tokens) if price else 0.0
        tokens = prompt_tokens + max_output_tokens
        held_usd = sum(r.usd for r in self._held.values())
        held_tokens = sum(r.tokens for r in self._held.values())
        if self.caps.usd is not None and self.usd + held_usd + usd > self.caps.usd:
            raise CapReached(
                f"a call of {model} could cost {usd:.4f} dollars; of {self.caps.usd:g}, {self.usd:.4f} "
                f"are spent and {held_usd:.4f} reserved"
            )
        if self.caps.tokens is not None and self.tokens + held_tokens + tokens > self.caps.tokens:
            raise CapReached(
                f"a call of {model} could take {tokens} tokens; of {self.caps.tokens}, {self.tokens} "
                f"are spent and {held_tokens} reserved"
            )
        if self.caps.seconds is not None and self.clock() - self._started > self.caps.seconds:
            raise CapReached(f"the cap of {self.caps.seconds:g} seconds is reached")
        self._number += 1
        reservation = Reservation(self._number, model, usd, tokens)
        self._held[reservation.number] = reservation
        return reservation

    def settle(self, reservation: Reservation, usage: Usage) -> float:
        """Book what the call took and free the rest; the dollars booked. Settling twice is an error
        (KeyError)."""
        del self._held[reservation.number]
        price = self.price(reservation.model)
        cost = price.of(usage.prompt, usage.output) if price else 0.0
        self.usd += cost
        self.tokens += usage.total
        self.calls += 1
        return cost

    def release(self, reservation: Reservation) -> None:
        """The call took nothing (it was refused before the model ran)."""
        self._held.pop(reservation.number, None)
