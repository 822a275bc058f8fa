"""Families of diffusers, for family_steps.py: their configs have a class's name and no model type; a step's loss is the mean
square of what is predicted against noise."""
from types import SimpleNamespace

import diffusers
import torch
import torch.nn.functional as F

from workload import Workload

SD3_MEDIUM = {"sample_size": 128, "num_layers": 24, "num_attention_heads": 24, "caption_projection_dim": 1536, "pos_embed_max_size": 192}
SMALL_UNET = {"sample_size": 32, "block_out_channels": [64, 128], "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
              "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"], "cross_attention_dim": 128, "attention_head_dim": 4}
SDXL = {"sample_size": 128, "block_out_channels": [320, 640, 1280], "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
        "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"], "transformer_layers_per_block": [1, 2, 10], "attention_head_dim": [5, 10, 20],
        "cross_attention_dim": 2048, "use_linear_projection": True, "addition_embed_type": "text_time", "addition_time_embed_dim": 256,
        "projection_class_embeddings_input_dim": 2816}
# name -> (class, small configuration, a published one)
FAMILIES = {
    "dit": ("DiTTransformer2DModel", {"num_attention_heads": 4, "attention_head_dim": 64, "num_layers": 2, "sample_size": 32}, {"num_attention_heads": 16, "sample_size": 64}),
    "flux": ("FluxTransformer2DModel", {"num_layers": 2, "num_single_layers": 2, "attention_head_dim": 64, "num_attention_heads": 4, "joint_attention_dim": 256,
             "pooled_projection_dim": 128, "axes_dims_rope": [16, 24, 24]}, {"guidance_embeds": True}),
    "sd3": ("SD3Transformer2DModel", {"num_layers": 3, "attention_head_dim": 64, "num_attention_heads": 4, "joint_attention_dim": 256, "caption_projection_dim": 256,
            "pooled_projection_dim": 128, "sample_size": 32, "pos_embed_max_size": 32, "dual_attention_layers": [0], "qk_norm": "rms_norm"}, SD3_MEDIUM),
    "pixart": ("PixArtTransformer2DModel", {"num_attention_heads": 4, "attention_head_dim": 64, "num_layers": 2, "sample_size": 32, "cross_attention_dim": 256,
               "caption_channels": 128}, {"caption_channels": 4096}),
    "unet": ("UNet2DConditionModel", SMALL_UNET, SDXL),
}
DIMS = {"flux": {"image": 256}}   # what a configuration leaves open, beside the length of the text


def inputs_of(name, model, batch, length):
    c = model.config
    random, number = torch.randn, lambda most: torch.randint(0, most, (batch,))
    if name == "flux":
        tokens = (DIMS[name]["image"] // 16) ** 2
        return {"hidden_states": random(batch, tokens, c.in_channels), "encoder_hidden_states": random(batch, length, c.joint_attention_dim),
                "pooled_projections": random(batch, c.pooled_projection_dim), "timestep": torch.rand(batch), "img_ids": torch.zeros(tokens, 3),
                "txt_ids": torch.zeros(length, 3)}
    latents = random(batch, c.in_channels, c.sample_size, c.sample_size)
    if name == "dit":
        return {"hidden_states": latents, "timestep": number(1000), "class_labels": number(c.num_embeds_ada_norm)}
    if name == "unet":
        return {"sample": latents, "timestep": number(1000), "encoder_hidden_states": random(batch, length, c.cross_attention_dim)}
    if name == "pixart":
        return {"hidden_states": latents, "encoder_hidden_states": random(batch, length, c.caption_channels), "timestep": number(1000)}
    return {"hidden_states": latents, "encoder_hidden_states": random(batch, length, c.joint_attention_dim),
            "pooled_projections": random(batch, c.pooled_projection_dim), "timestep": number(1000)}


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
