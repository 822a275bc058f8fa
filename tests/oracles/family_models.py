"""Small networks of unusual families. Each function takes the batch size and returns (module, inputs, loss)."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from family_convolutional import *
from family_inputs import rows
from family_sequences import *


def click_rates(batch):
    """Embedding tables of categories beside dense features; pairwise products, as in DLRM."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(100, 16) for _ in range(4))
            self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
            self.top = nn.Sequential(nn.Linear(41, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

        def forward(self, dense, kinds):
            x = self.bottom(dense)
            all_ = torch.stack([x] + [table(kinds[:, i]) for i, table in enumerate(self.tables)], 1)
            products = torch.bmm(all_, all_.transpose(1, 2)).flatten(1)
            return self.top(torch.cat([x, products], 1))
    return Net(), {"dense": torch.randn(batch, 13), "kinds": torch.randint(0, 100, (batch, 4))}, "sum"


def gated_convolutions(batch):
    """A Conformer's convolution module: pointwise, GLU, depthwise, batch norm, swish, between residual sums."""
    class Block(nn.Module):
        def __init__(self, width=48):
            super().__init__()
            self.norm, self.grow = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
            self.deep, self.batch = nn.Conv1d(width, width, 7, padding=3, groups=width), nn.BatchNorm1d(width)
            self.out, self.drop = nn.Conv1d(width, width, 1), nn.Dropout(0.1)

        def forward(self, x):
            y = F.glu(self.grow(self.norm(x).transpose(1, 2)), 1)
            y = F.silu(self.batch(self.deep(y)))
            return x + self.drop(self.out(y).transpose(1, 2))
    return nn.Sequential(Block(), Block(), nn.Linear(48, 12)), rows(batch), "cross_entropy"


def graph_network(batch):
    """Dense graph convolutions: a normalised adjacency times features, masked sums, max over nodes."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.out = nn.Linear(16, 32), nn.Linear(32, 32), nn.Linear(32, 7)

        def forward(self, adjacency, x):
            share = adjacency / adjacency.sum(-1, keepdim=True).clamp(min=1)
            x = F.relu(self.first(share @ x))
            x = F.relu(self.second(share @ x))
            return self.out(x.max(1).values)
    return Net(), {"adjacency": torch.rand(batch, 20, 20), "nodes": torch.randn(batch, 20, 16)}, "cross_entropy"


def orthogonal_flow(batch):
    """Affine coupling layers as in normalising flows: chunk, scale and shift, log-determinants."""
    class Coupling(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 48))

        def forward(self, x):
            a, b = x.chunk(2, -1)
            scale, shift = self.net(a).chunk(2, -1)
            scale = torch.tanh(scale)
            return torch.cat([b * scale.exp() + shift, a], -1), scale.sum(-1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Coupling() for _ in range(3))

        def forward(self, x):
            total = 0
            for layer in self.layers:
                x, change = layer(x)
                total = total + change
            return -0.5 * (x * x).sum(-1) - 0.5 * 48 * math.log(2 * math.pi) + total
    return Net(), {"rows": torch.randn(batch, 48)}, "sum"


NAMES = [name for name, made in list(globals().items())
         if callable(made) and getattr(made, "__code__", None) and made.__code__.co_varnames[:made.__code__.co_argcount] == ("batch",)]
