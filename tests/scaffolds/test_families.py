"""What the families emit: parsed by the language, readable, general in every size."""

import random
import re

import pytest

from kshell import tasks
from scaffolds.families import Family, families_of
from scaffolds.families.space import conservative_schedule, random_schedule
from semantics.parser import parse
from semantics.printer import print_module

EVERY = [(name, family) for name in tasks.names() for family in families_of(tasks.get(name))]
IDS = [f"{n}-{f.name}" for n, f in EVERY]


def samples(name: str, family: Family, count: int) -> list[str]:
    """Sources of the conservative schedule and of random ones."""
    task, work, rng = tasks.get(name), tasks.get(name).workload(), random.Random(f"{name}/{family.name}")
    schedules = [conservative_schedule(family, task, work)]
    schedules += [random_schedule(family, task, work, rng) for _ in range(count)]
    return [family.source(task, work, s) for s in schedules]


@pytest.mark.parametrize(("name", "family"), EVERY, ids=IDS)
def test_every_source_parses_and_prints_back(name: str, family: Family) -> None:
    for source in samples(name, family, 4):
        module = parse(source)
        assert parse(print_module(module)) == module
        assert len(module.functions("host")) == 1
        assert module.functions("global")


@pytest.mark.parametrize(("name", "family"), EVERY, ids=IDS)
def test_no_source_depends_on_the_sizes_of_the_workload(name: str, family: Family) -> None:
    task = tasks.get(name)
    plain = conservative_schedule(family, task, task.workload())
    ragged = task.workload(**{axis: size + 1 for axis, size in task.axes.items() if axis not in ("k", "pad")})
    assert family.source(task, task.workload(), plain) == family.emit(task, ragged, plain)


@pytest.mark.parametrize(("name", "family"), EVERY, ids=IDS)
def test_the_launcher_takes_every_tensor_and_axis_by_name(name: str, family: Family) -> None:
    task = tasks.get(name)
    launcher = parse(samples(name, family, 0)[0]).functions("host")[0]
    tensors = [t.name for t in (*task.inputs, *task.outputs)]
    assert [p.name for p in launcher.params] == [*tensors, *task.axes]


def test_text_is_laid_out_as_people_write_it() -> None:
    for name, family in EVERY:
        for source in samples(name, family, 1):
            assert source.endswith("}\n")
            assert not re.search(r"[ \t]$|\t|\n\n\n", source, re.MULTILINE)
            depth = 0
            for line in filter(None, source.splitlines()):
                depth -= line.lstrip().startswith("}")
                assert len(line) - len(line.lstrip()) == 4 * depth, line
                depth += line.endswith("{")
