"""The networks of sharded_models.py: modules, each beside its config of ours."""
import torch
import torch.nn.functional as F
from torch import nn

from config_modules import Attention


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width) if heads else None   # in the order of their use, which joined weights have too
        self.attention = Attention(width, heads, causal=True) if heads else None
        self.norm2 = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        if self.attention:
            x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    """Token embedding, blocks, norm and head: the root of FSDP2 holds what is in no block."""

    def __init__(self, blocks, width, heads, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.h:
            x = block(x)
        return self.head(self.norm(x))


class Perceptron(nn.Module):
    """Blocks of two linear layers on rows of numbers; there is nothing outside of them."""

    def __init__(self, blocks, width):
        super().__init__()
        self.h = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
                               for _ in range(blocks))

    def forward(self, x):
        for block in self.h:
            x = block(x)
        return x


def config(name, inputs, layers):
    return {"schema": "plimsoll.model-config", "version": 1, "name": name, "inputs": [inputs], "layers": layers}


def decoder(name, blocks, width, heads, vocabulary, sequence):
    attention = {"name": "attention", "type": "residual", "layers": [
        {"name": "norm", "type": "layer_norm"}, {"name": "self", "type": "attention", "heads": heads, "causal": True}]}
    mlp = {"name": "mlp", "type": "residual", "layers": [
        {"name": "norm", "type": "layer_norm"}, {"name": "up", "type": "linear", "out": 4 * width}, {"name": "gelu", "type": "gelu"},
        {"name": "down", "type": "linear", "out": width}]}
    layers = [{"name": "embedding", "type": "embedding", "vocabulary": vocabulary, "size": width},
              {"name": "h", "type": "repeat", "count": blocks, "layers": [attention] * bool(heads) + [mlp]},
              {"name": "norm", "type": "layer_norm"}, {"name": "head", "type": "linear", "out": vocabulary, "bias": False}]
    made = config(name, {"name": "x", "dtype": "i64", "shape": ["batch", sequence]}, layers)
    return made, lambda batch: (Decoder(blocks, width, heads, vocabulary), torch.randint(0, vocabulary, (batch, sequence)))


def perceptron(name, blocks, width):
    layers = [{"name": "h", "type": "repeat", "count": blocks, "layers": [
        {"name": "up", "type": "linear", "out": 4 * width}, {"name": "relu", "type": "relu"}, {"name": "down", "type": "linear", "out": width}]}]
    return config(name, {"name": "x", "shape": ["batch", width]}, layers), lambda batch: (Perceptron(blocks, width), torch.randn(batch, width))


MODELS = {made[0]["name"]: made for made in (
    perceptron("perceptron", 4, 256),
    decoder("mlp-decoder", 3, 96, 0, 1000, 32),          # extents that 8 ranks divide, and 4 of them the vocabulary's
    decoder("decoder", 4, 128, 4, 1024, 64),
    decoder("uneven-decoder", 2, 100, 4, 997, 24))}      # nothing divides
