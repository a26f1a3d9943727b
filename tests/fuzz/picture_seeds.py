#!/usr/bin/env python3
"""picture_seeds.py FOLDER: small pictures of every kind for tests/fuzz/pictures.cpp to begin with, made by Pillow, each with
the 16 bytes in front that choose what is done to it. Exit code 77 says that there is no Pillow."""

import io
import random
import sys
from pathlib import Path

try:
    from PIL import Image
except ImportError:
    sys.exit(77)

CHOICES = 16
LIBJPEG_TURBO, MEND, TRUNCATED, EXACT, ORIENT, NORMALIZE, PLANAR = 1, 2, 4, 8, 16, 32, 64


def photo(mode, width, height, dice):
    """Gradients and noise."""
    bands = []
    for _ in Image.new(mode, (1, 1)).getbands():
        across, down, noise = dice.randrange(-8, 9), dice.randrange(-8, 9), dice.choice([1, 20])
        data = bytes((x * across + y * down + dice.randrange(noise)) & 255 for y in range(height) for x in range(width))
        bands.append(Image.frombytes("L", (width, height), data))
    return bands[0].convert(mode) if len(bands) == 1 else Image.merge(mode, bands)


def encoded(picture, kind, **options):
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def exif(orientation):
    out = Image.Exif()
    out[0x0112] = orientation
    return out.tobytes()


def sampled_the_other_way(jpeg):
    """4:2:2 as 4:4:0: as many blocks in a square of whole units."""
    at = next(i for i in range(len(jpeg)) if jpeg[i] == 0xFF and jpeg[i + 1] in (0xC0, 0xC2)) + 11
    return jpeg[:at] + b"\x12" + jpeg[at + 1 :]


def files(dice):
    for width, height in (1, 1), (16, 16), (17, 33), (40, 28), (300, 2):
        rgb = photo("RGB", width, height, dice)
        for subsampling in 0, 1, 2:
            for progressive in False, True:
                yield encoded(rgb, "JPEG", quality=dice.choice([5, 60, 95]), subsampling=subsampling, progressive=progressive)
        for mode in "L", "CMYK":
            for progressive in False, True:
                yield encoded(photo(mode, width, height, dice), "JPEG", quality=50, progressive=progressive)
        for mode in "1", "L", "LA", "P", "RGB", "RGBA", "I;16":
            picture = photo("L", width, height, dice).convert("I").convert("I;16") if mode == "I;16" else photo(mode, width, height, dice)
            yield encoded(picture, "PNG")
        yield encoded(photo("P", width, height, dice), "PNG", transparency=0, bits=4)
        yield encoded(rgb.convert("P"), "GIF")
        for mode in "1", "L", "P", "RGB":
            yield encoded(photo(mode, width, height, dice), "BMP")
        yield encoded(photo("RGBA", width, height, dice), "BMP")
    square = photo("RGB", 32, 32, dice)
    for progressive in False, True:
        yield sampled_the_other_way(encoded(square, "JPEG", quality=30, subsampling=1, progressive=progressive))
    frames = [photo("P", 20, 14, dice) for _ in range(3)]
    yield encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=10)
    yield encoded(frames[0], "GIF", transparency=3, interlace=1)
    for orientation in range(1, 9):
        yield encoded(photo("RGB", 21, 13, dice), "JPEG", quality=40, exif=exif(orientation))
    whole = encoded(photo("RGB", 40, 40, dice), "JPEG", quality=80, icc_profile=bytes(200), comment=b"a comment")
    yield from (whole, whole[: len(whole) // 2], whole + b"more after it")
    yield from (b"", b"\xff", b"\xff\xd8", b"\xff\xd8\xff", b"GIF89a", b"BM", b"\x89PNG\r\n\x1a\n", bytes(100))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(1)
    for number, file in enumerate(files(dice)):
        for by_libjpeg_turbo in 0, LIBJPEG_TURBO:
            flags = by_libjpeg_turbo | MEND | sum(flag for flag in (TRUNCATED, EXACT, ORIENT, NORMALIZE, PLANAR) if dice.random() < 0.5)
            chosen = bytes([flags] + [dice.randrange(256) for _ in range(CHOICES - 1)])
            (folder / f"{number:03}_{by_libjpeg_turbo}").write_bytes(chosen + file)


main()
