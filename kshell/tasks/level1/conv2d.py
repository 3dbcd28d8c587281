"""2-D convolution, NCHW, stride 1, with bias."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

batch = 1
cin = 16
cout = 32
H = 32
k = 3
pad = 1


class Model(nn.Module):
    """2-D convolution, NCHW, stride 1, with bias."""

    def __init__(self, padding: int) -> None:
        super().__init__()
        self.padding = padding

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv2d(x, weight, bias, stride=1, padding=self.padding)


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(batch, cin, H, H), torch.randn(cout, cin, k, k), torch.randn(cout)]


def get_init_inputs() -> list[object]:
    """The padding."""
    return [pad]
