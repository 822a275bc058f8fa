#!/usr/bin/env python3
"""The convolutions of networks that dilate their filters, as layers of workspace_layers.py.

    dilated_networks.py ../../hwdb/workspaces/layers.bin ../golden/workspaces/folds-sm61.jsonl LAYERS.json NETWORKS.json TRAINED.json

Of the networks that cuDNN was first asked about two have dilated filters, one of them all of the
other's: a rule learned without it knows none. These are further ones, at the sides that their papers
train at, built without weights; the layers are read while a made-up image runs through. The first two
files are the layers and networks that are known, LAYERS.json and NETWORKS.json have these besides.
TRAINED.json is LAYERS.json and made-up dilated layers behind it, which rules are learned from and no
table holds. Needs torch, torchvision and timm.
"""
import json
import random
import sys

import timm
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from workspace_layers import read_layers, read_networks


def conv(c, k, side=3, stride=1, dilation=1, groups=1):
    """Padded so that the sides stay, divided by the stride."""
    side = (side, side) if isinstance(side, int) else side
    dilation = (dilation, dilation) if isinstance(dilation, int) else dilation
    pad = tuple(d * (r - 1) // 2 for d, r in zip(dilation, side))
    return nn.Conv2d(c, k, side, stride, pad, dilation, groups)


def chain(c, *convolutions):
    """Convolutions one behind the other: (k, side, stride, dilation), the last ones may be left out."""
    steps = []
    for k, *rest in convolutions:
        steps.append(conv(c, k, *rest))
        c = k
    return nn.Sequential(*steps)


class Parallel(nn.Module):
    """Branches on one input, their outputs side by side."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class Dense(nn.Module):
    """Each branch reads the input and all outputs before it."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        for branch in self.branches:
            x = torch.cat([x, branch(x)], 1)
        return x


class Pooled(nn.Module):
    """What a branch makes of the image seen in bins."""

    def __init__(self, bins, branch):
        super().__init__()
        self.bins, self.branch = bins, branch

    def forward(self, x):
        return F.interpolate(self.branch(F.adaptive_avg_pool2d(x, self.bins)), x.shape[2:])


class Residual(nn.Module):
    def __init__(self, body, shortcut=None):
        super().__init__()
        self.body, self.shortcut = body, shortcut or nn.Identity()

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


def backbone(name, stride):
    return nn.Sequential(timm.create_model(name, output_stride=stride, num_classes=0, global_pool=""))


def aspp(c, k, *dilations):
    """DeepLab v3's pyramid: one pixel, three dilated filters, the whole image (Chen et al. 2017)."""
    return nn.Sequential(Parallel(conv(c, k, 1), *(conv(c, k, 3, 1, d) for d in dilations), Pooled(1, conv(c, k, 1))),
                         conv((2 + len(dilations)) * k, k, 1), conv(k, k), conv(k, 21, 1))


def vgg(last_stages):
    """VGG-16 whose last stages keep their resolution: 64, 128, 256 channels, then 512 as given."""
    widths = ((64, 2), (128, 2), (256, 3))
    c, steps = 3, []
    for k, count in widths:
        steps += [chain(c, *[(k,)] * count), nn.MaxPool2d(2, 2)]
        c = k
    return nn.Sequential(*steps, chain(c, *last_stages))


def drn(blocks, bottleneck):
    """Dilated residual networks, form D (Yu, Koltun, Funkhouser 2017): stages of 16 to 512 channels, no pooling."""
    def block(c, k, stride, dilation):
        if bottleneck and k > 32:
            width = k // 4
            body = chain(c, (width, 1), (width, 3, stride, dilation), (k, 1))
        else:
            body = chain(c, (k, 3, stride, dilation), (k, 3, 1, dilation))
        return Residual(body, None if stride == 1 and c == k else conv(c, k, 1, stride))
    wide = 4 if bottleneck else 1
    steps, c = [chain(3, (16, 7), (16, 3), (32, 3, 2))], 32
    for k, count, stride, dilation in zip((64, 128, 256, 512), blocks, (2, 2, 1, 1), (1, 1, 2, 4)):
        for i in range(count):
            steps.append(block(c, k * wide, stride if i == 0 else 1, dilation))
            c = k * wide
    return nn.Sequential(*steps, chain(c, (512, 3, 1, 2), (512, 3)))


def erfnet():
    """Factorized residual blocks of one-dimensional filters (Romera et al. 2018)."""
    def block(c, d):
        return Residual(nn.Sequential(conv(c, c, (3, 1)), conv(c, c, (1, 3)), conv(c, c, (3, 1), 1, (d, 1)), conv(c, c, (1, 3), 1, (1, d))))
    return nn.Sequential(conv(3, 13, 3, 2), conv(13, 48, 3, 2), *(block(48, 1) for _ in range(5)), conv(48, 64, 3, 2),
                         conv(64, 128, 1), *(block(128, d) for d in (2, 4, 8, 16)), conv(128, 64, 1))


def enet():
    """Bottlenecks of 32 inner channels, dilated and asymmetric in turn (Paszke et al. 2016)."""
    def block(middle):
        return Residual(nn.Sequential(conv(128, 32, 1), middle, conv(32, 128, 1)))
    asymmetric = nn.Sequential(conv(32, 32, (5, 1)), conv(32, 32, (1, 5)))
    return nn.Sequential(conv(3, 13, 3, 2), conv(13, 64, 2, 2), conv(64, 128, 2, 2),
                         *(block(conv(32, 32, 3, 1, d)) for d in (1, 2, 4, 8, 16)), block(asymmetric))


def espnet():
    """Five filters of growing dilation on a reduced input, summed up step by step (Mehta et al. 2018)."""
    def block(c, k, stride):
        n = k // 5
        return nn.Sequential(conv(c, n, 3 if stride > 1 else 1, stride),
                             Parallel(conv(n, k - 4 * n), *(conv(n, n, 3, 1, d) for d in (2, 4, 8, 16))))
    return nn.Sequential(conv(3, 16, 3, 2), block(16, 64, 2), block(64, 64, 1), block(64, 128, 2), block(128, 128, 1))


def u2net():
    """The innermost nested block, all of dilated filters (Qin et al. 2020)."""
    def block(c, inner, k):
        return nn.Sequential(conv(c, k), conv(k, inner), conv(inner, inner, 3, 1, 2), conv(inner, inner, 3, 1, 4),
                             conv(inner, 2 * inner - inner, 3, 1, 8), conv(inner, 2 * inner, 1), conv(2 * inner, inner, 3, 1, 4),
                             conv(inner, 2 * inner, 1), conv(2 * inner, inner, 3, 1, 2), conv(inner, 2 * inner, 1), conv(2 * inner, k))
    return nn.Sequential(conv(3, 64, 3, 2), conv(64, 128, 3, 2), conv(128, 256, 3, 2), conv(256, 512, 3, 2), block(512, 256, 512))


def trident():
    """One filter at three dilations on ResNet-50's third stage (Li et al. 2019)."""
    stage = Parallel(*(nn.Sequential(conv(1024, 256, 1), conv(256, 256, 3, 1, d), conv(256, 1024, 1)) for d in (1, 2, 3)))
    return nn.Sequential(*list(torchvision.models.resnet50().children())[:7], stage)


def rfb():
    """Receptive field blocks on VGG-16 at 300 pixels (Liu et al. 2018)."""
    block = Parallel(chain(512, (64, 1), (128, 3), (128, 3, 1, 1)), chain(512, (64, 1), (128, 3), (128, 3, 1, 2)),
                     chain(512, (64, 1), (96, 3), (128, 3), (128, 3, 1, 5)))
    return nn.Sequential(vgg([(512,)] * 3), block, chain(384, (512, 1), (1024, 3, 2, 3)))


def wavenet(channels, depth):
    """Causal gates of two taps whose reach doubles (van den Oord et al. 2016)."""
    return nn.Sequential(nn.Conv1d(1, channels, 1), *(nn.Conv1d(channels, 2 * channels, 2, dilation=2**i) if j == 0 else
                         nn.Conv1d(2 * channels, channels, 1) for i in range(depth) for j in range(2)))


def temporal(c, k, side, depth):
    """A temporal convolutional network (Bai et al. 2018)."""
    return nn.Sequential(*(nn.Conv1d(c if i == 0 and j == 0 else k, k, side, padding=(side - 1) * 2**i, dilation=2**i)
                           for i in range(depth) for j in range(2)))


def tasnet():
    """Conv-TasNet's separator: depthwise filters of growing dilation (Luo and Mesgarani 2019)."""
    return nn.Sequential(nn.Conv1d(1, 512, 16, 8), nn.Conv1d(512, 128, 1), *(layer for d in range(8) for layer in
                         (nn.Conv1d(128, 512, 1), nn.Conv1d(512, 512, 3, padding=2**d, dilation=2**d, groups=512), nn.Conv1d(512, 128, 1))))


def networks():
    """Name: (network, shape of one sample)."""
    segmentation = torchvision.models.segmentation
    plain = {"weights": None, "weights_backbone": None}
    pyramid = [Pooled(b, conv(2048, 512, 1)) for b in (1, 2, 3, 6)]
    return {
        "deeplabv3_resnet101": (segmentation.deeplabv3_resnet101(**plain), (3, 520, 520)),
        "deeplabv3_mobilenet_v3_large": (segmentation.deeplabv3_mobilenet_v3_large(**plain), (3, 224, 224)),
        "deeplabv3_resnet34": (nn.Sequential(backbone("resnet34", 8), aspp(512, 256, 12, 24, 36)), (3, 224, 224)),
        "deeplabv3_seresnext50": (nn.Sequential(backbone("seresnext50_32x4d", 16), aspp(2048, 256, 6, 12, 18)), (3, 513, 513)),
        "deeplabv3plus_xception65": (nn.Sequential(backbone("xception65", 16), aspp(2048, 256, 6, 12, 18)), (3, 513, 513)),
        "deeplabv3_mobilenetv2": (nn.Sequential(backbone("mobilenetv2_100", 16), aspp(1280, 256, 6, 12, 18)), (3, 513, 513)),
        "deeplabv3_efficientnet_b0": (nn.Sequential(backbone("efficientnet_b0", 8), aspp(1280, 256, 12, 24, 36)), (3, 224, 224)),
        "pspnet50": (nn.Sequential(backbone("resnet50d", 8), Parallel(nn.Identity(), *pyramid), chain(4096, (512,), (150, 1))),
                     (3, 473, 473)),
        "deeplabv2_vgg16": (nn.Sequential(vgg([(512,)] * 3 + [(512, 3, 1, 2)] * 3),
                                          Parallel(*(chain(512, (1024, 3, 1, d), (1024, 1), (21, 1)) for d in (6, 12, 18, 24)))), (3, 321, 321)),
        "dilation8": (nn.Sequential(vgg([(512,)] * 3 + [(512, 3, 1, 2)] * 3), chain(512, (4096, 7, 1, 4), (4096, 1), (21, 1)),
                                    chain(21, *((21, 3, 1, d) for d in (1, 1, 2, 4, 8, 16, 1)), (21, 1))), (3, 396, 396)),
        "csrnet": (nn.Sequential(vgg([(512,)] * 3), chain(512, *[(k, 3, 1, 2) for k in (512, 512, 512, 256, 128, 64)], (1, 1))), (3, 384, 512)),
        "drn_d_22": (drn((2, 2, 2, 2), False), (3, 224, 224)),
        "drn_d_54": (drn((3, 4, 6, 3), True), (3, 224, 224)),
        "erfnet": (erfnet(), (3, 512, 1024)),
        "enet": (enet(), (3, 512, 512)),
        "espnet": (espnet(), (3, 512, 1024)),
        "u2net": (u2net(), (3, 320, 320)),
        "denseaspp": (nn.Sequential(backbone("resnet50", 8), conv(2048, 512, 1), Dense(*(nn.Sequential(conv(512 + 64 * i, 256, 1), conv(256, 64, 3, 1, d))
                      for i, d in enumerate((3, 6, 12, 18, 24))))), (3, 512, 512)),
        "tridentnet": (trident(), (3, 512, 512)),
        "rfbnet": (rfb(), (3, 300, 300)),
        "ssd300_vgg16": (torchvision.models.detection.ssd300_vgg16(**plain).backbone, (3, 300, 300)),
        "wavenet": (wavenet(64, 10), (1, 8192)),
        "tcn": (temporal(88, 150, 5, 4), (88, 320)),
        "conv_tasnet": (tasnet(), (1, 16000)),
    }


def layers(network, shape):
    found = {}

    def note(module, inputs, _):
        two = isinstance(module, nn.Conv2d)
        pair = lambda numbers, other: tuple(numbers) if two else (other, *numbers)
        sides = tuple(inputs[0].shape[2:]) if two else (1, inputs[0].shape[2])
        found[(module.in_channels, *sides, module.out_channels, *pair(module.kernel_size, 1), *pair(module.padding, 0),
               *pair(module.stride, 1), *pair(module.dilation, 1), module.groups)] = None

    for module in network.modules():
        if isinstance(module, (nn.Conv1d, nn.Conv2d)):
            module.register_forward_hook(note)
    network.eval()(torch.empty(1, *shape, device="meta"))
    return list(found)


def made_up(known, count=600):
    """Dilated layers of no network, most of them square and of unchanged sides."""
    choose, found = random.Random(5), []
    while len(found) < count:
        groups = choose.random() < 0.1
        c = choose.choice((16, 32, 48, 64, 96, 128, 256, 320, 512, 960, 1024, 1280, 2048))
        k = c if groups else choose.choice((16, 32, 64, 128, 256, 512, 1024))
        h = round(8 * 16 ** choose.random())
        w = h * choose.choice((1, 1, 1, 2))
        side, stride = choose.choice((3, 3, 3, 3, 3, 3, 5, 7)), choose.choice((1,) * 14 + (2,))
        dilation = choose.choice((*range(2, 11), *range(12, 17), 18, 20, 24, 28, 30, 36, 48))
        reach = dilation * (side - 1)
        along_h, along_w = choose.choice(((True, True),) * 10 + ((True, False), (False, True)))
        padded = along_h and along_w and choose.random() < 0.95 or along_h != along_w or reach >= h
        ends = [(side, reach // 2 if padded else 0, stride, dilation) if along else (1, 0, 1, 1) for along in (along_h, along_w)]
        layer = (c, h, w, k, *(number for pair in zip(*ends) for number in pair), c if groups else 1)
        if layer not in known and layer not in found:
            found.append(layer)
    return found


def main():
    known, named = read_layers(sys.argv[1]), read_networks(sys.argv[2])
    with torch.device("meta"):
        made = networks()
        added = {name: layers(*each) for name, each in made.items()}
    for name, each in added.items():
        print(f"{name}: {len(each)} layers, {sum(max(layer[10:12]) > 1 for layer in each)} dilated")
        known += [layer for layer in each if layer not in known]
    for path, content in zip(sys.argv[3:], (known, named | added, known + made_up(known))):
        with open(path, "w") as file:
            json.dump(content, file)


if __name__ == "__main__":
    main()
