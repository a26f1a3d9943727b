"""Batches for PyTorch and NumPy from image folders, tar shards, lists, tokens and arrays.

    import wick
    from wick import transforms as T

    train = wick.image_folder(
        "photos/train", batch=256, seed=42,
        transforms=[T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize(mean, std)])
    for epoch in range(90):
        for images, labels in train:
            step(model, images, labels)
        print(train.report())

Decoding, transforms and batching run on threads of their own, without the GIL. Batches are PyTorch tensors where PyTorch
is installed, else NumPy arrays, without a copy. The order depends on the data, the seed and the epoch, never on timing.
"""

from . import transforms
from ._wick import (
    Epoch,
    Error,
    Loader,
    Report,
    SampleError,
    class_folder,
    class_names,
    csv,
    image_classes,
    image_folder,
    tar,
    tensors,
    tokens,
)

__all__ = [
    "Epoch",
    "Error",
    "Loader",
    "Report",
    "SampleError",
    "class_folder",
    "class_names",
    "csv",
    "image_classes",
    "image_folder",
    "tar",
    "tensors",
    "tokens",
    "transforms",
]
