"""Inputs as text: what a counterexample says of its inputs is enough to make them again.

`normal` or `ties, in float32` name a distribution of `agents.synthesis` and a precision, `normal, in place`
says that outputs lie in the buffers of inputs as the task declares, `any` the contents a sparse run makes up,
and `recipe {...}` gives each input by name as JSON: a distribution, one value for every element, or values
that are repeated."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from agents import synthesis
from semantics.task import Task, Workload

Array = npt.NDArray[Any]

PREFIX = "recipe "
FLOAT32 = ", in float32"
IN_PLACE = ", in place"
ANY = "any"
_MOST_VALUES = 512


class BadRecipe(ValueError):
    """The recipe cannot be followed; the message is one line."""


def written(recipe: Mapping[str, object]) -> str:
    """A recipe as the text of a counterexample."""
    return PREFIX + json.dumps(recipe, sort_keys=True)


def drawn(task: Task, workload: Workload, inputs: str, seed: int) -> dict[str, Array]:
    """Every input by name. The same arguments give the same arrays. Raises BadRecipe."""
    name = inputs.removesuffix(FLOAT32).removesuffix(IN_PLACE)
    if not name.startswith(PREFIX):
        try:
            return synthesis.draw(task, workload, name, seed)
        except ValueError as error:
            raise BadRecipe(str(error)) from None
    try:
        recipe = json.loads(name.removeprefix(PREFIX))
    except ValueError:
        raise BadRecipe("the recipe is not JSON") from None
    if not isinstance(recipe, dict):
        raise BadRecipe("a recipe maps inputs to how they are made")
    known = [tensor.name for tensor in task.inputs]
    if unknown := sorted(set(recipe) - set(known)):
        raise BadRecipe(f"there is no input {unknown[0]!r}; the inputs are {', '.join(known)}")
    arrays = synthesis.draw(task, workload, "normal", seed)
    return {n: _made(task, workload, n, recipe.get(n), values, seed) for n, values in arrays.items()}


def _made(task: Task, workload: Workload, name: str, how: object, normal: Array, seed: int) -> Array:
    if how is None:
        return normal
    if not isinstance(how, dict) or len(how) != 1:
        raise BadRecipe(
            f'{name}: give one of {{"distribution": NAME}}, {{"fill": X}}, {{"values": [X, ...]}}'
        )
    if "distribution" in how:
        chosen = str(how["distribution"])
        if chosen not in synthesis.names:
            raise BadRecipe(f"{name}: no distribution {chosen!r}; there are {', '.join(synthesis.names)}")
        alone = task.model_copy(
            update={
                "inputs": tuple(
                    t.model_copy(update={"distributions": (chosen,)}) for t in task.inputs if t.name == name
                )
            }
        )
        return synthesis.draw(alone, workload, chosen, seed)[name]
    raw = [how["fill"]] if "fill" in how else how.get("values")
    if not isinstance(raw, list) or not 1 <= len(raw) <= _MOST_VALUES:
        raise BadRecipe(f"{name}: values is a list of 1 to {_MOST_VALUES} numbers")
    if not all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= 3.4e38 for x in raw):
        raise BadRecipe(f"{name}: every value is a finite float32 number")
    return np.resize(np.array(raw, dtype=normal.dtype), normal.shape)
