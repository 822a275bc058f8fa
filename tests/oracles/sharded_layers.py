"""What one rank of tensor parallelism allocates that trains a family whose attention ranks share in a way of its own, asked as
sharded_families.py asks:

    python sharded_layers.py ../golden/sharded/layers-tp.json

OLMo 2: outputs of the layers that norms over all heads follow are gathered, as base_model_tp_plan has it (transformers 5.24,
models/olmo2/configuration_olmo2.py), by PyTorch's own styles. T5: each rank has the table of distances and takes the columns of its heads
(megatron/core/models/T5/t5_model.py, scatter_to_tensor_model_parallel_region()). Bloom and MPT: each rank has the slopes of its heads
(bigscience-workshop/Megatron-DeepSpeed, megatron/model/transformer.py, _build_alibi_tensor()).
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import sys  # noqa: E402

import sharded_models  # noqa: E402
import sharded_trace  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import transformers  # noqa: E402
from family_steps import FAMILIES, LENGTH, config_of  # noqa: E402
from hugging_face import look_at_no_padding  # noqa: E402
from sharded_families import FamilyTensorParallel  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.tensor import Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402
from transformers.distributed.parallel_utils import _AllReduceBackward  # noqa: E402
from transformers.initialization import no_init_weights  # noqa: E402

# How each family calls its first layers, whose outputs ranks share, its last ones, its count of heads, its tables of words.
FIRST = ("q", "k", "v", "wi", "query_key_value", "dense_h_to_4h", "Wqkv", "up_proj", "gate_proj")
LAST = ("o", "wo", "dense", "dense_4h_to_h", "out_proj", "down_proj")
HEADS = ("num_heads", "n_heads")
TABLES = ("shared", "embed_tokens", "word_embeddings", "wte")
NAMES = ("olmo2", "t5", "bloom", "mpt")


class Scattered(torch.autograd.Function):
    """Of columns that all ranks have, a rank's own (megatron/core/tensor_parallel/mappings.py, _split_along_last_dim())."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.chunk(dist.get_world_size(group), -1)[0].contiguous()

    @staticmethod
    def backward(ctx, gradient):
        received = gradient.new_empty(dist.get_world_size(ctx.group), *gradient.shape)
        dist.all_gather_into_tensor(received, gradient.contiguous(), group=ctx.group)
        return torch.cat(list(received), -1), None


def family(name):
    class_name, values, _ = FAMILIES[name]
    kind = getattr(transformers, class_name)
    if name == "olmo2":
        values = {"head_dim": values["hidden_size"] // values["num_attention_heads"], **values, "tie_word_embeddings": False}

    def build(batch):
        _, config = config_of(class_name, values, "eager" if name in ("bloom", "mpt") else "sdpa")
        with no_init_weights():
            model = kind(config)
            model.tie_weights()
            share(model, name, LayerTensorParallel.ranks)
        return model, torch.randint(0, values["vocab_size"], (batch, LENGTH))
    return {"model_type": kind.config_class.model_type, **values}, build


def share(model, name, ranks):
    for path, module in list(model.named_modules()):
        last = path.rpartition(".")[2]
        whole = name == "olmo2" and "self_attn" in path
        if isinstance(module, nn.Linear) and last in FIRST and not whole:
            put(model, path, nn.Linear(module.in_features, module.out_features // ranks, module.bias is not None))
        elif isinstance(module, nn.Linear) and last in LAST and not whole:
            put(model, path, nn.Linear(module.in_features // ranks, module.out_features, module.bias is not None))
        for count in HEADS:
            if hasattr(module, count):
                setattr(module, count, getattr(module, count) // ranks)
        if hasattr(module, "inner_dim"):
            module.inner_dim //= ranks


def put(model, path, module):
    setattr(model.get_submodule(path.rpartition(".")[0]), path.rpartition(".")[2], module)


class LayerTensorParallel(FamilyTensorParallel):
    models = {name: family(name) for name in NAMES}

    @staticmethod
    def mesh(case):
        LayerTensorParallel.ranks = case["ranks"]
        return {"tp": case["ranks"]}

    def shard(self, model, mesh, case):
        group = mesh.get_group()
        name = model.config.model_type
        for path, module in list(model.named_modules()):
            last = path.rpartition(".")[2]
            if name == "olmo2" and last == "self_attn":
                gathered = {one: ColwiseParallel(output_layouts=Replicate()) for one in ("q_proj", "k_proj", "v_proj")}
                parallelize_module(module, mesh, gathered | {"o_proj": RowwiseParallel(input_layouts=Replicate())})
            elif name == "olmo2" and last == "mlp":
                self.share(module, group)
            elif name != "olmo2" and isinstance(module, nn.Linear) and last in LAST:
                self.share(module, group, reads=False)
            elif name != "olmo2" and last in ("SelfAttention", "EncDecAttention"):
                self.read_once(module, group)
            elif isinstance(module, nn.Linear) and last in FIRST and name != "olmo2" and last not in ("q", "k", "v"):
                self.share(module, group, sums=False)
            if last == "relative_attention_bias":
                self.scatter(module, group)
        tables = [path for path, module in model.named_modules() if isinstance(module, nn.Embedding) and path.rpartition(".")[2] in TABLES]
        styles = {path: RowwiseParallel(input_layouts=Replicate()) for path in tables}
        parallelize_module(model, mesh, styles | {"lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
        tied = [*tables[1:], *(["lm_head"] if name != "olmo2" else [])]
        for path in tied:   # the styles made a parameter of each
            model.get_submodule(path).weight = model.get_submodule(tables[0]).weight
        for one in (*model.parameters(), *model.buffers()):
            one.detach()
        return model

    @staticmethod
    def read_once(module, group):
        """Layers that read the same sum the gradient of it together."""
        forward = module.forward

        def of_part(hidden_states, *args, **kwargs):
            copied = lambda x: _AllReduceBackward.apply(x, group)  # noqa: E731
            if kwargs.get("key_value_states") is not None:
                kwargs["key_value_states"] = copied(kwargs["key_value_states"])
            return forward(copied(hidden_states), *args, **kwargs)
        module.forward = of_part

    @staticmethod
    def scatter(module, group):
        forward = module.forward
        module.forward = lambda x: Scattered.apply(forward(x), group)

    @staticmethod
    def forward(model, inputs, target):
        inputs = list(inputs)
        given = {"decoder_input_ids": inputs[0]} if model.config.model_type == "t5" else {}
        return model(*inputs, **given).logits


if __name__ == "__main__":
    transformers.masking_utils.find_packed_sequence_indices = lambda position_ids: None
    look_at_no_padding(transformers.masking_utils)
    sharded_trace.pretend_streams(16)
    torch.Tensor.record_stream = lambda *_: None
    sharded_models.write(sharded_models.Path(sys.argv[1]), LayerTensorParallel())
