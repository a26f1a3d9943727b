"""Transforms of pictures by the names of torchvision.transforms. They run in C++, without the GIL.

A list of them goes to wick.image_folder(), wick.tar() and wick.csv(). Without Normalize a batch is uint8 [N, C, H, W], with it
float32. ToTensor has no counterpart: pictures are tensors, and Normalize's mean and std are for pixels in [0, 1] all the same.
"""

import difflib
from typing import NoReturn

from . import _wick
from ._keywords import checked
from ._wick import Transform

AutoAugment = checked(_wick.AutoAugment)
CenterCrop = checked(_wick.CenterCrop)
ColorJitter = checked(_wick.ColorJitter)
GaussianBlur = checked(_wick.GaussianBlur)
Grayscale = checked(_wick.Grayscale)
Normalize = checked(_wick.Normalize)
Pad = checked(_wick.Pad)
RandAugment = checked(_wick.RandAugment)
RandomCrop = checked(_wick.RandomCrop)
RandomErasing = checked(_wick.RandomErasing)
RandomGrayscale = checked(_wick.RandomGrayscale)
RandomHorizontalFlip = checked(_wick.RandomHorizontalFlip)
RandomResizedCrop = checked(_wick.RandomResizedCrop)
RandomRotation = checked(_wick.RandomRotation)
RandomVerticalFlip = checked(_wick.RandomVerticalFlip)
Resize = checked(_wick.Resize)
TrivialAugmentWide = checked(_wick.TrivialAugmentWide)

_ELSEWHERE = {
    "Compose": "give the list of transforms itself",
    "ConvertImageDtype": "Normalize makes float32",
    "Lambda": "transforms run in C++; apply the function to the batch",
    "PILToTensor": "pictures become tensors without it",
    "ToDtype": "Normalize makes float32",
    "ToImage": "pictures become tensors without it",
    "ToTensor": "pictures become tensors without it, and Normalize makes float32",
}


def __getattr__(name: str) -> NoReturn:
    close = difflib.get_close_matches(name, __all__, 3)
    hint = _ELSEWHERE.get(name) or (f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(__all__)}")
    raise AttributeError(f"wick.transforms has no {name}: {hint}")


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
