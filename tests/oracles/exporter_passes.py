"""Small networks of which PyTorch's exporter merges, drops or folds a part: files as `torch.onnx.export` writes them, and PyTorch's own figures of a step.

    ORACLE_BUILD=FOLDER ORACLE_CAPABILITY=80 python exporter_passes.py figures ../golden/exporter
    python exporter_passes.py files ../golden/exporter
"""
import sys

import pretended_gpu

if __name__ == "__main__" and sys.argv[1] == "figures":
    pretended_gpu.enter()

import json  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import step_goldens  # noqa: E402

BATCH, LENGTH, WIDTH, CLASSES = 3, 12, 32, 10


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.out = nn.ReLU(), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.out(self.act(x))


class Branches(nn.Module):
    """Each applies the same activation to what both read."""

    def __init__(self):
        super().__init__()
        self.stem, self.left, self.right = nn.Linear(WIDTH, WIDTH), Branch(), Branch()

    def forward(self, x):
        x = self.stem(x)
        return self.left(x) + self.right(x)


class Positions(nn.Module):
    """Learned positions of sequences of one length."""

    def __init__(self):
        super().__init__()
        self.positions, self.out = nn.Embedding(LENGTH, WIDTH), nn.Linear(LENGTH * WIDTH, CLASSES)

    def forward(self, x):
        return self.out((x + self.positions(torch.arange(LENGTH, device=x.device))).flatten(1))


def layers_with_zero_biases():
    net = nn.Sequential(nn.Linear(WIDTH, 48), nn.ReLU(), nn.Linear(48, CLASSES))
    for layer in (net[0], net[2]):
        nn.init.zeros_(layer.bias)
    return net


def norms_of_ones():
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES))


rows = (BATCH, WIDTH)
NETWORKS = {"merged_weights": (norms_of_ones, rows), "removed_biases": (layers_with_zero_biases, rows), "lookups": (Positions, (BATCH, LENGTH, WIDTH)),
            "merged": (Branches, rows)}


def step_of(make, shape):
    def case(_):
        return (make(),), (torch.randn(shape), torch.zeros(BATCH, dtype=torch.long)), program
    return case


def program(net):
    """As the command assumes it: names hold outputs and loss until the step ends."""
    update = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, wanted):
        outputs = net(x)
        loss = F.cross_entropy(outputs, wanted)
        loss.backward()
        update.step()
        update.zero_grad()
    return step


if __name__ == "__main__":
    verb, folder = sys.argv[1], Path(sys.argv[2])
    torch.manual_seed(0)
    if verb == "figures":
        table = {name: step_goldens.figures_of(step_of(*one), BATCH) for name, one in NETWORKS.items()}
        lines = ",\n".join(f'  "{name}": {json.dumps(row)}' for name, row in table.items())
        (folder / "figures.json").write_text('{\n "torch": "%s",\n "networks": {\n%s\n}}\n' % (torch.__version__.partition("+")[0], lines))
    else:
        for name, (make, shape) in NETWORKS.items():
            torch.onnx.export(make().train(), (torch.randn(shape),), folder / f"{name}.onnx", dynamo=True, optimize=True, external_data=False, do_constant_folding=True, verbose=False,
                              training=torch.onnx.TrainingMode.TRAINING)
