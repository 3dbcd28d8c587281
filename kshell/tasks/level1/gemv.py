"""Matrix times vector."""

import torch
from torch import Tensor, nn

M = 512
N = 1024


class Model(nn.Module):
    """Matrix times vector."""

    def forward(self, A: Tensor, x: Tensor) -> Tensor:
        return A @ x


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(M, N), torch.randn(N)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
