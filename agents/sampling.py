"""Random sampling of the same kernel families: what a search has to beat."""

import random

from scaffolds.families import NoSchedule
from scaffolds.families.space import enumerate_schedules

from .builtin import BuiltinGenerator
from .fingerprint import fingerprint
from .protocols import GenerationContext, Proposal


class RandomGenerator:
    """Generator that draws from every schedule of every family with equal chance, none twice."""

    name = "random"

    def __init__(self, builtin: BuiltinGenerator | None = None) -> None:
        self._builtin = builtin or BuiltinGenerator()

    async def propose(self, context: GenerationContext) -> list[Proposal]:
        """At most `context.group` proposals. Raises agents.builtin.NoFamily."""
        task, workload = context.task, context.workload
        space = [
            (family, schedule)
            for family in self._builtin.families(task, workload)
            for schedule in enumerate_schedules(family, task, workload)
        ]
        rng = random.Random(f"{context.seed}/{context.round}/{task.name}/random")
        seen = {fingerprint(s.candidate.source) for s in context.history}
        made: list[Proposal] = []
        while space and len(made) < context.group:
            family, schedule = space.pop(rng.randrange(len(space)))
            try:
                source = family.source(task, workload, schedule)
            except NoSchedule:
                continue
            key = fingerprint(source)
            if key not in seen:
                seen.add(key)
                made.append(
                    Proposal(
                        source=source,
                        proposer=self.name,
                        family=family.name,
                        schedule=schedule,
                        strategy="drawn at random",
                    )
                )
        return made
