"""Models that no library ships. Each function takes the batch size and returns (module, inputs, loss)."""
import torch
from torch import nn


def mlp(batch):
    """784-512-512-10 with ReLU."""
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), {"input": torch.randn(batch, 784)}, "cross_entropy"


def small_cnn(batch):
    """Three unpadded convolutions on 32x32 images, two of them pooled, then two linear layers."""
    convolutions = [nn.Conv2d(3, 32, 3), nn.ReLU(), nn.MaxPool2d(2),        # 15 x 15
                    nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),       # 6 x 6
                    nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten()]          # 4 x 4
    classifier = [nn.Linear(64 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10)]
    return nn.Sequential(*convolutions, *classifier), {"input": torch.randn(batch, 3, 32, 32)}, "cross_entropy"


class WordModel(nn.Module):
    """Word embedding, two LSTM layers, projection to the vocabulary; dropout between all of them."""

    def __init__(self, words=10000, width=650):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.dropout = nn.Dropout(0.5)
        self.recurrent = nn.LSTM(width, width, num_layers=2, dropout=0.5, batch_first=True)
        self.decoder = nn.Linear(width, words)

    def forward(self, tokens):
        states, _ = self.recurrent(self.dropout(self.embedding(tokens)))
        return self.decoder(self.dropout(states))


def lstm_lm(batch):
    """The 'medium' Penn Treebank language model: 650 units, 35 steps."""
    return WordModel(), {"tokens": torch.randint(0, 10000, (batch, 35))}, "cross_entropy"


def dcgan_discriminator(batch):
    """Strided 4x4 convolutions from 64x64 pixels to one score."""
    widths = [3, 64, 128, 256, 512]
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers.append(nn.Conv2d(before, after, 4, stride=2, padding=1, bias=False))
        if before != 3:
            layers.append(nn.BatchNorm2d(after))
        layers.append(nn.LeakyReLU(0.2, inplace=True))
    layers += [nn.Conv2d(512, 1, 4, bias=False), nn.Sigmoid()]
    return nn.Sequential(*layers), {"image": torch.randn(batch, 3, 64, 64)}, "sum"


def twice(before, after):
    """Two padded 3x3 convolutions, each with batch norm and ReLU."""
    def once(source):
        return [nn.Conv2d(source, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    return nn.Sequential(*once(before), *once(after))


class UNet(nn.Module):
    """U-Net with same-size convolutions and batch norm: five levels of 64 to 1024 channels."""

    def __init__(self):
        super().__init__()
        widths = [64, 128, 256, 512, 1024]
        self.down = nn.ModuleList(twice(a, b) for a, b in zip([3] + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.join = nn.ModuleList(twice(b, a) for a, b in zip(widths, widths[1:]))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(64, 2, 1)

    def forward(self, x):
        levels = []
        for block in self.down[:-1]:
            levels.append(block(x))
            x = self.pool(levels[-1])
        x = self.down[-1](x)
        for level in reversed(range(len(self.up))):
            x = self.join[level](torch.cat([levels[level], self.up[level](x)], dim=1))
        return self.head(x)


def unet(batch):
    return UNet(), {"image": torch.randn(batch, 3, 256, 256)}, "cross_entropy"


class Translator(nn.Module):
    """torch.nn.Transformer, 'base' sizes, with embeddings of tokens and learned positions."""

    def __init__(self, words=8000, width=512):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.position = nn.Parameter(torch.zeros(512, width))
        self.transformer = nn.Transformer(width, nhead=8, num_encoder_layers=6, num_decoder_layers=6,
                                          dim_feedforward=2048, dropout=0.1, batch_first=True)
        self.decoder = nn.Linear(width, words)

    def forward(self, source, target):
        embedded = [table(tokens) + self.position[:tokens.shape[1]]
                    for table, tokens in ((self.source, source), (self.target, target))]
        return self.decoder(self.transformer(*embedded))


def transformer_base(batch):
    return Translator(), {name: torch.randint(0, 8000, (batch, 64)) for name in ("source", "target")}, "cross_entropy"


class ActorCritic(nn.Module):
    """A3C for Atari frames: the batch is a run of frames, which the LSTM reads as one sequence."""

    def __init__(self, actions=6):
        super().__init__()
        self.eyes = nn.Sequential(nn.Conv2d(4, 16, 8, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(),
                                  nn.Flatten(), nn.Linear(2592, 256), nn.ReLU())
        self.memory = nn.LSTM(256, 256)
        self.policy, self.value = nn.Linear(256, actions), nn.Linear(256, 1)

    def forward(self, frames):
        states, _ = self.memory(self.eyes(frames).unsqueeze(0))
        return self.policy(states[0]), self.value(states[0])


def a3c_lstm(batch):
    return ActorCritic(), {"frames": torch.randn(batch, 4, 84, 84)}, "sum"
