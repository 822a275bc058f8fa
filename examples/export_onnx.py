#!/usr/bin/env python3
"""Exports a small network with PyTorch 2.6 or later (and onnxscript) as plimsoll wants it: as it trains, with a free batch.

  python3 examples/export_onnx.py small.onnx
  plimsoll max-batch small.onnx --gpu t4 --optimizer adamw
"""
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 7, stride=2, padding=3)
        self.blocks = nn.Sequential(Block(32), Block(32))
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(32, 10)

    def forward(self, images):
        x = self.blocks(self.stem(images)).mean((2, 3))
        return self.head(self.dropout(x))


if __name__ == "__main__":
    model = Small().train()  # an export in evaluation mode has lost its dropout and its batch norms
    images = torch.zeros(2, 3, 64, 64)
    torch.onnx.export(model, (images,), sys.argv[1], dynamo=True, optimize=False,
                      input_names=["images"], dynamic_shapes={"images": {0: torch.export.Dim("batch")}})
    print(sum(p.numel() for p in model.parameters()), "parameters")
