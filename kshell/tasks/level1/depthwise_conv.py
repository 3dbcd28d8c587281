"""Depthwise 2-D convolution, NCHW, stride 1, with bias."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

batch = 1
c = 32
H = 32
k = 3
pad = 1


class Model(nn.Module):
    """Depthwise 2-D convolution, NCHW, stride 1, with bias."""

    def __init__(self, padding: int) -> None:
        super().__init__()
        self.padding = padding

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv2d(x, weight, bias, stride=1, padding=self.padding, groups=x.shape[1])


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(batch, c, H, H), torch.randn(c, 1, k, k), torch.randn(c)]


def get_init_inputs() -> list[object]:
    """The padding."""
    return [pad]
