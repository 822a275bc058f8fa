"""Families of diffusers, for family_steps.py: their configs have a class's name and no model type; a step's loss is the mean
square of what is predicted against noise."""
from types import SimpleNamespace

import diffusers
import torch
import torch.nn.functional as F

from workload import Workload

FAMILIES = {
    "dit": ("DiTTransformer2DModel", {"num_attention_heads": 4, "attention_head_dim": 64, "num_layers": 2, "sample_size": 32}, {"num_attention_heads": 16, "sample_size": 64}),
    "flux": ("FluxTransformer2DModel", {"num_layers": 2, "num_single_layers": 2, "attention_head_dim": 64, "num_attention_heads": 4, "joint_attention_dim": 256,
             "pooled_projection_dim": 128, "axes_dims_rope": [16, 24, 24]}, {"guidance_embeds": True}),
}


def inputs_of(name, model, batch, length):
    c = model.config
    random, number = torch.randn, lambda most: torch.randint(0, most, (batch,))
    if name == "dit":
        return {"hidden_states": random(batch, c.in_channels, c.sample_size, c.sample_size), "timestep": number(1000), "class_labels": number(c.num_embeds_ada_norm)}
    tokens = 16 * 16   # of an image of 256 x 256
    return {"hidden_states": random(batch, tokens, c.in_channels), "encoder_hidden_states": random(batch, length, c.joint_attention_dim),
            "pooled_projections": random(batch, c.pooled_projection_dim), "timestep": torch.rand(batch), "img_ids": torch.zeros(tokens, 3),
            "txt_ids": torch.zeros(length, 3)}


def is_here(class_name):
    return hasattr(diffusers, class_name)


def build(class_name, values):
    return getattr(diffusers, class_name)(**values)


def workload(name, class_name, values, batch, length):
    model = build(class_name, values)
    inputs = inputs_of(name, model, batch, length)
    with torch.device("meta"):
        meta = build(class_name, values)
        shape = meta(**{key: value.to("meta") for key, value in inputs.items()}).sample.shape
    return Workload(model, {**inputs, "target": torch.randn(shape)}, loss="sum")


class Denoised(torch.nn.Module):
    """A model that is given its inputs by position, the noise last."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        sample = self.model(**dict(zip(self.names[:-1], inputs))).sample
        return SimpleNamespace(sample=sample, loss=F.mse_loss(sample, inputs[-1]))
