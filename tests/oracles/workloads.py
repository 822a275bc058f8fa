"""The models under test: from a spec such as `timm:dla34` to a module, example inputs and a loss."""
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).resolve().parent


@dataclass
class Workload:
    model: nn.Module
    inputs: dict                  # name -> example tensor, in the order of forward()
    loss: str = "cross_entropy"   # on every float output, summed; or "sum": the outputs' own sum
    symbols: dict | None = None   # input name -> names of its dynamic dimensions, {axis: symbol}

    def __post_init__(self):
        self.symbols = self.symbols or {name: {0: "batch"} for name in self.inputs}


# Hugging Face models are made from their configuration classes: nothing is downloaded.
HUGGING_FACE = {
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


def catalogue():
    """[(spec, batch sizes)] of models.txt."""
    rows = (line.split() for line in (HERE / "models.txt").read_text().splitlines())
    return [(row[0], [int(batch) for batch in row[1:]]) for row in rows if row and row[0] != "#"]


def file_name(spec):
    return spec.replace(":", "-")


def load(spec, batch):
    """The workload on the CPU. Its parameters hold whatever was in memory: drawing them takes longer than all else."""
    family, name = spec.split(":")
    with parameters_left_alone():
        return {"torchvision": of_torchvision, "timm": of_timm, "hf": of_hugging_face, "plain": of_plain,
                "op": of_operator, "family": of_family, "config": of_config}[family](name, batch)


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


class Logits(nn.Module):
    """A Hugging Face model reduced to tensors in, logits out; the loss is applied outside, as everywhere else."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors))).logits


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


def of_hugging_face(name, batch, length=128):
    import transformers
    from transformers.initialization import no_init_weights
    # Position ids are searched for packed sequences. That needs values, which a fake tensor has not, and an operator
    # (diff) that the TorchScript exporter has not. No sequence is packed here.
    transformers.masking_utils.find_packed_sequence_indices = lambda position_ids: None
    look_at_no_padding(transformers.masking_utils)
    prefix, head, options = HUGGING_FACE[name]
    config = getattr(transformers, prefix + "Config")(**options)
    config.use_cache = False  # keys and values of past steps serve generation, not training
    with no_init_weights():
        model = getattr(transformers, prefix + head)(config)
    model.tie_weights()  # no_init_weights leaves them untied
    if prefix == "Wav2Vec2":
        inputs = {"input_values": torch.randn(batch, 16000)}
        return Workload(Logits(model, list(inputs)), inputs)
    if prefix == "ViT":
        inputs = {"pixel_values": torch.randn(batch, 3, 224, 224)}
        return Workload(Logits(model, list(inputs)), inputs)
    names = ["input_ids", "decoder_input_ids"] if config.is_encoder_decoder else ["input_ids"]
    inputs = {name: torch.randint(0, config.vocab_size, (batch, length)) for name in names}
    lengths = ["sequence", "target_sequence"]
    symbols = {name: {0: "batch", 1: length} for name, length in zip(names, lengths)}
    return Workload(Logits(model, names), inputs, symbols=symbols)


def of_plain(name, batch):
    import plain_models
    return Workload(*getattr(plain_models, name)(batch))


def of_operator(name, batch):
    import op_models
    return Workload(*op_models.build(name, batch))


def of_family(name, batch):
    import family_models
    return Workload(*getattr(family_models, name)(batch))


def of_config(name, batch):
    import config_models
    return Workload(*config_models.build(name, batch))
