"""Modules that op_tables.py and op_rare.py call operators through."""
import torch
import torch.nn.functional as F
from torch import nn


class Behind(nn.Module):
    """A module that reads x as `view` shows it."""

    def __init__(self, view, module):
        super().__init__()
        self.view, self.module = view, module

    def forward(self, x):
        return self.module(self.view(x))


class With(nn.Module):
    """function(x, ..., buffers and parameters by name)"""

    def __init__(self, function, parameters=(), **buffers):
        super().__init__()
        self.function, self.names = function, [*buffers, *parameters]
        for name, value in buffers.items():
            self.register_buffer(name, value)
        for name in parameters:
            setattr(self, name, nn.Parameter(parameters[name]))

    def forward(self, *xs):
        return self.function(*xs, *(getattr(self, name) for name in self.names))


class Multihead(nn.Module):
    """torch.nn.MultiheadAttention called as people call it."""

    def __init__(self, options=None, **call):
        super().__init__()
        self.attention, self.call = nn.MultiheadAttention(32, 4, batch_first=True, **(options or {})), call
        if call.get("masked"):
            self.register_buffer("mask", torch.ones(24, 24, dtype=torch.bool).triu(1))

    def forward(self, x, memory=None):
        call = dict(self.call)
        if call.pop("masked", False):
            call["attn_mask"] = self.mask
        if call.pop("padded", False):
            call["key_padding_mask"] = x[:, :, 0] > 100
        memory = x if memory is None else memory
        y, weights = self.attention(x, memory, memory, **call)
        return y if weights is None else (y, weights)


class Cells(nn.Module):
    """A recurrent cell run over the first four steps by hand."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell(32, 20)

    def forward(self, x):
        state, outputs = None, []
        for step in range(4):
            state = self.cell(x[:, step], state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, 1)


class CellByHand(nn.Module):
    """An LSTM's time step of two linear layers."""

    def __init__(self, features, hidden):
        super().__init__()
        self.input, self.state = nn.Linear(features, 4 * hidden), nn.Linear(hidden, 4 * hidden)

    def forward(self, x, state):
        h, c = state or [x.new_zeros(x.size(0), self.state.in_features)] * 2
        i, f, g, o = (self.state(h) + self.input(x)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class Stateful(nn.Module):
    """A recurrent layer that begins at trained states, or that hands its last ones on too."""

    def __init__(self, cell, learned=False, **options):
        super().__init__()
        self.cell = cell(32, 20, batch_first=True, **options)
        self.first = nn.Parameter(torch.zeros(1, 1, 20)) if learned else None

    def forward(self, x):
        first = self.first
        y, state = self.cell(x, None if first is None else first.expand(-1, x.size(0), -1).contiguous())
        state = state if isinstance(state, tuple) else (state,)
        return y if first is not None else (y, *state)


class Unpool(nn.Module):
    """Pooled and spread again where the largest were."""

    def forward(self, x):
        y, places = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(y, places, 2)


class GlobalResponseNorm(nn.Module):
    """ConvNeXt v2's, on channels first."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.zeros(1, 8, 1, 1)) for _ in range(2))

    def forward(self, x):
        g = x.norm(p=2, dim=(2, 3), keepdim=True)
        n = g / (g.mean(dim=1, keepdim=True) + 1e-6)
        return x + torch.addcmul(self.bias, self.weight, x * n)


class Twice(nn.Module):
    """One layer applied twice."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 32)

    def forward(self, x):
        return self.layer(F.relu(self.layer(x)))


class Tied(nn.Module):
    """A weight and its transpose."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(20, 32))

    def forward(self, x):
        return F.linear(F.relu(F.linear(x, self.weight)), self.weight.t())


class Scaled(nn.Module):
    def forward(self, x):
        return x * 32 ** 0.5


class MeanOfSteps(nn.Module):
    def forward(self, x):
        return x.mean(1)


class Positions(nn.Module):
    """Words and learned positions."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(100, 32), nn.Embedding(24, 32)

    def forward(self, tokens):
        return self.words(tokens) + self.positions(torch.arange(tokens.size(1), device=tokens.device))


class TiedEmbedding(nn.Module):
    """The table that words are looked up in scores them too."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 32)

    def forward(self, tokens):
        return F.linear(self.words(tokens), self.words.weight)
