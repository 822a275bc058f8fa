"""A linear layer whose frozen weight is stored in four bits, as bitsandbytes has it: what its Linear4bit and MatMul4Bit of 0.43.2 to 0.49
allocate (bitsandbytes/nn/modules.py, autograd/_functions.py, functional.py), for fake tensors. Elements are a parameter of another type
(quant_storage), which libraries of sharding take for one of its own; scales of blocks, scales of these and tables are plain tensors."""
import torch
import torch.nn.functional as F
from torch import nn

BLOCK, GROUP = 64, 256


class Product(torch.autograd.Function):
    """With the weight widened for this product alone; backward widens it again."""

    @staticmethod
    def forward(ctx, x, packed, bias, shape):
        ctx.save_for_backward(packed)
        ctx.shape = shape
        return F.linear(x, widened(packed, shape, x.dtype), bias)

    @staticmethod
    def backward(ctx, gradient):
        (packed,) = ctx.saved_tensors
        return gradient @ widened(packed, ctx.shape, gradient.dtype), None, None, None


def widened(packed, shape, kind):
    return torch.empty(shape, dtype=kind, device=packed.device)


class PackedLinear(nn.Linear):
    def __init__(self, linear, compute):
        super().__init__(linear.in_features, linear.out_features, linear.bias is not None, device="meta")
        weight = linear.weight
        elements, self.compute = weight.numel(), compute
        self.weight = nn.Parameter(torch.empty(elements // 2 // weight.element_size(), 1, dtype=weight.dtype), requires_grad=False)
        self.bias = linear.bias
        blocks = elements // BLOCK
        self.register_buffer("scales", torch.empty(blocks + -(-blocks // GROUP) * 4 + 16 * 4 + 256 * 4 + 4, dtype=torch.uint8), persistent=False)

    def forward(self, x):
        kind = self.compute
        self.scales.view(-1)   # a kernel reads them
        bias = self.bias.to(kind) if self.bias is not None else None
        return Product.apply(x.to(kind), self.weight, bias, (self.out_features, self.in_features)).to(x.dtype)
