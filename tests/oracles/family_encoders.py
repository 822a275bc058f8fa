"""Encoders of text: small configurations and published ones, for family_steps.py."""
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 2000, "max_position_embeddings": 256, **TOKENS}
LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
FAMILIES = {
    "albert": ("AlbertForMaskedLM", SMALL | {"embedding_size": 64, "num_hidden_layers": 3}, {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
    "data2vec_text": ("Data2VecTextForMaskedLM", SMALL, {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}),
    "deberta_v2": ("DebertaV2ForMaskedLM", SMALL | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 64, "share_att_key": True,
                   "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0},
                   {"vocab_size": 128100, "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "intermediate_size": 3072, "relative_attention": True,
                    "pos_att_type": ["p2c", "c2p"], "position_buckets": 256, "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False,
                    "type_vocab_size": 0}),
    "electra": ("ElectraForMaskedLM", SMALL | {"embedding_size": 128}, {"embedding_size": 768, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
    "ernie": ("ErnieForMaskedLM", SMALL, {"vocab_size": 40000, "max_position_embeddings": 2048, "type_vocab_size": 4, "use_task_id": True, "task_type_vocab_size": 3}),
    "esm": ("EsmForMaskedLM", SMALL | {"vocab_size": 33, "position_embedding_type": "rotary", "token_dropout": True, "mask_token_id": 32, "emb_layer_norm_before": False},
            {"vocab_size": 33, "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 33, "num_attention_heads": 20, "position_embedding_type": "rotary",
             "token_dropout": True, "mask_token_id": 32, "emb_layer_norm_before": False, "pad_token_id": 1}),
    "layoutlm": ("LayoutLMForMaskedLM", SMALL, LARGE),
    "mpnet": ("MPNetForMaskedLM", SMALL, LARGE),
    "nomic_bert": ("NomicBertForMaskedLM", SMALL, {"vocab_size": 30528, "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 6}),
    "roberta_prelayernorm": ("RobertaPreLayerNormForMaskedLM", SMALL, LARGE | {"max_position_embeddings": 514, "type_vocab_size": 1}),
    "xlm_roberta_xl": ("XLMRobertaXLForMaskedLM", SMALL, {"hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 48}),
}
WIDE = {"hidden_size": 1152, "intermediate_size": 4096, "num_hidden_layers": 26, "num_attention_heads": 18}
FAMILIES |= {
    "eurobert": ("EuroBertForMaskedLM", SMALL | {"num_key_value_heads": 2}, WIDE | {"num_key_value_heads": 6, "tie_word_embeddings": True}),
    "gte": ("GteForMaskedLM", SMALL, LARGE | {"vocab_size": 30528, "type_vocab_size": 0}),
    "jina_embeddings_v3": ("JinaEmbeddingsV3ForMaskedLM", SMALL, {"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "intermediate_size": 3072}),
}
FAMILIES |= {
    "megatron_bert": ("MegatronBertForMaskedLM", SMALL, {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 30522}),
    "roformer": ("RoFormerForMaskedLM", SMALL | {"embedding_size": 128}, LARGE),
    "squeezebert": ("SqueezeBertForMaskedLM", SMALL | {"embedding_size": 256, "intermediate_size": 768}, {"q_groups": 1, "k_groups": 1, "v_groups": 1, "output_groups": 1}),
}
