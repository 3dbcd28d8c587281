"""The text of a task's reference, of the lines of its forward function."""

from collections.abc import Mapping, Sequence

from semantics.task import Tensor


def module_text(
    title: str,
    parameters: Sequence[str],
    tensors: Sequence[Tensor],
    constants: Mapping[str, int | float],
    lines: Sequence[str],
    outputs: int = 1,
) -> str:
    """A KernelBench-style Python file. `parameters` are the Python names of the inputs `tensors`;
    `lines` end in a return of `outputs` tensors."""
    said = " ".join(title.replace("\\", " ").replace('"', "'").split())
    head = "".join(f"{name} = {value}\n" for name, value in constants.items())
    arguments = "".join(f", {name}: Tensor" for name in parameters)
    body = "".join(f"        {line}\n" for line in lines)
    kind = "Tensor" if outputs == 1 else "tuple[Tensor, ...]"
    made = ", ".join(f"torch.randn({', '.join(map(str, t.shape))})" for t in tensors)
    return (
        f'"""{said}."""\n\nimport torch\nfrom torch import Tensor, nn\n\n{head}\n\n'
        f'class Model(nn.Module):\n    """The function."""\n\n'
        f"    def forward(self{arguments}) -> {kind}:\n{body}\n\n"
        f'def get_inputs() -> list[Tensor]:\n    """Inputs at the default sizes."""\n'
        f"    return [{made}]\n\n\n"
        f'def get_init_inputs() -> list[object]:\n    """The model takes no arguments."""\n    return []\n'
    )
