#!/usr/bin/env python3
"""Compares pixels with Pillow's antialiased resize of the same crops of the same files.

    pillow.py DIR

DIR is what bench_images --pixels wrote: for rrc, val and large what was done to each picture (.txt), wick's pixels when
it decodes exactly (.exact) and as usual (.draft), and val's pixels of the Python loaders (val.NAME). Prints a table and a line RESULT images_pixels. Needs Pillow.
"""

import math
import os
import sys

from PIL import Image, ImageChops

SIZE = 224


def pictures(path, count):
    """`count` pictures of raw RGB bytes, as far as there are any."""
    with open(path, "rb") as f:
        for _ in range(count):
            data = f.read(SIZE * SIZE * 3)
            if len(data) < SIZE * SIZE * 3:
                return
            yield Image.frombytes("RGB", (SIZE, SIZE), data)


def difference(a, b):
    """Mean and greatest absolute difference, and mean squared difference, of all levels."""
    histogram = ImageChops.difference(a, b).histogram()
    counts = [sum(histogram[level + 256 * c] for c in range(3)) for level in range(256)]
    n = sum(counts)
    return (sum(level * k for level, k in enumerate(counts)) / n, max(level for level, k in enumerate(counts) if k),
            sum(level * level * k for level, k in enumerate(counts)) / n)


def of_pillow(path, source, size, window, mirrored):
    with Image.open(path) as picture:
        x, y, w, h = source
        cut = picture.convert("RGB").crop((x, y, x + w, y + h)).resize(size, Image.BILINEAR)
    x, y, w, h = window
    cut = cut.crop((x, y, x + w, y + h))
    return cut.transpose(Image.FLIP_LEFT_RIGHT) if mirrored else cut


def plans(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            name, numbers = line.rstrip("\n").split("\t")
            n = [int(v) for v in numbers.split()]
            yield name, n[0:4], tuple(n[4:6]), n[6:10], n[10]


def against(pillow, given):
    each = [difference(a, b) for a, b in zip(pillow, given)]
    if not each:
        return None
    return sum(d[0] for d in each) / len(each), max(d[1] for d in each)


def main():
    place, results = sys.argv[1], []
    if not any(name.endswith(".txt") for name in os.listdir(place)):
        return
    print(f"\n{'':34} {'mean':>7} {'max':>5}   in levels of 255, against Pillow {Image.__version__}")

    def say(name, pair):
        if pair is None:
            return
        print(f"{name:34} {pair[0]:7.3f} {pair[1]:5}")
        results.append(f"{name.replace(' ', '_')}_mean={pair[0]:.3f} {name.replace(' ', '_')}_max={pair[1]}")

    for workload in ("rrc", "val", "large"):
        if not os.path.exists(f"{place}/{workload}.txt"):
            continue
        done = list(plans(f"{place}/{workload}.txt"))
        exact = list(pictures(f"{place}/{workload}.exact", len(done)))
        draft = list(pictures(f"{place}/{workload}.draft", len(done)))
        pillow = [of_pillow(*p) for p in done]
        if len(exact) != len(done) or len(draft) != len(done):
            sys.exit(f"pillow.py: {workload}: {len(done)} plans, {len(exact)} and {len(draft)} pictures")
        say(f"{workload} wick exact", against(pillow, exact))
        say(f"{workload} wick", against(pillow, draft))
        noise, upsampled = [], 0
        for plan, a, b in zip(done, exact, draft):
            mean, _, squared = difference(a, b)
            _, source, size, _, _ = plan
            if squared == 0:
                continue
            noise.append(10 * math.log10(255 * 255 / squared))
            # From half the size on a smaller decode would have fewer pixels than the output.
            upsampled += max(size[0] / source[2], size[1] / source[3]) > 0.5
        if noise:
            print(f"{workload}: {len(noise)} of {len(done)} were decoded smaller: PSNR against exact {sum(noise) / len(noise):.1f} dB "
                  f"(least {min(noise):.1f}), {upsampled} of them too small for the output")
            results.append(f"{workload}_psnr={sum(noise) / len(noise):.2f} {workload}_psnr_least={min(noise):.2f}")
        results.append(f"{workload}_scaled={len(noise)} {workload}_upsampled={upsampled} {workload}_pictures={len(done)}")
    if os.path.exists(f"{place}/val.txt"):
        # The Python loaders give val's pictures in the order of the sorted files.
        done = sorted(plans(f"{place}/val.txt"))
        pillow = [of_pillow(*p) for p in done[:64]]
        for name in sorted(os.listdir(place)):
            if name.startswith("val.") and name not in ("val.txt", "val.exact", "val.draft"):
                say(f"val {name[4:]}", against(pillow, pictures(f"{place}/{name}", len(pillow))))
    if results:
        print("RESULT images_pixels " + " ".join(results))


if __name__ == "__main__":
    main()
