"""Convolutional networks of unusual families; as family_models.py says."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm, weight_norm

from family_inputs import images


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


def masked_convolutions(batch):
    """PixelCNN: weights multiplied by a registered mask at every step."""
    class Masked(nn.Conv2d):
        def __init__(self, *sizes, **options):
            super().__init__(*sizes, **options)
            self.register_buffer("mask", torch.ones_like(self.weight))

        def forward(self, x):
            return F.conv2d(x, self.weight * self.mask, self.bias, self.stride, self.padding)
    layers = [nn.BatchNorm2d(16), nn.ReLU(), Masked(16, 16, 7, padding=3), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(Masked(1, 16, 7, padding=3), *layers, nn.Conv2d(16, 32, 1)), images(batch, channels=1), "cross_entropy"


def separation(batch):
    """Conv-TasNet: a norm of one's own over channels and time, one trained slope for all."""
    class Norm(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gain, self.shift = nn.Parameter(torch.ones(1, width, 1)), nn.Parameter(torch.zeros(1, width, 1))

        def forward(self, x):
            mean = x.mean(1, keepdim=True).mean(2, keepdim=True)
            variance = ((x - mean) ** 2).mean(1, keepdim=True).mean(2, keepdim=True)
            return self.gain * (x - mean) / torch.pow(variance + 1e-8, 0.5) + self.shift

    class Block(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.net = nn.Sequential(nn.Conv1d(16, 32, 1, bias=False), nn.PReLU(), Norm(32),
                                     nn.Conv1d(32, 32, 3, padding=dilation, dilation=dilation, groups=32, bias=False),
                                     nn.PReLU(), Norm(32), nn.Conv1d(32, 16, 1, bias=False))

        def forward(self, x):
            return x + self.net(x)
    return nn.Sequential(nn.Conv1d(1, 16, 20, 10, bias=False), Block(1), Block(2),
                         nn.ConvTranspose1d(16, 1, 20, 10, bias=False)), {"sound": torch.randn(batch, 1, 400)}, "sum"


def variational(batch):
    """A convolutional variational autoencoder with nn.LeakyReLU() as it comes."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.LeakyReLU(),
                                      nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.LeakyReLU())
            self.mean, self.log_variance, self.back = nn.Linear(2048, 8), nn.Linear(2048, 8), nn.Linear(8, 2048)
            self.up = nn.Sequential(nn.ConvTranspose2d(32, 16, 3, 2, 1, 1), nn.BatchNorm2d(16), nn.LeakyReLU(),
                                    nn.ConvTranspose2d(16, 3, 3, 2, 1, 1), nn.Tanh())

        def forward(self, x):
            y = torch.flatten(self.down(x), 1)
            mean, log_variance = self.mean(y), self.log_variance(y)
            deviation = torch.exp(0.5 * log_variance)
            z = torch.randn_like(deviation) * deviation + mean
            return self.up(self.back(z).view(-1, 32, 8, 8)), mean, log_variance
    return Net(), images(batch), "sum"


def normalised_volumes(batch):
    """nnU-Net's stages: convolutions over volumes, instance norm, leaky activations in place."""
    def stage(before, after):
        return [nn.Conv3d(before, after, 3, padding=1), nn.InstanceNorm3d(after, affine=True), nn.LeakyReLU(inplace=True)]
    return nn.Sequential(*stage(1, 8), *stage(8, 8), nn.MaxPool3d(2), *stage(8, 16), nn.Conv3d(16, 3, 1)), \
        {"volume": torch.randn(batch, 1, 8, 16, 16)}, "cross_entropy"
