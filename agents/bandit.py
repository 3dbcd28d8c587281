"""Thompson sampling over the choices of a schedule space.

Every arm is one value of one parameter of one family, `(family, parameter, value)`; the choice of the
family itself is the arm `("", "family", name)`. Scores are rewards as a share of the best one, so they
lie near [0, 1]; a failed candidate scores 0.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from scaffolds.families import Family, Schedule, Value

Arm = tuple[str, str, Value]

_PRIOR_MEAN = 0.6
_PRIOR_WEIGHT = 1.0
_DEVIATION = 0.3


def arms_of(family: str, schedule: Schedule) -> list[Arm]:
    """The arms that a schedule pulls."""
    return [("", "family", family), *((family, name, value) for name, value in schedule.items())]


@dataclass(slots=True)
class Bandit:
    """Normal arms with a common prior: an arm nobody tried is worth a look."""

    weight: dict[Arm, float] = field(default_factory=dict)
    total: dict[Arm, float] = field(default_factory=dict)

    def observe(self, arms: Iterable[Arm], score: float, weight: float = 1.0) -> None:
        """Adds one measurement, or with a small weight a belief, for each arm."""
        for arm in arms:
            self.weight[arm] = self.weight.get(arm, 0.0) + weight
            self.total[arm] = self.total.get(arm, 0.0) + weight * score

    def mean(self, arm: Arm) -> float:
        """Expected score."""
        seen = self.weight.get(arm, 0.0)
        return (_PRIOR_WEIGHT * _PRIOR_MEAN + self.total.get(arm, 0.0)) / (_PRIOR_WEIGHT + seen)

    def deviation(self, arm: Arm) -> float:
        """Standard deviation of the belief about the mean."""
        return _DEVIATION / math.sqrt(_PRIOR_WEIGHT + self.weight.get(arm, 0.0))

    def sample(self, arm: Arm, rng: random.Random) -> float:
        """A draw from the belief."""
        return rng.gauss(self.mean(arm), self.deviation(arm))

    def choose_family(self, families: tuple[Family, ...], rng: random.Random) -> Family:
        """The family whose draw is highest."""
        return max(families, key=lambda f: self.sample(("", "family", f.name), rng))

    def choose_schedule(self, family: Family, rng: random.Random) -> Schedule:
        """For each parameter the value whose draw is highest; it may not fit the workload."""
        return {
            p.name: max(p.choices, key=lambda value: self.sample((family.name, p.name, value), rng))
            for p in family.parameters
        }

    def choose_neighbour(
        self, family: Family, schedule: Schedule, options: list[Schedule], rng: random.Random
    ) -> Schedule:
        """The option whose changed values have the highest mean draw. `options` is not empty."""

        def draw(option: Schedule) -> float:
            changed = [(n, v) for n, v in option.items() if schedule.get(n) != v]
            draws = [self.sample((family.name, name, value), rng) for name, value in changed]
            return sum(draws) / max(1, len(draws))

        return max(options, key=draw)
