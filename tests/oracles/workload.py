"""What a script trains: a module, example inputs, a loss."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Workload:
    model: nn.Module
    inputs: dict                  # name -> example tensor, in the order of forward()
    loss: str = "cross_entropy"   # on every float output, summed; or "sum": the outputs' own sum
    symbols: dict | None = None   # input name -> names of its dynamic dimensions, {axis: symbol}

    def __post_init__(self):
        self.symbols = self.symbols or {name: {0: "batch"} for name in self.inputs}
