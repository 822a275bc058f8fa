"""Small networks of unusual families. Each function takes the batch size and returns (module, inputs, loss)."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm, weight_norm


def images(batch, side=32, channels=3):
    return {"image": torch.randn(batch, channels, side, side)}


def tokens(batch, length=32, words=500):
    return {"tokens": torch.randint(0, words, (batch, length))}


def rows(batch, steps=32, width=48):
    return {"rows": torch.randn(batch, steps, width)}


# --- convolutional ---

def group_norm_net(batch):
    """Weight-standardised residual blocks with group norm."""
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(4, width), nn.GroupNorm(4, width)
            self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))

        def forward(self, x):
            return x + self.conv2(F.silu(self.norm2(self.conv1(F.silu(self.norm1(x))))))
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), Block(16), Block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(16, 10)), images(batch), "cross_entropy"


def style_transfer(batch):
    """Reflection padding, instance norm, upsampling by nearest neighbours."""
    def conv(before, after, size, stride=1):
        return [nn.ReflectionPad2d(size // 2), nn.Conv2d(before, after, size, stride),
                nn.InstanceNorm2d(after, affine=True), nn.ReLU()]
    return nn.Sequential(*conv(3, 8, 9), *conv(8, 16, 3, 2), *conv(16, 16, 3), nn.Upsample(scale_factor=2),
                         *conv(16, 8, 3), nn.ReflectionPad2d(4), nn.Conv2d(8, 3, 9)), images(batch), "sum"


def wavenet(batch):
    """Causal dilated one-dimensional convolutions with weight norm, gates and skip sums."""
    class Layer(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.pad = dilation
            self.filter, self.gate = (weight_norm(nn.Conv1d(16, 16, 2, dilation=dilation)) for _ in range(2))
            self.skip, self.out = nn.Conv1d(16, 16, 1), nn.Conv1d(16, 16, 1)

        def forward(self, x):
            padded = F.pad(x, (self.pad, 0))
            y = torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))
            return x + self.out(y), self.skip(y)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv1d(1, 16, 1), nn.Conv1d(16, 64, 1)
            self.layers = nn.ModuleList(Layer(2 ** i) for i in range(4))

        def forward(self, x):
            x, total = self.first(x), 0
            for layer in self.layers:
                x, skip = layer(x)
                total = total + skip
            return self.last(F.relu(total + x))
    return Net(), {"sound": torch.randn(batch, 1, 256)}, "sum"


def spectral_discriminator(batch):
    """Spectrally normalised convolutions."""
    return nn.Sequential(spectral_norm(nn.Conv2d(3, 16, 4, 2, 1)), nn.LeakyReLU(0.1),
                         spectral_norm(nn.Conv2d(16, 32, 4, 2, 1)), nn.LeakyReLU(0.1), nn.Flatten(),
                         spectral_norm(nn.Linear(32 * 64, 1))), images(batch), "sum"


def super_resolution(batch):
    """Sub-pixel convolution."""
    return nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 16, 3, padding=1), nn.Tanh(),
                         nn.Conv2d(16, 4, 3, padding=1), nn.PixelShuffle(2)), images(batch, 32, 1), "sum"


class UNet(nn.Module):
    """Two levels; `up` makes the layer that doubles the extents."""

    def __init__(self, up):
        super().__init__()
        def twice(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                                 nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
        self.down1, self.down2, self.middle = twice(3, 8), twice(8, 16), twice(16, 32)
        self.up2, self.up1 = up(32, 16), up(16, 8)
        self.join2, self.join1, self.head = twice(32, 16), twice(16, 8), nn.Conv2d(8, 4, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.middle(F.max_pool2d(b, 2))
        y = self.join2(torch.cat([b, self.up2(y)], 1))
        return self.head(self.join1(torch.cat([a, self.up1(y)], 1)))


def unet_transposed(batch):
    return UNet(lambda a, b: nn.ConvTranspose2d(a, b, 2, stride=2)), images(batch), "cross_entropy"


def unet_bilinear(batch):
    return UNet(lambda a, b: nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                                           nn.Conv2d(a, b, 1))), images(batch), "cross_entropy"


def separable(batch):
    """Inverted bottlenecks with squeeze and excitation, hard swish and a dilated stage."""
    class Squeeze(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.pool, self.down, self.up = nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, 8, 1), nn.Conv2d(8, width, 1)

        def forward(self, x):
            return x * F.hardsigmoid(self.up(F.relu(self.down(self.pool(x)))))

    class Block(nn.Module):
        def __init__(self, width, dilation):
            super().__init__()
            def norm(n, activate=True):
                return [nn.BatchNorm2d(n), nn.Hardswish(inplace=True)] if activate else [nn.BatchNorm2d(n)]
            self.body = nn.Sequential(
                nn.Conv2d(width, 3 * width, 1, bias=False), *norm(3 * width),
                nn.Conv2d(3 * width, 3 * width, 3, padding=dilation, dilation=dilation, groups=3 * width, bias=False),
                *norm(3 * width), Squeeze(3 * width), nn.Conv2d(3 * width, width, 1, bias=False), *norm(width, False))

        def forward(self, x):
            return x + self.body(x)
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(inplace=True),
                         Block(16, 1), Block(16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                         nn.Linear(16, 10)), images(batch), "cross_entropy"


def volumes(batch):
    """Three-dimensional convolutions and pools, and one that is factored in space and time."""
    return nn.Sequential(nn.Conv3d(2, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(inplace=True), nn.MaxPool3d(2),
                         nn.Conv3d(8, 16, (1, 3, 3), padding=(0, 1, 1)), nn.Conv3d(16, 16, (3, 1, 1), padding=(1, 0, 0)),
                         nn.BatchNorm3d(16), nn.ReLU(), nn.AvgPool3d(2), nn.Flatten(), nn.Linear(16 * 64, 10)), {
        "volume": torch.randn(batch, 2, 16, 16, 16)}, "cross_entropy"


def spatial_transformer(batch):
    """An affine grid that the network itself predicts."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.locate = nn.Sequential(nn.Conv2d(3, 8, 7), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 169, 6))
            self.body = nn.Sequential(nn.Conv2d(3, 16, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(16 * 49, 10))

        def forward(self, x):
            grid = F.affine_grid(self.locate(x).view(-1, 2, 3), list(x.shape), align_corners=False)
            return self.body(F.grid_sample(x, grid, align_corners=False))
    return Net(), images(batch), "cross_entropy"


def dense_shuffle(batch):
    """Channel split and shuffle, dense concatenation, average pools."""
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(width // 2, width // 2, 3, padding=1, groups=2), nn.BatchNorm2d(width // 2),
                                      nn.ReLU(inplace=True))

        def forward(self, x):
            a, b = x.chunk(2, 1)
            n, c, h, w = x.shape
            return torch.cat([a, self.conv(b)], 1).view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), Block(16), Block(16), nn.AvgPool2d(2), nn.PReLU(16), Block(16),
                         nn.Flatten(), nn.Linear(16 * 256, 10)), images(batch), "cross_entropy"


def autoencoder(batch):
    """A variational one: noise, exponentials, two outputs; transposed convolutions."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ELU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ELU(), nn.Flatten())
            self.mean, self.spread, self.back = nn.Linear(1024, 20), nn.Linear(1024, 20), nn.Linear(20, 1024)
            self.decode = nn.Sequential(nn.Unflatten(1, (16, 8, 8)), nn.ConvTranspose2d(16, 16, 4, 2, 1), nn.ELU(),
                                        nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Sigmoid())

        def forward(self, x):
            code = self.encode(x)
            mean, spread = self.mean(code), self.spread(code)
            z = mean + torch.exp(0.5 * spread) * torch.randn_like(spread)
            divergence = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum(1)
            return self.decode(self.back(z)), divergence
    return Net(), images(batch), "sum"


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
