#!/usr/bin/env python3
"""Compares wick's stages that change levels with torchvision.transforms.v2.functional on uint8 tensors.

color.py PROGRAM SCRATCH

WICK_TORCHVISION_SEED is what the pictures are drawn from.

PROGRAM is tests/torchvision/color.cpp, compiled. Pictures are made here: gradients, noise, shapes, flat ones, of sizes from 1 to 4,000.
Each must be within one level everywhere and within 0.2 on average. A line per stage, and 1 where one was not.
"""

import os
import subprocess
import sys

import numpy as np
import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

torch.set_num_threads(1)


class Wick:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, what, picture, planar):
        """`picture` is [H, W, C] of uint8; what comes back is one, too, or the text of an error."""
        h, w, c = picture.shape
        self.process.stdin.write(f"{what} {w} {h} {c} {int(planar)}\n".encode())
        self.process.stdin.write(picture.tobytes())
        self.process.stdin.flush()
        line = self.process.stdout.readline().decode()
        if line.startswith("error "):
            return line[6:].strip()
        w, h, c = map(int, line.split())
        raw = np.frombuffer(self.process.stdout.read(w * h * c), np.uint8)
        return raw.reshape(c, h, w).transpose(1, 2, 0) if planar else raw.reshape(h, w, c)


def photograph(rng, width, height, channels, kind):
    """Gradients, shapes and noise, as a camera would see them; or noise alone; or next to no levels."""
    if kind == "noise":
        return rng.integers(0, 256, (height, width, channels), np.uint8)
    if kind == "flat":
        return np.full((height, width, channels), rng.integers(0, 256), np.uint8)
    if kind == "two":
        return rng.choice(rng.integers(0, 256, 2).astype(np.uint8), (height, width, channels))
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    out = np.empty((height, width, channels), np.float32)
    for c in range(channels):
        a, b = rng.uniform(-1, 1, 2)
        out[..., c] = 128 + 90 * (a * x / width + b * y / height) + 30 * np.sin(x / rng.uniform(2, 60) + c)
    for _ in range(8):
        cx, cy, r = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(1, max(2, min(width, height) / 3))
        out[(x - cx) ** 2 + (y - cy) ** 2 < r * r] = rng.uniform(0, 255, channels)
    return np.clip(out + rng.normal(0, 6, out.shape), 0, 255).astype(np.uint8)


SIZES = [(1, 1), (1, 7), (9, 1), (2, 2), (3, 2), (3, 3), (4, 5), (17, 16), (63, 64), (65, 31), (224, 224), (500, 375), (4000, 3), (2, 4000)]
LARGE = [(4000, 3000)]


def cases(rng, w, h):
    """wick's words, and the same by torchvision."""
    yield "invert", F.invert
    for bits in (0, 1, 3, 5, 8):
        yield f"posterize {bits}", lambda t, bits=bits: F.posterize(t, bits)
    for threshold in (0, 0.5, 100, 127.5, 255):
        yield f"solarize {threshold}", lambda t, threshold=threshold: F.solarize(t, threshold)
    yield "autocontrast", F.autocontrast
    yield "equalize", F.equalize
    for f in (0, 0.3, 1, round(float(rng.uniform(0, 3)), 4)):
        yield f"adjust_brightness {f}", lambda t, f=f: F.adjust_brightness(t, f)
        yield f"adjust_contrast {f}", lambda t, f=f: F.adjust_contrast(t, f)
        yield f"adjust_saturation {f}", lambda t, f=f: F.adjust_saturation(t, f)
        yield f"adjust_sharpness {f}", lambda t, f=f: F.adjust_sharpness(t, f)
    for turn in (-0.5, 0, 0.1, round(float(rng.uniform(-0.5, 0.5)), 4)):
        yield f"adjust_hue {turn}", lambda t, turn=turn: F.adjust_hue(t, turn)
    for kx, ky in ((1, 1), (3, 3), (5, 3), (1, 9), (23, 23)):
        if kx // 2 < w and ky // 2 < h:
            for sigma in (0.1, 0.8, 2.0, round(float(rng.uniform(0.1, 9)), 3)):
                yield f"gaussian_blur {kx} {ky} {sigma}", lambda t, k=(kx, ky), s=sigma: F.gaussian_blur(t, list(k), [s, s])
    yield "grayscale 3", lambda t: F.rgb_to_grayscale(t, 3)
    nw, nh = int(rng.integers(1, 300)), int(rng.integers(1, 300))
    yield f"resize_nearest {nh} {nw}", lambda t: F.resize(t, [nh, nw], InterpolationMode.NEAREST_EXACT)


def main():
    wick = Wick(sys.argv[1])
    rng = np.random.default_rng(int(os.environ.get("WICK_TORCHVISION_SEED", "1")))
    worst, faults, compared = {}, [], 0
    plan = [(size, kind) for size in SIZES for kind in ("photograph", "noise", "flat", "two")] + [(size, "photograph") for size in LARGE]
    for (w, h), kind in plan:
        for channels in (1, 3):
            picture = photograph(rng, w, h, channels, kind)
            tensor = torch.from_numpy(picture).permute(2, 0, 1).contiguous()
            for n, (what, function) in enumerate(cases(rng, w, h)):
                if (w, h) in LARGE and n % 5:
                    continue
                if channels == 1 and what.startswith(("adjust_hue", "adjust_saturation")):
                    continue  # torchvision leaves gray alone, too
                expected = function(tensor).permute(1, 2, 0).numpy()
                got = wick(what, picture, planar=n % 2 == 0)
                name = what.split()[0]
                compared += 1
                if isinstance(got, str) or got.shape != expected.shape:
                    faults.append(f"{what} of {w} x {h} x {channels} {kind}: {got if isinstance(got, str) else got.shape}, not {expected.shape}")
                    continue
                apart = np.abs(got.astype(int) - expected)
                greatest, mean = int(apart.max()), float(apart.mean())
                worst[name] = tuple(map(max, worst.get(name, (0, 0.0)), (greatest, mean)))
                if greatest > 1 or mean > 0.2:
                    faults.append(f"{what} of {w} x {h} x {channels} {kind}: {greatest} levels apart, {mean:.3f} on average")
    for name, (greatest, mean) in worst.items():
        print(f"{name}: at most {greatest} apart, {mean:.4f} on average")
    for fault in faults[:40]:
        print(fault)
    print(f"{compared} compared, {len(faults)} faults")
    return 1 if faults or not compared else 0


sys.exit(main())
