"""Every element times a half."""

import torch
from torch import Tensor, nn

n = 16384


class Model(nn.Module):
    """Every element times a half."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(n)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
