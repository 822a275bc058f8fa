"""Inputs of the networks of family_models.py."""
import torch


def images(batch, side=32, channels=3):
    return {"image": torch.randn(batch, channels, side, side)}


def tokens(batch, length=32, words=500):
    return {"tokens": torch.randint(0, words, (batch, length))}


def rows(batch, steps=32, width=48):
    return {"rows": torch.randn(batch, steps, width)}
