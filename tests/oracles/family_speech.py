"""Models of speech with a loss of alignments: small configurations and published ones, for family_steps.py."""
import torch
from torch.nn import functional as F

from workload import Workload

TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "conv_dim": [64] * 7, "vocab_size": 32, "layerdrop": 0.0,
         "mask_time_prob": 0.0, **TOKENS}
LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
STABLE = {"feat_extract_norm": "layer", "conv_bias": True, "do_stable_layer_norm": True}
FAMILIES = {
    "data2vec_audio": ("Data2VecAudioForCTC", SMALL, LARGE),
    "moonshine": ("MoonshineForConditionalGeneration", {"hidden_size": 256, "intermediate_size": 688, "encoder_num_hidden_layers": 2, "decoder_num_hidden_layers": 2,
                  "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4, "vocab_size": 2000, **TOKENS},
                  {"hidden_size": 416, "intermediate_size": 1664, "encoder_num_hidden_layers": 8, "decoder_num_hidden_layers": 8, "pad_head_dim_to_multiple_of": 8}),
    "moonshine+padded": ("MoonshineForConditionalGeneration", {"hidden_size": 208, "intermediate_size": 688, "encoder_num_hidden_layers": 2,
                         "decoder_num_hidden_layers": 2, "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4, "vocab_size": 2000,
                         "pad_head_dim_to_multiple_of": 8, **TOKENS}, {"hidden_size": 416, "attention_bias": True}),
    "wavlm": ("WavLMForCTC", SMALL, LARGE | STABLE),
    "wavlm+sequence": ("WavLMForSequenceClassification", SMALL | STABLE | {"num_labels": 12}, LARGE | STABLE),
    "unispeech": ("UniSpeechForCTC", SMALL, LARGE | STABLE),
    "unispeech_sat": ("UniSpeechSatForCTC", SMALL, LARGE | STABLE),
    "wav2vec2+sequence": ("Wav2Vec2ForSequenceClassification", SMALL | {"num_labels": 12}, LARGE | STABLE),
    "hubert+sequence": ("HubertForSequenceClassification", SMALL | STABLE | {"num_labels": 12}, LARGE | STABLE),
    "hubert": ("HubertForCTC", SMALL, LARGE | STABLE),
    "wav2vec2": ("Wav2Vec2ForCTC", SMALL, LARGE),
    "wav2vec2+stable": ("Wav2Vec2ForCTC", SMALL | STABLE, LARGE | STABLE),
}
SAMPLES, LETTERS = 16000, 16
DIMS = {name: {"samples": SAMPLES, **({"sequence": LETTERS} if "moonshine" in name else {})} for name in FAMILIES}


class Alignments(torch.autograd.Function):
    """ctc_loss as ATen's own kernels take memory: fake tensors do not know the lengths of targets (ATen/native/cuda/LossCTC.cu)."""

    @staticmethod
    def forward(ctx, log_probabilities, targets, lengths):
        likelihoods = log_probabilities.new_empty(log_probabilities.size(1))
        alphas = log_probabilities.new_empty(log_probabilities.size(1), log_probabilities.size(0), 2 * LETTERS + 1)
        ctx.save_for_backward(log_probabilities, targets, lengths, likelihoods, alphas)
        return likelihoods.clone()

    @staticmethod
    def backward(ctx, gradient):
        log_probabilities, _, _, _, alphas = ctx.saved_tensors
        betas = torch.empty_like(alphas)
        of_inputs = torch.full_like(log_probabilities, 0)
        del betas
        return of_inputs, None, None


def loss(logits, labels, logit_lengths, blank_token_id, **_):
    """transformers/loss/loss_ctc.py, ForCTCLoss, with sums as the configurations' default."""
    mask = (labels != -100) & (labels != blank_token_id)
    lengths = mask.sum(-1)
    targets = labels.flatten().clone()
    log_probabilities = F.log_softmax(logits, dim=-1, dtype=torch.float32).transpose(0, 1)
    return Alignments.apply(log_probabilities, targets, lengths).sum()


def workload(model, batch):
    sounds = {"input_values": torch.randn(batch, SAMPLES)}
    if type(model).__name__.endswith("ForSequenceClassification"):
        return Workload(model, sounds | {"labels": torch.randint(0, model.config.num_labels, (batch,))}, loss="sum")
    if type(model).__name__.endswith("ForConditionalGeneration"):
        return Workload(model, sounds | {"labels": torch.randint(3, 32, (batch, LETTERS))}, loss="sum")
    model.loss_function = loss
    highest = torch.Tensor.max
    torch.Tensor.max = lambda x, *rest, **more: 0 if x.dtype == torch.int64 and not rest and not more else highest(x, *rest, **more)   # compared on the host
    return Workload(model, sounds | {"labels": torch.randint(3, 32, (batch, LETTERS))}, loss="sum")
