#!/usr/bin/env python3
"""Makes the pictures of this benchmark from photographs: crops of 500 x 375 px, and of 2000 x 1500 px, as JPEG.

    make_set.py OUT --from FOLDER [--small N] [--large N]

Every JPEG below FOLDER that is large enough is taken; its name becomes the class. The same photographs give the same
crops. Needs Pillow.
"""

import argparse
import io
import os
import random
import sys

from PIL import Image

# The photographs among Debian's wallpapers; the others are drawn.
DEBIAN = {
    "mate-backgrounds": [
        f"usr/share/backgrounds/mate/nature/{name}.jpg"
        for name in "Aqua Blinds Dune FreshFlower Garden GreenMeadow LadyBird RainDrops Storm TwoWings Wood YellowFlower".split()
    ],
    "plasma-workspace-wallpapers": [
        f"usr/share/wallpapers/{name}/contents/images"
        for name in "BytheWater ColdRipple ColorfulCups EveningGlow FallenLeaf Grey Kite OneStandsOut Path Volna summer_1am".split()
    ],
}


def photographs(folders):
    """Paths of all JPEGs; links are other names of the same one."""
    found = []
    for root in folders:
        files = [root] if os.path.isfile(root) else sorted(
            os.path.join(place, f) for place, _, names in os.walk(root) for f in names)
        found += [f for f in files if f.lower().endswith((".jpg", ".jpeg")) and not os.path.islink(f)]
    return found


def crops(pictures_of, width, height, kb, count, scale, seed):
    """(name, JPEG) of `count` crops in turn from all files that are large enough. `scale`: least and greatest
    shrinking of the original; `kb`: least and greatest size, which keeps plain sky and noise out."""
    numbers = random.Random(seed)
    pictures = {}
    turn, given, refused = 0, 0, 0
    large_enough = []
    for name, f in pictures_of.items():
        with Image.open(f) as picture:
            if picture.width >= width * scale[0] and picture.height >= height * scale[0]:
                large_enough.append(name)
    if not large_enough:
        sys.exit(f"make_set: no photograph of {int(width * scale[0])} x {int(height * scale[0])} px or more among "
                 f"{len(pictures_of)}; name a folder with larger ones")
    while given < count:
        name = large_enough[turn % len(large_enough)]
        turn += 1
        if name not in pictures:
            pictures[name] = Image.open(pictures_of[name]).convert("RGB")
        picture = pictures[name]
        most = min(scale[1], picture.width / width, picture.height / height)
        by = numbers.uniform(scale[0], most)
        w, h = min(picture.width, round(width * by)), min(picture.height, round(height * by))
        x, y = numbers.randint(0, picture.width - w), numbers.randint(0, picture.height - h)
        crop = picture.resize((width, height), Image.LANCZOS, (x, y, x + w, y + h))
        if numbers.random() < 0.5:
            crop = crop.transpose(Image.FLIP_LEFT_RIGHT)
        out = io.BytesIO()
        crop.save(out, "JPEG", quality=numbers.randint(88, 95))
        if not kb[0] <= out.tell() / 1000 <= kb[1] and refused < 20 * count:
            refused += 1
            continue
        given += 1
        yield name, out.getvalue()


def write(out, name, all_crops):
    total = n = 0
    for n, (photograph, data) in enumerate(all_crops, 1):
        folder = os.path.join(out, name, photograph)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{n:05}.jpg"), "wb") as f:
            f.write(data)
        total += len(data)
    print(f"make_set: {name}: {n} pictures, {total / n / 1000:.1f} KB each", file=sys.stderr)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out")
    p.add_argument("--from", dest="folder", help="folder with photographs")
    p.add_argument("--debian", help="root under which Debian's wallpaper packages are unpacked ('/' when they are installed)")
    p.add_argument("--small", type=int, default=512)
    p.add_argument("--large", type=int, default=96)
    o = p.parse_args()
    if (o.folder is None) == (o.debian is None):
        p.error("one of --from and --debian")
    if o.folder:
        places = [o.folder]
    else:
        places = [os.path.join(o.debian, f) for files in DEBIAN.values() for f in files]
    files = photographs(places)
    if not files:
        sys.exit(f"make_set: no JPEG in {', '.join(places)}")
    # Plasma names its files by their size, so a picture's name is its folder's.
    named = {}
    for f in files:
        parts = f.split(os.sep)
        name = parts[parts.index("contents") - 1] if "contents" in parts else os.path.splitext(parts[-1])[0]
        named.setdefault(name, f)
    write(o.out, "small", crops(named, 500, 375, (22, 90), o.small, (1.0, 3.2), 1))
    write(o.out, "large", crops(named, 2000, 1500, (200, 2500), o.large, (1.0, 1.5), 2))


if __name__ == "__main__":
    main()
