"""max(x, 0) of every element."""

import torch
from torch import Tensor, nn

n = 16384


class Model(nn.Module):
    """max(x, 0) of every element."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(n)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
