"""Hugging Face models as workloads: transformers and diffusers, made from their configuration classes, so that nothing is
downloaded. Most are small: few layers of usual shapes."""
import torch
from torch import nn

from workload import Workload

# name -> (prefix of the classes, suffix of the model's, what differs from the configuration's defaults)
TRANSFORMERS = {
    "bert-base": ("Bert", "ForMaskedLM", {}),
    "bert-base-cls": ("Bert", "ForSequenceClassification", {}),
    "distilbert": ("DistilBert", "ForMaskedLM", {}),
    "electra-small": ("Electra", "ForMaskedLM", {}),
    "gpt2": ("GPT2", "LMHeadModel", {}),
    "opt-125m": ("OPT", "ForCausalLM", {}),
    "llama-small": ("Llama", "ForCausalLM", {"hidden_size": 512, "intermediate_size": 1376,
                                             "num_hidden_layers": 8, "num_attention_heads": 8}),
    "t5-small": ("T5", "ForConditionalGeneration", {"decoder_start_token_id": 0}),
    "deberta-v2": ("DebertaV2", "ForMaskedLM", {
        "hidden_size": 384, "num_attention_heads": 6, "num_hidden_layers": 3, "intermediate_size": 1536,
        "vocab_size": 32000, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256,
        "share_att_key": True, "norm_rel_ebd": "layer_norm"}),
    "wav2vec2": ("Wav2Vec2", "ForCTC", {"num_hidden_layers": 3, "layerdrop": 0.0, "mask_time_prob": 0.0,
                                        "mask_feature_prob": 0.0}),
    "bart-small": ("Bart", "ForConditionalGeneration", {
        "d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024, "vocab_size": 8000}),
    "gptj-small": ("GPTJ", "ForCausalLM", {"n_embd": 1024, "n_layer": 2, "n_head": 8, "rotary_dim": 32, "vocab_size": 8000,
                                           "bos_token_id": 0, "eos_token_id": 0}),
    "phi-small": ("Phi", "ForCausalLM", {"hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 3,
                                         "num_attention_heads": 6, "vocab_size": 8000}),
    "roformer-small": ("RoFormer", "ForMaskedLM", {"hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4,
                                                   "intermediate_size": 1024, "vocab_size": 8000}),
    "vit-base": ("ViT", "ForImageClassification", {"num_labels": 1000}),
}

SMALL = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 8000}
FULL = SMALL | {"num_key_value_heads": 4}
GROUPED = SMALL | {"num_key_value_heads": 2}   # which the TorchScript exporter refuses where no mask is given
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
IMAGES = {"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 2, "num_attention_heads": 3}
SPEECH = SMALL | {"vocab_size": 32, "layerdrop": 0.0, "mask_time_prob": 0.0, "mask_feature_prob": 0.0}
TOWER = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 2}
EXPERTS = FULL | TOKENS | {"num_experts_per_tok": 2, "experts_implementation": "eager"}

# The networks of networks.txt.
TRANSFORMERS |= {
    "mistral": ("Mistral", "ForCausalLM", GROUPED | {"sliding_window": 64}),
    "llama-grouped": ("Llama", "ForCausalLM", GROUPED),
    "qwen2": ("Qwen2", "ForCausalLM", FULL),
    "qwen3": ("Qwen3", "ForCausalLM", GROUPED | {"head_dim": 64}),
    "gemma2": ("Gemma2", "ForCausalLM", GROUPED | {"head_dim": 64}),
    "gemma3": ("Gemma3", "ForCausalLM", GROUPED | {"head_dim": 64}),
    "phi3": ("Phi3", "ForCausalLM", FULL | TOKENS),
    "olmo2": ("Olmo2", "ForCausalLM", FULL | TOKENS),
    "cohere": ("Cohere", "ForCausalLM", FULL | TOKENS),
    "stablelm": ("StableLm", "ForCausalLM", GROUPED | TOKENS),
    "mixtral": ("Mixtral", "ForCausalLM", EXPERTS | {"num_local_experts": 4}),
    "olmoe": ("Olmoe", "ForCausalLM", EXPERTS | {"num_key_value_heads": 2} | {"num_experts": 8}),
    "qwen2-moe": ("Qwen2Moe", "ForCausalLM", EXPERTS | {"num_experts": 4, "moe_intermediate_size": 256,
                                                        "shared_expert_intermediate_size": 512}),
    "falcon": ("Falcon", "ForCausalLM", {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
                                         "vocab_size": 8000}),
    "bloom": ("Bloom", "ForCausalLM", {"hidden_size": 256, "n_layer": 2, "n_head": 4, "vocab_size": 8000}),
    "mpt": ("Mpt", "ForCausalLM", {"d_model": 256, "n_layers": 2, "n_heads": 4, "vocab_size": 8000}),
    "gpt-neox": ("GPTNeoX", "ForCausalLM", SMALL | TOKENS),
    "gpt-neo": ("GPTNeo", "ForCausalLM", {"hidden_size": 256, "num_layers": 2, "num_heads": 4, "vocab_size": 8000,
                                          "attention_types": [[["global", "local"], 1]], "window_size": 64}),
    "codegen": ("CodeGen", "ForCausalLM", {"n_embd": 256, "n_layer": 2, "n_head": 4, "rotary_dim": 32, "vocab_size": 8000}),
    "biogpt": ("BioGpt", "ForCausalLM", SMALL),
    "modernbert": ("ModernBert", "ForMaskedLM", SMALL | TOKENS | {"cls_token_id": 1, "sep_token_id": 2}),
    "deberta": ("Deberta", "ForMaskedLM", SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "roberta": ("Roberta", "ForMaskedLM", SMALL),
    "albert": ("Albert", "ForMaskedLM", SMALL | {"embedding_size": 128}),
    "mpnet": ("MPNet", "ForMaskedLM", SMALL),
    "squeezebert": ("SqueezeBert", "ForMaskedLM", SMALL | {"embedding_size": 256}),
    "fnet": ("FNet", "ForMaskedLM", {"hidden_size": 256, "num_hidden_layers": 2, "intermediate_size": 688,
                                     "vocab_size": 8000}),
    "mt5": ("MT5", "ForConditionalGeneration", {"d_model": 256, "d_kv": 64, "d_ff": 688, "num_layers": 2, "num_heads": 4,
                                                "vocab_size": 8000, "decoder_start_token_id": 0}),
    "pegasus": ("Pegasus", "ForConditionalGeneration", {
        "d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 688, "decoder_ffn_dim": 688, "vocab_size": 8000}),
    "whisper": ("Whisper", "ForConditionalGeneration", TOKENS | {
        "d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 688, "decoder_ffn_dim": 688, "vocab_size": 8000, "max_source_positions": 200,
        "decoder_start_token_id": 3, "suppress_tokens": None, "begin_suppress_tokens": None}),
    "clip": ("CLIP", "Model", {"text_config": TOWER | {"vocab_size": 8000, "max_position_embeddings": 128},
                               "vision_config": TOWER | {"image_size": 96, "patch_size": 16}}),
    "siglip": ("Siglip", "Model", {"text_config": TOWER | {"vocab_size": 8000, "max_position_embeddings": 128},
                                   "vision_config": TOWER | {"image_size": 96, "patch_size": 16}}),
    "dinov2": ("Dinov2", "ForImageClassification", IMAGES | {"image_size": 112, "num_labels": 100}),
    "deit": ("DeiT", "ForImageClassification", IMAGES | {"image_size": 112, "num_labels": 100}),
    "beit": ("Beit", "ForImageClassification", IMAGES | {"image_size": 112, "num_labels": 100}),
    "segformer": ("Segformer", "ForSemanticSegmentation", {"image_size": 128, "num_labels": 20}),
    "swinv2": ("Swinv2", "ForImageClassification", {"image_size": 128, "window_size": 4, "embed_dim": 48, "depths": [1, 1, 2, 1],
                                                    "num_heads": [2, 4, 8, 16], "num_labels": 100}),
    "swin2sr": ("Swin2SR", "ForImageSuperResolution", {"embed_dim": 60, "depths": [2, 2], "num_heads": [6, 6]}),
    "vitmae": ("ViTMAE", "ForPreTraining", IMAGES | {"image_size": 112, "decoder_hidden_size": 128, "decoder_num_attention_heads": 4,
                                                     "decoder_num_hidden_layers": 2, "decoder_intermediate_size": 512}),
    "vivit": ("Vivit", "ForVideoClassification", IMAGES | {"image_size": 64, "num_frames": 4, "num_labels": 50}),
    "detr": ("Detr", "ForObjectDetection", {
        "d_model": 128, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 512, "decoder_ffn_dim": 512, "num_queries": 20, "num_labels": 20}),
    "yolos": ("Yolos", "ForObjectDetection", IMAGES | {"image_size": [128, 128], "num_detection_tokens": 20, "num_labels": 20}),
    "hubert": ("Hubert", "ForCTC", SPEECH),
    "wavlm": ("WavLM", "ForCTC", SPEECH),
    "ast": ("AST", "ForAudioClassification", IMAGES | {"max_length": 256, "num_labels": 50}),
    "mamba": ("Mamba", "ForCausalLM", {"hidden_size": 128, "num_hidden_layers": 2, "vocab_size": 8000}),
    "rwkv": ("Rwkv", "ForCausalLM", {"hidden_size": 128, "num_hidden_layers": 2, "vocab_size": 8000, "attention_hidden_size": 128}),
}
# The usual length is 128; these run over the positions one by one, or have no more.
LENGTHS = {"mamba": 8, "rwkv": 8}

# name -> (class, options, inputs without the batch)
DIFFUSERS = {
    "unet2d": ("UNet2DModel", {"sample_size": 32, "block_out_channels": (32, 64, 64), "norm_num_groups": 8,
                               "down_block_types": ("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                               "up_block_types": ("UpBlock2D", "AttnUpBlock2D", "UpBlock2D")},
               {"sample": (3, 32, 32), "timestep": ()}),
    "unet2d-condition": ("UNet2DConditionModel", {"sample_size": 16, "block_out_channels": (32, 64), "cross_attention_dim": 64,
                                                  "norm_num_groups": 8, "attention_head_dim": 8, "layers_per_block": 1,
                                                  "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
                                                  "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D")},
                         {"sample": (4, 16, 16), "timestep": (), "encoder_hidden_states": (77, 64)}),
    "autoencoder-kl": ("AutoencoderKL", {"block_out_channels": (32, 64), "norm_num_groups": 8, "sample_size": 64,
                                         "down_block_types": ("DownEncoderBlock2D",) * 2,
                                         "up_block_types": ("UpDecoderBlock2D",) * 2}, {"sample": (3, 64, 64)}),
    "vq-model": ("VQModel", {"block_out_channels": (32, 64), "norm_num_groups": 8, "down_block_types": ("DownEncoderBlock2D",) * 2,
                             "up_block_types": ("UpDecoderBlock2D",) * 2}, {"sample": (3, 64, 64)}),
    "dit": ("DiTTransformer2DModel", {"num_attention_heads": 4, "attention_head_dim": 32, "num_layers": 2, "sample_size": 16,
                                      "in_channels": 4, "out_channels": 8, "norm_num_groups": 8},
            {"hidden_states": (4, 16, 16), "timestep": (), "class_labels": ()}),
    "pixart": ("PixArtTransformer2DModel", {"num_attention_heads": 4, "attention_head_dim": 32, "num_layers": 2,
                                            "sample_size": 16, "cross_attention_dim": 128, "caption_channels": 64,
                                            "norm_num_groups": 8},
               {"hidden_states": (4, 16, 16), "encoder_hidden_states": (32, 64), "timestep": ()}),
    "sd3": ("SD3Transformer2DModel", {"sample_size": 16, "num_layers": 2, "attention_head_dim": 32, "num_attention_heads": 4,
                                      "joint_attention_dim": 64, "caption_projection_dim": 128, "pooled_projection_dim": 64,
                                      "pos_embed_max_size": 16, "in_channels": 4, "out_channels": 4},
            {"hidden_states": (4, 16, 16), "encoder_hidden_states": (32, 64), "pooled_projections": (64,), "timestep": ()}),
    "controlnet": ("ControlNetModel", {"block_out_channels": (32, 64), "cross_attention_dim": 64, "norm_num_groups": 8,
                                       "attention_head_dim": 8, "layers_per_block": 1,
                                       "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
                                       "conditioning_embedding_out_channels": (16, 32)},
                   {"sample": (4, 16, 16), "timestep": (), "encoder_hidden_states": (77, 64), "controlnet_cond": (3, 32, 32)}),
}


class Keywords(nn.Module):
    """A Hugging Face model reduced to tensors in, tensors out: logits (and boxes), a diffusion model's sample or whatever
    comes first. The loss is applied outside, as everywhere else."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors):
        return main_of(self.model(**dict(zip(self.names, tensors))))


def main_of(outputs):
    if hasattr(outputs, "pred_boxes"):
        return outputs.logits, outputs.pred_boxes
    for name in ("logits", "sample", "logits_per_image", "reconstruction"):
        if hasattr(outputs, name):
            return getattr(outputs, name)
    return outputs[0]


def nothing_packed_or_padded():
    """Position ids are searched for packed sequences. That needs values, which a fake tensor has not, and an operator
    (diff) that the TorchScript exporter has not. No sequence is packed here."""
    from transformers import masking_utils
    masking_utils.find_packed_sequence_indices = lambda position_ids: None
    look_at_no_padding(masking_utils)


def look_at_no_padding(masking):
    """A mask of ones is looked at, found to hide nothing and left out (BART, Marian). A fake tensor has no values to look
    at and its mask would stay: here it is left out as well. While an exporter traces, masks stay."""
    from torch._subclasses.fake_tensor import is_fake
    for name in ("_ignore_causal_mask_sdpa", "_ignore_bidirectional_mask_sdpa"):
        original = getattr(masking, name)
        if original.__name__ != "looked":
            def looked(padding_mask, *lengths, original=original, **options):
                return original(None if is_fake(padding_mask) else padding_mask, *lengths, **options)
            setattr(masking, name, looked)


def share_out_evenly(model):
    """Fake tensors have no values to send tokens to experts by: there, each expert gets its even share of them. All else
    is what transformers' experts run."""
    from torch._subclasses.fake_tensor import is_fake

    def evenly(experts, hidden, top_k_index, top_k_weights):
        result = torch.zeros_like(hidden)
        with torch.no_grad():
            mask = torch.nn.functional.one_hot(top_k_index, num_classes=experts.num_experts + 1).permute(2, 1, 0)
            hit = torch.greater(mask.sum(dim=(-1, -2)), 0)  # noqa: F841  (named there, so it lives)
            found = torch.empty(experts.num_experts, 1, dtype=torch.int64, device=hidden.device)  # noqa: F841
        for expert in range(experts.num_experts):
            share = top_k_index.numel() // experts.num_experts
            place, token = torch.empty(share, 2, dtype=torch.int64, device=hidden.device).unbind(1)
            state = hidden[token]
            gate, up = torch.nn.functional.linear(state, experts.gate_up_proj[expert]).chunk(2, dim=-1)
            state_inside = experts.act_fn(gate) * up
            state_inside = torch.nn.functional.linear(state_inside, experts.down_proj[expert])
            state_inside = state_inside * top_k_weights[token, place, None]
            result.index_add_(0, token, state_inside.to(result.dtype))
        return result

    for module in model.modules():
        if type(module).__name__.endswith("Experts") and hasattr(module, "gate_up_proj"):
            def forward(hidden, *chosen, experts=module, original=module.forward):
                return evenly(experts, hidden, *chosen) if is_fake(hidden) else original(hidden, *chosen)
            module.forward = forward


def inputs_of(model, batch, length):
    """Example tensors for what a model's main input is, and for what it has beside it."""
    config, main = model.config, model.main_input_name
    vision = getattr(config, "vision_config", config)
    side = getattr(vision, "image_size", None) or 224
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    image = (batch, getattr(vision, "num_channels", 3), height, width)

    def tokens():
        return torch.randint(0, getattr(config, "text_config", config).vocab_size, (batch, length))
    if main == "input_ids":
        inputs = {"input_ids": tokens()}
        if hasattr(config, "vision_config"):
            inputs["pixel_values"] = torch.randn(image)
    elif main == "pixel_values" and hasattr(config, "num_frames"):
        inputs = {main: torch.randn(batch, config.num_frames, *image[1:])}
    elif main == "pixel_values":
        inputs = {main: torch.randn(image)}
    elif main == "input_features":
        inputs = {main: torch.randn(batch, config.num_mel_bins, 2 * config.max_source_positions)}
    elif hasattr(config, "num_mel_bins"):
        inputs = {main: torch.randn(batch, config.max_length, config.num_mel_bins)}
    else:
        inputs = {main: torch.randn(batch, 16000)}
    if config.is_encoder_decoder and main != "pixel_values":
        inputs["decoder_input_ids"] = tokens()
    return inputs


def symbols_of(inputs):
    lengths = {"input_ids": "sequence", "decoder_input_ids": "target_sequence"}
    return {name: {0: "batch", **({1: lengths[name]} if name in lengths else {})} for name in inputs}


def of_transformers(name, batch):
    import transformers
    from transformers.initialization import no_init_weights
    nothing_packed_or_padded()
    prefix, head, options = TRANSFORMERS[name]
    options = dict(options)
    experts = options.pop("experts_implementation", None)
    text = prefix == "Gemma3"
    config = getattr(transformers, prefix + ("TextConfig" if text else "Config"))(**options)
    config.use_cache = False  # keys and values of past steps serve generation, not training
    if experts:
        config._experts_implementation = experts
    with no_init_weights():
        model = getattr(transformers, prefix + head)(config)
    model.tie_weights()  # no_init_weights leaves them untied
    share_out_evenly(model)
    inputs = inputs_of(model, batch, LENGTHS.get(name, 128))
    return Workload(Keywords(model, list(inputs)), inputs, symbols=symbols_of(inputs))


def of_diffusers(name, batch):
    import diffusers
    kind, options, shapes = DIFFUSERS[name]
    model = getattr(diffusers, kind)(**options)

    def example(input_name, shape):
        if input_name in ("timestep", "class_labels"):
            return torch.randint(0, 1000, (batch,))
        return torch.randn(batch, *shape)
    inputs = {input_name: example(input_name, shape) for input_name, shape in shapes.items()}
    return Workload(Keywords(model, list(inputs)), inputs, "sum")
