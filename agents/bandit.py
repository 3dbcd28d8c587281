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

_PRIOR_MEAN = 0.8
_PRIOR_WEIGHT = 1.0
_DEVIATION = 0.35
_LEAK, _LEAK_STEPS = 0.4, 2
_WORN = 0.3
_INFLUENCE, _TREND = 0.2, 0.4
_BEST_SHARE = 0.6
"""How much the best score of an arm counts beside its mean: a search wants the best kernel, and one
good partner among the other parameters shows what a value can do."""


def arms_of(family: str, schedule: Schedule) -> list[Arm]:
    """The arms that a schedule pulls."""
    return [("", "family", family), *((family, name, value) for name, value in schedule.items())]


@dataclass(slots=True)
class Bandit:
    """Normal arms with a common prior: an arm nobody tried is worth a look."""

    weight: dict[Arm, float] = field(default_factory=dict)
    total: dict[Arm, float] = field(default_factory=dict)
    best: dict[Arm, float] = field(default_factory=dict)

    def observe(self, arms: Iterable[Arm], score: float, weight: float = 1.0) -> None:
        """Adds one measurement, or with a small weight a belief, for each arm."""
        for arm in arms:
            self.weight[arm] = self.weight.get(arm, 0.0) + weight
            self.total[arm] = self.total.get(arm, 0.0) + weight * score
            if weight >= 1.0:
                self.best[arm] = max(self.best.get(arm, score), score)

    def learn(self, family: Family, schedule: Schedule, score: float) -> None:
        """Adds the measurement of a schedule. Values next to a measured number are believed to be like
        it, the less the farther."""
        self.observe(arms_of(family.name, schedule), score)
        for parameter in family.parameters:
            if not parameter.ordered or schedule.get(parameter.name) not in parameter.choices:
                continue
            place = parameter.choices.index(schedule[parameter.name])
            for other, value in enumerate(parameter.choices):
                if other != place and abs(other - place) <= _LEAK_STEPS:
                    self.observe([(family.name, parameter.name, value)], score, _LEAK ** abs(other - place))

    def expect(self, arms: Iterable[Arm]) -> None:
        """Notes that arms are being pulled, so that a batch does not pull the same ones again."""
        for arm in arms:
            self.observe([arm], self.mean(arm), 0.5)

    def mean(self, arm: Arm) -> float:
        """Expected score."""
        seen = self.weight.get(arm, 0.0)
        return (_PRIOR_WEIGHT * _PRIOR_MEAN + self.total.get(arm, 0.0)) / (_PRIOR_WEIGHT + seen)

    def deviation(self, arm: Arm) -> float:
        """Standard deviation of the belief about the mean."""
        return _DEVIATION / math.sqrt(_PRIOR_WEIGHT + self.weight.get(arm, 0.0))

    def sample(self, arm: Arm, rng: random.Random) -> float:
        """A draw from the belief about what the arm can reach."""
        mean = self.mean(arm)
        reach = (1 - _BEST_SHARE) * mean + _BEST_SHARE * self.best.get(arm, mean)
        return rng.gauss(reach, self.deviation(arm))

    def choose_family(self, families: tuple[Family, ...], rng: random.Random) -> Family:
        """The family whose draw is highest, with a bonus for what nobody has tried of its space."""

        def draw(family: Family) -> float:
            arm: Arm = ("", "family", family.name)
            size = math.prod(len(p.choices) for p in family.parameters)
            return self.sample(arm, rng) - _WORN * min(1.0, self.weight.get(arm, 0.0) / size)

        return max(families, key=draw)

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
            draws = [
                self.sample((family.name, name, value), rng)
                + self.influence(family, name)
                + self.trend(family, name, schedule[name], value)
                for name, value in changed
            ]
            return sum(draws) / max(1, len(draws))

        return max(options, key=draw)

    def trend(self, family: Family, name: str, here: Value, there: Value) -> float:
        """What to expect of going on from `here` to `there`, from how the numbers on the other side of
        `here` did: falling away from a worse one is a gain."""
        parameter = family.parameter(name)
        if parameter is None or not parameter.ordered:
            return 0.0
        known = {
            place: self.best[arm]
            for place, value in enumerate(parameter.choices)
            if (arm := (family.name, name, value)) in self.best
        }
        place, target = parameter.choices.index(here), parameter.choices.index(there)
        behind = [p for p in known if (p < place) == (target > place) and p != place]
        if place not in known or not behind:
            return 0.0
        last = min(behind, key=lambda p: abs(p - place))
        slope = (known[place] - known[last]) / abs(place - last)
        return max(-_TREND, min(_TREND, slope))

    def influence(self, family: Family, name: str) -> float:
        """A bonus for parameters that make a difference, or that nobody has varied yet; a malus for those
        whose values all did alike."""
        parameter = family.parameter(name)
        tried = [
            self.best[arm]
            for value in (parameter.choices if parameter else ())
            if (arm := (family.name, name, value)) in self.best
        ]
        if len(tried) < 2:
            return _INFLUENCE
        return min(_INFLUENCE, max(tried) - min(tried) - _INFLUENCE)
