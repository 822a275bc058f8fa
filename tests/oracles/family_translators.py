"""Encoders with decoders of text: small configurations and published ones, for family_steps.py."""
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL = {"d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 688,
         "decoder_ffn_dim": 688, "vocab_size": 2000, "max_position_embeddings": 256, "decoder_start_token_id": 2, **TOKENS}
BASE = {"d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072,
        "decoder_ffn_dim": 3072}
T5 = {"d_model": 256, "d_kv": 64, "d_ff": 688, "num_layers": 2, "num_heads": 4, "vocab_size": 2000, "decoder_start_token_id": 0}
FAMILIES = {
    "bart": ("BartForConditionalGeneration", SMALL, BASE),
    "blenderbot": ("BlenderbotForConditionalGeneration", SMALL, {"d_model": 1280, "encoder_layers": 2, "decoder_layers": 12, "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120}),
    "m2m_100": ("M2M100ForConditionalGeneration", SMALL | {"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}, {"vocab_size": 256206, "encoder_ffn_dim": 8192, "decoder_ffn_dim": 8192, "encoder_layers": 24, "decoder_layers": 24}),
    "marian": ("MarianMTModel", SMALL, {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
               "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "vocab_size": 58101, "decoder_vocab_size": 58101, "max_position_embeddings": 512, "pad_token_id": 58100}),
    "mbart": ("MBartForConditionalGeneration", SMALL, {"vocab_size": 250054, "scale_embedding": True}),
    "pegasus": ("PegasusForConditionalGeneration", SMALL, {"vocab_size": 96103, "encoder_layers": 16, "decoder_layers": 16, "max_position_embeddings": 512}),
    "plbart": ("PLBartForConditionalGeneration", SMALL, {"vocab_size": 50005, "scale_embedding": True}),
    "umt5": ("UMT5ForConditionalGeneration", T5, {"d_model": 768, "d_ff": 2048, "num_layers": 12, "num_heads": 12}),
}
