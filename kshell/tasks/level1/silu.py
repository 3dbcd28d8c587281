"""x * sigmoid(x) of every element."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

n = 16384


class Model(nn.Module):
    """x * sigmoid(x) of every element."""

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(n)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
