"""x times the transposed weight, plus bias."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

batch = 64
hin = 256
hout = 512


class Model(nn.Module):
    """x times the transposed weight, plus bias."""

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.linear(x, weight, bias)


def get_inputs() -> list[Tensor]:
    """Inputs at the default sizes."""
    return [torch.randn(batch, hin), torch.randn(hout, hin), torch.randn(hout)]


def get_init_inputs() -> list[object]:
    """The model takes no arguments."""
    return []
