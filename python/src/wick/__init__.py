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

from . import _wick, transforms
from ._keywords import checked
from ._wick import Epoch, Error, Loader, Report, SampleError, __version__

class_folder = checked(_wick.class_folder)
class_names = checked(_wick.class_names)
csv = checked(_wick.csv)
image_classes = checked(_wick.image_classes)
image_folder = checked(_wick.image_folder)
tar = checked(_wick.tar)
tensors = checked(_wick.tensors)
tokens = checked(_wick.tokens)

__all__ = [
    "Epoch",
    "Error",
    "Loader",
    "Report",
    "SampleError",
    "__version__",
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
