"""The generator that needs no model: kernel families, a bandit, correctness-first refinement.

Round 1 proposes the most conservative kernel and a spread of families. Later rounds first correct
what failed (a compile error drops the offending choice, a wrong result retreats to the conservative
schedule), then optimise: neighbours of the best, crossover of good ones, rewrites of their ASTs, exploration.
"""

import asyncio
import random
from collections.abc import Callable, Iterator

from scaffolds.families import Family, NoSchedule, Schedule, Value, families_of, family_named
from scaffolds.families.space import (
    conservative_schedule,
    enumerate_schedules,
    neighbours,
    random_schedule,
    transplant,
    variations,
)
from semantics.span import Refusal
from semantics.spec import Spec
from semantics.task import Task, Workload

from .bandit import Bandit, arms_of
from .beliefs import beliefs, best_start, used_insights
from .fingerprint import fingerprint, fingerprint_of_printed
from .protocols import GenerationContext, Proposal, Scored
from .rewrite import variants
from .steering import read_notes

SpecOf = Callable[[Task, Workload], Spec]

_STALL_GAIN = 1.01
"""A round that beats the best by less has stalled."""
_DROPOUT_STEP, _DROPOUT_MAX = 0.15, 0.6
_INSIGHT_WEIGHT = 0.5
_ELITE = 4
_ATTEMPTS = 12


class NoFamily(ValueError):
    """The built-in generator has nothing for a task."""


def stalled_rounds(history: tuple[Scored, ...]) -> int:
    """Rounds since the best reward last rose by more than noise."""
    best, stall = 0.0, 0
    for number in sorted({s.candidate.round for s in history}):
        top = max(s.reward.value for s in history if s.candidate.round == number)
        if top > best * _STALL_GAIN:
            best, stall = top, 0
        else:
            stall += 1
    return stall


def dropout(stall: int) -> float:
    """Probability that a proposal is made without insights and with part of its parent withheld."""
    return min(_DROPOUT_MAX, _DROPOUT_STEP * stall)


class BuiltinGenerator:
    """Generator over the kernel families. `spec_of` gives a task's spec, which extends the elementwise
    families to any chain of elementwise functions."""

    name = "builtin"

    def __init__(self, spec_of: SpecOf | None = None) -> None:
        self._spec_of = spec_of

    def families(self, task: Task, workload: Workload) -> tuple[Family, ...]:
        """The families for a task. Raises NoFamily when there are none."""
        found = families_of(task)
        if not found and self._spec_of is not None:
            found = families_of(task, self._spec_of(task, workload))
        if not found:
            raise NoFamily(
                f"no built-in kernel family for task {task.name} ({task.family}); use --generator llm"
            )
        return found

    async def propose(self, context: GenerationContext) -> list[Proposal]:
        """At most `context.group` proposals, the same ones for the same context. Raises NoFamily."""

        def choose() -> list[Proposal]:
            return _Round(context, self.families(context.task, context.workload)).proposals()

        return await asyncio.to_thread(choose)


class _Round:
    """The choices of one round."""

    def __init__(self, context: GenerationContext, families: tuple[Family, ...]) -> None:
        self.context = context
        self.families = families
        self.rng = random.Random(f"{context.seed}/{context.round}/{context.task.name}")
        self.seen = {fingerprint(s.candidate.source) for s in context.history}
        self.tried = {_point(s.candidate.family, s.candidate.schedule) for s in context.history}
        self.made: list[Proposal] = []
        self.stall = stalled_rounds(context.history)
        self.steering = read_notes(context.notes, families)
        self.blind = Bandit()
        self.informed = Bandit()
        self._learn()

    # ------------------------------------------------------------ what is known

    def _learn(self) -> None:
        best = max((s.reward.value for s in self.context.history), default=0.0)
        for bandit in (self.blind, self.informed):
            for scored in self.context.history:
                family = family_named(self.families, scored.candidate.family)
                if family is not None:
                    score = max(0.0, scored.reward.value) / best if best > 0 else 0.0
                    bandit.learn(family, scored.candidate.schedule, score)
            self.steering.apply(bandit)
        top = best_start(self.context.insights, self.context.task)
        for insight in self.context.insights:
            for arm, score in beliefs(insight, top):
                self.informed.observe([arm], score, _INSIGHT_WEIGHT)

    def _correct(self) -> list[Scored]:
        """The candidates to build on, best first: pinned ones, then the faster ones."""
        usable = [
            s
            for s in self.context.history
            if s.candidate.id not in self.context.banned and s.reward.value > 0
        ]
        pinned = self.context.pinned
        usable.sort(key=lambda s: (s.candidate.id not in pinned, -s.reward.value, s.candidate.id))
        return usable

    def _elite(self) -> list[Scored]:
        """The best of them that come from our families."""
        ours = (s for s in self._correct() if family_named(self.families, s.candidate.family))
        return list(ours)[:_ELITE]

    # ------------------------------------------------------------ making proposals

    def proposals(self) -> list[Proposal]:
        """All proposals of the round."""
        moves = self._opening() if not self.context.history else self._corrections()
        for _ in moves:
            if len(self.made) >= self.context.group:
                return self.made
        if self.context.history:
            self._wishes()
        for _ in range(_ATTEMPTS * self.context.group):
            if len(self.made) >= self.context.group:
                return self.made
            self._optimise()
        self._leftovers()
        return self.made

    def _submit(
        self,
        family: Family,
        schedule: Schedule,
        strategy: str,
        parent: Scored | None = None,
        insights: tuple[int, ...] = (),
    ) -> bool:
        """Adds a proposal unless the round is full or its program is known, forbidden or does not fit."""
        task, workload = self.context.task, self.context.workload
        if len(self.made) >= self.context.group or self.steering.forbids(family.name, schedule):
            return False
        if not self._new(family, schedule):
            return False
        self.tried.add(_point(family.name, schedule))
        try:
            source = family.source(task, workload, schedule)
        except NoSchedule:
            return False
        return self._hand_in(source, family.name, schedule, strategy, parent, insights)

    def _hand_in(
        self,
        source: str,
        family: str,
        schedule: Schedule,
        strategy: str,
        parent: Scored | None = None,
        insights: tuple[int, ...] = (),
    ) -> bool:
        """Adds a proposal of any source, unless its program is known."""
        key = fingerprint(source)
        if key in self.seen:
            return False
        self.seen.add(key)
        for bandit in (self.blind, self.informed):
            bandit.expect(arms_of(family, schedule))
        unknown = "".join(f"; note not understood: {note!r}" for note in self.steering.unknown)
        self.made.append(
            Proposal(
                source=source,
                proposer=BuiltinGenerator.name,
                parent=parent.candidate.id if parent else None,
                family=family,
                schedule=dict(schedule),
                strategy=strategy + (unknown if not self.made else ""),
                insights=insights,
            )
        )
        return True

    def _plain(self, family: Family) -> Schedule:
        return conservative_schedule(family, self.context.task, self.context.workload)

    def _ordered(self) -> list[Family]:
        """Families with the wished ones first."""
        wished = self.steering.families()
        return sorted(self.families, key=lambda f: f.name not in wished)

    def _opening(self) -> Iterator[None]:
        """Round 1: the conservative kernel, then each family as it stands."""
        for place, family in enumerate(self._ordered()):
            try:
                plain = self._plain(family)
            except NoSchedule:
                continue
            wished = {**plain, **self.steering.values(family.name)}
            what = "conservative" if place == 0 else "open with"
            self._submit(family, wished, f"{what} {family.name}: {family.summary}") or self._submit(
                family, plain, f"{what} {family.name}: {family.summary}"
            )
            yield

    def _corrections(self) -> Iterator[None]:
        """Answers to the failures of the last round, for at most half of the group."""
        last = max(s.candidate.round for s in self.context.history)
        answered = {s.candidate.parent for s in self.context.history}
        for scored in self.context.history:
            wanted = scored.candidate.round == last and scored.candidate.id not in self.context.banned
            if not wanted or scored.reward.value > 0 or scored.candidate.id in answered:
                continue
            if len(self.made) * 2 >= self.context.group:
                return
            if scored.evaluation.compile is not None and not scored.evaluation.compile.ok:
                self._repair(scored)
            else:
                self._retreat(scored)
            yield

    def _repair(self, failed: Scored) -> None:
        """Compile error: drop the choice that departs from the parent, or from the plain schedule, for
        the plain one or, where that is known already, the nearest to it."""
        family = family_named(self.families, failed.candidate.family)
        if family is None:
            return
        schedule = _own(family, failed.candidate.schedule)
        parent = next((s for s in self.context.history if s.candidate.id == failed.candidate.parent), None)
        plain = self._plain(family)
        good = parent.candidate.schedule if parent and parent.reward.value >= 0 else plain
        changed = [name for name in schedule if schedule[name] != good.get(name, plain[name])]
        changed += [name for name in schedule if name not in changed and schedule[name] != plain[name]]
        for name in changed:
            choices = next(p.choices for p in family.parameters if p.name == name)
            home, gone = choices.index(plain[name]), choices.index(schedule[name])
            near = {v: (abs(i - home), abs(i - gone)) for i, v in enumerate(choices)}
            for value in sorted(choices, key=near.__getitem__):
                told = f"repair {failed.candidate.id}: {name} {schedule[name]} -> {value} (did not compile)"
                if value != schedule[name] and self._submit(family, {**schedule, name: value}, told, failed):
                    return
        self._retreat(failed)

    def _retreat(self, failed: Scored) -> None:
        """Wrong result: the plain schedule of the family, then of the plainest family."""
        own = family_named(self.families, failed.candidate.family)
        for family in (own, self.families[0]):
            if family is None:
                continue
            told = f"retreat from {failed.candidate.id} to the conservative {family.name} (was wrong)"
            if self._submit(family, self._plain(family), told, failed):
                return

    def _wishes(self) -> None:
        """One proposal that follows the notes as far as the best candidate allows."""
        elite = self._elite()
        for family in self._ordered():
            values = self.steering.values(family.name)
            if not values and family.name not in self.steering.families():
                continue
            base = elite[0].candidate.schedule if elite else {}
            schedule = transplant(family, self.context.task, self.context.workload, values, base)
            if self._submit(family, schedule, f"as noted: {family.name} {_settings(values)}", None):
                return

    def _optimise(self) -> None:
        """One proposal from the best candidates, or from the whole space."""
        elite = self._elite()
        withheld = self.rng.random() < dropout(self.stall)
        bandit = self.blind if withheld else self.informed
        draw = self.rng.random()
        if draw < (0.2 if self.stall > 1 else 0.05) and self._correct():
            self._rewrite()
        elif not elite or draw < 0.35:
            self._explore(bandit)
        elif withheld:
            self._shake(elite)
        elif len(elite) > 1 and draw < 0.45:
            self._cross(elite)
        else:
            self._mutate(elite, bandit)

    def _rewrite(self) -> None:
        """A good candidate, ours or not, with its AST rewritten."""
        correct = self._correct()[:_ELITE]
        parent = correct[0] if self.rng.random() < 0.6 else self.rng.choice(correct)
        if self.steering.forbids(parent.candidate.family, parent.candidate.schedule):
            return
        try:
            options = list(variants(parent.candidate.source))
        except Refusal:
            return
        options = [v for v in options if fingerprint_of_printed(v.source) not in self.seen]
        if not options:
            return
        choice = self.rng.choice(options)
        before = parent.candidate.schedule.get("rewrite")
        done = f"{before}; {choice.label}" if before else choice.label
        schedule = {**parent.candidate.schedule, "rewrite": done}
        told = f"rewrite {parent.candidate.id}: {choice.label}"
        self._hand_in(choice.source, parent.candidate.family, schedule, told, parent)

    def _mutate(self, elite: list[Scored], bandit: Bandit) -> None:
        """A neighbour of a good schedule: one more step in the direction that last paid, or the change
        that the bandit likes best."""
        parent = self._parent(elite, bandit)
        family = family_named(self.families, parent.candidate.family)
        if family is None:
            return
        schedule = _own(family, parent.candidate.schedule)
        near = self.rng.random() < 0.5
        steps = neighbours if near else variations
        options = steps(family, self.context.task, self.context.workload, schedule)
        options = [o for o in options if self._new(family, o)]
        if not options:
            return
        further = [o for o in options if o == self._momentum(parent, family)]
        choice = further[0] if further else bandit.choose_neighbour(family, schedule, options, self.rng)
        used = () if bandit is self.blind else used_insights(self.context.insights, family.name, choice)
        told = f"mutate {parent.candidate.id}: {_step(schedule, choice)}"
        self._submit(family, choice, told, parent, used)

    def _parent(self, elite: list[Scored], bandit: Bandit) -> Scored:
        """Mostly the best; also others of the elite, and the best of a family that may deserve more
        than its first schedule showed."""
        draw = self.rng.random()
        if draw < 0.45:
            return elite[0]
        if draw < 0.65:
            return self.rng.choice(elite)
        family = bandit.choose_family(self.families, self.rng)
        return next((s for s in self._correct() if s.candidate.family == family.name), elite[0])

    def _momentum(self, scored: Scored, family: Family) -> Schedule | None:
        """The schedule one step on, when the candidate bettered its parent by one step of a number."""
        parent = next((s for s in self.context.history if s.candidate.id == scored.candidate.parent), None)
        if (
            parent is None
            or parent.candidate.family != family.name
            or parent.reward.value >= scored.reward.value
        ):
            return None
        old, new = (_own(family, s.candidate.schedule) for s in (parent, scored))
        changed = [name for name in new if old.get(name) != new[name]]
        parameter = family.parameter(changed[0]) if len(changed) == 1 else None
        if parameter is None:
            return None
        was, now = parameter.choices.index(old[parameter.name]), parameter.choices.index(new[parameter.name])
        onward = now + (now - was)
        if abs(now - was) != 1 or not 0 <= onward < len(parameter.choices):
            return None
        return {**new, parameter.name: parameter.choices[onward]}

    def _cross(self, elite: list[Scored]) -> None:
        """The family of one good candidate with some of another's choices."""
        first, second = self.rng.sample(elite, 2)
        family = family_named(self.families, first.candidate.family)
        if family is None:
            return
        taken = {n: v for n, v in second.candidate.schedule.items() if self.rng.random() < 0.5}
        schedule = transplant(
            family, self.context.task, self.context.workload, taken, first.candidate.schedule
        )
        pair = f"{first.candidate.id} with {second.candidate.id}"
        told = f"cross {pair}: {_step(first.candidate.schedule, schedule)}"
        self._submit(family, schedule, told, first)

    def _shake(self, elite: list[Scored]) -> None:
        """Optimisation dropout: half of a good schedule is drawn afresh, insights withheld."""
        parent = self.rng.choice(elite)
        family = family_named(self.families, parent.candidate.family)
        if family is None:
            return
        kept = {n: v for n, v in parent.candidate.schedule.items() if self.rng.random() < 0.5}
        fresh = random_schedule(family, self.context.task, self.context.workload, self.rng)
        schedule = transplant(family, self.context.task, self.context.workload, kept, fresh)
        told = f"shake {parent.candidate.id} (stalled): {_step(parent.candidate.schedule, schedule)}"
        self._submit(family, schedule, told, parent)

    def _explore(self, bandit: Bandit) -> None:
        """A schedule from the bandit's beliefs over the whole space."""
        family = bandit.choose_family(self.families, self.rng)
        schedule = bandit.choose_schedule(family, self.rng)
        if family.complaint(self.context.task, self.context.workload, schedule) is not None:
            try:
                schedule = random_schedule(family, self.context.task, self.context.workload, self.rng)
            except NoSchedule:
                return
        used = () if bandit is self.blind else used_insights(self.context.insights, family.name, schedule)
        self._submit(family, schedule, f"explore {family.name} ({_settings(schedule)})", None, used)

    def _leftovers(self) -> None:
        """Whatever the space still holds, when the moves above find nothing new."""
        for family in self.families:
            for schedule in enumerate_schedules(family, self.context.task, self.context.workload):
                if len(self.made) >= self.context.group:
                    return
                self._submit(family, schedule, f"exhaust {family.name} ({_settings(schedule)})")

    def _new(self, family: Family, schedule: Schedule) -> bool:
        return _point(family.name, schedule) not in self.tried


def _point(family: str, schedule: Schedule) -> tuple[str, frozenset[tuple[str, Value]]]:
    """A place in the schedule space."""
    return family, frozenset(schedule.items())


def _own(family: Family, schedule: Schedule) -> Schedule:
    """The part of a candidate's schedule that its family knows: without rewrites."""
    return {name: value for name, value in schedule.items() if family.parameter(name) is not None}


def _step(old: Schedule, new: Schedule) -> str:
    parts = [
        f"{name} {old.get(name, 'none')} -> {value}" for name, value in new.items() if old.get(name) != value
    ]
    return ", ".join(parts) or "no change of schedule"


def _settings(schedule: Schedule) -> str:
    return ", ".join(f"{name} {value}" for name, value in schedule.items())
