"""Recurrent networks and attention of unusual kinds; as family_models.py says."""
import torch
import torch.nn.functional as F
from torch import nn

from family_inputs import images, rows, tokens


# --- recurrent ---

def tagger(batch):
    """Two stacked bidirectional LSTM layers."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(500, 32), nn.Linear(48, 12)
            self.cell = nn.LSTM(32, 24, 2, batch_first=True, bidirectional=True, dropout=0.3)

        def forward(self, x):
            return self.out(self.cell(self.embed(x))[0])
    return Net(), tokens(batch), "cross_entropy"


def gru_attention(batch):
    """A bidirectional GRU, pooled by additive attention."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.cell = nn.Embedding(500, 32), nn.GRU(32, 24, 2, batch_first=True, bidirectional=True)
            self.project, self.score, self.out = nn.Linear(48, 48), nn.Linear(48, 1, bias=False), nn.Linear(48, 5)

        def forward(self, x):
            states = self.cell(self.embed(x))[0]
            weights = self.score(torch.tanh(self.project(states))).softmax(1)
            return self.out((weights * states).sum(1))
    return Net(), tokens(batch), "cross_entropy"


def conv_recurrent(batch):
    """Convolutions over a spectrogram, then a GRU over its frames."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, (2, 1), 1), nn.BatchNorm2d(8), nn.Hardtanh(0, 20, inplace=True))
            self.cell, self.out = nn.GRU(8 * 16, 32, batch_first=True), nn.Linear(32, 20)

        def forward(self, x):
            y = self.conv(x).permute(0, 3, 1, 2).flatten(2)
            return self.out(self.cell(y)[0])
    return Net(), {"spectrogram": torch.randn(batch, 1, 32, 40)}, "cross_entropy"


def last_states(batch):
    """Two bidirectional LSTM layers of which only the last states are read, as classifiers of sentences do."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.drop, self.out = nn.Embedding(500, 32), nn.Dropout(0.5), nn.Linear(96, 2)
            self.cell = nn.LSTM(32, 48, 2, dropout=0.5, bidirectional=True, batch_first=True)

        def forward(self, x):
            states = self.cell(self.drop(self.words(x)))[1][0]
            return self.out(self.drop(torch.cat([states[-2], states[-1]], 1)))
    return Net(), tokens(batch), "cross_entropy"


def summed_directions(batch):
    """GRU layers whose two directions are added, with batch norm of rows between them, as in Deep Speech 2."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.GRU(48, 32, bidirectional=True), nn.GRU(32, 32, bidirectional=True)
            self.norm, self.out = nn.BatchNorm1d(32), nn.Linear(32, 29, bias=False)

        def both(self, cell, x):
            y = cell(x)[0]
            return y.view(y.size(0), y.size(1), 2, -1).sum(2)

        def forward(self, x):
            y = self.both(self.first, x)
            y = self.norm(y.view(y.size(0) * y.size(1), -1)).view_as(y)
            return self.out(self.both(self.second, y))
    return Net(), rows(batch), "cross_entropy"   # what is named batch is time to the layers


# --- attention ---

def torch_transformer(batch):
    """torch.nn.Transformer with a causal mask for its decoder."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(500, 32), nn.Linear(32, 500)
            self.body = nn.Transformer(32, 4, 2, 2, 64, 0.1, batch_first=True)
            self.register_buffer("mask", torch.full((32, 32), float("-inf")).triu(1))

        def forward(self, source, target):
            return self.out(self.body(self.embed(source), self.embed(target), tgt_mask=self.mask, tgt_is_causal=True))
    return Net(), {"source": tokens(batch)["tokens"], "target": tokens(batch)["tokens"]}, "cross_entropy"


def masked_multihead(batch):
    """Pre-norm blocks of nn.MultiheadAttention with a float mask and weights asked for."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.attend = nn.LayerNorm(48), nn.MultiheadAttention(48, 4, batch_first=True)
            self.mlp = nn.Sequential(nn.LayerNorm(48), nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48))
            self.register_buffer("mask", torch.full((32, 32), float("-inf")).triu(1))

        def forward(self, x):
            y = self.norm(x)
            x = x + self.attend(y, y, y, attn_mask=self.mask)[0]
            return x + self.mlp(x)
    return Net(), rows(batch), "sum"


def mask_of_numbers(batch):
    """minGPT's attention: a registered triangle of ones and zeros called "bias", compared with zero at every call."""
    class Net(nn.Module):
        def __init__(self, width=48, heads=4):
            super().__init__()
            self.heads, self.norm = heads, nn.LayerNorm(width)
            self.qkv, self.out, self.drop = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Dropout(0.1)
            self.register_buffer("bias", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32))

        def forward(self, x):
            n, s, w = x.shape
            q, k, v = (t.view(n, s, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm(x)).split(w, 2))
            scores = q @ k.transpose(-2, -1) * (w // self.heads) ** -0.5
            shares = scores.masked_fill(self.bias[:, :, :s, :s] == 0, float("-inf")).softmax(-1)
            return x + self.out((self.drop(shares) @ v).transpose(1, 2).contiguous().view(n, s, w))
    return nn.Sequential(Net(), Net()), rows(batch), "sum"


def dropped_padding(batch):
    """The framework's own attention with dropout, where the causal mask also hides padding."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.qkv, self.out = nn.Embedding(500, 48), nn.Linear(48, 144), nn.Linear(48, 500)

        def forward(self, tokens):
            n, s = tokens.shape
            q, k, v = (t.view(n, s, 4, 12).transpose(1, 2) for t in self.qkv(self.words(tokens)).chunk(3, -1))
            seen = (tokens != 0)[:, None, None] & torch.ones(s, s, dtype=torch.bool, device=tokens.device).tril()
            y = F.scaled_dot_product_attention(q, k, v, seen, 0.1 if self.training else 0.0)
            return self.out(y.transpose(1, 2).reshape(n, s, 48))
    return Net(), tokens(batch), "cross_entropy"


class Rms(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def llama(batch):
    """RMS norm, rotary positions, grouped heads, gated MLP; tied head."""
    class Block(nn.Module):
        def __init__(self, width=48, heads=6, shared=2):
            super().__init__()
            self.heads, self.shared, self.size = heads, shared, width // heads
            self.norm1, self.norm2 = Rms(width), Rms(width)
            self.q, self.o = (nn.Linear(width, width, bias=False) for _ in range(2))
            self.k, self.v = (nn.Linear(width, shared * self.size, bias=False) for _ in range(2))
            self.gate, self.up = (nn.Linear(width, 128, bias=False) for _ in range(2))
            self.down = nn.Linear(128, width, bias=False)

        def forward(self, x, cos, sin):
            def turn(t):
                a, b = t.chunk(2, -1)
                return t * cos + torch.cat([-b, a], -1) * sin
            n, s, w = x.shape
            y = self.norm1(x)
            q = turn(self.q(y).view(n, s, self.heads, self.size).transpose(1, 2))
            k, v = (p(y).view(n, s, self.shared, self.size).transpose(1, 2) for p in (self.k, self.v))
            k, v = (t.repeat_interleave(self.heads // self.shared, 1) for t in (turn(k), v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(y.transpose(1, 2).reshape(n, s, w))
            y = self.norm2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.blocks, self.norm = nn.Embedding(500, 48), nn.ModuleList([Block(), Block()]), Rms(48)
            self.head = nn.Linear(48, 500, bias=False)
            self.head.weight = self.embed.weight
            angle = torch.outer(torch.arange(32), 10000 ** (-torch.arange(0, 8, 2) / 8)).repeat(1, 2)
            self.register_buffer("cos", angle.cos())
            self.register_buffer("sin", angle.sin())

        def forward(self, x):
            x = self.embed(x)
            for block in self.blocks:
                x = block(x, self.cos, self.sin)
            return self.head(self.norm(x))
    return Net(), tokens(batch), "cross_entropy"


def relative_bias(batch):
    """Attention with a learned bias per head and distance, in einsum, as windows of Swin have."""
    class Net(nn.Module):
        def __init__(self, heads=4, side=4):
            super().__init__()
            self.heads = heads
            self.qkv, self.out = nn.Linear(48, 144), nn.Linear(48, 48)
            self.table = nn.Parameter(torch.zeros((2 * side - 1) ** 2, heads))
            at = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
            far = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + side - 1
            self.register_buffer("index", far[..., 0] * (2 * side - 1) + far[..., 1])

        def forward(self, x):
            n, s, w = x.shape
            q, k, v = self.qkv(x).reshape(n, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            scores = torch.einsum("bhsd,bhtd->bhst", q * q.size(-1) ** -0.5, k)
            bias = self.table[self.index.view(-1)].view(s, s, -1).permute(2, 0, 1)
            y = torch.einsum("bhst,bhtd->bhsd", (scores + bias.unsqueeze(0)).softmax(-1), v)
            return x + self.out(y.transpose(1, 2).reshape(n, s, w))
    return Net(), rows(batch, 16), "sum"


def vision_transformer(batch):
    """Class token, learned positions, packed projection, layer scale."""
    class Block(nn.Module):
        def __init__(self, width=48):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))
            self.scale1, self.scale2 = (nn.Parameter(torch.ones(width)) for _ in range(2))

        def forward(self, x):
            n, s, w = x.shape
            q, k, v = self.qkv(self.norm1(x)).reshape(n, s, 3, 4, w // 4).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, s, w)
            x = x + self.scale1 * self.out(y)
            return x + self.scale2 * self.mlp(self.norm2(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.blocks = nn.Conv2d(3, 48, 8, 8), nn.Sequential(Block(), Block())
            self.token, self.places = nn.Parameter(torch.zeros(1, 1, 48)), nn.Parameter(torch.zeros(1, 17, 48))
            self.norm, self.head = nn.LayerNorm(48), nn.Linear(48, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.places
            return self.head(self.norm(self.blocks(x))[:, 0])
    return Net(), images(batch), "cross_entropy"


def mixture(batch):
    """Four experts of which each token takes two, weighed by a router; all experts run."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.router, self.out = nn.Linear(48, 4, bias=False), nn.Linear(48, 10)
            self.experts = nn.ModuleList(nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48)) for _ in range(4))

        def forward(self, x):
            weights, chosen = self.router(x).softmax(-1).topk(2, -1)
            weights = weights / weights.sum(-1, keepdim=True)
            every = torch.stack([expert(x) for expert in self.experts], -2)
            taken = every.gather(-2, chosen.unsqueeze(-1).expand(-1, -1, -1, 48))
            return self.out((taken * weights.unsqueeze(-1)).sum(-2))
    return Net(), rows(batch), "cross_entropy"


def shared_layers(batch):
    """One encoder layer that runs three times, as in ALBERT; learned positions."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.grow = nn.Embedding(500, 16), nn.Embedding(32, 16), nn.Linear(16, 48)
            self.layer = nn.TransformerEncoderLayer(48, 4, 96, 0.1, "gelu", batch_first=True)
            self.out = nn.Linear(48, 500)
            self.register_buffer("at", torch.arange(32))

        def forward(self, x):
            x = self.grow(self.words(x) + self.places(self.at))
            for _ in range(3):
                x = self.layer(x)
            return self.out(x)
    return Net(), tokens(batch), "cross_entropy"


def linear_attention(batch):
    """Attention without softmax over keys: elu + 1 and two products."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(48, 48) for _ in range(4))

        def forward(self, x):
            n, s, w = x.shape
            q, k, v = (p(x).view(n, s, 4, -1) for p in (self.q, self.k, self.v))
            q, k = F.elu(q) + 1, F.elu(k) + 1
            memory = torch.einsum("nshd,nshm->nhmd", k, v)
            scale = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(1)) + 1e-6)
            y = torch.einsum("nlhd,nhmd,nlh->nlhm", q, memory, scale)
            return self.out(y.reshape(n, s, w))
    return Net(), rows(batch), "sum"


# --- adapters ---

def low_rank_adapters(batch):
    """Transformer blocks whose queries and values have low-rank adapters beside them (LoRA, Hu et al., arXiv:2106.09685)."""
    class Adapted(nn.Module):
        def __init__(self, width, rank=8):
            super().__init__()
            self.base, self.drop = nn.Linear(width, width), nn.Dropout(0.05)
            self.lora_a, self.lora_b = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)

        def forward(self, x):
            return self.base(x) + self.lora_b(self.lora_a(self.drop(x))) * 2.0

    class Block(nn.Module):
        def __init__(self, width=64, heads=4):
            super().__init__()
            self.heads, self.norm, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value = Adapted(width), nn.Linear(width, width), Adapted(width)
            self.out = nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            y = self.norm(x)
            q, k, v = (p(y).unflatten(2, (self.heads, -1)).transpose(1, 2) for p in (self.query, self.key, self.value))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + self.mlp(self.norm2(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.blocks, self.head = nn.Embedding(500, 64), nn.Sequential(Block(), Block()), nn.Linear(64, 12)

        def forward(self, x):
            return self.head(self.blocks(self.words(x)))
    return Net(), tokens(batch), "cross_entropy"
