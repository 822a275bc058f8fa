"""What one rank of tensor parallelism allocates that trains adapters of a family whose attention ranks share in a way of its own, asked as
sharded_layers.py asks:

    python sharded_adapters.py ../golden/sharded/adapters-tp.json

Of a layer whose outputs ranks share the adapter's second matrix is shared too, of one whose inputs they share the first one; beside layers
whose outputs are gathered, or that are given their part of what all ranks have, each rank has all of the adapter (peft/tuners/lora/model.py,
_create_and_replace(), _SUPPORTED_TP_PLANS, 0.21).
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import sys  # noqa: E402

import sharded_models  # noqa: E402
import sharded_trace  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from hugging_face import look_at_no_padding  # noqa: E402
from peft import LoraConfig, inject_adapter_in_model  # noqa: E402
from sharded_layers import FIRST, LAST, TABLES, LayerTensorParallel, family  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import unset_fake_temporarily  # noqa: E402
from torch.distributed.tensor import Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402

TARGETS = {"olmo2": ("q_proj", "v_proj", "o_proj", "up_proj", "down_proj"), "t5": ("q", "v", "o", "wo")}


class AdaptedLayers(LayerTensorParallel):
    models = {name: family(name) for name in TARGETS}

    @staticmethod
    def cases(name):
        for case in LayerTensorParallel.cases(name):
            yield {**case, "lora_rank": 8, "lora_targets": ",".join(TARGETS[name]), "checkpoint": "none"}

    @staticmethod
    def wrap(model, case):
        with unset_fake_temporarily():
            model = inject_adapter_in_model(LoraConfig(r=case["lora_rank"], target_modules=case["lora_targets"].split(",")), model)
        for name, parameter in model.named_parameters():
            parameter.requires_grad = "lora_" in name
        return model

    def shard(self, model, mesh, case):
        group = mesh.get_group()
        for path, module in list(model.named_modules()):
            last = path.rpartition(".")[2]
            if last not in FIRST + LAST + ("q_proj", "k_proj", "v_proj", "o_proj") or "lora_" in path:
                continue
            base = getattr(module, "base_layer", module)
            if "self_attn" in path:
                gathers = last != "o_proj"
                parallelize_module(base, mesh, ColwiseParallel(output_layouts=Replicate()) if gathers else RowwiseParallel(input_layouts=Replicate()))
                continue
            first = last in FIRST
            self.share(base, group, reads=first, sums=not first)
            if base is not module:
                self.share(module.lora_B.default if first else module.lora_A.default, group, reads=first, sums=not first)
        for module in list(model.modules()):
            if hasattr(module, "relative_attention_bias"):
                self.scatter(module.relative_attention_bias, group)
        tables = [path for path, module in model.named_modules() if isinstance(module, nn.Embedding) and path.rpartition(".")[2] in TABLES]
        styles = {path: RowwiseParallel(input_layouts=Replicate()) for path in tables}
        parallelize_module(model, mesh, styles | {"lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
        for path in [*tables[1:], *(["lm_head"] if model.config.model_type == "t5" else [])]:
            model.get_submodule(path).weight = model.get_submodule(tables[0]).weight
        for one in (*model.parameters(), *model.buffers()):
            one.detach()   # those that nothing changed are seen here first
        return model

    @staticmethod
    def parameters(model):
        return [one for one in model.parameters() if one.requires_grad]


if __name__ == "__main__":
    transformers.masking_utils.find_packed_sequence_indices = lambda position_ids: None
    look_at_no_padding(transformers.masking_utils)
    sharded_trace.pretend_streams(16)
    torch.Tensor.record_stream = lambda *_: None
    sharded_models.write(sharded_models.Path(sys.argv[1]), AdaptedLayers())
