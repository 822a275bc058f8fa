"""Gemma 4 with images: configurations and a step's inputs, for family_images.py."""
import torch
from torch._subclasses.fake_tensor import FakeTensor

from workload import Workload

TOWER = {"hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 3, "position_embedding_size": 256}
WORDS = {"model_type": "gemma4_text", "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
         "vocab_size": 2000, "head_dim": 64, "global_head_dim": 128, "sliding_window": 64, "hidden_size_per_layer_input": 0,
         "layer_types": ["sliding_attention", "full_attention"] * 2, "final_logit_softcapping": 30.0}
EACH = {"hidden_size_per_layer_input": 32, "vocab_size_per_layer_input": 2000, "num_kv_shared_layers": 2, "use_double_wide_mlp": True}
CLASS = "Gemma4ForConditionalGeneration"
LARGE = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 72, "standardize": True}
FAMILIES = {
    "gemma4": (CLASS, {"vision_config": TOWER, "text_config": WORDS},
               {"vision_config": LARGE, "text_config": {"hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 60, "num_attention_heads": 32,
                "num_key_value_heads": 16, "hidden_size_per_layer_input": 0, "attention_k_eq_v": True, "num_global_key_value_heads": 4, "sliding_window": 1024}}),
    "gemma4+clipped": (CLASS, {"vision_config": TOWER | {"use_clipped_linears": True, "standardize": True}, "text_config": WORDS | EACH},
                       {"vision_config": {"use_clipped_linears": True}, "text_config": {"hidden_size": 1536, "intermediate_size": 6144, "num_hidden_layers": 35,
                        "num_key_value_heads": 1, "num_kv_shared_layers": 20, "use_double_wide_mlp": True,
                        "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7}}),
}
E2B = FAMILIES["gemma4+clipped"][2]
FAMILIES["gemma4+audio"] = (CLASS, {"vision_config": TOWER, "text_config": WORDS, "audio_config": {"model_type": "gemma4_audio", "num_hidden_layers": 2, "hidden_size": 256}},
                            E2B | {"audio_config": {"model_type": "gemma4_audio"}})
TOKENS = 16   # of an image, each of 3 by 3 patches


def chosen(pooler):
    """hidden_states[pooler_mask]: the mask is a table of all places, since fake tensors do not know how many it selects."""
    forward = pooler.forward

    def pooled(*args, **kwargs):
        states, mask = forward(*args, **kwargs)
        places = torch.empty(2, mask.numel(), dtype=torch.int64, device=states.device)
        return states, tuple(places)
    pooler.forward = pooled


def uncounted(take):
    """embeds[image_mask].numel() is asked of them: fake tensors do not know."""
    return lambda x, index: x if isinstance(index, torch.Tensor) and index.dtype == torch.bool else take(x, index)


def workload(model, config, batch, length):
    if torch.Tensor.__getitem__.__name__ != "<lambda>":
        torch.Tensor.__getitem__ = uncounted(torch.Tensor.__getitem__)
    chosen(model.model.vision_tower.pooler)
    FakeTensor.tolist = lambda tensor: [TOKENS] * tensor.numel()
    patches = TOKENS * config.vision_config.pooling_kernel_size ** 2
    inputs = {"input_ids": torch.randint(0, 2000, (batch, length)), "pixel_values": torch.rand(batch, patches, 3 * config.vision_config.patch_size ** 2),
              "image_position_ids": torch.zeros(batch, patches, 2, dtype=torch.int64), "labels": torch.randint(0, 2000, (batch, length))}
    return Workload(model, inputs, loss="sum")
