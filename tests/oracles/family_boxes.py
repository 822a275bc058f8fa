"""Families that find objects: small configurations, published ones and a step's inputs, for family_steps.py."""
import torch
from transformers.loss import loss_for_object_detection as losses

from workload import Workload

FAMILIES = {
    "detr": ("DetrForObjectDetection",
             {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "encoder_attention_heads": 4,
              "decoder_attention_heads": 4, "num_queries": 20, "num_labels": 91},
             {"backbone": "resnet101", "num_labels": 91}),
}
FAMILIES["detr+auxiliary"] = (FAMILIES["detr"][0], FAMILIES["detr"][1] | {"auxiliary_loss": True}, {"backbone": "resnet18", "num_labels": 91})
# Its widest maps are the first norm's, which keeps what it reads, in each of its expressions, by a name.
FAMILIES["detr+shallow"] = (FAMILIES["detr"][0], FAMILIES["detr"][1] | {"backbone": "resnet18"}, {"backbone": "resnet34", "num_labels": 91})
SIDE, BOXES = 384, 5   # of a square image, whose size the configuration leaves open; objects in each image
DIMS = {name: {"height": SIDE, "width": SIDE, "boxes": BOXES} for name in FAMILIES}


def matched(costs):
    """scipy's assignment: the host reads costs, which fake tensors have not."""
    queries, boxes = costs.shape
    return range(boxes), range(boxes)


def workload(model, batch):
    losses.linear_sum_assignment = matched
    losses.requires_backends = lambda *_: None   # scipy, then, need not be there
    inputs = {"pixel_values": torch.randn(batch, 3, SIDE, SIDE), "pixel_mask": torch.ones(batch, SIDE, SIDE, dtype=torch.int64)}
    for i in range(batch):
        inputs |= {f"class_labels{i}": torch.randint(0, 91, (BOXES,)), f"boxes{i}": torch.rand(BOXES, 4)}
    return Workload(model, inputs, loss="sum")


class Detector(torch.nn.Module):
    """A model that is given images, their mask, and each image's classes and boxes."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixel_values, pixel_mask, *targets):
        labels = [{"class_labels": classes, "boxes": boxes} for classes, boxes in zip(targets[::2], targets[1::2])]
        return self.model(pixel_values=pixel_values, pixel_mask=pixel_mask, labels=labels)
