#!/usr/bin/env python3
"""Compares wick's stages that change levels with torchvision.transforms.v2.functional on uint8 tensors.

color.py PROGRAM SCRATCH

WICK_TORCHVISION_SEED is what the pictures are drawn from.

PROGRAM is tests/torchvision/color.cpp, compiled. Pictures are parts of the JPEGs below WICK_TORCHVISION_PHOTOS, or
made here: gradients, noise, shapes, flat ones, of sizes from 1 to 4,000.
Each must be within one level everywhere and within 0.2 on average. A line per stage, and 1 where one was not.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import v2 as T
from torchvision.transforms.v2 import functional as F

torch.set_num_threads(1)
PHOTOS = sorted(Path(os.environ.get("WICK_TORCHVISION_PHOTOS", "/nowhere")).rglob("*.jp*g"))


class Wick:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, what, picture, planar):
        """`picture` is [H, W, C] of uint8; the result is one, too, or the text of an error."""
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
    """Part of one of WICK_TORCHVISION_PHOTOS' that is large enough, else gradients, shapes and noise; or noise alone; or next to no levels."""
    if kind == "noise":
        return rng.integers(0, 256, (height, width, channels), np.uint8)
    if kind == "flat":
        return np.full((height, width, channels), rng.integers(0, 256), np.uint8)
    if kind == "two":
        return rng.choice(rng.integers(0, 256, 2).astype(np.uint8), (height, width, channels))
    if PHOTOS:
        with Image.open(PHOTOS[rng.integers(len(PHOTOS))]) as picture:
            if picture.width >= width and picture.height >= height:
                x, y = int(rng.integers(picture.width - width + 1)), int(rng.integers(picture.height - height + 1))
                part = np.array(picture.convert("RGB" if channels == 3 else "L").crop((x, y, x + width, y + height)))
                return part.reshape(height, width, channels)
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
    ch, cw = int(rng.integers(1, h + 1)), int(rng.integers(1, w + 1))
    for i in range(5):
        yield f"five_crop {ch} {cw} {i}", lambda t, i=i: F.five_crop(t, [ch, cw])[i]
    for mode in ("nearest", "bilinear"):
        for _ in range(3):
            angle, scale = round(float(rng.uniform(-200, 200)), 3), round(float(rng.uniform(0.3, 3)), 3)
            shift = [int(rng.integers(-w, w + 1)) // 3, int(rng.integers(-h, h + 1)) // 3]
            shear = [round(float(rng.uniform(-60, 60)), 3), round(float(rng.uniform(-60, 60)), 3)]
            fill = [int(v) for v in rng.integers(0, 256, 3)]
            at = [None, [0, 0], [w // 3, h / 2]][int(rng.integers(3))]
            words = f"affine {angle} {shift[0]} {shift[1]} {scale} {shear[0]} {shear[1]} {mode} {fill[0]} {fill[1]} {fill[2]}" + (f" {at[0]} {at[1]}" if at else "")
            yield words, lambda t, a=(angle, shift, scale, shear), m=mode, f=fill, c=at: F.affine(t, *a, InterpolationMode(m), fill=f[: t.shape[0]], center=c)
        for angle in (0, 90, 180, -90, 270, 45, 450, round(float(rng.uniform(-200, 200)), 3)):
            for expand in (0, 1):
                yield f"rotate {angle} {mode} {expand} 1 99 255", lambda t, a=angle, m=mode, e=expand: F.rotate(t, a, InterpolationMode(m), bool(e), fill=[1, 99, 255][: t.shape[0]])
        if w > 9 and h > 9:
            start = [[0, 0], [w - 1, 0], [w - 1, h - 1], [0, h - 1]]
            end = [[int(v) for v in np.array(p) + (np.array([w, h]) / 2 - p) * rng.uniform(-0.2, 0.6, 2)] for p in start]
            flat = " ".join(str(v) for p in start + end for v in p)
            yield f"perspective {mode} 7 {flat}", lambda t, s=start, e=end, m=mode: F.perspective(t, s, e, InterpolationMode(m), fill=[7] * t.shape[0])


def augmented(rng, wick):
    """What rand_augment and its like draw: each result must be one of those that torchvision can give, and all of these must come."""
    picture = photograph(rng, 37, 29, 3, "photograph")
    tensor = torch.from_numpy(picture).permute(2, 0, 1).contiguous()
    for mode in ("nearest", "bilinear"):

        def results(of, steps, m):
            magnitudes, signed = of[1]
            values = magnitudes(steps, 29, 37)
            value = 0.0 if values is None else float(values[m])
            auto = T.RandAugment(interpolation=InterpolationMode(mode))
            for v in {value, -value} if signed else {value}:
                yield f"{of[0]} {v}", lambda t, v=v: auto._apply_image_or_video_transform(t, of[0], v, InterpolationMode(mode), {torch.Tensor: [0.0] * 3, "others": [0.0] * 3})

        single = [r for of in T.RandAugment._AUGMENTATION_SPACE.items() for r in results(of, 31, 9)]
        yield f"rand_augment {mode}", f"rand_augment {{}} 9 31 {mode}", picture, {name: f(tensor) for name, f in single}, 400
        wide = [r for of in T.TrivialAugmentWide._AUGMENTATION_SPACE.items() for m in range(4) for r in results(of, 4, m)]
        yield f"trivial_augment_wide {mode}", f"trivial_augment_wide {{}} 4 {mode}", picture, {name: f(tensor) for name, f in wide}, 1500
        if mode == "bilinear":
            continue
        for number, policy in enumerate((T.AutoAugmentPolicy.IMAGENET, T.AutoAugmentPolicy.CIFAR10, T.AutoAugmentPolicy.SVHN)):
            space, found = T.AutoAugment._AUGMENTATION_SPACE, {}
            for pair in T.AutoAugment(policy)._policies:
                ways = [[("", lambda t: t)] * (p < 1) + (list(results((name, space[name]), 10, m or 0)) if p > 0 else []) for name, p, m in pair]
                found |= {f"{a} {b}": g(f(tensor)) for a, f in ways[0] for b, g in ways[1]}
            yield f"auto_augment {number}", f"auto_augment {{}} {number}", picture, found, 3000


def compare_augmented(rng, wick, faults):
    for name, words, picture, possible, draws in augmented(rng, wick):
        possible = {key: t.permute(1, 2, 0).numpy().astype(int) for key, t in possible.items()}
        seen = set()
        for position in range(draws):
            got = wick(words.format(position), picture, planar=False).astype(int)
            fits = [key for key, p in possible.items() if np.abs(got - p).max() <= 1]
            seen.update(fits)
            if not fits:
                key, p = min(possible.items(), key=lambda item: np.abs(got - item[1]).mean())
                faults.append(f"{name} at position {position} is nothing of torchvision's; nearest to {key}, {np.abs(got - p).max()} apart")
        missing = set(possible) - seen
        if len(missing) > (0 if draws < 2000 else len(possible) / 10):  # of pairs some are rare
            faults.append(f"{name}: never drawn in {draws}: {sorted(missing)[:9]}")
        print(f"{name}: {len(seen)} of {len(possible)} results seen")


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
                # Torch's mean of a flat picture is off in the last bit, and then all of its pixels are by a level.
                enough = 1 if kind == "flat" and name == "adjust_contrast" else max(0.2, 1.01 / apart.size)
                if greatest > 1 or mean > enough:
                    faults.append(f"{what} of {w} x {h} x {channels} {kind}: {greatest} levels apart, {mean:.3f} on average")
    compare_augmented(rng, wick, faults)
    for name, (greatest, mean) in worst.items():
        print(f"{name}: at most {greatest} apart, {mean:.4f} on average")
    for fault in faults[:40]:
        print(fault)
    print(f"{compared} compared, {len(faults)} faults")
    return 1 if faults or not compared else 0


sys.exit(main())
