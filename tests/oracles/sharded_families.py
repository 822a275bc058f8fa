"""What one rank of tensor parallelism allocates that trains a family of transformers, asked as sharded_models.py asks:

    python sharded_families.py ../golden/sharded/families-tp.json

A rank runs transformers' own code with its part of the heads, of the features inside of an MLP and of those inside of each expert: Megatron-LM's layout, also
of gated delta rules (megatron/core/ssm/gated_delta_net.py, num_v_heads_local_tp). What such a module reads and makes is summed in place, as by
transformers' functions (distributed/parallel_utils.py), experts as MoeExpertsParallel has them; words and head are split as DTensor does it, for its loss.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import itertools  # noqa: E402  (torch must come after the shim)
import sys  # noqa: E402

import sharded_models  # noqa: E402
import sharded_trace  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from family_steps import BATCH, FAMILIES, LENGTH, config_of  # noqa: E402
from hugging_face import look_at_no_padding  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.tensor import DTensor, Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402
from transformers.distributed.parallel_utils import _AllReduceBackward  # noqa: E402
from transformers.initialization import no_init_weights  # noqa: E402

# What a config counts that ranks divide.
SHARED = ("num_attention_heads", "num_key_value_heads", "intermediate_size", "intermediate_size_mlp", "moe_intermediate_size",
          "shared_expert_intermediate_size", "linear_num_key_heads", "linear_num_value_heads")
NAMES = ("llama", "mixtral", "qwen2_moe", "qwen3_moe", "glm4_moe", "llama4_text", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next",
         "deepseek_v3")
MIXERS = ("self_attn", "linear_attn")
MLPS = ("gate_proj", "up_proj", "down_proj")


def family(name):
    class_name, values, _ = FAMILIES[name]
    head = {} if "kv_lora_rank" in values else {"head_dim": values["hidden_size"] // values["num_attention_heads"]}
    values = head | values | {"hidden_act": "silu", "tie_word_embeddings": False}
    kind = getattr(transformers, class_name)

    def build(batch):
        ranks = FamilyTensorParallel.ranks
        _, config = config_of(class_name, {k: v // ranks if k in SHARED else v for k, v in values.items()})
        with no_init_weights():
            return kind(config), torch.randint(0, values["vocab_size"], (batch, LENGTH))
    return {"model_type": kind.config_class.model_type, **values}, build


class FamilyTensorParallel(sharded_models.TensorParallel):
    models = {name: family(name) for name in NAMES}
    ranks = 1

    @staticmethod
    def cases(name):
        for ranks, precision in itertools.product((2,), ("fp32", "bf16")):
            yield {"ranks": ranks, "sequence_parallel": False, "precision": precision, "optimizer": "adam", "batch": BATCH}

    @staticmethod
    def mesh(case):
        FamilyTensorParallel.ranks = case["ranks"]
        return {"tp": case["ranks"]}

    def shard(self, model, mesh, case):
        group = mesh.get_group()
        for block in model.model.layers:
            for name, module in block.named_modules():
                last = name.rpartition(".")[2]
                if hasattr(module, "kv_b_proj"):
                    self.share(module, group, reads=False)   # its first projections each rank has whole
                elif last in ("q_b_proj", "kv_b_proj"):
                    self.share(module, group, sums=False)
                elif last in MIXERS or last == "experts" or all(hasattr(module, part) for part in MLPS) and isinstance(module.gate_proj, nn.Linear):
                    self.share(module, group)
        parallelize_module(model, mesh, {"model.embed_tokens": RowwiseParallel(input_layouts=Replicate()),
                                         "lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
        for one in (*model.parameters(), *model.buffers()):
            one.detach()   # those that nothing changed are seen here first
        return model

    @staticmethod
    def share(module, group, reads=True, sums=True):
        """What it reads all ranks have, and what it makes they sum."""
        forward = module.forward

        def of_part(*args, **kwargs):
            copied = lambda x: _AllReduceBackward.apply(x, group) if reads and torch.is_tensor(x) and x.requires_grad else x  # noqa: E731
            kwargs = kwargs | {k: copied(v) for k, v in kwargs.items() if k == "hidden_states"}
            made = forward(*map(copied, args), **kwargs)
            if not sums:
                return made
            if isinstance(made, tuple):
                return sharded_models.Summed.apply(made[0], group), *made[1:]
            return sharded_models.Summed.apply(made, group)
        module.forward = of_part

    @staticmethod
    def parameters(model):
        """Lists of an optimizer take no DTensors beside other tensors."""
        every = list(model.parameters())
        return [{"params": [one for one in every if isinstance(one, DTensor) == parted]} for parted in (True, False)]

    @staticmethod
    def forward(model, inputs, target):
        return model(*inputs).logits


if __name__ == "__main__":
    transformers.masking_utils.find_packed_sequence_indices = lambda position_ids: None
    look_at_no_padding(transformers.masking_utils)
    sharded_trace.pretend_streams(16)
    torch.Tensor.record_stream = lambda *_: None
    sharded_models.write(sharded_models.Path(sys.argv[1]), FamilyTensorParallel())
