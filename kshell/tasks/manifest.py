"""Task manifests: a Task as a JSON file."""

from pathlib import Path

from pydantic import ValidationError

from kshell.errors import UserError
from semantics.task import Task, Workload


def read(path: str | Path) -> Task:
    """The task of a manifest. Raises UserError naming the file, the field and what is wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot read the task manifest: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: the task manifest is not UTF-8 text") from error
    try:
        task = Task.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "the file"
        raise UserError(f"{path}: {where}: {first['msg']}") from error
    try:
        task.shapes(Workload(axes=task.axes))
        task.work(Workload(axes=task.axes))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    return task


def write(task: Task, path: str | Path) -> None:
    """Write a manifest that `read` accepts."""
    Path(path).write_text(task.model_dump_json(indent=2) + "\n", encoding="utf-8")
