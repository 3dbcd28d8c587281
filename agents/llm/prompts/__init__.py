"""Prompts are files, one a role, with the variables they take."""

from importlib import resources
from string import Template


def render(role: str, **variables: str) -> str:
    """The prompt of a role. Raises KeyError for a variable that is missing."""
    text = resources.files("agents.llm.prompts").joinpath(f"{role}.md").read_text(encoding="utf-8")
    return Template(text).substitute(variables)


def variables(role: str) -> set[str]:
    """The variables a prompt takes."""
    text = resources.files("agents.llm.prompts").joinpath(f"{role}.md").read_text(encoding="utf-8")
    return set(Template(text).get_identifiers())
