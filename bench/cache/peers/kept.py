"""What both peers of bench/cache start from: the decoded pictures as wick keeps them, in FOLDER/pictures.u8.

A script's WORKLOAD is "HEIGHTxWIDTHxBATCH": the size of each picture, and how many a batch has.
"""

import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../images/peers"))
from peer import PIXELS, SIZE  # noqa: E402

COMPARED = PIXELS // 2  # pictures of which the whole is compared, and then the middle
MIDDLE = 112  # px, square


def numbers_of(workload):
    return [int(n) for n in workload.split("x")]


def load(workload, folder):
    height, width, _ = numbers_of(workload)
    return np.memmap(os.path.join(folder, "pictures.u8"), dtype=np.uint8, mode="r").reshape(-1, height, width, 3)


def check(epoch, pictures, dtype, white):
    """An epoch has as many pictures as there are, of the right size, with something on them, each cropped at random, and
    as light as what was kept."""
    count = total = 0
    for batch in epoch:
        if batch.shape[1:] != (SIZE, SIZE, 3) or batch.dtype != dtype:
            raise RuntimeError(f"a batch of {batch.shape}, {batch.dtype}")
        some = batch[:, ::16, ::16].reshape(len(batch), -1).astype(np.float32)
        # A crop of the sky may be of one color.
        if np.mean(some.std(axis=1) > 0) < 0.9 or len(np.unique(some, axis=0)) < 0.9 * len(batch):
            raise RuntimeError("pictures of one color, or the same picture again and again")
        count += len(batch)
        total += some.mean() * len(batch)
    light = pictures[:, ::16, ::16].mean() / 255
    if count != len(pictures) or abs(total / count / white - light) > 0.05:
        raise RuntimeError(f"{count} pictures of {len(pictures)}, lightness {total / count / white:.2f} instead of {light:.2f}")
