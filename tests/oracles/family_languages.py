"""Language models: small configurations, and others that differ from the class's defaults, for family_steps.py."""
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 2000, **TOKENS}
GROUPED = SMALL | {"num_key_value_heads": 2}
SLIDING = GROUPED | {"num_hidden_layers": 4, "sliding_window": 64}
LOCAL = GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2}
LATENT = GROUPED | {"num_key_value_heads": 4, "kv_lora_rank": 64, "q_lora_rank": 96, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64, "v_head_dim": 64}
ROUTED = {"moe_intermediate_size": 256, "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2}
GPT = {"n_embd": 256, "n_layer": 2, "n_head": 4, "vocab_size": 2000, "n_positions": 256, **TOKENS}

FAMILIES = {
    "cohere2": ("Cohere2ForCausalLM", SLIDING, {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
                "num_key_value_heads": 8}),
    "olmo": ("OlmoForCausalLM", GROUPED, {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 16,
             "tie_word_embeddings": True}),
    "olmo+clipped": ("OlmoForCausalLM", GROUPED | {"clip_qkv": 8.0}, {"clip_qkv": 8.0, "num_hidden_layers": 16}),
    "olmo3": ("Olmo3ForCausalLM", SLIDING, {"vocab_size": 100278, "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
              "num_attention_heads": 40, "num_key_value_heads": 8}),
    "olmoe": ("OlmoeForCausalLM", GROUPED | {"num_experts": 4, "num_experts_per_tok": 2}, {"num_experts": 32, "num_hidden_layers": 8}),
    "ministral": ("MinistralForCausalLM", SLIDING | {"head_dim": 64, "layer_types": ["sliding_attention", "full_attention"] * 2},
                  {"vocab_size": 131072, "intermediate_size": 12288, "num_hidden_layers": 36, "head_dim": 128, "sliding_window": 32768,
                   "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 9}),
    "ministral3": ("Ministral3ForCausalLM", GROUPED | {"head_dim": 64}, {"hidden_size": 3072, "intermediate_size": 9216, "num_hidden_layers": 26,
                   "tie_word_embeddings": True}),
    "exaone4": ("Exaone4ForCausalLM", SLIDING, {"hidden_size": 2048, "intermediate_size": 4096, "num_hidden_layers": 30, "num_key_value_heads": 8,
                "sliding_window": None, "layer_types": ["full_attention"] * 30, "tie_word_embeddings": True}),
    "seed_oss": ("SeedOssForCausalLM", GROUPED | {"head_dim": 64}, {"hidden_size": 5120, "attention_dropout": 0.0, "residual_dropout": 0.0}),
    "arcee": ("ArceeForCausalLM", GROUPED, {"vocab_size": 128004, "num_hidden_layers": 36, "num_attention_heads": 20, "num_key_value_heads": 4,
              "head_dim": 128}),
    "ernie4_5": ("Ernie4_5ForCausalLM", GROUPED | {"head_dim": 64}, {"hidden_size": 2048, "use_bias": True, "tie_word_embeddings": False}),
    "hunyuan_v1_dense": ("HunYuanDenseV1ForCausalLM", GROUPED | {"head_dim": 64}, {"vocab_size": 120818, "num_key_value_heads": 8, "attention_bias": True,
                         "tie_word_embeddings": True, "head_dim": 128}),
    "nemotron": ("NemotronForCausalLM", GROUPED | {"head_dim": 64}, {"hidden_size": 3072, "intermediate_size": 9216, "num_attention_heads": 24,
                 "num_key_value_heads": 8}),
    "cwm": ("CwmForCausalLM", SLIDING | {"head_dim": 64}, {"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096}),
    "helium": ("HeliumForCausalLM", GROUPED | {"head_dim": 64}, {"num_hidden_layers": 12, "num_key_value_heads": 10, "tie_word_embeddings": True}),
    "bitnet": ("BitNetForCausalLM", GROUPED, {"num_hidden_layers": 24, "hidden_size": 1280, "num_key_value_heads": 10}),
    "vaultgemma": ("VaultGemmaForCausalLM", SLIDING | {"head_dim": 64}, {"hidden_size": 1152, "intermediate_size": 6912, "num_key_value_heads": 4}),
    "jais2": ("Jais2ForCausalLM", GROUPED | {"head_dim": 64}, {"num_hidden_layers": 16, "mlp_bias": False}),
    "youtu": ("YoutuForCausalLM", LATENT, {"num_hidden_layers": 16, "q_lora_rank": None, "tie_word_embeddings": False}),
}
FAMILIES |= {
    "glm4_moe_lite": ("Glm4MoeLiteForCausalLM", LATENT | ROUTED, {"num_hidden_layers": 24, "hidden_size": 1024}),
    "deepseek_v2": ("DeepseekV2ForCausalLM", LATENT | ROUTED | {"first_k_dense_replace": 1}, {"hidden_size": 2048, "intermediate_size": 10944,
                    "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts_per_tok": 6,
                    "q_lora_rank": None, "first_k_dense_replace": 1}),
    "deepseek_v2+groups": ("DeepseekV2ForCausalLM", LATENT | ROUTED | {"first_k_dense_replace": 1, "topk_method": "group_limited_greedy", "n_group": 2, "topk_group": 1},
                           {"hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 60, "num_attention_heads": 128,
                            "num_key_value_heads": 128, "n_routed_experts": 160, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "n_group": 8,
                            "topk_group": 3, "topk_method": "group_limited_greedy"}),
    "minimax_m2": ("MiniMaxM2ForCausalLM", LOCAL | {"intermediate_size": 256, "head_dim": 64}, {"num_hidden_layers": 31, "num_local_experts": 128}),
    "ernie4_5_moe": ("Ernie4_5_MoeForCausalLM", GROUPED | {"moe_intermediate_size": 256, "moe_num_experts": 4, "moe_k": 2}, {"hidden_size": 8192,
                     "intermediate_size": 28672, "num_hidden_layers": 54, "num_attention_heads": 64, "num_key_value_heads": 8, "moe_intermediate_size": 3584,
                     "moe_k": 8, "moe_num_shared_experts": 0, "moe_layer_start_index": 3, "moe_layer_end_index": 53}),
    "hunyuan_v1_moe": ("HunYuanMoEV1ForCausalLM", GROUPED | {"head_dim": 64, "num_experts": 4, "moe_topk": 2}, {"vocab_size": 128167, "intermediate_size": 3072,
                       "num_key_value_heads": 8, "head_dim": 128, "num_experts": 64, "moe_topk": 8, "tie_word_embeddings": True}),
    "granitemoe": ("GraniteMoeForCausalLM", LOCAL, {"vocab_size": 49155, "hidden_size": 1536, "intermediate_size": 512, "num_attention_heads": 24,
                   "num_key_value_heads": 8, "num_local_experts": 40, "num_experts_per_tok": 8, "tie_word_embeddings": True}),
    "granitemoeshared": ("GraniteMoeSharedForCausalLM", LOCAL | {"shared_intermediate_size": 256}, {"hidden_size": 1536, "intermediate_size": 512,
                         "num_attention_heads": 24, "num_key_value_heads": 8, "num_local_experts": 62, "num_experts_per_tok": 6,
                         "shared_intermediate_size": 1024}),
    "dots1": ("Dots1ForCausalLM", GROUPED | ROUTED | {"first_k_dense_replace": 1, "norm_topk_prob": True}, {"hidden_size": 4096, "n_routed_experts": 128,
              "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1}),
    "flex_olmo": ("FlexOlmoForCausalLM", GROUPED | {"num_experts": 4, "num_experts_per_tok": 2}, {"num_hidden_layers": 16, "num_experts": 2,
                  "num_experts_per_tok": 1}),
    "solar_open": ("SolarOpenForCausalLM", {k: v for k, v in GROUPED.items() if k != "intermediate_size"} | ROUTED | {"head_dim": 64},
                   {"num_hidden_layers": 24, "n_shared_experts": 2}),
}
FAMILIES |= {
    "apertus": ("ApertusForCausalLM", GROUPED, {"num_key_value_heads": 8, "intermediate_size": 21504}),
    "gpt_neo": ("GPTNeoForCausalLM", {"hidden_size": 256, "num_layers": 2, "num_heads": 4, "vocab_size": 2000, "max_position_embeddings": 256,
                "attention_types": [[["global", "local"], 1]], "window_size": 64, **TOKENS},
                {"hidden_size": 768, "num_layers": 12, "num_heads": 12, "attention_types": [[["global", "local"], 6]]}),
    "codegen": ("CodeGenForCausalLM", GPT | {"n_head": 8, "rotary_dim": 16}, {"n_embd": 1024, "n_layer": 20, "vocab_size": 51200, "rotary_dim": 32}),
    "nanochat": ("NanoChatForCausalLM", GROUPED, {"hidden_size": 1280, "num_hidden_layers": 20, "num_attention_heads": 10, "num_key_value_heads": 10}),
}
FAMILIES |= {
    "exaone_moe": ("ExaoneMoeForCausalLM", SLIDING | {"moe_intermediate_size": 256, "num_experts": 4, "num_experts_per_tok": 2},
                   {"num_hidden_layers": 16, "num_experts": 128, "num_key_value_heads": 8}),
    "hy_v3": ("HYV3ForCausalLM", GROUPED | {"head_dim": 64, "moe_intermediate_size": 256, "num_experts": 4, "num_experts_per_tok": 2},
              {"num_hidden_layers": 40, "num_experts": 96, "num_shared_experts": 2}),
    "afmoe": ("AfmoeForCausalLM", SLIDING | {"head_dim": 64, "moe_intermediate_size": 256, "num_experts": 4, "num_experts_per_tok": 2, "num_shared_experts": 1},
              {"num_hidden_layers": 16, "mup_enabled": True, "num_key_value_heads": 4}),
    "mellum": ("MellumForCausalLM", SLIDING | {"head_dim": 64, "moe_intermediate_size": 256, "num_local_experts": 4, "num_experts_per_tok": 2,
               "layer_types": ["sliding_attention", "full_attention"] * 2}, {"num_hidden_layers": 14, "num_local_experts": 32}),
    "openai_gpt": ("OpenAIGPTLMHeadModel", GPT, {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "lfm2": ("Lfm2ForCausalLM", GROUPED | {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2}, {"num_hidden_layers": 16,
             "layer_types": ["conv", "conv", "full_attention", "conv"] * 4, "hidden_size": 1024}),
}
FAMILIES |= {
    "biogpt": ("BioGptForCausalLM", SMALL | {"max_position_embeddings": 256}, {"hidden_size": 1600, "num_hidden_layers": 48, "num_attention_heads": 25,
               "intermediate_size": 6400, "vocab_size": 57717}),
    "minicpm3": ("MiniCPM3ForCausalLM", LATENT, {"num_hidden_layers": 31, "q_lora_rank": None}),
    "exaone": ("LlamaForCausalLM/exaone", GROUPED, {"hidden_size": 2560, "intermediate_size": 7168, "num_hidden_layers": 30, "tie_word_embeddings": True}),
    "internlm3": ("LlamaForCausalLM/internlm3", GROUPED | {"head_dim": 64}, {"num_hidden_layers": 24, "attention_bias": True, "mlp_bias": True}),
    "sarvam_moe": ("Glm4MoeForCausalLM/sarvam_moe", GROUPED | ROUTED | {"head_dim": 64}, {"num_hidden_layers": 10, "n_routed_experts": 64}),
    "sarvam_mla": ("DeepseekV3ForCausalLM/sarvam_mla", LATENT | ROUTED, {"num_hidden_layers": 16, "n_routed_experts": 64}),
    "lfm2_moe": ("Lfm2MoeForCausalLM", GROUPED | {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2, "moe_intermediate_size": 256,
                 "num_experts": 4, "num_experts_per_tok": 2, "num_dense_layers": 1}, {"num_hidden_layers": 24, "layer_types": (["conv"] * 2 + ["full_attention"]) * 8}),
}
FAMILIES |= {
    "gemma3_text+both": ("Gemma3ForCausalLM", SLIDING | {"head_dim": 64, "num_hidden_layers": 6, "use_bidirectional_attention": True},
                         {"vocab_size": 262144, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 24, "num_attention_heads": 3,
                          "num_key_value_heads": 1, "sliding_window": 512, "use_bidirectional_attention": True}),
}
INDEXED = LATENT | ROUTED | {"n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "index_n_heads": 4, "index_head_dim": 64, "index_topk": 32}
FAMILIES |= {
    "deepseek_v32": ("DeepseekV32ForCausalLM", INDEXED, {"num_hidden_layers": 16, "n_routed_experts": 64, "hidden_size": 2048}),
    "glm_moe_dsa": ("GlmMoeDsaForCausalLM", INDEXED | {"num_hidden_layers": 3, "indexer_types": ["full", "shared", "full"]},
                    {"num_hidden_layers": 16, "index_topk_freq": 4}),
}
SCANNED = {"mamba_n_heads": 8, "mamba_d_head": 64, "mamba_d_state": 32, "mamba_n_groups": 2}
FAMILIES |= {
    "granitemoehybrid": ("GraniteMoeHybridForCausalLM", LOCAL | SCANNED | {"shared_intermediate_size": 256, "mamba_chunk_size": 32,
                         "layer_types": ["linear_attention", "full_attention"]},
                         {"vocab_size": 100352, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 40, "num_key_value_heads": 8, "mamba_n_heads": 64,
                          "mamba_d_head": 64, "mamba_d_state": 128, "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 8192,
                          "tie_word_embeddings": True, "layer_types": (["linear_attention"] * 5 + ["full_attention"] + ["linear_attention"] * 4) * 4}),
    "granitemoehybrid+dense": ("GraniteMoeHybridForCausalLM", GROUPED | SCANNED | {"num_local_experts": 0, "shared_intermediate_size": 688, "mamba_chunk_size": 48,
                               "position_embedding_type": "rope", "layer_types": ["linear_attention", "full_attention"]},
                               {"vocab_size": 100352, "hidden_size": 2560, "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 40,
                                "num_key_value_heads": 8, "num_local_experts": 0, "shared_intermediate_size": 8192, "tie_word_embeddings": True,
                                "position_embedding_type": "rope", "layer_types": ["full_attention"] * 40}),
    "bamba": ("BambaForCausalLM", GROUPED | SCANNED | {"mamba_chunk_size": 32, "attn_layer_indices": [1]},
              {"num_hidden_layers": 16, "mamba_d_state": 128, "attn_layer_indices": [9], "tie_word_embeddings": True}),
    "mamba2": ("Mamba2ForCausalLM", {"hidden_size": 256, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 64, "state_size": 32, "n_groups": 2, "chunk_size": 64,
               "vocab_size": 2000, **TOKENS}, {"vocab_size": 50288, "hidden_size": 768, "num_hidden_layers": 24, "num_heads": 24, "n_groups": 1,
                                               "tie_word_embeddings": True}),
    "nemotron_h": ("NemotronHForCausalLM", {k: v for k, v in GROUPED.items() if k != "num_hidden_layers"} | {"head_dim": 64, "mamba_num_heads": 8, "mamba_head_dim": 64,
                   "ssm_state_size": 32, "n_groups": 2, "chunk_size": 32, "n_routed_experts": 4, "moe_intermediate_size": 256,
                   "moe_shared_expert_intermediate_size": 512, "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"]},
                   {"hidden_size": 4480, "intermediate_size": 15680, "num_attention_heads": 40, "layers_block_type": ["linear_attention", "mlp"] * 10 + ["full_attention"]}),
}
FAMILIES |= {
    "gemma3n_text": ("Gemma3nForCausalLM", GROUPED | {"head_dim": 64, "num_hidden_layers": 4, "num_kv_shared_layers": 2, "sliding_window": 64,
                     "vocab_size_per_layer_input": 2000, "hidden_size_per_layer_input": 32, "laurel_rank": 16,
                     "layer_types": ["sliding_attention", "full_attention"] * 2, "activation_sparsity_pattern": [0.95, 0.0, 0.95, 0.0]},
                     {"intermediate_size": [8192] * 30, "num_hidden_layers": 30, "num_kv_shared_layers": 10}),
    "falcon_h1": ("FalconH1ForCausalLM", GROUPED | SCANNED | {"mamba_d_ssm": 512, "mamba_chunk_size": 32},
                  {"hidden_size": 2048, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 8, "num_key_value_heads": 2, "mamba_d_ssm": 3072,
                   "mamba_n_heads": 48, "mamba_d_head": 64, "tie_word_embeddings": True}),
    "persimmon": ("PersimmonForCausalLM", SMALL, {"num_hidden_layers": 18, "qk_layernorm": False, "vocab_size": 262144}),
    "mimo_v2_flash": ("MiMoV2FlashForCausalLM", GROUPED | {"head_dim": 96, "v_head_dim": 64, "sliding_window": 64, "n_routed_experts": 4, "num_experts_per_tok": 2,
                      "moe_intermediate_size": 256, "num_key_value_heads": 1}, {"num_hidden_layers": 24, "n_routed_experts": 64}),
    "hyperclovax": ("HyperCLOVAXForCausalLM", GROUPED | {"head_dim": 64}, {"vocab_size": 110592, "hidden_size": 6144, "intermediate_size": 14336,
                    "num_hidden_layers": 38, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128}),
    "olmo_hybrid": ("OlmoHybridForCausalLM", GROUPED | {"layer_types": ["linear_attention", "full_attention"]},
                    {"num_hidden_layers": 16, "num_key_value_heads": 6, "linear_value_head_dim": 128}),
    "phimoe": ("PhimoeForCausalLM", LOCAL | {"attention_bias": True, "lm_head_bias": True}, {"num_hidden_layers": 16, "attention_bias": True, "lm_head_bias": True}),
    "phimoe+jitter": ("PhimoeForCausalLM", LOCAL | {"input_jitter_noise": 0.01}, {"num_local_experts": 8}),
}
# Classes that have defaults of which transformers makes no model.
UNBUILT = ("ministral", "dots1", "deepseek_v2", "deepseek_v2+groups", "hunyuan_v1_dense", "hunyuan_v1_moe", "nemotron", "lfm2_moe")
# Where peft refuses adapters beside all linear layers: out_proj, whose weight Mamba's kernels take.
TARGETS = {"mamba2": "in_proj", "nemotron_h": "in_proj,q_proj,v_proj,up_proj,down_proj", "falcon_h1": "in_proj,q_proj,v_proj",
           "phimoe": "q_proj,v_proj", "phimoe+jitter": "q_proj,v_proj"}
