"""Softmax over the last axis."""

import torch
from torch import Tensor, nn

rows = 1
n = 16384


class Model(nn.Module):
    """Softmax over the last axis."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=-1)


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(rows, n)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
