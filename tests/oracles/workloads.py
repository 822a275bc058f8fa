"""The models under test: from a spec such as `timm:dla34` to a module, example inputs and a loss."""
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from hugging_face import of_diffusers, of_transformers
from workload import Workload

HERE = Path(__file__).resolve().parent


def catalogue(names="models.txt"):
    """[(spec, batch sizes)] of models.txt, or of another such list."""
    rows = (line.split() for line in (HERE / names).read_text().splitlines())
    return [(row[0], [int(batch) for batch in row[1:]]) for row in rows if row and row[0] != "#"]


def file_name(spec):
    return spec.replace(":", "-")


def load(spec, batch):
    """The workload on the CPU. Its parameters hold whatever was in memory: drawing them takes longer than all else."""
    family, name = spec.split(":")
    with parameters_left_alone():
        return {"torchvision": of_torchvision, "timm": of_timm, "hf": of_transformers, "diffusers": of_diffusers,
                "plain": of_plain, "held": of_held, "op": of_operator, "family": of_family, "config": of_config}[family](name, batch)


@contextmanager
def parameters_left_alone():
    """Inside, torch.nn.init's functions return their tensor as it is."""
    originals = {name: function for name, function in vars(nn.init).items()
                 if name.endswith("_") and not name.startswith("_")}
    try:
        for name in originals:
            setattr(nn.init, name, lambda tensor, *_, **__: tensor)
        yield
    finally:
        for name, function in originals.items():
            setattr(nn.init, name, function)


def of_torchvision(name, batch):
    from torchvision import models
    options = {"weights": None}
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    if name in models.list_models(models.segmentation):
        options["weights_backbone"] = None
    side = 299 if name == "inception_v3" else 224
    shape = (16, 112, 112) if name in models.list_models(models.video) else (side, side)
    return Workload(models.get_model(name, **options), {"input": torch.randn(batch, 3, *shape)})


def of_timm(name, batch):
    import timm
    model = timm.create_model(name, pretrained=False)
    return Workload(model, {"input": torch.randn(batch, *model.default_cfg["input_size"])})


def of_plain(name, batch):
    import plain_models
    return Workload(*getattr(plain_models, name)(batch))


def of_held(name, batch):
    import held_models
    return Workload(*getattr(held_models, name)(batch))


def of_operator(name, batch):
    import op_models
    return Workload(*op_models.build(name, batch))


def of_family(name, batch):
    import family_models
    return Workload(*getattr(family_models, name)(batch))


def of_config(name, batch):
    import config_models
    return Workload(*config_models.build(name, batch))
