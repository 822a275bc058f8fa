"""Attention, products of many ranks and recurrent layers for op_tables.py."""
import torch
import torch.nn.functional as F
from torch import nn

HEADS, STEPS, WIDTH = 4, 24, 32   # of KINDS["sequence"]


def heads(x, count=HEADS):
    """[N, S, D] -> [N, heads, S, D / heads], a view"""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def fused(**options):
    return lambda: lambda q, k, v: joined(F.scaled_dot_product_attention(heads(q), heads(k), heads(v), **options))


def by_hand(scale="after", dropout=0.0):
    """Attention written out; the scale goes on the query or on the product."""
    def attention(q, k, v):
        q, k, v = heads(q), heads(k), heads(v)
        factor = q.size(-1) ** -0.5
        scores = (q * factor) @ k.transpose(-1, -2) if scale == "query" else (q @ k.transpose(-1, -2)) * factor
        return joined(F.dropout(scores.softmax(-1), dropout) @ v)
    return lambda: attention


class Masked(nn.Module):
    """Fused attention with a mask or bias: boolean or float buffer, or a parameter [heads, S, S]; or made of positions."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        if kind == "boolean":
            self.register_buffer("mask", torch.ones(STEPS, STEPS, dtype=torch.bool).tril())
        elif kind == "float":
            self.register_buffer("mask", torch.zeros(STEPS, STEPS))
        elif kind == "learned":
            self.mask = nn.Parameter(torch.zeros(1, HEADS, STEPS, STEPS))
        else:   # relative positions, looked up in a table and permuted, as T5 does
            self.table = nn.Embedding(2 * STEPS, HEADS)

    def forward(self, q, k, v):
        if self.kind == "relative":
            steps = torch.arange(STEPS, device=q.device)
            mask = self.table(steps[:, None] - steps[None, :] + STEPS).permute(2, 0, 1).unsqueeze(0)
        else:
            mask = self.mask
        return joined(F.scaled_dot_product_attention(heads(q), heads(k), heads(v), mask))


class GroupedHeads(nn.Module):
    """Four query heads share two heads of keys and values."""

    def __init__(self, repeat):
        super().__init__()
        self.repeat, self.key, self.value = repeat, nn.Linear(WIDTH, WIDTH // 2), nn.Linear(WIDTH, WIDTH // 2)

    def forward(self, q):
        k, v = heads(self.key(q), 2), heads(self.value(q), 2)
        if self.repeat:   # as transformers does: expand, then reshape, which copies
            k, v = (t[:, :, None].expand(-1, -1, 2, -1, -1).reshape(-1, HEADS, STEPS, WIDTH // HEADS) for t in (k, v))
        return joined(F.scaled_dot_product_attention(heads(q), k, v, enable_gqa=not self.repeat))


class Packed(nn.Module):
    """One projection to queries, keys and values, as vision transformers do."""

    def __init__(self):
        super().__init__()
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.project(x).reshape(-1, STEPS, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, STEPS, WIDTH))


class OwnMultihead(nn.Module):
    """torch.nn.MultiheadAttention on itself."""

    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, **options)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Rotary(nn.Module):
    """Fused causal attention with rotated queries and keys, as Llama does."""

    def forward(self, q, k, v):
        half = WIDTH // HEADS // 2
        angle = torch.arange(STEPS, device=q.device)[:, None] / (10000 ** (torch.arange(half, device=q.device) / half))
        cos, sin = (torch.cat([f(angle)] * 2, -1) for f in (torch.cos, torch.sin))

        def rotate(x):
            return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin
        q, k, v = heads(q), heads(k), heads(v)
        return joined(F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True))


class Windows(nn.Module):
    """Rank 5: attention inside windows of 8 steps, not folded into the batch."""

    def forward(self, q, k, v):
        q, k, v = (heads(t).unflatten(2, (3, 8)) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).flatten(2, 3)


class Folded(nn.Module):
    """Rank 3: heads folded into the batch, with one learned bias whose rows are not aligned."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1, 24, 24))

    def forward(self, q, k, v):
        q, k, v = (heads(t).flatten(0, 1) for t in (q, k, v))
        return F.scaled_dot_product_attention(q[:, :20], k[:, :20], v[:, :20], self.bias[:, :20, :20])


def flipped(heads_of_image):
    """Heads that come with channels first: flipped as they are, or flipped and made contiguous."""
    def attention(q, k, v):
        if heads_of_image:
            q, k, v = (t.unflatten(1, (HEADS, -1)).transpose(-1, -2).contiguous() for t in (q, k, v))
            return joined(F.scaled_dot_product_attention(q, k, v))
        q, k, v = (t.transpose(1, 2).unsqueeze(1) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).squeeze(1)
    return lambda: attention


ATTENTION = [
    ("sequence", 3, {
        "attention_fused": fused(), "attention_causal": fused(is_causal=True),
        "attention_dropout": fused(dropout_p=0.1),
        "attention_scaled": fused(scale=1.0), "attention_by_hand": by_hand(),
        "attention_by_hand_query": by_hand("query"),
        "attention_by_hand_dropout": by_hand(dropout=0.1), "attention_flipped": flipped(False), "attention_of_image": flipped(True),
        "attention_rotary": Rotary, "attention_rank3": Folded, "attention_rank5": Windows,
        **{f"attention_mask_{kind}": (lambda kind=kind: Masked(kind)) for kind in ("boolean", "float", "learned", "relative")},
    }),
    ("sequence", 1, {
        "attention_grouped": lambda: GroupedHeads(False), "attention_grouped_repeated": lambda: GroupedHeads(True),
        "attention_packed": Packed, "multihead_attention": OwnMultihead,
        "multihead_attention_dropout": lambda: OwnMultihead(dropout=0.1),
        "transformer_encoder_layer": lambda: nn.TransformerEncoderLayer(WIDTH, HEADS, 64, batch_first=True),
        "transformer_encoder_layer_norm_first": lambda: nn.TransformerEncoderLayer(
            WIDTH, HEADS, 64, 0.0, "gelu", batch_first=True, norm_first=True),
    }),
    ("sequence", 2, {
        "matmul_rank4": lambda: lambda x, y: heads(x) @ heads(y).transpose(-1, -2),
        "matmul_rank4_rank2": lambda: lambda x, y: heads(x) @ y[0, :8],
        "matmul_rank3_rank2": lambda: lambda x, y: x @ y[0].T,
        "matmul_rank5": lambda: lambda x, y: heads(x).unflatten(2, (3, 8)) @ heads(y).unflatten(2, (3, 8)).transpose(-1, -2),
        "matmul_broadcast": lambda: lambda x, y: x.unsqueeze(1) @ heads(y, 1).transpose(-1, -2),
        "matmul_vector": lambda: lambda x, y: x @ y[0, 0],
        "einsum_heads": lambda: lambda x, y: torch.einsum("bshd,bthd->bhst", x.unflatten(-1, (4, 8)), y.unflatten(-1, (4, 8))),
        "einsum_batch": lambda: lambda x, y: torch.einsum("bsd,bsd->bs", x, y),
        "cross_attention": lambda: lambda x, y: joined(F.scaled_dot_product_attention(heads(x), heads(y), heads(y))),
    }),
    ("row", 2, {"matmul_rank2": lambda: lambda x, y: x @ y.T, "outer_rows": lambda: lambda x, y: x[:, :, None] @ y[:, None]}),
]


class Output(nn.Module):
    """The output sequence of a recurrent layer, or its last hidden state."""

    def __init__(self, cell, *sizes, last=False, **options):
        super().__init__()
        self.cell, self.last = cell(*sizes, **options), last

    def forward(self, x):
        output, state = self.cell(x)
        return (state[0] if isinstance(state, tuple) else state)[-1] if self.last else output


RECURRENT = [("sequence", 1, {
    f"{cell.lower()}_{text}": (lambda cell=cell, options=options: Output(getattr(nn, cell), WIDTH, 20, **options))
    for cell in ("LSTM", "GRU", "RNN")
    for text, options in {
        "1": {"batch_first": True}, "2": {"batch_first": True, "num_layers": 2},
        "3": {"batch_first": True, "num_layers": 3},
        "bidirectional": {"batch_first": True, "bidirectional": True}, "steps_first": {},
        "2_bidirectional": {"batch_first": True, "num_layers": 2, "bidirectional": True},
        "no_bias": {"batch_first": True, "bias": False}, "last_state": {"batch_first": True, "last": True},
        "2_dropout": {"batch_first": True, "num_layers": 2, "dropout": 0.2}}.items()
})]
