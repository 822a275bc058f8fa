"""The operators of op_models.py: ALL lists (kind of model, number of operands, {name: function making the operator}).

An operator is a module, or any function of as many tensors as the number of operands says.
"""
import torch
import torch.nn.functional as F
from torch import nn

from op_attention import ATTENTION, RECURRENT
from op_modules import Behind
from op_rare import RARE, plain


class Gain(nn.Module):
    """x times one trained number."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return x * self.gain


def positions_like(x):
    """The number of its step in every place of a sample."""
    return torch.arange(x.size(1), device=x.device, dtype=x.dtype).unsqueeze(1).expand(x.shape[1:])


CONVOLUTIONS = [
    ("map1", 1, {
        "conv1d": lambda: nn.Conv1d(8, 12, 3, padding=1),
        "conv1d_strided": lambda: nn.Conv1d(8, 12, 5, stride=2, bias=False),
        "conv1d_dilated": lambda: nn.Conv1d(8, 12, 3, dilation=2),
        "conv1d_depthwise": lambda: nn.Conv1d(8, 8, 3, groups=8),
        "conv_transpose1d": lambda: nn.ConvTranspose1d(8, 12, 4, stride=2, padding=1),
        "batch_norm1d": lambda: nn.BatchNorm1d(8),
        "instance_norm1d": lambda: nn.InstanceNorm1d(8),
        "group_norm1d": lambda: nn.GroupNorm(4, 8),
    }),
    ("map2", 1, {
        "conv2d": lambda: nn.Conv2d(8, 12, 3, padding=1),
        "conv2d_no_bias": lambda: nn.Conv2d(8, 12, 3, bias=False),
        "conv2d_strided": lambda: nn.Conv2d(8, 12, 3, stride=2, padding=1),
        "conv2d_dilated": lambda: nn.Conv2d(8, 12, 3, dilation=2, padding=2),
        "conv2d_grouped": lambda: nn.Conv2d(8, 12, 3, groups=4),
        "conv2d_depthwise": lambda: nn.Conv2d(8, 8, 3, padding=1, groups=8),
        "conv2d_pointwise": lambda: nn.Conv2d(8, 12, 1),
        "conv2d_uneven": lambda: nn.Conv2d(8, 12, (1, 5), padding=(0, 2)),
        "conv2d_same": lambda: nn.Conv2d(8, 12, 4, padding="same"),
        "conv2d_reflect": lambda: nn.Conv2d(8, 12, 3, padding=1, padding_mode="reflect"),
        "conv_transpose2d": lambda: nn.ConvTranspose2d(8, 12, 4, stride=2, padding=1),
        "conv_transpose2d_grouped": lambda: nn.ConvTranspose2d(8, 12, 2, stride=2, groups=2),
        "conv_transpose2d_output_padding": lambda: nn.ConvTranspose2d(8, 12, 3, stride=2, output_padding=1),
        "batch_norm2d": lambda: nn.BatchNorm2d(8),
        "batch_norm2d_not_affine": lambda: nn.BatchNorm2d(8, affine=False),
        "batch_norm2d_no_statistics": lambda: nn.BatchNorm2d(8, track_running_stats=False),
        "batch_norm2d_of_part": lambda: Behind(lambda x: x.split([3, 5], 1)[1], nn.BatchNorm2d(5)),
        "conv2d_channels_last": lambda: Behind(
            lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (8,)).permute(0, 3, 1, 2), nn.Conv2d(8, 12, 3)),
        "batch_norm2d_relu_in_place": lambda: nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(inplace=True)),
        "instance_norm2d": lambda: nn.InstanceNorm2d(8),
        "instance_norm2d_affine": lambda: nn.InstanceNorm2d(8, affine=True),
        "group_norm2d": lambda: nn.GroupNorm(2, 8),
        "group_norm2d_one_group": lambda: nn.GroupNorm(1, 8),
        "layer_norm_of_map": lambda: nn.LayerNorm([8, 16, 16]),
        "local_response_norm": lambda: nn.LocalResponseNorm(5),
        "prelu": lambda: nn.PReLU(),
        "prelu_per_channel": lambda: nn.PReLU(8),
        "dropout2d": lambda: nn.Dropout2d(0.3),
        "pixel_shuffle": lambda: nn.PixelShuffle(2),
        "pixel_unshuffle": lambda: nn.PixelUnshuffle(2),
        "channel_shuffle": lambda: nn.ChannelShuffle(2),
    }),
    ("map3", 1, {
        "conv3d": lambda: nn.Conv3d(8, 12, 3, padding=1),
        "conv3d_depthwise": lambda: nn.Conv3d(8, 8, 3, groups=8),
        "conv_transpose3d": lambda: nn.ConvTranspose3d(8, 4, 2, stride=2),
        "batch_norm3d": lambda: nn.BatchNorm3d(8),
        "instance_norm3d": lambda: nn.InstanceNorm3d(8, affine=True),
        "group_norm3d": lambda: nn.GroupNorm(4, 8),
        "dropout3d": lambda: nn.Dropout3d(0.3),
    }),
]

POOLS = [
    ("map1", 1, {
        "max_pool1d": lambda: nn.MaxPool1d(2),
        "avg_pool1d": lambda: nn.AvgPool1d(3, 2),
        "adaptive_avg_pool1d_one": lambda: nn.AdaptiveAvgPool1d(1),
        "adaptive_avg_pool1d": lambda: nn.AdaptiveAvgPool1d(8),
        "adaptive_max_pool1d_one": lambda: nn.AdaptiveMaxPool1d(1),
        "lp_pool1d": lambda: nn.LPPool1d(2, 2),
    }),
    ("map2", 1, {
        "max_pool2d": lambda: nn.MaxPool2d(2),
        "max_pool2d_overlapping": lambda: nn.MaxPool2d(3, 2, padding=1),
        "max_pool2d_ceil": lambda: nn.MaxPool2d(3, 2, ceil_mode=True),
        "max_pool2d_dilated": lambda: nn.MaxPool2d(3, 1, dilation=2),
        "avg_pool2d": lambda: nn.AvgPool2d(2),
        "avg_pool2d_padded": lambda: nn.AvgPool2d(3, 1, padding=1, count_include_pad=False),
        "avg_pool2d_ceil": lambda: nn.AvgPool2d(3, 2, ceil_mode=True),
        "adaptive_avg_pool2d_one": lambda: nn.AdaptiveAvgPool2d(1),
        "adaptive_avg_pool2d": lambda: nn.AdaptiveAvgPool2d(4),
        "adaptive_avg_pool2d_same": lambda: nn.AdaptiveAvgPool2d(16),
        "adaptive_max_pool2d_one": lambda: nn.AdaptiveMaxPool2d(1),
        "adaptive_max_pool2d": lambda: nn.AdaptiveMaxPool2d(4),
        "mean_of_plane": lambda: lambda x: x.mean((2, 3)),
        "mean_of_plane_kept": lambda: lambda x: x.mean((2, 3), keepdim=True),
    }),
    ("map3", 1, {
        "max_pool3d": lambda: nn.MaxPool3d(2),
        "avg_pool3d": lambda: nn.AvgPool3d(2),
        "adaptive_avg_pool3d_one": lambda: nn.AdaptiveAvgPool3d(1),
        "adaptive_avg_pool3d": lambda: nn.AdaptiveAvgPool3d(4),
        "adaptive_max_pool3d": lambda: nn.AdaptiveMaxPool3d(4),
    }),
    ("map2", 1, {f"interpolate_{mode}{suffix}": (lambda mode=mode, options=options: lambda x: F.interpolate(
        x, scale_factor=2.0, mode=mode, **options))
        for mode, suffix, options in [
            ("nearest", "", {}), ("nearest-exact", "", {}), ("area", "", {}), ("bilinear", "", {}),
            ("bicubic", "", {}),
            ("bilinear", "_aligned", {"align_corners": True})]}),
    ("map2", 1, plain(interpolate_to_size=lambda x: F.interpolate(x, size=(24, 24), mode="bilinear"))),
    ("map1", 1, plain(interpolate_linear=lambda x: F.interpolate(x, scale_factor=2.0, mode="linear"))),
    ("map3", 1, plain(interpolate_trilinear=lambda x: F.interpolate(x, scale_factor=2.0, mode="trilinear"))),
]

IN_PLACE = "ReLU LeakyReLU ELU CELU SELU SiLU Mish Hardswish Hardsigmoid Hardtanh ReLU6 RReLU".split()
OUT_OF_PLACE = IN_PLACE + "GELU Softplus GLU Sigmoid Tanh Softsign LogSigmoid Tanhshrink Softshrink Hardshrink".split()
ACTIVATIONS = [
    ("map2", 1, {f"{name.lower()}": (lambda name=name: getattr(nn, name)(*([1] if name == "GLU" else [])))
                 for name in OUT_OF_PLACE}),
    ("map2", 1, {f"{name.lower()}_in_place": (lambda name=name: getattr(nn, name)(inplace=True)) for name in IN_PLACE}),
    ("map2", 1, {"threshold": lambda: nn.Threshold(0.1, 0.0), "gelu_tanh": lambda: nn.GELU(approximate="tanh")}),
    ("sequence", 1, {
        "gelu_sequence": lambda: nn.GELU(),
        "softmax": lambda: nn.Softmax(-1),
        "softmax_inner": lambda: nn.Softmax(1),
        "log_softmax": lambda: nn.LogSoftmax(-1),
        "softmin": lambda: nn.Softmin(-1),
        "dropout": lambda: nn.Dropout(0.3),
        "dropout_in_place": lambda: nn.Dropout(0.3, inplace=True),
        "dropout1d": lambda: nn.Dropout1d(0.3),
        "alpha_dropout": lambda: nn.AlphaDropout(0.3),
        "linear": lambda: nn.Linear(32, 20),
        "linear_no_bias": lambda: nn.Linear(32, 20, bias=False),
        "layer_norm": lambda: nn.LayerNorm(32),
        "layer_norm_no_bias": lambda: nn.LayerNorm(32, bias=False),
        "layer_norm_not_affine": lambda: nn.LayerNorm(32, elementwise_affine=False),
        "rms_norm": lambda: nn.RMSNorm(32, eps=1e-6),
        "batch_norm_of_transposed": lambda: Behind(lambda x: x.transpose(1, 2), nn.BatchNorm1d(32)),
        "gain": Gain,
        "dropout_of_positions": lambda: lambda x: x * F.dropout(positions_like(x), 0.3),
        "batch_norm_of_sequence": lambda: nn.BatchNorm1d(24),
    }),
    ("row", 1, {
        "linear_of_rows": lambda: nn.Linear(48, 20),
        "batch_norm_of_rows": lambda: nn.BatchNorm1d(48),
        "layer_norm_of_rows": lambda: nn.LayerNorm(48),
        "unflatten": lambda: nn.Unflatten(1, (6, 8)),
    }),
    ("row", 2, {"bilinear": lambda: nn.Bilinear(48, 48, 10)}),
    ("tokens", 1, {
        "embedding": lambda: nn.Embedding(100, 32),
        "embedding_padding": lambda: nn.Embedding(100, 32, padding_idx=0),
        "embedding_bag": lambda: nn.EmbeddingBag(100, 32),
        "embedding_bag_sum": lambda: nn.EmbeddingBag(100, 32, mode="sum"),
        "embedding_linear": lambda: nn.Sequential(nn.Embedding(100, 32), nn.Linear(32, 20)),
    }),
]


class Indexed(nn.Module):
    """x at fixed places of its second axis, picked by `pick`."""

    def __init__(self, pick):
        super().__init__()
        self.pick = pick
        self.register_buffer("index", torch.tensor([3, 1, 1, 7, 0]))

    def forward(self, x):
        return self.pick(x, self.index)


MOVEMENT = [
    ("sequence", 1, {"index_select": lambda: Indexed(lambda x, index: x.index_select(1, index)),
                     "index_advanced": lambda: Indexed(lambda x, index: x[:, index])}),
    ("sequence", 1, plain(
        identity=lambda x: x, clone=lambda x: x.clone(),
        contiguous_of_transposed=lambda x: x.transpose(1, 2).contiguous(),
        transpose=lambda x: x.transpose(1, 2), reshape=lambda x: x.reshape(-1, 24 * 8, 4),
        flatten=lambda x: x.flatten(1),
        reshape_of_transposed=lambda x: x.transpose(1, 2).reshape(-1, 768), unsqueeze=lambda x: x.unsqueeze(1),
        split=lambda x: x.split(8, dim=-1), split_uneven=lambda x: x.split([8, 24], dim=-1),
        chunk=lambda x: x.chunk(2, 1),
        chunk_one_unused=lambda x: x.chunk(2, -1)[0], unbind=lambda x: x.unbind(1)[:3],
        slice=lambda x: x[:, 4:12], slice_step=lambda x: x[:, ::2], slice_two=lambda x: x[:, 1:, :-1],
        slice_sum=lambda x: x[:, :12] + x[:, 12:], select=lambda x: x[:, 3], first_token=lambda x: x[:, 0],
        narrow=lambda x: x.narrow(2, 4, 16), gather=lambda x: x.gather(1, x.argsort(1)),
        take_along=lambda x: torch.take_along_dim(x, x.argmax(1, keepdim=True), 1),
        where_scalar=lambda x: torch.where(x > 0, x, 0.5), masked_fill=lambda x: x.masked_fill(x > 0, -1.0),
        expand=lambda x: x.unsqueeze(1).expand(-1, 3, -1, -1), repeat=lambda x: x.repeat(1, 2, 1),
        repeat_interleave=lambda x: x.repeat_interleave(2, dim=1), tile=lambda x: x.tile(1, 1, 2),
        roll=lambda x: x.roll(3, 1), flip=lambda x: x.flip(1), tril=lambda x: x.tril(), triu=lambda x: x.triu(1),
        pad_constant=lambda x: F.pad(x, (1, 2)), pad_value=lambda x: F.pad(x, (0, 0, 1, 0), value=2.0),
        cumsum=lambda x: x.cumsum(1), stack_self=lambda x: torch.stack([x, x], 1), add_self=lambda x: x + x,
        cat_token=lambda x: torch.cat([x[:, :1], x], 1), movedim=lambda x: x.movedim(1, 2),
        half=lambda x: x.half().float(), double=lambda x: x.double(),
        scatter_add=lambda x: torch.zeros_like(x).scatter_add(1, x.argsort(1), x))),
    ("sequence", 2, plain(
        cat=lambda x, y: torch.cat([x, y], -1), cat_inner=lambda x, y: torch.cat([x, y], 1),
        cat_thrice=lambda x, y: torch.cat([x, y, x], 1), stack=lambda x, y: torch.stack([x, y], 1),
        where=lambda x, y: torch.where(x > y, x, y), einsum_two_sums=lambda x, y: torch.einsum("bshd,bthd->bst", x.unflatten(-1, (4, 8)), y.unflatten(-1, (4, 8))),
        einsum_matmul=lambda x, y: torch.einsum("bsd,btd->bst", x, y),
        matmul_rank3=lambda x, y: x @ y.transpose(1, 2), bmm=lambda x, y: torch.bmm(x, y.transpose(1, 2)),
        baddbmm=lambda x, y: torch.baddbmm(x[:, :, :24], x, y.transpose(1, 2), beta=0.5),
        outer=lambda x, y: x.unsqueeze(2) * y.unsqueeze(1))),
    ("map2", 1, plain(
        permute_to_last=lambda x: x.permute(0, 2, 3, 1),
        permute_reshape=lambda x: x.permute(0, 2, 3, 1).reshape(-1, 256, 8),
        channels_last=lambda x: x.contiguous(memory_format=torch.channels_last),
        pad_reflect=lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
        pad_replicate=lambda x: F.pad(x, (1, 2, 1, 0), mode="replicate"),
        pad_circular=lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"), pad_zero=lambda x: F.pad(x, (0, 1, 0, 1)),
        unfold=lambda x: F.unfold(x, 3, padding=1),
        fold=lambda x: F.fold(F.unfold(x, 2, stride=2), (16, 16), 2, stride=2),
        window_partition=lambda x: x.reshape(-1, 8, 4, 4, 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, 8),
        squeeze_excite=lambda x: x * x.mean((2, 3), keepdim=True).sigmoid(),
        grid_sample=lambda x: F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1).tanh(), align_corners=False))),
]

POINTWISE = [
    ("sequence", 1, plain(
        exp=lambda x: x.exp(), log=lambda x: (x * x + 1).log(), log1p=lambda x: (x * x).log1p(),
        sqrt=lambda x: (x * x + 1).sqrt(),
        rsqrt=lambda x: (x * x + 1).rsqrt(), reciprocal=lambda x: (x * x + 1).reciprocal(), abs=torch.abs,
        neg=torch.neg,
        square=torch.square, pow_2=lambda x: x.pow(2), pow_3=lambda x: x.pow(3),
        pow_half=lambda x: (x * x + 1).pow(0.5),
        pow_of_scalar=lambda x: torch.pow(2.0, x), sin=torch.sin, cos=torch.cos, erf=torch.erf, atan=torch.atan,
        sign=torch.sign, floor=torch.floor, round=torch.round, clamp=lambda x: x.clamp(-0.5, 0.5),
        clamp_min=lambda x: x.clamp(min=0.0),
        add_scalar=lambda x: x + 1.5, mul_scalar=lambda x: x * 1.5, div_scalar=lambda x: x / 1.5,
        scalar_minus=lambda x: 1.0 - x,
        scalar_over=lambda x: 1.0 / (x * x + 1), mul_self=lambda x: x * x,
        mul_own_gate=lambda x: x * torch.sigmoid(x))),
    ("sequence", 2, plain(
        add=lambda x, y: x + y, sub=lambda x, y: x - y, mul=lambda x, y: x * y, div=lambda x, y: x / (y * y + 1),
        maximum=torch.maximum, minimum=torch.minimum, pow_tensor=lambda x, y: (x * x + 1).pow(y),
        gate=lambda x, y: x * torch.sigmoid(y), leaky_relu_of_sum=lambda x, y: F.leaky_relu(x + y),
        swiglu=lambda x, y: F.silu(x) * y, geglu=lambda x, y: F.gelu(x) * y, add_in_place=lambda x, y: x.add_(y),
        lerp=lambda x, y: torch.lerp(x, y, 0.3), addcmul=lambda x, y: torch.addcmul(x, x, y),
        mul_broadcast=lambda x, y: x * y[:, :1],
        add_broadcast=lambda x, y: x + y[:, :, :1], cosine_similarity=lambda x, y: F.cosine_similarity(x, y, -1),
        atan2=torch.atan2, logaddexp=torch.logaddexp)),
]

REDUCTIONS = [
    ("sequence", 1, plain(
        sum_last=lambda x: x.sum(-1), sum_inner=lambda x: x.sum(1, keepdim=True), sum_all=lambda x: x.sum(),
        mean_last=lambda x: x.mean(-1),
        mean_inner=lambda x: x.mean(1), mean_all=lambda x: x.mean(), var=lambda x: x.var(-1),
        var_biased=lambda x: x.var(-1, unbiased=False),
        std=lambda x: x.std(-1), norm_2=lambda x: x.norm(dim=-1), norm_1=lambda x: x.norm(p=1, dim=-1),
        normalize=lambda x: F.normalize(x, dim=-1),
        logsumexp=lambda x: x.logsumexp(-1), max_last=lambda x: x.max(-1).values, min_last=lambda x: x.min(-1).values,
        amax=lambda x: x.amax(-1), amin=lambda x: x.amin(1), max_all=lambda x: x.max(), prod=lambda x: x.prod(-1),
        topk=lambda x: x.topk(5, -1).values, sort=lambda x: x.sort(-1).values,
        standardize=lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5))),
]

LOSSES = [
    ("sequence", 2, plain(
        loss_mse=F.mse_loss, loss_l1=F.l1_loss, loss_smooth_l1=F.smooth_l1_loss, loss_huber=F.huber_loss,
        loss_bce_logits=lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        loss_bce=lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        loss_kl=lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"))),
    ("row", 1, plain(
        loss_cross_entropy=lambda x: F.cross_entropy(x, x.argmax(1)),
        loss_nll=lambda x: F.nll_loss(x.log_softmax(1), x.argmax(1)),
        loss_cross_entropy_smoothed=lambda x: F.cross_entropy(x, x.argmax(1), label_smoothing=0.1))),
]

ALL = (*CONVOLUTIONS, *POOLS, *ACTIVATIONS, *MOVEMENT, *POINTWISE, *REDUCTIONS, *LOSSES, *ATTENTION, *RECURRENT,
       *RARE)
