"""Transforms of pictures by the names of torchvision.transforms. They run in C++, without the GIL.

A list of them goes to wick.image_folder(), wick.tar() and wick.csv(). Without Normalize a batch is uint8 [N, C, H, W], with it
float32. ToTensor has no counterpart: pictures are tensors, and Normalize's mean and std are for pixels in [0, 1] all the same.
"""

from ._wick import (
    AutoAugment,
    CenterCrop,
    ColorJitter,
    GaussianBlur,
    Grayscale,
    Normalize,
    Pad,
    RandAugment,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    Transform,
    TrivialAugmentWide,
)

__all__ = [
    "AutoAugment",
    "CenterCrop",
    "ColorJitter",
    "GaussianBlur",
    "Grayscale",
    "Normalize",
    "Pad",
    "RandAugment",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "Transform",
    "TrivialAugmentWide",
]
