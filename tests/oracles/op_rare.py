"""Operators that people use less often, for op_tables.py."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, spectral_norm, weight_norm

from op_modules import (Behind, CellByHand, Cells, GlobalResponseNorm, MeanOfSteps, Multihead, Positions, Scaled, Stateful, Tied,
                        TiedEmbedding, Twice, Unpool, With)


def plain(**functions):
    """Operators that are functions: nothing is to be made."""
    return {name: (lambda function=function: function) for name, function in functions.items()}


def assigned(x, y):
    """y's first steps in a copy of x."""
    x = x.clone()
    x[:, :4] = y[:, :4]
    return x


def added_at(x, index):
    return x.index_add(1, index, x[:, :5])


INDEX = torch.tensor([3, 1, 1, 7, 0])
LAYERS = [
    ("map1", 1, {
        "weight_norm1d": lambda: parametrizations.weight_norm(nn.Conv1d(8, 12, 3)),
        "weight_norm1d_hook": lambda: weight_norm(nn.Conv1d(8, 12, 3)),
        "conv_transpose1d_output_padding": lambda: nn.ConvTranspose1d(8, 12, 3, stride=2, output_padding=1, dilation=2),
        "conv1d_circular": lambda: nn.Conv1d(8, 12, 3, padding=1, padding_mode="circular"),
        "reflection_pad1d": lambda: nn.ReflectionPad1d((2, 1)),
        "instance_norm1d_affine": lambda: nn.InstanceNorm1d(8, affine=True, track_running_stats=True),
    }),
    ("map2", 1, {
        "weight_norm2d": lambda: parametrizations.weight_norm(nn.Conv2d(8, 12, 3)),
        "spectral_norm2d": lambda: parametrizations.spectral_norm(nn.Conv2d(8, 12, 3)),
        "spectral_norm2d_hook": lambda: spectral_norm(nn.Conv2d(8, 12, 3)),
        "group_norm2d_no_bias": lambda: nn.GroupNorm(2, 8, bias=False),
        "group_norm2d_channels_last": lambda: Behind(lambda x: x.contiguous(memory_format=torch.channels_last), nn.GroupNorm(2, 8)),
        "group_norm2d_not_affine": lambda: nn.GroupNorm(2, 8, affine=False),
        "conv2d_replicate": lambda: nn.Conv2d(8, 12, 3, padding=1, padding_mode="replicate"),
        "conv2d_separable": lambda: nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False), nn.Conv2d(8, 12, 1)),
        "conv_transpose2d_dilated": lambda: nn.ConvTranspose2d(8, 12, 3, stride=2, dilation=2, output_padding=1),
        "zero_pad2d": lambda: nn.ZeroPad2d((1, 2, 0, 1)),
        "cross_norm": lambda: nn.CrossMapLRN2d(5),
        "softmax2d": lambda: nn.Softmax2d(),
        "upsample_twice": lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(8, 4, 1)),
        "max_pool_unpool": lambda: Unpool(),
        "feature_alpha_dropout": lambda: nn.FeatureAlphaDropout(0.3),
        "max_pool2d_indices": lambda: lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
        "adaptive_max_pool2d_indices": lambda: lambda x: F.adaptive_max_pool2d(x, 4, return_indices=True)[0],
        "lp_pool2d": lambda: nn.LPPool2d(2, 2),
        "spatial_transformer": lambda: With(
            lambda x, theta: F.grid_sample(x, F.affine_grid(theta.expand(x.size(0), -1, -1), list(x.shape), False),
                                           align_corners=False), {"theta": torch.randn(1, 2, 3)}),
        "grid_sample_nearest": lambda: lambda x: F.grid_sample(
            x, x[:, :2].permute(0, 2, 3, 1).tanh(), mode="nearest", align_corners=True),
        "fold_overlapping": lambda: lambda x: F.fold(F.unfold(x, 3, padding=1), (16, 16), 3, padding=1),
        "interpolate_down": lambda: lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear"),
        "interpolate_antialias": lambda: lambda x: F.interpolate(x, size=(12, 12), mode="bilinear", antialias=True),
        "channel_gate": lambda: lambda x: x * x.amax((2, 3), keepdim=True).sigmoid(),
        "spatial_gate": lambda: lambda x: x * torch.cat([x.mean(1, True), x.amax(1, True)], 1).sum(1, True).sigmoid(),
        "global_response_norm": lambda: GlobalResponseNorm(),
        "layer_scale": lambda: With(lambda x, gamma: x * gamma, {"gamma": torch.ones(8, 1, 1)}),
        "drop_path": lambda: drop_path,
        "pixel_mean": lambda: lambda x: x.flatten(2).mean(-1),
        "gram": lambda: lambda x: (x.flatten(2) @ x.flatten(2).transpose(1, 2)) / 256,
    }),
    ("map3", 1, {
        "conv3d_dilated": lambda: nn.Conv3d(8, 12, 3, dilation=2, padding=2),
        "conv3d_grouped": lambda: nn.Conv3d(8, 12, 3, groups=2, bias=False),
        "conv_transpose3d_output_padding": lambda: nn.ConvTranspose3d(8, 4, 3, stride=2, output_padding=1),
        "conv3d_factored": lambda: nn.Sequential(nn.Conv3d(8, 12, (1, 3, 3), padding=(0, 1, 1)), nn.Conv3d(12, 8, (3, 1, 1))),
        "max_pool3d_uneven": lambda: nn.MaxPool3d((1, 2, 2)),
        "pad3d": lambda: nn.ConstantPad3d(1, 0.5),
    }),
    ("sequence", 1, {
        "weight_norm_linear": lambda: parametrizations.weight_norm(nn.Linear(32, 20)),
        "spectral_norm_linear": lambda: parametrizations.spectral_norm(nn.Linear(32, 20)),
        "rms_norm_by_hand": lambda: With(lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w,
                                         {"w": torch.ones(32)}),
        "layer_norm_by_hand": lambda: With(
            lambda x, w: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-6).sqrt() * w,
            {"w": torch.ones(32)}),
        "linear_twice": lambda: Twice(),
        "linear_tied": lambda: Tied(),
        "multihead_weights": Multihead, "multihead_weights_apart": lambda: Multihead(average_attn_weights=False),
        "multihead_masked": lambda: Multihead(masked=True, need_weights=False),
        "multihead_causal": lambda: Multihead(masked=True, need_weights=False, is_causal=True),
        "multihead_padded": lambda: Multihead(padded=True, need_weights=False),
        "multihead_no_bias": lambda: Multihead({"bias": False}, need_weights=False),
        "multihead_bias_kv": lambda: Multihead({"add_bias_kv": True}, need_weights=False),
        "multihead_zero_attention": lambda: Multihead({"add_zero_attn": True}, need_weights=False),
        "multihead_dropout_weights": lambda: Multihead({"dropout": 0.1}),
        "transformer_encoder": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2),
        "transformer_encoder_gelu": lambda: nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True),
        "lstm_projected": lambda: Stateful(nn.LSTM, proj_size=8),
        "lstm_states": lambda: Stateful(nn.LSTM), "gru_states": lambda: Stateful(nn.GRU),
        "gru_learned_state": lambda: Stateful(nn.GRU, learned=True), "rnn_relu": lambda: Stateful(nn.RNN, nonlinearity="relu"),
        "lstm_cell": lambda: Cells(nn.LSTMCell), "gru_cell": lambda: Cells(nn.GRUCell), "rnn_cell": lambda: Cells(nn.RNNCell),
        "lstm_cell_no_bias": lambda: Cells(lambda *sizes: nn.LSTMCell(*sizes, bias=False)),
        "gru_cell_no_bias": lambda: Cells(lambda *sizes: nn.GRUCell(*sizes, bias=False)),
        "lstm_cell_by_hand": lambda: Cells(CellByHand),
    }),
    ("sequence", 2, {
        "multihead_cross": lambda: Multihead(need_weights=False),
        "multihead_widths": lambda: Multihead({"kdim": 32, "vdim": 32}, need_weights=False),
        "transformer_decoder_layer": lambda: nn.TransformerDecoderLayer(32, 4, 64, batch_first=True),
        "transformer": lambda: nn.Transformer(32, 4, 1, 1, 64, batch_first=True),
        "cosine_similarity_module": lambda: nn.CosineSimilarity(1),
        "pairwise_distance": lambda: nn.PairwiseDistance(),
        "bilinear_sequence": lambda: nn.Bilinear(32, 32, 6),
    }),
    ("tokens", 1, {
        "embedding_scaled": lambda: nn.Sequential(nn.Embedding(100, 32), Scaled()),
        "embedding_positions": lambda: Positions(),
        "embedding_mean": lambda: nn.Sequential(nn.Embedding(100, 32), MeanOfSteps()),
        "one_hot": lambda: With(lambda tokens, w: F.one_hot(tokens, 100).float() @ w, {"w": torch.randn(100, 16)}),
        "embedding_tied": lambda: TiedEmbedding(),
    }),
]


def drop_path(x):
    """Stochastic depth, as timm writes it."""
    return x * x.new_empty(x.size(0), 1, 1, 1).bernoulli_(0.9).div_(0.9)


FUNCTIONS = [
    ("sequence", 1, plain(
        tan=torch.tan, asin=lambda x: x.tanh().asin(), sinh=torch.sinh, cosh=torch.cosh, asinh=torch.asinh,
        acosh=lambda x: (x * x + 2).acosh(), atanh=lambda x: (x.tanh() / 2).atanh(), erfc=torch.erfc, expm1=torch.expm1,
        log2=lambda x: (x * x + 1).log2(), exp2=torch.exp2, ceil=torch.ceil, frac=torch.frac, trunc=torch.trunc,
        remainder=lambda x: x.remainder(2.0), fmod=lambda x: x.fmod(2.0), nan_to_num=torch.nan_to_num,
        relu_squared=lambda x: F.relu(x).square(), quick_gelu=lambda x: x * torch.sigmoid(1.702 * x),
        gelu_by_hand=lambda x: 0.5 * x * (1 + torch.erf(x / 2 ** 0.5)),
        mish_by_hand=lambda x: x * torch.tanh(F.softplus(x)), hardswish_by_hand=lambda x: x * F.relu6(x + 3) / 6,
        softplus_beta=lambda x: F.softplus(x, 2.0), pow_negative=lambda x: (x * x + 1).pow(-1), pow_1_5=lambda x: (x * x + 1).pow(1.5),
        mul_in_place=lambda x: x.mul_(0.5), sigmoid_in_place=lambda x: x.sigmoid_(), exp_of_in_place=lambda x: x.sub_(1.0).exp(),
        relu_twice=lambda x: F.relu(x) + F.relu(-x), normalize_1=lambda x: F.normalize(x, p=1.0, dim=-1),
        straight_through=lambda x: x + (x.round() - x).detach(), detached_half=lambda x: x * x.detach(),
        cumprod=lambda x: x.cumprod(1), logcumsumexp=lambda x: x.logcumsumexp(1), cummax=lambda x: x.cummax(1).values,
        logsumexp_kept=lambda x: x.logsumexp(1, keepdim=True), var_mean=lambda x: torch.var_mean(x, -1),
        std_all=lambda x: x.std(), var_all=lambda x: x.var(), norm_all=lambda x: x.norm(), norm_3=lambda x: x.norm(3, -1),
        vector_norm=lambda x: torch.linalg.vector_norm(x, dim=-1), norm_inf=lambda x: torch.linalg.vector_norm(x, float("inf"), -1),
        median=lambda x: x.median(-1).values, kthvalue=lambda x: x.kthvalue(3, -1).values, sum_two=lambda x: x.sum((1, 2)),
        amax_two=lambda x: x.amax((1, 2)), max_both=lambda x: (x.max(-1).values, x.min(1).values), min_all=lambda x: x.min(),
        mean_two=lambda x: x.mean((1, 2), keepdim=True), mean_square=lambda x: x.square().mean(-1), aminmax=lambda x: x.amax(-1) - x.amin(-1),
        diagonal=lambda x: x[:, :, :24].diagonal(dim1=1, dim2=2), diag_embed=lambda x: x.diag_embed(), rot90=lambda x: x.rot90(1, (1, 2)),
        swapaxes=lambda x: x.swapaxes(1, 2), unfold_dim=lambda x: x.unfold(1, 4, 2),
        select_last=lambda x: x[:, -1], newaxis=lambda x: x[:, None, :, None], flip_two=lambda x: x.flip((1, 2)),
        masked_fill_broadcast=lambda x: x.masked_fill(x[:, :, :1] > 0, 0.0), where_broadcast=lambda x: torch.where(x[:, :1] > 0, x, x[:, :, :1]),
        masked_fill_in_place=lambda x: x.masked_fill_(x > 0, 0.0), where_zero=lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
        scatter=lambda x: torch.zeros_like(x).scatter(1, x.argsort(1), x), gather_of_sort=lambda x: x.sort(1, descending=True).values,
        topk_indices=lambda x: x.gather(-1, x.topk(4, -1).indices), expand_add=lambda x: x + x.mean(1, keepdim=True).expand_as(x),
        moving_mean=lambda x: F.avg_pool1d(x.transpose(1, 2), 3, 1, 1).transpose(1, 2), difference=lambda x: x[:, 1:] - x[:, :-1],
        rolled_sum=lambda x: x + x.roll(1, 1), cat_zeros=lambda x: torch.cat([x, torch.zeros_like(x)], -1),
        cat_many=lambda x: torch.cat([x.sin(), x.cos(), x], -1), concat_mean=lambda x: torch.cat([x, x.mean(1, True).expand(-1, 24, -1)], -1),
        softmax_temperature=lambda x: (x / 0.07).softmax(-1), softmax_float=lambda x: F.softmax(x, -1, dtype=torch.float32),
        gumbel_softmax=lambda x: F.gumbel_softmax(x, 1.0), log_of_softmax=lambda x: (x.softmax(-1) + 1e-9).log(),
        entropy=lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1), glu_by_hand=lambda x: (lambda a, b: a * b.sigmoid())(*x.chunk(2, -1)),
        noise=lambda x: x + torch.randn_like(x) * 0.1, self_attention_plain=lambda x: (x @ x.transpose(1, 2)).softmax(-1) @ x,
        distances=lambda x: torch.cdist(x, x), distances_1=lambda x: torch.cdist(x, x.flip(0), 1.0),
        distances_many=lambda x: torch.cdist(x.view(-1, 96, 8), x.tanh().view(-1, 96, 8)),
        pairwise_by_hand=lambda x: (x[:, :, None] - x[:, None]).square().sum(-1),
        outer_sum=lambda x: x[:, :, None] + x[:, None], attention_pool=lambda x: (x.mean(-1, True).softmax(1) * x).sum(1))),
    ("sequence", 1, {
        "index_add": lambda: With(added_at, index=INDEX), "index_copy": lambda: With(
            lambda x, index: x.index_copy(1, index, x[:, :5]), index=torch.tensor([3, 1, 2, 7, 0])),
        "index_put": lambda: With(put, index=INDEX), "index_fill": lambda: With(
            lambda x, index: x.index_fill(1, index, 0.0), index=INDEX),
        "gather_buffer": lambda: With(lambda x, index: x.gather(1, index[None, :, None].expand(x.size(0), -1, 32)), index=INDEX),
        "masked_by_buffer": lambda: With(lambda x, mask: x.masked_fill(mask, float("-inf")).softmax(-1),
                                         mask=torch.ones(24, 32, dtype=torch.bool).triu(9)),
        "times_buffer": lambda: With(lambda x, t: x * t, t=torch.randn(24, 32)),
        "plus_buffer": lambda: With(lambda x, t: x + t, t=torch.randn(1, 24, 32)),
        "plus_parameter": lambda: With(lambda x, p: x + p, {"p": torch.randn(1, 24, 32)}),
        "parameter_token": lambda: With(lambda x, p: torch.cat([p.expand(x.size(0), -1, -1), x], 1), {"p": torch.randn(1, 1, 32)}),
        "parameter_matmul": lambda: With(lambda x, p: x @ p, {"p": torch.randn(32, 20)}),
        "parameter_matmul_right": lambda: With(lambda x, p: p @ x, {"p": torch.randn(10, 24)}),
        "parameter_einsum": lambda: With(lambda x, p: torch.einsum("bsd,hde->bhse", x, p), {"p": torch.randn(4, 32, 8)}),
        "parameter_softmax": lambda: With(lambda x, p: p.softmax(-1) @ x, {"p": torch.randn(10, 24)}),
        "parameter_exp": lambda: With(lambda x, p: x * p.exp(), {"p": torch.randn(32)}),
        "parameter_normalized": lambda: With(lambda x, p: F.normalize(x, dim=-1) @ F.normalize(p, dim=-1).t(), {"p": torch.randn(10, 32)}),
        "addmm": lambda: With(lambda x, p: torch.addmm(p[0], x[:, 0], p), {"p": torch.randn(32, 32)}),
    }),
    ("sequence", 2, plain(
        assigned=assigned, select_scatter=lambda x, y: x.select_scatter(y[:, 0], 1, 2), slice_scatter=lambda x, y: x.slice_scatter(y[:, :4], 1, 2, 6),
        einsum_three=lambda x, y: torch.einsum("bsd,btd,bte->bse", x, y, x), einsum_outer=lambda x, y: torch.einsum("bi,bj->bij", x[:, 0], y[:, 0]),
        einsum_elementwise=lambda x, y: torch.einsum("bsd,bsd->bsd", x, y), einsum_transposed=lambda x, y: torch.einsum("bsd,btd->tsb", x, y),
        tensordot=lambda x, y: torch.tensordot(x, y[0], ([2], [1])), inner=lambda x, y: torch.inner(x, y[0]),
        addbmm=lambda x, y: torch.bmm(x, y.transpose(1, 2)).sum(0), addcdiv=lambda x, y: torch.addcdiv(x, x, y * y + 1),
        hypot=torch.hypot, fmax=torch.fmax, copysign=torch.copysign, xlogy=lambda x, y: torch.xlogy(x, y * y + 1),
        clamp_tensor=lambda x, y: torch.clamp(x, min=y), add_scaled=lambda x, y: torch.add(x, y, alpha=0.5), rsub=lambda x, y: torch.rsub(x, y),
        lerp_tensor=lambda x, y: torch.lerp(x, y, y.sigmoid()), mul_in_place_other=lambda x, y: x.mul_(y.sigmoid()),
        div_rounded=lambda x, y: torch.div(x, y * y + 1, rounding_mode="floor"), where_masked=lambda x, y: torch.where(x > 0, x, y[:, :1]),
        gated_sum=lambda x, y: (lambda g: g * x + (1 - g) * y)(torch.sigmoid(x + y)), film=lambda x, y: x * (1 + y.mean(1, True)) + y.mean(1, True),
        residual_chain=lambda x, y: F.relu(F.relu(x + y) + y), cosine_matrix=lambda x, y: F.normalize(x, dim=-1) @ F.normalize(y, dim=-1).transpose(1, 2),
        interleave=lambda x, y: torch.stack([x, y], -1).flatten(-2), cross=lambda x, y: torch.linalg.cross(x[..., :3], y[..., :3]),
        cat_then_split=lambda x, y: torch.cat([x, y], -1).chunk(4, -1)[1], max_of_stack=lambda x, y: torch.stack([x, y]).max(0).values,
        mean_of_stack=lambda x, y: torch.stack([x, y]).mean(0))),
    ("row", 1, plain(
        cumsum_rows=lambda x: x.cumsum(-1), softmax_rows=lambda x: x.softmax(-1), vandermonde=lambda x: torch.stack([x, x ** 2, x ** 3], -1),
        outer_self=lambda x: x[:, :, None] * x[:, None], fourier=lambda x: torch.cat([torch.sin(x * 6.28), torch.cos(x * 6.28)], -1))),
]


def put(x, index):
    x = x.clone()
    x[:, index] = x[:, :5] * 2
    return x


LOSSES = [
    ("row", 3, plain(
        loss_triplet=F.triplet_margin_loss,
        loss_margin_ranking=lambda x, y, z: F.margin_ranking_loss(x, y, z.sign(), margin=0.1))),
    ("row", 2, plain(
        loss_cosine_embedding=lambda x, y: F.cosine_embedding_loss(x, y, x[:, 0].sign()),
        loss_contrastive=lambda x, y: F.cross_entropy(F.normalize(x) @ F.normalize(y).t() / 0.07, torch.arange(x.size(0), device=x.device)),
        loss_mse_sum=lambda x, y: F.mse_loss(x, y, reduction="sum"), loss_mse_none=lambda x, y: F.mse_loss(x, y, reduction="none").mean(1),
        loss_smooth_l1_beta=lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), loss_huber_delta=lambda x, y: F.huber_loss(x, y, delta=0.5),
        loss_kl_log_target=lambda x, y: F.kl_div(x.log_softmax(-1), y.log_softmax(-1), reduction="batchmean", log_target=True),
        loss_distillation=lambda x, y: F.kl_div(F.log_softmax(x / 2, 1), F.softmax(y / 2, 1).detach(), reduction="batchmean"),
        loss_poisson=lambda x, y: F.poisson_nll_loss(x, y.exp()), loss_hinge_embedding=lambda x, y: F.hinge_embedding_loss(x, y.sign()),
        loss_multilabel=lambda x, y: F.multilabel_soft_margin_loss(x, (y > 0).float()),
        loss_bce_weighted=lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=torch.ones(48, device=x.device)),
        loss_focal=lambda x, y: (((1 - torch.exp(-F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="none"))) ** 2)
                                 * F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="none")).mean(),
        loss_charbonnier=lambda x, y: ((x - y).square() + 1e-6).sqrt().mean(), loss_log_cosh=lambda x, y: torch.cosh(x - y).log().mean())),
    ("map2", 1, plain(
        loss_cross_entropy_of_map=lambda x: F.cross_entropy(x, x.argmax(1)),
        loss_nll_of_map=lambda x: F.nll_loss(F.log_softmax(x, 1), x.argmax(1)),
        loss_dice=lambda x: (lambda p, t: 1 - (2 * (p * t).sum((2, 3)) + 1) / (p.sum((2, 3)) + t.sum((2, 3)) + 1))(
            x.sigmoid(), (x > 0).float()).mean(),
        loss_total_variation=lambda x: (x[:, :, 1:] - x[:, :, :-1]).abs().mean() + (x[..., 1:] - x[..., :-1]).abs().mean())),
]

RARE = (*LAYERS, *FUNCTIONS, *LOSSES)
