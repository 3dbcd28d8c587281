"""Matrix times matrix."""

import torch
from torch import Tensor, nn

M = 64
K = 256
N = 512


class Model(nn.Module):
    """Matrix times matrix."""

    def forward(self, A: Tensor, B: Tensor) -> Tensor:
        return A @ B


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
