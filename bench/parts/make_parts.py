#!/usr/bin/env python3
"""Makes a mask and boxes for each picture of a set of bench/images: FOLDER/small/*/*.jpg.

    make_parts.py FOLDER OUT

OUT/img/N.jpg (the pictures under a number), OUT/mask/N.png (palette PNGs with up to 21 classes, along the colors of the
picture, of 8 bits, as VOC's), OUT/boxes.txt (a line a box: N left top right bottom label). Needs Pillow.
"""

import glob
import os
import random
import shutil
import sys

from PIL import Image

CLASSES = 21


def main():
    folder, out = sys.argv[1:]
    files = sorted(glob.glob(os.path.join(folder, "small", "*", "*.jpg")))
    if not files:
        sys.exit(f"make_parts: no pictures in {folder}/small")
    numbers = random.Random(1)
    for name in ("img", "mask"):
        os.makedirs(os.path.join(out, name), exist_ok=True)
    size = 0
    with open(os.path.join(out, "boxes.txt"), "w") as boxes:
        for i, f in enumerate(files):
            shutil.copyfile(f, os.path.join(out, "img", f"{i:05}.jpg"))
            with Image.open(f) as picture:
                w, h = picture.size
                coarse = picture.convert("RGB").resize((w // 12, h // 12), Image.BOX)
                mask = coarse.resize((w, h), Image.BICUBIC).quantize(numbers.randint(4, CLASSES), dither=Image.Dither.NONE)
            path = os.path.join(out, "mask", f"{i:05}.png")
            mask.save(path, bits=8)
            size += os.path.getsize(path)
            for _ in range(numbers.randint(1, 12)):
                left, top = numbers.uniform(0, 0.8 * w), numbers.uniform(0, 0.8 * h)
                right, bottom = numbers.uniform(left + 8, w), numbers.uniform(top + 8, h)
                boxes.write(f"{i} {left:.2f} {top:.2f} {right:.2f} {bottom:.2f} {numbers.randrange(CLASSES)}\n")
    print(f"make_parts: {len(files)} pictures, {size / len(files) / 1000:.1f} KB a mask", file=sys.stderr)


if __name__ == "__main__":
    main()
