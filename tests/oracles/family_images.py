"""Families of images, of images and text: small configurations, published ones and a step's inputs, for family_steps.py."""
import functools
import sys

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor
from transformers.modeling_outputs import MoeCausalLMOutputWithPast

import family_gemma4
from workload import Workload

TOWER = {"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 112, "patch_size": 14}
WORDS = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 2000}
GROUPED = WORDS | {"num_key_value_heads": 2}
CLIP_L = {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 336,
          "patch_size": 14, "projection_dim": 768}
SIGLIP_SO = {"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16, "patch_size": 14,
             "vision_use_head": False}
FAMILIES = {
    "clip": ("CLIPModel", {"projection_dim": 128, "vision_config": TOWER, "text_config": WORDS | {"max_position_embeddings": 128}},
             {"projection_dim": 768, "vision_config": CLIP_L, "text_config": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12}}),
    "siglip": ("SiglipModel", {"vision_config": TOWER, "text_config": WORDS | {"max_position_embeddings": 128, "hidden_size": 192, "num_attention_heads": 3}},
               {"vision_config": {k: v for k, v in SIGLIP_SO.items() if k != "vision_use_head"} | {"image_size": 384},
                "text_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}}),
    "llava": ("LlavaForConditionalGeneration", {"vision_config": {"model_type": "clip_vision_model", **TOWER}, "text_config": {"model_type": "llama", **GROUPED}},
              {"vision_config": CLIP_L, "text_config": {"model_type": "llama", "vocab_size": 32064}}),
    "paligemma": ("PaliGemmaForConditionalGeneration",
                  {"vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **TOWER}, "projection_dim": 256,
                   "text_config": {"model_type": "gemma", "head_dim": 64, **GROUPED, "num_key_value_heads": 1}},
                  {"vision_config": SIGLIP_SO, "projection_dim": 2304,
                   "text_config": {"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "intermediate_size": 9216, "num_attention_heads": 8,
                                   "num_key_value_heads": 4, "vocab_size": 257216}}),
    "gemma3": ("Gemma3ForConditionalGeneration",
               {"vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **TOWER}, "mm_tokens_per_image": 16,
                "text_config": {"model_type": "gemma3_text", "head_dim": 64, "sliding_window": 64, **GROUPED, "num_hidden_layers": 6}},
               {"vision_config": SIGLIP_SO | {"image_size": 896}, "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
                "intermediate_size": 10240, "sliding_window": 1024}}),
}
QWEN_TOWER = {"hidden_size": 192, "intermediate_size": 512, "depth": 2, "num_heads": 3, "out_hidden_size": 256}
QWEN_WORDS = GROUPED | {"max_position_embeddings": 512, "rope_parameters": {"rope_type": "default", "mrope_section": [8, 12, 12]}}
FAMILIES |= {
    "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration",
                   {"vision_config": QWEN_TOWER | {"fullatt_block_indexes": [1]}, "text_config": {"model_type": "qwen2_5_vl_text", **QWEN_WORDS}},
                   {"vision_config": {"hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 2048}, "tie_word_embeddings": True,
                    "text_config": {"model_type": "qwen2_5_vl_text", "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
                                    "num_attention_heads": 16, "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True}}),
}
FAMILIES |= {
    "qwen3_vl": ("Qwen3VLForConditionalGeneration",
                 {"vision_config": QWEN_TOWER | {"depth": 3, "num_position_embeddings": 256, "deepstack_visual_indexes": [0, 1]},
                  "text_config": {"model_type": "qwen3_vl_text", **QWEN_WORDS, "num_hidden_layers": 3, "head_dim": 64}},
                 {"vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "depth": 24, "out_hidden_size": 2560, "deepstack_visual_indexes": [5, 11, 17]},
                  "tie_word_embeddings": True,
                  "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36, "num_attention_heads": 32,
                                  "num_key_value_heads": 8, "vocab_size": 151936, "tie_word_embeddings": True}}),
}
FAMILIES |= {
    "qwen2_vl": ("Qwen2VLForConditionalGeneration",
                 {"vision_config": {"embed_dim": 192, "hidden_size": 256, "depth": 2, "num_heads": 3}, "text_config": {"model_type": "qwen2_vl_text", **QWEN_WORDS}},
                 {"vision_config": {"hidden_size": 1536}, "tie_word_embeddings": True,
                  "text_config": {"model_type": "qwen2_vl_text", "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12,
                                  "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True}}),
}
ROUTED = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256}
DEEP = QWEN_TOWER | {"depth": 3, "num_position_embeddings": 256}
DELTA = QWEN_WORDS | {"num_hidden_layers": 4, "head_dim": 64, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 64,
                      "linear_value_head_dim": 64, "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25, "mrope_section": [3, 3, 2]}}
FAMILIES |= {
    "qwen3_vl_moe": ("Qwen3VLMoeForConditionalGeneration",
                     {"vision_config": DEEP | {"deepstack_visual_indexes": [0, 1]},
                      "text_config": {"model_type": "qwen3_vl_moe_text", **QWEN_WORDS, **ROUTED, "num_hidden_layers": 3, "head_dim": 64, "tie_word_embeddings": False}},
                     {"vision_config": {"out_hidden_size": 2048},
                      "text_config": {"model_type": "qwen3_vl_moe_text", "num_hidden_layers": 48, "intermediate_size": 6144, "num_attention_heads": 32,
                                      "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
                                      "tie_word_embeddings": False}}),
    "qwen3_5": ("Qwen3_5ForConditionalGeneration", {"vision_config": DEEP, "text_config": {"model_type": "qwen3_5_text", **DELTA}},
                {"vision_config": {"out_hidden_size": 4096}, "text_config": {"model_type": "qwen3_5_text", "num_hidden_layers": 32}}),
    "qwen3_5_moe": ("Qwen3_5MoeForConditionalGeneration",
                    {"vision_config": DEEP, "text_config": {k: v for k, v in DELTA.items() if k != "intermediate_size"} |
                     {"model_type": "qwen3_5_moe_text", **ROUTED, "shared_expert_intermediate_size": 512}},
                    {"vision_config": {"out_hidden_size": 2048}, "text_config": {"model_type": "qwen3_5_moe_text", "num_hidden_layers": 40}}),
}
LLAMA4_WORDS = GROUPED | {"model_type": "llama4_text", "intermediate_size": 256, "intermediate_size_mlp": 688, "num_hidden_layers": 4, "head_dim": 64,
                          "num_local_experts": 4, "interleave_moe_layer_step": 2}
FAMILIES |= {
    "llama4": ("Llama4ForConditionalGeneration",
               {"vision_config": TOWER | {"num_attention_heads": 4, "vision_output_dim": 256, "projector_input_dim": 256,
                                          "projector_output_dim": 256}, "text_config": LLAMA4_WORDS},
               {"vision_config": {"hidden_size": 1408, "image_size": 336, "vision_output_dim": 4096}, "text_config": {"model_type": "llama4_text"}}),
}
SQUARE = TOWER | {"image_size": [112, 112], "patch_size": [14, 14]}
FAMILIES |= {
    "internvl": ("InternVLForConditionalGeneration", {"vision_config": {"model_type": "internvl_vision", **SQUARE}, "text_config": {"model_type": "qwen2", **GROUPED}},
                 {"vision_config": {"model_type": "internvl_vision", "attention_bias": True},
                  "text_config": {"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
                                  "num_key_value_heads": 2, "vocab_size": 151674}}),
    "mistral3": ("Mistral3ForConditionalGeneration",
                 {"vision_config": {"model_type": "pixtral", **TOWER}, "text_config": {"model_type": "mistral", **GROUPED}},
                 {"vision_config": {"model_type": "pixtral", "image_size": 1540, "patch_size": 14}, "tie_word_embeddings": False,
                  "text_config": {"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32768, "num_hidden_layers": 40, "head_dim": 128,
                                  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131072, "tie_word_embeddings": False}}),
}
SMOL = {"vision_config": TOWER, "scale_factor": 2, "text_config": {"model_type": "llama", **GROUPED, "pad_token_id": 0}}
FAMILIES |= {
    "smolvlm": ("SmolVLMForConditionalGeneration", SMOL,
                {"vision_config": {"model_type": "smolvlm_vision", "image_size": 512, "patch_size": 16, "hidden_size": 768, "num_attention_heads": 12}, "scale_factor": 4,
                 "text_config": {"model_type": "llama", "vocab_size": 49280, "hidden_size": 960, "intermediate_size": 2560, "num_hidden_layers": 32, "head_dim": 64,
                                 "num_attention_heads": 15, "num_key_value_heads": 5, "pad_token_id": 2}}),
    "idefics3": ("Idefics3ForConditionalGeneration", SMOL,
                 {"vision_config": {"image_size": 364, "patch_size": 14, "intermediate_size": 4304, "num_hidden_layers": 27}, "scale_factor": 2,
                  "text_config": {"model_type": "llama", "vocab_size": 128259, "intermediate_size": 14336, "num_key_value_heads": 8, "pad_token_id": 2}}),
}
FAMILIES |= {
    "glm4v": ("Glm4vForConditionalGeneration",
              {"vision_config": QWEN_TOWER | {"image_size": 112}, "text_config": {"model_type": "glm4v_text", **QWEN_WORDS}},
              {"vision_config": {"out_hidden_size": 2048, "hidden_size": 1024, "num_heads": 16},
               "text_config": {"model_type": "glm4v_text", "hidden_size": 2048, "num_attention_heads": 16, "num_hidden_layers": 24}}),
}
FAMILIES["glm46v"] = ("Glm46VForConditionalGeneration", *FAMILIES["glm4v"][1:])
FAMILIES |= {
    "voxtral": ("VoxtralForConditionalGeneration",
                {"audio_token_id": 24, "audio_config": {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 4, "max_source_positions": 96},
                 "text_config": {"model_type": "llama", **GROUPED, "head_dim": 64}},
                {"text_config": {"model_type": "llama", "hidden_size": 5120, "intermediate_size": 32768, "num_hidden_layers": 40, "vocab_size": 131072, "head_dim": 128,
                                 "num_key_value_heads": 8}}),
}
FAMILIES |= {
    "aya_vision": ("AyaVisionForConditionalGeneration",
                   {"vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **TOWER},
                    "text_config": {"model_type": "cohere2", **GROUPED, "sliding_window": 64}},
                   {"vision_config": SIGLIP_SO | {"image_size": 364}, "alignment_intermediate_size": 28672, "text_config": {"model_type": "cohere2", "hidden_size": 4096,
                    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128}}),
    "cohere2_vision": ("Cohere2VisionForConditionalGeneration",
                       {"vision_config": {"model_type": "siglip_vision_model", **TOWER}, "alignment_intermediate_size": 512,
                        "text_config": {"model_type": "cohere2", **GROUPED, "sliding_window": 64}},
                       {"vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304, "image_size": 512, "num_hidden_layers": 27,
                                          "num_attention_heads": 16, "patch_size": 16},
                        "text_config": {"model_type": "cohere2", "hidden_size": 12288, "intermediate_size": 36864, "num_hidden_layers": 64, "num_attention_heads": 96,
                                        "num_key_value_heads": 8, "head_dim": 128}}),
}
PATCHED = {k: v for k, v in TOWER.items() if k != "image_size"} | {"num_patches": 49}   # a table of as many places, for PATCHES of an image
PATCHES = 64
FAMILIES |= {
    "siglip2": ("Siglip2Model", {"vision_config": PATCHED, "text_config": FAMILIES["siglip"][1]["text_config"]},
                {"vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16},
                 "text_config": FAMILIES["siglip"][2]["text_config"] | {"vocab_size": 256000, "projection_size": 1152}}),
}
FAMILIES |= {
    "vision_encoder_decoder": ("VisionEncoderDecoderModel",
                               {"encoder": {"model_type": "vit", "hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 2, "num_attention_heads": 3,
                                            "image_size": 112},
                                "decoder": {"model_type": "trocr", "d_model": 256, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 688,
                                            "vocab_size": 2000, "is_decoder": True, "add_cross_attention": True, "cross_attention_hidden_size": 192},
                                "decoder_start_token_id": 2, "pad_token_id": 1},
                               {"encoder": {"model_type": "deit", "hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 6, "image_size": 384},
                                "decoder": {"model_type": "trocr", "d_model": 256, "decoder_layers": 6, "decoder_attention_heads": 8, "decoder_ffn_dim": 1024,
                                            "vocab_size": 64044, "is_decoder": True, "add_cross_attention": True}}),
}
FAMILIES["metaclip_2"] = ("MetaClip2Model", FAMILIES["clip"][1], {"projection_dim": 1024, "vision_config": {k: v for k, v in CLIP_L.items() if k != "model_type"},
                          "text_config": {"vocab_size": 901629, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}})
FAMILIES |= {
    "blip": ("BlipForConditionalGeneration", {"vision_config": TOWER, "text_config": WORDS | {"max_position_embeddings": 256, "encoder_hidden_size": 192, "bos_token_id": 1}},
             {"vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16},
              "text_config": {"encoder_hidden_size": 1024, "num_attention_heads": 12}}),
}
TILED = ("llava_next", "llava_onevision")   # take a picture as a whole and in two by two tiles
FAMILIES |= {
    "llava_next": ("LlavaNextForConditionalGeneration",
                   FAMILIES["llava"][1] | {"image_grid_pinpoints": [[224, 224]]},
                   {"vision_config": CLIP_L, "text_config": {"model_type": "mistral", "num_key_value_heads": 8, "vocab_size": 32064}}),
    "llava_onevision": ("LlavaOnevisionForConditionalGeneration",
                        {"vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **TOWER},
                         "text_config": {"model_type": "qwen2", **GROUPED}, "image_grid_pinpoints": [[224, 224]]},
                        {"vision_config": SIGLIP_SO | {"num_hidden_layers": 26, "image_size": 384}, "tie_word_embeddings": True,
                         "text_config": {"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
                                         "num_key_value_heads": 2, "vocab_size": 152000, "tie_word_embeddings": True}}),
}
FAMILIES |= {
    "mllama": ("MllamaForConditionalGeneration",
               {"vision_config": {"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 5, "num_global_layers": 2, "attention_heads": 3, "image_size": 112,
                                  "intermediate_layers_indices": [0, 1, 2, 3, 4], "vision_output_dim": 1152},
                "text_config": {**GROUPED, "num_hidden_layers": 4, "cross_attention_layers": [1, 3], "pad_token_id": 0}},
               {"vision_config": {"image_size": 560}, "text_config": {"num_hidden_layers": 100, "hidden_size": 8192, "intermediate_size": 28672,
                "num_attention_heads": 64, "cross_attention_layers": list(range(3, 100, 5))}}),
}
FAMILIES |= family_gemma4.FAMILIES
UNRUN = ("llama4", "gemma3", "esm", "smolvlm", "idefics3", "mistral3", "gemma4", "gemma4+clipped", "gemma4+audio", "aya_vision", "vision_encoder_decoder")   # whose class has defaults that no step runs with: sizes that do not fit together
SIDES = {"qwen2_vl": 224, "qwen2_5_vl": 224, "qwen3_vl": 256, "qwen3_vl_moe": 256, "qwen3_5": 256, "qwen3_5_moe": 256, "glm4v": 224, "glm46v": 224}   # of an image whose size the configuration leaves open
PLACED = ("qwen2_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "glm4v", "glm46v")   # want three positions of each token, which are read off a fake grid
CONTRASTIVE = ("clip", "siglip", "siglip2", "metaclip_2")
TYPED = ("paligemma", "gemma3")   # ask for token_type_ids in training


PADDED = ("smolvlm", "idefics3")   # take the images that are not padding out of all


def all_chosen(take):
    """x[mask] where the mask chooses all of them: fake tensors do not know how many."""
    return lambda x, index: x.clone() if isinstance(index, torch.Tensor) and index.dtype == torch.bool else take(x, index)


class MaskedScatter(torch.autograd.Function):
    """Tensor.masked_scatter as its CUDA kernels take memory: fake tensors do not know how many elements a mask selects
    (ATen/native/cuda/IndexKernel.cpp, Nonzero.cu; FunctionsManual.cpp, masked_scatter_backward)."""

    @staticmethod
    def forward(ctx, x, mask, source):
        ctx.save_for_backward(mask)
        ctx.sizes = source.shape
        y = x.clone()
        sums, whole = torch.empty(x.shape, dtype=torch.int64, device=x.device), mask.expand_as(x).contiguous()
        del sums, whole
        return y

    @staticmethod
    def backward(ctx, gradient):
        mask, = ctx.saved_tensors
        of_x = gradient.masked_fill(mask, 0) if ctx.needs_input_grad[0] else None
        whole = mask.expand_as(gradient).contiguous()
        places = torch.empty(gradient.dim(), ctx.sizes.numel(), dtype=torch.int64, device=gradient.device)
        of_source = gradient.new_empty(ctx.sizes) if ctx.needs_input_grad[2] else None
        del whole, places
        return of_x, None, of_source


class MaskedRows(torch.autograd.Function):
    """x[mask] of so many rows, and its backward pass (TensorAdvancedIndexing.cpp, Nonzero.cu)."""

    @staticmethod
    def forward(ctx, x, mask, count):
        ctx.save_for_backward(mask)
        ctx.sizes = x.shape
        places = torch.empty(x.dim() - 1, count, dtype=torch.int64, device=x.device)
        del places
        return x.new_empty(count, x.size(-1))

    @staticmethod
    def backward(ctx, gradient):
        return gradient.new_zeros(ctx.sizes), None, None


class RowsPut(torch.autograd.Function):
    """x[mask] = rows, in place; backward: a copy of the gradient with zeros there, and its rows."""

    @staticmethod
    def forward(ctx, x, mask, rows):
        ctx.save_for_backward(mask)
        ctx.mark_dirty(x)
        ctx.sizes = rows.shape
        return x

    @staticmethod
    def backward(ctx, gradient):
        zeros = gradient.new_zeros(ctx.sizes)
        of_x = gradient.clone()
        del zeros
        return of_x, None, gradient.new_empty(ctx.sizes)


def deepstack(states, mask, features):
    states = states.clone()
    return RowsPut.apply(states, mask, MaskedRows.apply(states, mask, features.size(0)) + features)


class Grid:
    """Heights and widths of images in patches as the tower reads them, without values on the device: `boundaries` of stretches of `each` patches."""

    device = "cuda"

    def __init__(self, config, images, side):
        self.vision, self.images, self.side = config.vision_config, images, side // config.vision_config.patch_size

    def __len__(self):
        return self.images

    def tolist(self):
        return [[1, self.side, self.side]] * self.images

    def prod(self, _):
        return np.full(self.images, self.side ** 2)

    def boundaries(self, each):
        return np.arange(0, self.images * self.side ** 2 + 1, each)

    def positions(self, *_, **__):
        return torch.zeros(self.images * self.side ** 2, 2, dtype=torch.int64, device="cuda")

    def lengths(self, *_, **__):
        return self.boundaries(self.side ** 2), None

    def interpolated(self, *_, **__):
        rows = self.images * self.side ** 2
        return torch.zeros(rows, 4, dtype=torch.int64, device="cuda"), torch.zeros(rows, 4, device="cuda")

    def windows(self, *_, **__):
        c = self.vision
        window = (c.window_size // c.spatial_merge_size // c.patch_size * c.spatial_merge_size) ** 2
        assert self.side ** 2 % window == 0
        return torch.arange(self.images * self.side ** 2 // c.spatial_merge_size ** 2), self.boundaries(window)


def patched(config, batch):
    """Of images that fill theirs, as SigLIP 2 takes them."""
    return {"pixel_values": torch.randn(batch, PATCHES, 3 * config.vision_config.patch_size ** 2),
            "pixel_attention_mask": torch.ones(batch, PATCHES, dtype=torch.int64), "spatial_shapes": torch.ones(batch, 2, dtype=torch.int64)}


def sampled(embeddings, images):
    """GLM 4.1V's table of places asks the grid for each image's sides, on the device."""
    forward = embeddings.forward
    counts = lambda *sizes: torch.zeros(*sizes, dtype=torch.int64, device="cuda")  # noqa: E731
    embeddings.forward = lambda states, _, __, *places: forward(states, counts(images), counts(images, 3), *places)


def gridded(name, model, config, batch, length):
    """Packed patches of one image a sample; vision_utils.py works on numbers that fake tensors have not."""
    side, c = SIDES[name], config.vision_config
    grid = Grid(config, batch, side)
    module = sys.modules[type(model).__module__]
    for function, stand_in in (("position_ids", grid.positions), ("attention_seqlens", grid.lengths), ("window_index", grid.windows),
                                ("interpolation_indices_and_weights", grid.interpolated)):
        setattr(module, f"get_vision_{function}", stand_in)
    module.get_max_seqlen = lambda *_, **__: None
    if hasattr(model.model.language_model, "_deepstack_process"):
        model.model.language_model._deepstack_process = deepstack
    if name in PLACED:
        model.model.compute_3d_position_ids = lambda **_: torch.zeros(3, batch, length, dtype=torch.int64, device="cuda")
    if name in ("glm4v", "glm46v"):
        sampled(model.model.visual.embeddings, batch)
    rows = batch * (side // c.patch_size) ** 2
    inputs = {"input_ids": torch.randint(0, 2000, (batch, length)),
              "pixel_values": torch.randn(rows, c.in_channels * c.temporal_patch_size * c.patch_size ** 2), "labels": torch.randint(0, 2000, (batch, length))}
    model.forward = functools.partial(model.forward, image_grid_thw=grid)
    return Workload(model, inputs, loss="sum")


def workload(name, model, config, batch, length):
    torch.Tensor.masked_scatter = lambda x, mask, source: MaskedScatter.apply(x, mask, source)
    sys.modules[type(model).__module__].torch_compilable_check = lambda *_: None   # counts elements of fake tensors
    MoeCausalLMOutputWithPast.image_outputs = None   # Llama 4 asks for it, which has it not (transformers 5.24)
    if name == "gemma4":
        return family_gemma4.workload(model, config, batch, length)
    if name in SIDES:
        return gridded(name, model, config, batch, length)
    if name == "voxtral":
        if torch.Tensor.__getitem__.__name__ != "<lambda>":
            torch.Tensor.__getitem__ = family_gemma4.uncounted(torch.Tensor.__getitem__)
        audio = config.audio_config
        return Workload(model, {"input_ids": torch.randint(0, 2000, (batch, length)),
                                "input_features": torch.randn(batch, audio.num_mel_bins, 2 * audio.max_source_positions),
                                "labels": torch.randint(0, 2000, (batch, length))}, loss="sum")
    if name == "blip":
        side = config.vision_config.image_size
        return Workload(model, {"pixel_values": torch.randn(batch, 3, side, side), "input_ids": torch.randint(0, 2000, (batch, length)),
                                "labels": torch.randint(0, 2000, (batch, length))}, loss="sum")
    if name == "vision-encoder-decoder":
        return Workload(model, {"pixel_values": torch.randn(batch, 3, config.encoder.image_size, config.encoder.image_size),
                                "labels": torch.randint(0, 2000, (batch, length))}, loss="sum")
    if name == "siglip2":
        return Workload(model, {"input_ids": torch.randint(0, 2000, (batch, length)), **patched(config, batch)}, loss="sum")
    side = config.vision_config.image_size
    if name == "mistral3":   # the host reads how many patches each image has
        model.forward = functools.partial(model.forward, image_sizes=[(side, side)] * batch)
        patches = (side // config.vision_config.patch_size // config.spatial_merge_size) ** 2
        FakeTensor.tolist = lambda tensor: [patches] * tensor.numel()
    side = side if isinstance(side, int) else side[0]
    if name in PADDED:
        if torch.Tensor.__getitem__.__name__ != "<lambda>":
            torch.Tensor.__getitem__ = all_chosen(torch.Tensor.__getitem__)
        FakeTensor.tolist = lambda tensor: [1] * tensor.numel()
        return Workload(model, {"input_ids": torch.randint(0, 2000, (batch, length)), "pixel_values": torch.randn(batch, 1, 3, side, side),
                                "labels": torch.randint(0, 2000, (batch, length))}, loss="sum")
    if name == "mllama":
        tiles = config.vision_config.max_num_tiles
        return Workload(model, {"input_ids": torch.randint(0, 2000, (batch, length)), "pixel_values": torch.randn(batch, 1, tiles, 3, side, side),
                                "aspect_ratio_ids": torch.ones(batch, 1, dtype=torch.int64), "aspect_ratio_mask": torch.ones(batch, 1, tiles, dtype=torch.int64),
                                "cross_attention_mask": torch.ones(batch, length, 1, tiles, dtype=torch.int64),
                                "labels": torch.randint(0, 2000, (batch, length))}, loss="sum")
    pictures = torch.randn(batch, 5, 3, side, side) if name in TILED else torch.randn(batch, 3, side, side)
    if name in TILED:
        model.forward = functools.partial(model.forward, image_sizes=[(2 * side, 2 * side)] * batch)
    inputs = {"input_ids": torch.randint(0, 2000, (batch, length)), "pixel_values": pictures}
    if name in TYPED:
        inputs["token_type_ids"] = torch.zeros(batch, length, dtype=torch.int64)
    if name not in CONTRASTIVE:
        inputs["labels"] = torch.randint(0, 2000, (batch, length))
    return Workload(model, inputs, loss="sum")


class Named(torch.nn.Module):
    """A model that is given its inputs by position, and takes its own loss."""

    def __init__(self, model, name, names):
        super().__init__()
        self.model, self.names = model, names
        self.more = {"return_loss": True} if name in CONTRASTIVE else {}

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), **self.more)
