#!/usr/bin/env python3
"""Compares wick's mixup and cutmix with torchvision.transforms.v2.MixUp and CutMix, by the share and the point that those drew.

mixing.py PROGRAM SCRATCH

WICK_TORCHVISION_SEED is what pictures, shares and points are drawn from.

PROGRAM is tests/torchvision/mixing.cpp, compiled. torchvision mixes each sample of a batch with the one before it: of a batch of two, the
first with the second, which is what wick is asked to do. It gets float64 pictures: cutmix must have the same pixels, mixup those that
torchvision's are rounded to; labels must be within 1e-6. A line per stage, and 1 where one was not.
"""

import os
import subprocess
import sys

import numpy as np
import torch
from torchvision.transforms import v2

torch.set_num_threads(1)
CLASSES = 10
SIZES = [(1, 1), (1, 7), (9, 1), (2, 2), (3, 5), (31, 17), (64, 64), (224, 224), (500, 375), (2, 4000)]


class Wick:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, what, pictures, labels):
        h, w, c = pictures[0].shape
        self.process.stdin.write(f"{what} {CLASSES} {labels[0]} {labels[1]} {w} {h} {c}\n".encode())
        for picture in pictures:
            self.process.stdin.write(picture.tobytes())
        self.process.stdin.flush()
        pixels = np.frombuffer(self.process.stdout.read(w * h * c), np.uint8).reshape(h, w, c)
        return pixels, np.frombuffer(self.process.stdout.read(4 * CLASSES), np.float32)


def torchvision_mixes(kind, alpha, pictures, labels):
    """Pixels and label of the first of two, and the words that give wick the drawn numbers."""
    batch = torch.stack([torch.from_numpy(p).permute(2, 0, 1) for p in pictures]).double()
    points, shares = [], []
    randint, transform = torch.randint, kind(alpha=alpha, num_classes=CLASSES)
    sample = transform._dist.sample

    def keep_point(*args, **options):
        points.append(randint(*args, **options))
        return points[-1]

    def keep_share(*args):
        shares.append(sample(*args))
        return shares[-1]

    transform._dist.sample, torch.randint = keep_share, keep_point
    try:
        out, soft = transform(batch, torch.tensor(labels))
    finally:
        torch.randint = randint
    words = " ".join([repr(float(shares[0])), *(str(int(p)) for p in points)])
    return out[0].permute(1, 2, 0).numpy(), soft[0].numpy(), words


def main():
    wick = Wick(sys.argv[1])
    seed = int(os.environ.get("WICK_TORCHVISION_SEED", "1"))
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    faults, compared, worst = [], 0, {}
    for kind, name in ((v2.MixUp, "mixup"), (v2.CutMix, "cutmix")):
        for w, h in SIZES:
            for channels in (1, 3):
                for alpha in (0.05, 0.2, 1.0, 1.0, 1.0, 4.0):
                    pictures = [rng.integers(0, 256, (h, w, channels), np.uint8) for _ in range(2)]
                    labels = [int(x) for x in rng.integers(0, CLASSES, 2)]
                    expected, soft, words = torchvision_mixes(kind, alpha, pictures, labels)
                    pixels, shares = wick(f"{name} {words}", pictures, labels)
                    compared += 1
                    tie = np.abs(expected - np.floor(expected) - 0.5) < 1e-3
                    wrong = (pixels != np.floor(expected + 0.5)) & ~tie | (np.abs(pixels - expected) > 0.501)
                    apart = float(np.abs(shares - soft).max())
                    worst[name] = max(worst.get(name, 0.0), apart)
                    if wrong.any() or not apart <= 1e-6:
                        faults.append(f"{name} {words} of {w} x {h} x {channels}: {int(wrong.sum())} pixels, labels {apart:.2g} apart")
    for name, apart in worst.items():
        print(f"{name}: labels at most {apart:.2g} apart")
    for fault in faults[:40]:
        print(fault)
    print(f"{compared} compared, {len(faults)} faults")
    return 1 if faults or not compared else 0


sys.exit(main())
