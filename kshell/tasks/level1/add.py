"""Sum of two vectors."""

import torch
from torch import Tensor, nn

n = 16384


class Model(nn.Module):
    """Sum of two vectors."""

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        return x + z


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(n), torch.randn(n)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
