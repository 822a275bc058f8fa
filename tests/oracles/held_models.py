"""Modules as users hold them: with adapters, frozen, checkpointed, in half precision, tied. Each function takes
the batch size and returns (module, inputs, loss)."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def llama(layers=2):
    from hugging_face import nothing_packed_or_padded
    from transformers import LlamaConfig, LlamaForCausalLM
    nothing_packed_or_padded()
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=128))


def tokens(batch):
    return {"input_ids": torch.randint(0, 500, (batch, 32))}


def lora(batch):
    """Adapters of peft's for two of the products; all else is frozen."""
    from peft import LoraConfig, get_peft_model
    adapters = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return get_peft_model(llama(), adapters), tokens(batch), "cross_entropy"


def lora_bf16(batch):
    module, inputs, loss = lora(batch)
    return module.to(torch.bfloat16), inputs, loss


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.second(F.gelu(self.first(self.norm(x))))


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first, self.blocks, self.last = nn.Linear(16, 64), nn.ModuleList([Block(64) for _ in range(4)]), nn.Linear(64, 10)
        self.reentrant = reentrant

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return self.last(x)


def checkpointed(batch):
    return Checkpointed(False), {"x": torch.randn(batch, 128, 16)}, "cross_entropy"


def checkpointed_reentrant(batch):
    return Checkpointed(True), {"x": torch.randn(batch, 128, 16)}, "cross_entropy"


def checkpointed_llama(batch):
    module = llama(4)
    module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return module, tokens(batch), "cross_entropy"


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                         nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten())


def frozen_body(batch):
    body = convolutions().requires_grad_(False)
    head = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 10))
    return nn.Sequential(body, head), {"x": torch.randn(batch, 3, 32, 32)}, "cross_entropy"


def frozen_parts(batch):
    """One bias, one weight: products keep what those left need."""
    module = nn.Sequential(convolutions(), nn.Linear(32, 256), nn.ReLU(inplace=True), nn.Linear(256, 10))
    module[0][0].bias.requires_grad_(False)
    module[0][3].weight.requires_grad_(False)
    module[1].weight.requires_grad_(False)
    return module, {"x": torch.randn(batch, 3, 32, 32)}, "cross_entropy"


def bf16(batch):
    module = nn.Sequential(nn.Linear(64, 256), nn.GELU(), Block(256), nn.SiLU(), nn.Linear(256, 10)).to(torch.bfloat16)
    return module, {"x": torch.randn(batch, 64, 64, dtype=torch.bfloat16)}, "cross_entropy"


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.inner, self.scale = nn.Embedding(500, 64), Block(64), nn.Parameter(torch.tensor(1.0))
        self.output = nn.Linear(64, 500, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, ids):
        return self.output(self.inner(self.embedding(ids)) * self.scale)


def tied(batch):
    return Tied(), {"ids": torch.randint(0, 500, (batch, 32))}, "cross_entropy"


def tied_frozen(batch):
    """A table that is looked up and multiplied by, and never trained."""
    module, inputs, loss = tied(batch)
    module.embedding.requires_grad_(False)
    return module, inputs, loss
