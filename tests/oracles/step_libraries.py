"""Training steps of more networks of libraries: volumes, sound, graphs, and others of those that step_networks.py has."""
import torch
import torch.nn.functional as F

from step_cases import usual
from step_graphs import ends
from step_networks import GROUPED, SMALL, TOKENS, adamw, adapted, classes, crossed, images, known, network, of_segmentation, of_timm, of_torchvision, of_transformers

for _name, _side in (("resnext26ts", 64), ("densenet121", 64), ("deit_tiny_patch16_224", 224), ("tf_efficientnetv2_b0", 64)):
    of_timm(_name, _side)
for _name in ("regnet_y_400mf", "convnext_tiny", "efficientnet_b0"):
    of_torchvision(_name, (3, 64, 64))
of_transformers("Qwen2ForCausalLM", GROUPED)
of_transformers("OPTForCausalLM", {"hidden_size": 64, "ffn_dim": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 200, "max_position_embeddings": 64,
                "word_embed_proj_dim": 64, **TOKENS})
of_transformers("GPTNeoXForCausalLM", SMALL | TOKENS)
of_transformers("AlbertForMaskedLM", SMALL | {"embedding_size": 32})
of_segmentation("UnetPlusPlus", "resnet18")
of_segmentation("MAnet", "resnet18")
of_segmentation("PSPNet", "resnet18")
adapted("loha", lambda peft: peft.LoHaConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
adapted("vera", lambda peft: peft.VeraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


def of_monai(kind, *arguments, **options):
    def make(batch):
        import monai
        net = getattr(monai.networks.nets, kind)(*arguments, **options)
        return (net,), (torch.randn(batch, 1, 32, 32, 32), torch.zeros(batch, 32, 32, 32, dtype=torch.long)), usual(crossed, adamw)
    known(f"monai_{kind}", make)


of_monai("UNet", 3, 1, 2, (8, 16, 32), (2, 2), num_res_units=2)
of_monai("SegResNet", 3, 8, 1, 2)
of_monai("VNet", 3, 1, 2)
of_monai("AttentionUnet", 3, 1, 2, (8, 16, 32), (2, 2))


def heard(make_net, shape):
    def make(batch):
        def loss(modules, x, wanted):
            found = modules[0](x)
            return F.cross_entropy(found.flatten(1) if found.dim() > 2 else found, wanted)
        return (make_net(),), (torch.randn(batch, *shape), classes(batch)), usual(loss, adamw)
    return make


def of_torchaudio(kind, shape, **options):
    def net():
        import torchaudio
        return getattr(torchaudio.models, kind)(**options)
    known(f"torchaudio_{kind}", heard(net, shape))


of_torchaudio("Wav2Letter", (1, 4000), num_classes=12)
of_torchaudio("DeepSpeech", (1, 20, 16), n_feature=16, n_hidden=64, n_class=12)
of_torchaudio("ConvTasNet", (1, 2000), num_sources=2, enc_num_feats=32, msk_num_feats=16, msk_num_hidden_feats=32, msk_num_layers=3, msk_num_stacks=2)


def of_geometric(kind, *arguments, **options):
    def make(batch):
        from torch_geometric.nn import models

        def loss(modules, x, wanted, source, target):
            return F.cross_entropy(modules[0](x, torch.stack([source, target])), wanted)
        source, target = ends(batch)
        ones = torch.ones_like(target)  # loops would be taken out
        return (getattr(models, kind)(*arguments, **options),), (torch.randn(batch, 16), classes(batch), source, ones), usual(loss, adamw)
    known(f"geometric_{kind}", make)


of_geometric("GCN", 16, 32, 2, 5, dropout=0.1)
of_geometric("GraphSAGE", 16, 32, 2, 5)
of_geometric("GAT", 16, 32, 2, 5, heads=4)
of_geometric("GIN", 16, 32, 2, 5)


@network
def diffusers_transformer_of_text(batch):
    from diffusers import PixArtTransformer2DModel
    net = PixArtTransformer2DModel(num_attention_heads=4, attention_head_dim=16, in_channels=4, out_channels=8, num_layers=2, sample_size=16, cross_attention_dim=64,
                                   caption_channels=32, norm_num_groups=4, use_additional_conditions=False)

    def loss(modules, x, at, text):
        found = modules[0](x, encoder_hidden_states=text, timestep=at, added_cond_kwargs={"resolution": None, "aspect_ratio": None}).sample
        return F.mse_loss(found[:, :4], x)
    return (net,), (images(batch, 16, 4), classes(batch), torch.randn(batch, 7, 32)), usual(loss, adamw)
