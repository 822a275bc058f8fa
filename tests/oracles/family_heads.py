"""Heads that stand behind a family's body in place of its own: small configurations and published ones, for family_steps.py."""
import torch

import family_encoders
from workload import Workload

ENCODER = family_encoders.SMALL | {"num_labels": 3}
LARGE = family_encoders.LARGE | {"num_labels": 9}
DEBERTA = family_encoders.FAMILIES["deberta_v2"][1] | {"num_labels": 3, "problem_type": "single_label_classification"}
GROUPED = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 2000,
           "num_labels": 3, **family_encoders.TOKENS}
FAMILIES = {
    "albert+sequence": ("AlbertForSequenceClassification", ENCODER | {"embedding_size": 64}, {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
    "bert+question": ("BertForQuestionAnswering", family_encoders.SMALL, family_encoders.LARGE),
    "bert+sequence": ("BertForSequenceClassification", ENCODER, LARGE),
    "bert+token": ("BertForTokenClassification", ENCODER, LARGE),
    "deberta_v2+sequence": ("DebertaV2ForSequenceClassification", DEBERTA, family_encoders.FAMILIES["deberta_v2"][2]),
    "electra+sequence": ("ElectraForSequenceClassification", ENCODER | {"embedding_size": 128}, LARGE),
    "llama+sequence": ("LlamaForSequenceClassification", GROUPED, {"num_labels": 1, "vocab_size": 128256, "num_key_value_heads": 8, "intermediate_size": 14336}),
    "roberta+sequence": ("RobertaForSequenceClassification", ENCODER, LARGE | {"max_position_embeddings": 514, "type_vocab_size": 1}),
}


def workload(model, class_name, config, batch, length):
    """Labels of each sequence, of each token, or two places in it."""
    inputs = {"input_ids": torch.randint(0, 2000, (batch, length))}
    places = lambda: torch.randint(0, length, (batch,))  # noqa: E731
    if class_name.endswith("QuestionAnswering"):
        return Workload(model, inputs | {"start_positions": places(), "end_positions": places()}, loss="sum")
    sizes = (batch,) if class_name.endswith("SequenceClassification") else (batch, length)
    return Workload(model, inputs | {"labels": torch.randint(0, config.num_labels, sizes)}, loss="sum")
