"""Classifiers of images: small configurations and published ones, for family_steps.py."""
LABELS = {"num_labels": 100}
SMALL = {"hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 112, **LABELS}
LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "num_labels": 1000}
STAGES = {"hidden_sizes": [32, 64, 128, 256], "depths": [1, 1, 2, 1], **LABELS}
TOWERS = {"vision_config": {k: v for k, v in SMALL.items() if k not in LABELS} | {"intermediate_size": 768, "patch_size": 14}, "num_labels": 100}
FAMILIES = {
    "clip+images": ("CLIPForImageClassification", TOWERS, {"vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
                    "num_attention_heads": 16, "image_size": 336, "patch_size": 14}, "num_labels": 1000}),
    "siglip2+images": ("Siglip2ForImageClassification", {"vision_config": {"hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 2, "num_attention_heads": 3,
                       "patch_size": 14, "num_patches": 49}, "num_labels": 100}, {"vision_config": {"hidden_size": 1152, "intermediate_size": 4304,
                       "num_hidden_layers": 27, "num_attention_heads": 16}, "num_labels": 1000}),
    "siglip+images": ("SiglipForImageClassification", TOWERS, {"vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
                      "num_attention_heads": 16, "image_size": 384, "patch_size": 14}, "num_labels": 1000}),
    "convnext": ("ConvNextForImageClassification", STAGES | {"image_size": 112},
                 {"hidden_sizes": [128, 256, 512, 1024], "depths": [3, 3, 27, 3], "num_labels": 1000, "drop_path_rate": 0.1}),
    "convnext+dropped": ("ConvNextForImageClassification", STAGES | {"image_size": 112, "drop_path_rate": 0.2},
                         {"hidden_sizes": [192, 384, 768, 1536], "depths": [3, 3, 27, 3], "num_labels": 1000}),
    "convnextv2": ("ConvNextV2ForImageClassification", STAGES | {"image_size": 112},
                   {"hidden_sizes": [128, 256, 512, 1024], "depths": [3, 3, 27, 3], "num_labels": 1000}),
    "deit": ("DeiTForImageClassification", SMALL | {"intermediate_size": 768}, {"hidden_size": 192, "intermediate_size": 768, "num_attention_heads": 3, "num_labels": 1000}),
    "dinov2_with_registers": ("Dinov2WithRegistersForImageClassification", SMALL,
                              LARGE | {"patch_size": 14, "image_size": 518}),
    "regnet": ("RegNetForImageClassification", {"embedding_size": 16, "hidden_sizes": [32, 64, 128, 256], "depths": [1, 2, 1, 1], "groups_width": 16, **LABELS},
               {"layer_type": "x", "num_labels": 1000}),
    "resnet": ("ResNetForImageClassification", STAGES, {"depths": [3, 4, 23, 3], "num_labels": 1000}),
    "resnet+basic": ("ResNetForImageClassification", STAGES | {"layer_type": "basic", "hidden_sizes": [64, 128, 256, 512]},
                     {"layer_type": "basic", "hidden_sizes": [64, 128, 256, 512], "depths": [2, 2, 2, 2], "num_labels": 1000}),
    "segformer": ("SegformerForImageClassification", {"depths": [1, 1, 2, 1], **LABELS},
                  {"depths": [3, 4, 18, 3], "hidden_sizes": [64, 128, 320, 512], "num_labels": 1000}),
    "swin": ("SwinForImageClassification", {"embed_dim": 48, "depths": [2, 2, 2], "num_heads": [3, 6, 12], "image_size": 112, **LABELS},
             {"embed_dim": 128, "depths": [2, 2, 18, 2], "num_heads": [4, 8, 16, 32], "num_labels": 1000}),
}
FAMILIES["vit_mae"] = ("ViTMAEForPreTraining", {k: v for k, v in SMALL.items() if k not in LABELS} |
                       {"intermediate_size": 768, "decoder_hidden_size": 128, "decoder_num_hidden_layers": 2, "decoder_num_attention_heads": 4, "decoder_intermediate_size": 512},
                       {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "norm_pix_loss": True})
FAMILIES |= {
    "efficientnet": ("EfficientNetForImageClassification", {"image_size": 96, "width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280, **LABELS},
                     {"image_size": 260, "width_coefficient": 1.1, "depth_coefficient": 1.2, "hidden_dim": 1408, "num_labels": 1000, "depthwise_padding": [5, 8, 16]}),
    "mobilenet_v2": ("MobileNetV2ForImageClassification", {"image_size": 112, "depth_multiplier": 0.5, **LABELS}, {"depth_multiplier": 1.4, "num_labels": 1001}),
    "mobilenet_v2+padded": ("MobileNetV2ForImageClassification", {"image_size": 96, "tf_padding": False, **LABELS}, {"depth_multiplier": 0.35, "num_labels": 1001}),
}
FAMILIES |= {
    "beit": ("BeitForImageClassification", SMALL | {"intermediate_size": 768, "use_relative_position_bias": True},
             LARGE | {"intermediate_size": 4096, "use_relative_position_bias": True, "use_shared_relative_position_bias": True, "use_mask_token": True, "layer_scale_init_value": 1e-5}),
    "beit+absolute": ("BeitForImageClassification", SMALL | {"intermediate_size": 768, "use_absolute_position_embeddings": True, "drop_path_rate": 0.0, "use_mean_pooling": False},
                      LARGE | {"intermediate_size": 4096, "layer_scale_init_value": 0.0}),
}
FAMILIES |= {
    "ijepa": ("IJepaForImageClassification", SMALL | {"intermediate_size": 768}, LARGE | {"intermediate_size": 4096, "patch_size": 14}),
    "vit_msn": ("ViTMSNForImageClassification", SMALL | {"intermediate_size": 768}, LARGE | {"intermediate_size": 4096}),
}
FAMILIES["swinv2"] = ("Swinv2ForImageClassification", FAMILIES["swin"][1], {"embed_dim": 128, "depths": [2, 2, 18, 2], "num_heads": [4, 8, 16, 32], "image_size": 256,
                      "window_size": 16, "num_labels": 1000})
HEADS = ("clip+images", "siglip+images", "siglip2+images")   # of families whose first class is another
SIDE = 112   # of an image, where the configuration leaves it open
OPEN = ("regnet", "resnet", "resnet+basic", "segformer")
DIMS = {name: {"image": SIDE} for name in OPEN}
