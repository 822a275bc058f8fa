"""A training step of each family of graph/builtin/families as transformers runs it: a small configuration, with the loss that
the model itself takes of labels.

    ORACLE_CAPABILITY=80 python family_steps.py ../golden/memory/family_steps.json [NAME ...]

A line for each family: what its config.json says (the small one as transformers saves it), and saved and peak bytes of a steady step for eager and sdpa attention in fp32
and bf16, and with peft's LoRA beside every linear layer in bf16. Parameter counts of two configurations each, the class's own defaults among them, are counted on the meta device.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import importlib.metadata  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from contextlib import nullcontext  # noqa: E402
from pathlib import Path  # noqa: E402

import peft  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers.initialization import no_init_weights  # noqa: E402

import family_boxes  # noqa: E402
import family_diffusers  # noqa: E402
import family_encoders  # noqa: E402
import family_images  # noqa: E402
import family_languages  # noqa: E402
import family_pictures  # noqa: E402
import family_speech  # noqa: E402
import family_translators  # noqa: E402
import hugging_face  # noqa: E402
import memory_oracle  # noqa: E402
from recipes import Recipe  # noqa: E402
from storage_trace import SavedTensors, added_in_place, peak, rounded  # noqa: E402
from workload import Workload  # noqa: E402

TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 2000, **TOKENS}
GROUPED = SMALL | {"num_key_value_heads": 2}
# family -> (class, small configuration, a published one: what differs from the class's defaults)
FAMILIES = {
    "llama": ("LlamaForCausalLM", GROUPED, {"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
              "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "tie_word_embeddings": True}),
    "mistral": ("MistralForCausalLM", GROUPED | {"sliding_window": 64}, {"vocab_size": 32768, "num_key_value_heads": 8, "sliding_window": None}),
    "qwen2": ("Qwen2ForCausalLM", GROUPED | {"tie_word_embeddings": True}, {"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864,
              "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    "qwen3": ("Qwen3ForCausalLM", GROUPED | {"head_dim": 64}, {"vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072,
              "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": True}),
    "granite": ("GraniteForCausalLM", GROUPED, {"vocab_size": 49155, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 40,
                "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": True}),
    "gemma": ("GemmaForCausalLM", GROUPED | {"head_dim": 64, "num_key_value_heads": 1}, {"hidden_size": 2048, "intermediate_size": 16384,
              "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1}),
    "gemma2": ("Gemma2ForCausalLM", GROUPED | {"head_dim": 64, "sliding_window": 64}, {"num_hidden_layers": 42, "hidden_size": 3584, "intermediate_size": 14336,
               "num_attention_heads": 16, "num_key_value_heads": 8}),
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 256, "n_layer": 2, "n_head": 4, "vocab_size": 2000, "n_positions": 256, **TOKENS},
             {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "gpt_neox": ("GPTNeoXForCausalLM", SMALL, {"vocab_size": 50304, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6,
                 "num_attention_heads": 8}),
    "phi": ("PhiForCausalLM", SMALL, {"vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
            "num_attention_heads": 32}),
    "phi3": ("Phi3ForCausalLM", GROUPED, {"hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40,
             "num_key_value_heads": 10, "vocab_size": 100352}),
}
FAMILIES |= {
    "gemma3_text": ("Gemma3ForCausalLM", GROUPED | {"head_dim": 64, "sliding_window": 64, "num_hidden_layers": 6}, {"vocab_size": 262144, "hidden_size": 640,
                    "intermediate_size": 2048, "num_hidden_layers": 18, "num_attention_heads": 4, "num_key_value_heads": 1}),
    "opt": ("OPTForCausalLM", {"hidden_size": 256, "ffn_dim": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 2000, "word_embed_proj_dim": 256,
            **TOKENS}, {"hidden_size": 1024, "ffn_dim": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "word_embed_proj_dim": 512, "do_layer_norm_before": False}),
    "cohere": ("CohereForCausalLM", GROUPED, {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}),
    "olmo2": ("Olmo2ForCausalLM", GROUPED, {"vocab_size": 100352, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 16,
              "num_key_value_heads": 16}),
    "stablelm": ("StableLmForCausalLM", GROUPED, {"vocab_size": 100352, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24, "use_qkv_bias": True}),
    "starcoder2": ("Starcoder2ForCausalLM", GROUPED | {"sliding_window": 64}, {"hidden_size": 4608, "intermediate_size": 18432, "num_hidden_layers": 32,
                   "num_attention_heads": 36, "num_key_value_heads": 4}),
}
ENCODER = SMALL | {"max_position_embeddings": 256}
FAMILIES |= {
    "mixtral": ("MixtralForCausalLM", GROUPED | {"num_local_experts": 4}, {"hidden_size": 6144, "intermediate_size": 16384, "num_hidden_layers": 56,
                "num_attention_heads": 48}),
    "qwen2_moe": ("Qwen2MoeForCausalLM", GROUPED | {"num_experts": 4, "moe_intermediate_size": 256, "shared_expert_intermediate_size": 512, "num_experts_per_tok": 2},
                  {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "num_experts": 64,
                   "num_experts_per_tok": 8, "moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", GROUPED | {"num_experts": 4, "moe_intermediate_size": 256, "num_experts_per_tok": 2, "norm_topk_prob": True, "head_dim": 64},
                  {"num_hidden_layers": 48, "head_dim": 128, "norm_topk_prob": True}),
    "bert": ("BertForMaskedLM", ENCODER, {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}),
    "xlm_roberta": ("XLMRobertaForMaskedLM", ENCODER, {"vocab_size": 250002, "max_position_embeddings": 514, "type_vocab_size": 1}),
    "roberta": ("RobertaForMaskedLM", ENCODER, {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}),
}
FAMILIES |= {
    "deepseek_v3": ("DeepseekV3ForCausalLM", GROUPED | {"num_key_value_heads": 4, "moe_intermediate_size": 256, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 2,
                    "topk_group": 1, "kv_lora_rank": 64, "q_lora_rank": 96, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64, "v_head_dim": 64, "first_k_dense_replace": 1},
                    {"hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
                     "num_key_value_heads": 16, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "q_lora_rank": None, "first_k_dense_replace": 1}),
    "distilbert": ("DistilBertForMaskedLM", {"dim": 256, "hidden_dim": 688, "n_layers": 2, "n_heads": 4, "vocab_size": 2000, "max_position_embeddings": 256},
                   {"vocab_size": 28996}),
    "vit": ("ViTForImageClassification", {"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 112, "num_labels": 100},
            {"num_labels": 1000, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", {"n_embd": 256, "n_layer": 2, "n_head": 4, "vocab_size": 2000, "n_positions": 256, **TOKENS},
                    {"vocab_size": 49152, "n_embd": 2048, "n_layer": 24, "n_head": 16, "n_positions": 8192, "n_inner": 8192}),
}
FAMILIES |= {
    "dinov2": ("Dinov2ForImageClassification", {"hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 112, "num_labels": 100},
               {"num_labels": 1000, "hidden_size": 1536, "num_hidden_layers": 40, "num_attention_heads": 24, "image_size": 518, "use_swiglu_ffn": True}),
    "gptj": ("GPTJForCausalLM", {"n_embd": 256, "n_layer": 2, "n_head": 4, "vocab_size": 2000, "n_positions": 256, "rotary_dim": 32, **TOKENS},
             {"n_embd": 2048, "n_layer": 16, "rotary_dim": 32}),
    "gpt_oss": ("GptOssForCausalLM", GROUPED | {"head_dim": 64, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 64},
                {"num_hidden_layers": 24, "num_local_experts": 32}),
    "modernbert": ("ModernBertForMaskedLM", SMALL | {"max_position_embeddings": 256, "num_hidden_layers": 4, "local_attention": 64},
                   {"hidden_size": 1024, "intermediate_size": 2624, "num_hidden_layers": 28, "num_attention_heads": 16}),
    "mpt": ("MptForCausalLM", {"d_model": 256, "n_heads": 4, "n_layers": 2, "max_seq_len": 256, "vocab_size": 2000, **TOKENS},
            {"d_model": 4096, "n_heads": 32, "n_layers": 32, "vocab_size": 50432}),
    "bloom": ("BloomForCausalLM", {"hidden_size": 256, "n_layer": 2, "n_head": 4, "vocab_size": 2000, **TOKENS},
              {"hidden_size": 1024, "n_layer": 24, "n_head": 16}),
    "falcon": ("FalconForCausalLM", {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_kv_heads": 2, "new_decoder_architecture": True,
                                     "vocab_size": 2000, **TOKENS}, {"hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8,
                                                                     "new_decoder_architecture": True}),
}
FAMILIES |= {
    "mt5": ("MT5ForConditionalGeneration", {"d_model": 256, "d_kv": 64, "d_ff": 688, "num_layers": 2, "num_heads": 4, "vocab_size": 2000, "decoder_start_token_id": 0},
            {"d_model": 768, "d_ff": 2048, "num_layers": 12, "num_heads": 12}),
    "smollm3": ("SmolLM3ForCausalLM", GROUPED | {"num_hidden_layers": 4}, {"hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
                "num_key_value_heads": 4, "tie_word_embeddings": True}),
    "t5": ("T5ForConditionalGeneration", {"d_model": 256, "d_kv": 64, "d_ff": 688, "num_layers": 2, "num_heads": 4, "vocab_size": 2000, "decoder_start_token_id": 0},
           {"d_model": 1024, "d_ff": 2816, "num_layers": 24, "num_heads": 16, "feed_forward_proj": "gated-gelu"}),
    "whisper": ("WhisperForConditionalGeneration", {"d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                "encoder_ffn_dim": 688, "decoder_ffn_dim": 688, "vocab_size": 2000, "max_source_positions": 96, "decoder_start_token_id": 0, **TOKENS},
                {"d_model": 1280, "num_mel_bins": 128, "encoder_layers": 32, "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20,
                 "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "vocab_size": 51866}),
}
FAMILIES |= {
    "glm": ("GlmForCausalLM", GROUPED | {"head_dim": 64}, {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
            "num_key_value_heads": 4, "vocab_size": 59264, **TOKENS}),
    "glm4": ("Glm4ForCausalLM", GROUPED | {"head_dim": 64}, {"hidden_size": 6144, "intermediate_size": 23040, "num_hidden_layers": 61, "num_attention_heads": 48,
             "num_key_value_heads": 2, "attention_bias": False}),
}
GEMMA4_E2B = {"hidden_size": 1536, "intermediate_size": 6144, "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 1, "num_kv_shared_layers": 20,
              "use_double_wide_mlp": True, "final_logit_softcapping": 30.0,
              "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7}
FAMILIES |= {
    "gemma4_text": ("Gemma4ForCausalLM", GROUPED | {"head_dim": 64, "global_head_dim": 128, "sliding_window": 64, "num_hidden_layers": 6, "num_kv_shared_layers": 2,
                    "hidden_size_per_layer_input": 32, "vocab_size_per_layer_input": 2000, "use_double_wide_mlp": True, "final_logit_softcapping": 30.0,
                    "layer_types": ["sliding_attention", "full_attention"] * 3}, GEMMA4_E2B),
}
ROUTED = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256, "shared_expert_intermediate_size": 512}
DELTA = GROUPED | {"num_hidden_layers": 4, "head_dim": 64, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 64,
                   "linear_value_head_dim": 64}
SECTIONS = {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25, "mrope_section": [3, 3, 2]}}
# A family's other small configuration is named after a "+".
FAMILIES |= {
    "qwen3_5_text": ("Qwen3_5ForCausalLM", DELTA | SECTIONS, {"hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64, "num_attention_heads": 24,
                     "linear_num_value_heads": 48}),
    "qwen3_5_moe_text": ("Qwen3_5MoeForCausalLM", {k: v for k, v in DELTA.items() if k != "intermediate_size"} | SECTIONS | ROUTED,
                         {"hidden_size": 3072, "num_hidden_layers": 48, "num_attention_heads": 32, "linear_num_value_heads": 64, "moe_intermediate_size": 1024,
                          "shared_expert_intermediate_size": 1024}),
    "qwen3_next": ("Qwen3NextForCausalLM", DELTA | ROUTED, {"num_hidden_layers": 24, "num_experts": 64}),
    "glm4_moe": ("Glm4MoeForCausalLM", GROUPED | {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256, "head_dim": 64},
                 {"hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 92, "n_routed_experts": 160,
                  "first_k_dense_replace": 3, "head_dim": 128, "use_qk_norm": True, "attention_bias": True}),
    "llama4_text": ("Llama4ForCausalLM", GROUPED | {"num_hidden_layers": 4, "intermediate_size": 256, "intermediate_size_mlp": 688, "head_dim": 64, "num_local_experts": 4,
                    "interleave_moe_layer_step": 2, "attention_chunk_size": 64}, {"num_local_experts": 128, "interleave_moe_layer_step": 2, "use_qk_norm": False}),
    "gemma4_text+moe": ("Gemma4ForCausalLM", GROUPED | {"head_dim": 64, "global_head_dim": 128, "sliding_window": 64, "hidden_size_per_layer_input": 0,
                        "enable_moe_block": True, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 256, "attention_k_eq_v": True,
                        "num_global_key_value_heads": 1, "layer_types": ["sliding_attention", "full_attention"]},
                        {"hidden_size": 2816, "intermediate_size": 2112, "num_hidden_layers": 30, "num_attention_heads": 16, "num_key_value_heads": 8,
                         "num_global_key_value_heads": 2, "hidden_size_per_layer_input": 0, "enable_moe_block": True, "num_experts": 128, "top_k_experts": 8,
                         "moe_intermediate_size": 704, "attention_k_eq_v": True, "sliding_window": 1024, "final_logit_softcapping": 30.0}),
}
FAMILIES["mllama_text"] = ("MllamaForCausalLM", GROUPED | {"num_hidden_layers": 4, "cross_attention_layers": [1, 3]}, {"num_hidden_layers": 100, "hidden_size": 8192,
                           "intermediate_size": 28672, "num_attention_heads": 64, "cross_attention_layers": list(range(3, 100, 5))})
FAMILIES["trocr"] = ("TrOCRForCausalLM", {"d_model": 256, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 688, "vocab_size": 2000},
                     {"d_model": 512, "decoder_layers": 6, "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "cross_attention_hidden_size": 384})
FAMILIES["gemma4+text"] = ("Gemma4ForConditionalGeneration", {"vision_config": None, "text_config": FAMILIES["gemma4_text"][1]},
                           {"vision_config": None, "text_config": GEMMA4_E2B})
TASKS = {"ForSequenceClassification": "SEQ_CLS", "ForTokenClassification": "TOKEN_CLS", "ForQuestionAnswering": "QUESTION_ANS"}
FAMILIES |= {
    "qwen3+sequence": ("Qwen3ForSequenceClassification", FAMILIES["qwen3"][1] | {"num_labels": 3}, FAMILIES["qwen3"][2] | {"num_labels": 1}),
    "llama+token": ("LlamaForTokenClassification", GROUPED | {"num_labels": 9}, FAMILIES["llama"][2]),
    "gpt2+sequence": ("GPT2ForSequenceClassification", FAMILIES["gpt2"][1], FAMILIES["gpt2"][2]),
    "mistral+answers": ("MistralForQuestionAnswering", GROUPED, {"num_key_value_heads": 8}),
    "bert+sequence": ("BertForSequenceClassification", ENCODER, FAMILIES["bert"][2] | {"num_labels": 6}),
    "bert+token": ("BertForTokenClassification", ENCODER | {"num_labels": 9}, FAMILIES["bert"][2]),
    "bert+answers": ("BertForQuestionAnswering", ENCODER, FAMILIES["bert"][2]),
    "roberta+sequence": ("RobertaForSequenceClassification", ENCODER, FAMILIES["roberta"][2]),
    "albert+sequence": ("AlbertForSequenceClassification", ENCODER | {"embedding_size": 64}, {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
    "electra+sequence": ("ElectraForSequenceClassification", ENCODER | {"embedding_size": 128}, FAMILIES["bert"][2]),
    "deberta_v2+sequence": ("DebertaV2ForSequenceClassification",
                            family_encoders.FAMILIES["deberta_v2"][1] | {"problem_type": "single_label_classification"}, family_encoders.FAMILIES["deberta_v2"][2]),
    "distilbert+sequence": ("DistilBertForSequenceClassification", FAMILIES["distilbert"][1], {"vocab_size": 28996}),
    "modernbert+sequence": ("ModernBertForSequenceClassification", FAMILIES["modernbert"][1] | {"classifier_pooling": "mean"}, FAMILIES["modernbert"][2]),
    "modernbert+token": ("ModernBertForTokenClassification", FAMILIES["modernbert"][1], FAMILIES["modernbert"][2]),
}
FAMILIES |= family_encoders.FAMILIES | family_translators.FAMILIES | family_pictures.FAMILIES | family_images.FAMILIES
FAMILIES |= family_diffusers.FAMILIES | family_boxes.FAMILIES | family_languages.FAMILIES | family_speech.FAMILIES
BATCH, LENGTH = 4, 128
DIMS = family_diffusers.DIMS | family_boxes.DIMS | family_pictures.DIMS | family_speech.DIMS | {name: {"image": side} for name, side in family_images.SIDES.items()} | \
    {name: {"tokens": family_images.family_gemma4.TOKENS} for name in family_images.family_gemma4.FAMILIES} | \
    {name: {"patches": family_images.PATCHES} for name in ("siglip2", "siglip2+images")}


def task_of(class_name):
    """As peft calls it, which trains such a head whole; None for language models."""
    return next((task for end, task in TASKS.items() if class_name.endswith(end)), None)


class Labelled(torch.nn.Module):
    """A model that is given its inputs by position."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)))


class Step(memory_oracle.Step):
    """The model is given labels and takes its own loss; outputs and loss keep their names to the step's end."""

    def run(self, enter, saving=nullcontext):
        enter("forward")
        with saving(), self.recipe.autocast():
            outputs = self.model(*self.work.inputs.values())
        enter("backward")
        outputs.loss.backward()
        enter("step")
        self.optimizer.step()
        enter("end")
        self.optimizer.zero_grad()


def classes(class_name):
    """The model's and its config's: "Model", or "Model/model type" where several model types share one."""
    name, _, model_type = class_name.partition("/")
    kind = getattr(transformers, name)
    return kind, transformers.CONFIG_MAPPING[model_type] if model_type else kind.config_class


def config_of(class_name, values, attention="sdpa"):
    kind, config_class = classes(class_name)
    config = config_class(**values)
    config.use_cache = config.get_text_config().use_cache = False   # of a text model beside a tower, too
    config._attn_implementation = attention
    return kind, config


def workload(class_name, values, attention):
    transformers.masking_utils.find_packed_sequence_indices = lambda position_ids: None
    torch.cuda.get_device_capability = lambda *_: (8, 0)   # which grouped products ask for
    hugging_face.look_at_no_padding(transformers.masking_utils)
    kind, config = config_of(class_name, values, attention)
    with no_init_weights():
        model = kind(config)
    model.tie_weights()
    if config.model_type in family_boxes.FAMILIES:
        return family_boxes.workload(model, BATCH)
    if model.main_input_name == "input_values":
        return family_speech.workload(model, BATCH)
    if (getattr(config, "vision_config", None) or hasattr(config, "audio_config")) and model.main_input_name == "input_ids":
        return family_images.workload(config.model_type, model, config, BATCH, LENGTH)
    if config.model_type in ("blip", "vision-encoder-decoder"):
        return family_images.workload(config.model_type, model, config, BATCH, LENGTH)
    if config.model_type == "siglip2":
        sys.modules[kind.__module__].torch_compilable_check = lambda *_: None   # reads shapes of fake tensors
        return Workload(model, family_images.patched(config, BATCH) | {"labels": torch.randint(0, config.num_labels, (BATCH,))}, loss="sum")
    if model.main_input_name == "pixel_values":
        labels = {} if class_name.endswith("ForPreTraining") else {"labels": torch.randint(0, config.num_labels, (BATCH,))}
        side = getattr(getattr(config, "vision_config", config), "image_size", family_pictures.SIDE)
        return Workload(model, {"pixel_values": torch.randn(BATCH, 3, side, side), **labels}, loss="sum")
    if model.main_input_name == "input_features":
        features = torch.randn(BATCH, config.num_mel_bins, 2 * config.max_source_positions)
        return Workload(model, {"input_features": features, "labels": torch.randint(0, config.vocab_size, (BATCH, LENGTH))}, loss="sum")
    tokens = lambda: torch.randint(0, values.get("vocab_size", 2000), (BATCH, LENGTH))  # noqa: E731
    if class_name.endswith("ForSequenceClassification"):
        return Workload(model, {"input_ids": tokens(), "labels": torch.randint(0, config.num_labels, (BATCH,))}, loss="sum")
    if class_name.endswith("ForQuestionAnswering"):
        places = lambda: torch.randint(0, LENGTH, (BATCH,))  # noqa: E731
        return Workload(model, {"input_ids": tokens(), "start_positions": places(), "end_positions": places()}, loss="sum")
    if class_name.endswith("ForTokenClassification"):
        return Workload(model, {"input_ids": tokens(), "labels": torch.randint(0, config.num_labels, (BATCH, LENGTH))}, loss="sum")
    places = {"bbox": torch.zeros(BATCH, LENGTH, 4, dtype=torch.int64)} if config.model_type == "layoutlm" else {}
    return Workload(model, {"input_ids": tokens(), **places, "labels": tokens()}, loss="sum")


def figures(work, recipe, kind=Step):
    """Of the second step with Adam: bytes saved before backward, the peak and the phase of it, the buffers."""
    with pretended_gpu.gpu():
        memory_oracle.float_outputs = lambda outputs: []   # no loss but the model's own
        step = kind(pretended_gpu.on_gpu(work), "adam", recipe)
        first, _ = step.new_trace()
        with first:
            step.run(first.enter_phase)
        trace, roles = step.new_trace()
        saved = SavedTensors(step.model, trace, roles)
        kept = {}

        def enter(phase):
            if phase == "backward":
                kept["saved"] = sum(rounded(trace.exact[n]) for n in saved.living())
            trace.enter_phase(phase)

        with trace:
            step.run(enter, lambda: saved)
        plain, phases, _ = added_in_place(list(trace.events), trace.phases, trace.sums)
        highest, phase, _ = peak(plain, phases)
        buffers = memory_oracle.sizes(step.model.buffers())["bytes_rounded"]
    return {**kept, "peak": highest, "phase": phase, "buffers": buffers}


def wrapped(name, class_name, work):
    """The model with its own loss, given its inputs by position."""
    if name in family_diffusers.FAMILIES:
        return family_diffusers.Denoised(work.model, list(work.inputs))
    if name in family_boxes.FAMILIES:
        return family_boxes.Detector(work.model)
    if name in family_images.FAMILIES or name == "layoutlm":
        return family_images.Named(work.model, name, list(work.inputs))
    return Labelled(work.model, list(work.inputs))


def measure(name, class_name, values, attention, precision, targets=None):
    recipe = Recipe(precision)
    if name in family_diffusers.FAMILIES:
        made = family_diffusers.workload(name, class_name, values, BATCH, LENGTH)
    else:
        made = workload(class_name, values, attention)
    work = recipe.typed(made)
    if targets:
        names = targets if targets == "all-linear" else targets.split(",")
        work.model = peft.get_peft_model(work.model, peft.LoraConfig(r=8, target_modules=names, task_type=task_of(class_name)))
    work.model = wrapped(name, class_name, work)
    lora = {"targets": targets} if targets else {}
    return {"attention": attention, "precision": precision, **lora, **figures(work, recipe)}


def parameters(class_name, values):
    with torch.device("meta"):
        if family_diffusers.is_here(class_name):
            return sum(p.numel() for p in family_diffusers.build(class_name, values).parameters())
        kind, config = config_of(class_name, values, "eager")
        model = kind(config)
    model.tie_weights()
    return sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())


def saved_config(class_name, values):
    """What save_pretrained() writes: keys that transformers derives stand in it too."""
    written = json.loads(classes(class_name)[1](**values).to_json_string())
    return {key: value for key, value in written.items() if key != "transformers_version"}


def line(name, class_name, small, published):
    of_diffusers = name in family_diffusers.FAMILIES
    called = {"_class_name": class_name} if of_diffusers else {"model_type": classes(class_name)[1].model_type}
    if task_of(class_name) or name in family_pictures.HEADS:
        called["architectures"] = [class_name]
    counts = [{"config": {**called, **values}, "parameters": parameters(class_name, values)}
              for values in (small, published, {})[:2 if name in family_images.UNRUN + family_languages.UNBUILT else 3]]
    if not of_diffusers:
        counts[0]["config"] = saved_config(class_name, small) | called
    cases = []
    for attention in ("sdpa",) if of_diffusers else ("eager", "sdpa"):
        # Of heads but a sequence's, peft would adapt and save the same layer.
        targets = "query,value,q_proj,v_proj,Wqkv" if task_of(class_name) in ("TOKEN_CLS", "QUESTION_ANS") else family_languages.TARGETS.get(name, "all-linear")
        for precision, adapted in (("fp32", None), ("bf16", None), ("bf16", targets)):
            try:
                cases.append(measure(name, class_name, small, attention, precision, adapted))
            except Exception as error:   # sdpa of capped scores, for one
                print(f"{name} {attention} {precision}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    return {"name": name, **extents(name), "counts": counts, "cases": cases}


def extents(name):
    """Of the inputs, as far as the configuration leaves them open."""
    dims = {"dims": DIMS[name]} if name in DIMS else {}
    length = {} if name in family_boxes.FAMILIES | family_pictures.FAMILIES | family_speech.FAMILIES else {"sequence": LENGTH}
    return {"batch": BATCH, **length, **dims}


def main():
    warnings.filterwarnings("ignore")
    path, names = Path(sys.argv[1]), sys.argv[2:] or list(FAMILIES)
    known = {one["name"]: one for one in json.loads(path.read_text())["families"]} if path.exists() else {}
    for name in names:
        known[name] = line(name, *FAMILIES[name])
        print(name, flush=True)
        write(path, known)


def write(path, known):
    lines = ",\n".join(json.dumps(known[name], separators=(",", ":")) for name in sorted(known))
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")}
    path.write_text(json.dumps({"versions": versions})[:-1] + ', "families": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
