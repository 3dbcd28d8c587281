"""torch in a process of its own, for the terminal app.

Importing torch holds the interpreter's lock for a second and more, and no key is answered meanwhile. After
`use()` the references of this process are computed and traced in a child process, which ends with it."""

import atexit
import io
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from kshell.tasks.reference import ReferenceFailure
from semantics.span import Refusal
from semantics.spec import Spec
from semantics.task import Task, Workload

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
_LENGTH = struct.Struct("<Q")
_PREFIX = "tensor_"  # no tensor's name is taken for a parameter of savez


class Child:
    """The child process; it is started by the first request, and again after it died. Requests of
    several threads take turns."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def compute(self, task: Task, workload: Workload, arrays: Mapping[str, Array], device: str) -> Arrays:
        """As `kshell.tasks.reference.compute`. Raises ReferenceFailure."""
        return self._ask({"kind": "compute", "device": device}, task, workload, arrays)[1]

    def spec_of(self, task: Task, workload: Workload) -> Spec:
        """As `kshell.tasks.trace.spec_of`. Raises Refusal, ReferenceFailure."""
        from semantics import spec_json

        return spec_json.loads(self._ask({"kind": "spec"}, task, workload, {})[0]["spec"])

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _ask(
        self, request: dict[str, str], task: Task, workload: Workload, arrays: Mapping[str, Array]
    ) -> tuple[dict[str, str], Arrays]:
        asked = {**request, "task": task.model_dump_json(), "workload": workload.model_dump_json()}
        with self._turn:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            try:
                _send(process.stdin, asked, arrays)
                answer, out = _receive(process.stdout)
            except (OSError, EOFError):
                self.close()
                raise ReferenceFailure(
                    f"the process that runs the reference of task {task.name} ended by itself"
                ) from None
        if answer["kind"] == "refusal":
            raise Refusal(answer["message"])
        if answer["kind"] == "failure":
            raise ReferenceFailure(answer["message"])
        return answer, out

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kshell.tasks.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        return self._process


_child: Child | None = None


def use() -> None:
    """From now on, and until this process ends, references run in a child process."""
    global _child
    if _child is None:
        _child = Child()
        atexit.register(_child.close)


def chosen() -> Child | None:
    """The child that references are to run in; None: they run in this process."""
    return _child


def _send(stream: IO[bytes], header: Mapping[str, str], arrays: Mapping[str, Array]) -> None:
    packed = io.BytesIO()
    np.savez(packed, **cast(Any, {_PREFIX + name: array for name, array in arrays.items()}))
    for part in (json.dumps(header).encode(), packed.getvalue()):
        stream.write(_LENGTH.pack(len(part)))
        stream.write(part)
    stream.flush()


def _receive(stream: IO[bytes]) -> tuple[dict[str, str], Arrays]:
    header = json.loads(_part(stream))
    with np.load(io.BytesIO(_part(stream)), allow_pickle=False) as packed:
        return header, {name.removeprefix(_PREFIX): packed[name] for name in packed.files}


def _part(stream: IO[bytes]) -> bytes:
    """One part of a message. Raises EOFError when the other side is gone."""
    length = stream.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(length)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _answered(asked: dict[str, str], arrays: Arrays) -> tuple[dict[str, str], Arrays]:
    from kshell.tasks import reference, trace
    from semantics import spec_json

    task = Task.model_validate_json(asked["task"])
    workload = Workload.model_validate_json(asked["workload"])
    try:
        if asked["kind"] == "compute":
            out = reference.compute(task, workload, arrays, asked["device"])
            return {"kind": "computed"}, out
        return {"kind": "traced", "spec": spec_json.dumps(trace.spec_of(task, workload))}, {}
    except Refusal as error:
        return {"kind": "refusal", "message": str(error)}, {}
    except ReferenceFailure as error:
        return {"kind": "failure", "message": str(error)}, {}


def _serve() -> None:
    """Answer requests until the parent is gone. What the reference prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            asked, arrays = _receive(sys.stdin.buffer)
        except EOFError:
            return
        _send(answers, *_answered(asked, arrays))


if __name__ == "__main__":
    _serve()
