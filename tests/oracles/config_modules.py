"""Modules of PyTorch that config_models.py has layers for, as libraries write them."""
import torch
import torch.nn.functional as F
from torch import nn

from op_attention import joined, heads as apart


class GatedLinear(nn.Module):
    """A transformer's gated feed-forward part on [N, S, 32]: down(act(gate(x)) * up(x)), as Llama has it."""

    def __init__(self, activation):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x))


class NewGelu(nn.Module):
    """transformers' NewGELUActivation."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh((2 / 3.14159265) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))


class LlamaNorm(nn.Module):
    """transformers' LlamaRMSNorm, in the operators that it is written in."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(dtype)


class Attention(nn.Module):
    """Four projections around the fused attention, as transformers' models have them."""

    def __init__(self, width=32, heads=4, kv_heads=None, bias=True, packed=False, causal=False, dropout=0.0, repeat=True):
        super().__init__()
        self.heads, self.kv_heads, self.packed, self.causal, self.dropout = heads, kv_heads or heads, packed, causal, dropout
        narrow = width // heads * self.kv_heads
        self.widths = [width, narrow, narrow]
        if packed:
            self.qkv = nn.Linear(width, width + 2 * narrow, bias=bias)
        else:
            self.query, self.key, self.value = (nn.Linear(width, out, bias=bias) for out in self.widths)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        if self.packed:
            q, k, v = self.qkv(x).split(self.widths, -1)
        else:
            q, k, v = self.query(x), self.key(memory), self.value(memory)
        q, k, v = apart(q, self.heads), apart(k, self.kv_heads), apart(v, self.kv_heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, dropout_p=self.dropout if self.training else 0.0,
                                           enable_gqa=self.kv_heads != self.heads)
        return self.out(joined(y))


class TorchAttention(nn.Module):
    """torch.nn.MultiheadAttention on itself, or on a memory. In inference by the operators that training runs: what the
    one operator of its fast path takes inside is not seen here."""

    def __init__(self, need_weights, **options):
        super().__init__()
        torch.backends.mha.set_fastpath_enabled(False)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True, **options)
        self.need_weights = need_weights

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        return self.attention(x, memory, memory, need_weights=self.need_weights)[0]


class Positions(nn.Module):
    """x plus a learned table's rows, picked by a buffer of numbers, as BERT does; or plus a fixed table."""

    def __init__(self, learned, rows=24):
        super().__init__()
        if learned:
            self.table = nn.Embedding(rows, 32)
            self.register_buffer("ids", torch.arange(24))
        else:
            self.register_buffer("fixed", torch.zeros(24, 32))

    def forward(self, x):
        return x + (self.table(self.ids) if hasattr(self, "table") else self.fixed)


class Residual(nn.Module):
    def __init__(self, main, shortcut=None):
        super().__init__()
        self.main, self.shortcut = main, shortcut or nn.Identity()

    def forward(self, x):
        return self.main(x) + self.shortcut(x)


class Branches(nn.Module):
    def __init__(self, merge, *branches):
        super().__init__()
        self.branches, self.merge = nn.ModuleList(branches), merge

    def forward(self, x):
        return self.merge([branch(x) for branch in self.branches])


class First(nn.Module):
    """A recurrent layer's sequence without its states."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)[0]
