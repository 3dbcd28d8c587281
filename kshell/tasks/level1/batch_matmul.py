"""A batch of matrix products."""

import torch
from torch import Tensor, nn

b = 32
M = 64
K = 256
N = 512


class Model(nn.Module):
    """A batch of matrix products."""

    def forward(self, A: Tensor, B: Tensor) -> Tensor:
        return torch.bmm(A, B)


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(b, M, K), torch.randn(b, K, N)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
