"""Training steps of networks that libraries have, small: what step_cases.py is for steps written by hand.

Each makes (modules, inputs, program) at a batch, as there. A library is imported by what needs it alone.
"""
import torch
import torch.nn.functional as F
from torch import nn

from step_cases import usual

MAKERS = {}


def network(make):
    MAKERS[make.__name__] = make
    return make


def known(name, make):
    MAKERS[name] = make


def images(batch, side=64, channels=3):
    return torch.randn(batch, channels, side, side)


def classes(batch):
    return torch.zeros(batch, dtype=torch.long)


def tokens(batch, length=24):
    return torch.zeros(batch, length, dtype=torch.long)


def crossed(modules, x, wanted):
    return F.cross_entropy(modules[0](x), wanted)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3)


def of_timm(name, side, **options):
    def make(batch):
        import timm
        return (timm.create_model(name, num_classes=10, **options),), (images(batch, side), classes(batch)), usual(crossed, adamw)
    known(f"timm_{name}", make)


for _name, _side in (("convnext_atto", 64), ("efficientnet_b0", 64), ("mobilenetv3_small_050", 64), ("vit_tiny_patch16_224", 224), ("regnetx_002", 64),
                     ("levit_128s", 224), ("poolformer_s12", 64), ("edgenext_xx_small", 64), ("ghostnet_100", 64), ("pvt_v2_b0", 64),
                     ("xcit_nano_12_p16_224", 224), ("convit_tiny", 224), ("mobilevit_xxs", 64), ("repvgg_a0", 64), ("crossvit_9_240", 240),
                     ("fastvit_t8", 64), ("visformer_tiny", 224), ("eca_nfnet_l0", 64), ("swin_tiny_patch4_window7_224", 224), ("mixer_s32_224", 224),
                     ("hrnet_w18_small", 64), ("coat_lite_tiny", 224), ("focalnet_tiny_srf", 64)):
    of_timm(_name, _side)


def of_torchvision(name, shape, loss=crossed, **options):
    def make(batch):
        import torchvision
        return (torchvision.models.get_model(name, weights=None, **options),), (torch.randn(batch, *shape), classes(batch)), usual(loss)
    known(f"torchvision_{name}", make)


def with_second_head(modules, x, wanted):
    logits, *others = modules[0](x)
    return F.cross_entropy(logits, wanted) + 0.4 * sum(F.cross_entropy(other, wanted) for other in others)


for _name in ("resnet18", "shufflenet_v2_x0_5", "mnasnet0_5", "squeezenet1_1", "densenet121"):
    of_torchvision(_name, (3, 64, 64))
of_torchvision("googlenet", (3, 96, 96), with_second_head, init_weights=False, aux_logits=True)
of_torchvision("r3d_18", (3, 4, 32, 32))
of_torchvision("swin3d_t", (3, 4, 64, 64))


def segmented(modules, x, wanted):
    found = modules[0](x)
    return sum(F.cross_entropy(one, wanted) for one in (found.values() if isinstance(found, dict) else [found]))


@network
def torchvision_lraspp(batch):
    import torchvision
    net = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return (net,), (images(batch), torch.zeros(batch, 64, 64, dtype=torch.long)), usual(segmented)


@network
def torchvision_deeplab(batch):
    import torchvision
    net = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5, aux_loss=True)
    return (net,), (images(batch), torch.zeros(batch, 64, 64, dtype=torch.long)), usual(segmented)


def of_detection(name, **options):
    def make(batch):
        import torchvision
        net = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5, **options)
        pictures = [torch.rand(3, 64, 80) for _ in range(batch)]
        targets = [{"boxes": torch.tensor([[4., 4, 30, 30], [8, 10, 50, 60]]), "labels": torch.tensor([1, 2])} for _ in range(batch)]
        if name.startswith("maskrcnn"):
            for target in targets:
                target["masks"] = torch.zeros(2, 64, 80, dtype=torch.uint8)
        if name.startswith("keypoint"):
            for target in targets:
                target["keypoints"], target["labels"] = torch.ones(2, 17, 3), torch.ones(2, dtype=torch.long)
        return (net,), (pictures, targets), usual(lambda modules, pictures, targets: sum(modules[0](pictures, targets).values()))
    known(f"torchvision_{name}", make)


of_detection("fcos_resnet50_fpn", min_size=96, max_size=128)
of_detection("retinanet_resnet50_fpn", min_size=96, max_size=128)
of_detection("ssdlite320_mobilenet_v3_large")
of_detection("fasterrcnn_mobilenet_v3_large_320_fpn", min_size=96, max_size=128)
of_detection("maskrcnn_resnet50_fpn", min_size=96, max_size=128)


SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 200, "max_position_embeddings": 64}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def hugging_face(kind, values, **options):
    import transformers
    # A tensor without values cannot say that its positions follow each other.
    transformers.masking_utils.find_packed_sequence_indices = lambda position_ids: None
    kind = getattr(transformers, kind)
    config = kind.config_class(**values)
    for name, value in options.items():
        setattr(config, name, value)
    return kind(config).train()


def of_transformers(kind, values, **options):
    def make(batch):
        def loss(modules, ids, labels):
            return modules[0](input_ids=ids, labels=labels).loss
        return (hugging_face(kind, values, **options),), (tokens(batch), tokens(batch)), usual(loss, adamw)
    known(f"transformers_{kind}", make)


GROUPED = SMALL | TOKENS | {"num_key_value_heads": 2}
of_transformers("BertForMaskedLM", SMALL)
of_transformers("LlamaForCausalLM", GROUPED)
of_transformers("GPT2LMHeadModel", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 200, "n_positions": 64, **TOKENS})
of_transformers("Gemma2ForCausalLM", GROUPED | {"head_dim": 16, "sliding_window": 16})
of_transformers("T5ForConditionalGeneration", {"d_model": 64, "d_ff": 128, "d_kv": 16, "num_layers": 2, "num_heads": 4, "vocab_size": 200, "decoder_start_token_id": 0})
of_transformers("BartForConditionalGeneration", {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
                "encoder_attention_heads": 4, "decoder_attention_heads": 4, "vocab_size": 200, "max_position_embeddings": 64, **TOKENS})
of_transformers("MixtralForCausalLM", GROUPED | {"num_local_experts": 4, "experts_implementation": "eager"})
of_transformers("DebertaV2ForMaskedLM", SMALL)
of_transformers("MambaForCausalLM", {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 200, "state_size": 8, **TOKENS})
of_transformers("BloomForCausalLM", {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 200, **TOKENS})
of_transformers("ElectraForMaskedLM", SMALL | {"embedding_size": 32})
of_transformers("FalconForCausalLM", SMALL | TOKENS)


@network
def transformers_whisper(batch):
    net = hugging_face("WhisperForConditionalGeneration", {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
                       "encoder_attention_heads": 4, "decoder_attention_heads": 4, "vocab_size": 200, "max_source_positions": 32, "max_target_positions": 32,
                       "decoder_start_token_id": 1, **TOKENS})
    return (net,), (torch.randn(batch, 80, 64), tokens(batch)), usual(lambda modules, x, labels: modules[0](input_features=x, labels=labels).loss, adamw)


@network
def transformers_wav2vec2(batch):
    net = hugging_face("Wav2Vec2ForCTC", {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 32,
                       "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "mask_time_prob": 0.0,
                       "layerdrop": 0.0})  # which layers are left out is drawn at random

    def loss(modules, x, wanted):
        frames = modules[0](x).logits.log_softmax(-1).transpose(0, 1)
        return frames.mean() + 0 * wanted.float().mean()
    return (net,), (torch.randn(batch, 4000), classes(batch)), usual(loss, adamw)


@network
def transformers_clip(batch):
    net = hugging_face("CLIPModel", {"text_config": SMALL | TOKENS, "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                       "num_attention_heads": 4, "image_size": 32, "patch_size": 8}, "projection_dim": 32})
    return (net,), (tokens(batch), images(batch, 32)), usual(lambda modules, ids, x: modules[0](input_ids=ids, pixel_values=x, return_loss=True).loss, adamw)


@network
def transformers_segformer(batch):
    net = hugging_face("SegformerForSemanticSegmentation", {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32, "num_labels": 5})
    return (net,), (images(batch), torch.zeros(batch, 64, 64, dtype=torch.long)), usual(lambda modules, x, y: modules[0](pixel_values=x, labels=y).loss, adamw)


@network
def transformers_videomae(batch):
    net = hugging_face("VideoMAEForVideoClassification", {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32,
                       "patch_size": 8, "num_frames": 4, "num_labels": 5})
    return (net,), (torch.randn(batch, 4, 3, 32, 32), classes(batch)), usual(lambda modules, x, y: modules[0](pixel_values=x, labels=y).loss, adamw)


def adapted(name, config_of):
    def make(batch):
        import peft
        net = peft.get_peft_model(hugging_face("LlamaForCausalLM", GROUPED), config_of(peft))
        return (net,), (tokens(batch), tokens(batch)), usual(lambda modules, ids, labels: modules[0](input_ids=ids, labels=labels).loss, adamw)
    known(f"peft_{name}", make)


adapted("lora", lambda peft: peft.LoraConfig(r=4, target_modules="all-linear", lora_dropout=0.1, task_type="CAUSAL_LM"))
adapted("dora", lambda peft: peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], use_dora=True, task_type="CAUSAL_LM"))
adapted("ia3", lambda peft: peft.IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"))
adapted("prompt", lambda peft: peft.PromptTuningConfig(num_virtual_tokens=5, task_type="CAUSAL_LM"))
adapted("prefix", lambda peft: peft.PrefixTuningConfig(num_virtual_tokens=5, task_type="CAUSAL_LM"))


def denoised(modules, x, noise, at, *beside):
    return F.mse_loss(modules[0](x + noise, at, *beside).sample, noise)


@network
def diffusers_unet(batch):
    from diffusers import UNet2DModel
    net = UNet2DModel(sample_size=32, block_out_channels=(32, 64), norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                      up_block_types=("AttnUpBlock2D", "UpBlock2D"), layers_per_block=1)
    return (net,), (images(batch, 32), images(batch, 32), classes(batch)), usual(denoised, adamw)


@network
def diffusers_unet_conditioned(batch):
    from diffusers import UNet2DConditionModel
    net = UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), norm_num_groups=8, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                               up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), layers_per_block=1, cross_attention_dim=32, attention_head_dim=4)
    return (net,), (images(batch, 16, 4), images(batch, 16, 4), classes(batch), torch.randn(batch, 7, 32)), usual(denoised, adamw)


@network
def diffusers_autoencoder(batch):
    from diffusers import AutoencoderKL

    def loss(modules, x):
        posterior = modules[0].encode(x).latent_dist
        return F.mse_loss(modules[0].decode(posterior.sample()).sample, x) + 1e-4 * posterior.kl().mean()
    net = AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=8, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
    return (net,), (images(batch, 32),), usual(loss, adamw)


@network
def diffusers_dit(batch):
    from diffusers import DiTTransformer2DModel
    net = DiTTransformer2DModel(num_attention_heads=4, attention_head_dim=16, in_channels=4, num_layers=2, sample_size=16, num_embeds_ada_norm=100, norm_num_groups=4)

    def loss(modules, x, at, labels):
        return F.mse_loss(modules[0](x, timestep=at, class_labels=labels).sample[:, :4], x)
    return (net,), (images(batch, 16, 4), classes(batch), classes(batch)), usual(loss, adamw)


def of_segmentation(kind, encoder):
    def make(batch):
        import segmentation_models_pytorch as smp
        net, dice = getattr(smp, kind)(encoder, encoder_weights=None, classes=3), smp.losses.DiceLoss("multiclass")
        return (net,), (images(batch), torch.zeros(batch, 64, 64, dtype=torch.long)), usual(lambda modules, x, y: dice(modules[0](x), y), adamw)
    known(f"segmentation_{kind}", make)


of_segmentation("Unet", "resnet18")
of_segmentation("DeepLabV3Plus", "mobilenet_v2")
of_segmentation("FPN", "efficientnet-b0")
of_segmentation("Linknet", "resnet18")
of_segmentation("UPerNet", "resnet18")


def cases(names=()):
    for name, make in MAKERS.items():
        if not names or name in names:
            yield name, make
