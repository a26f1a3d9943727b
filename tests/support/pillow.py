#!/usr/bin/env python3
"""What Pillow makes of pictures, for the tests to compare with: carries out the jobs that come on standard input, one a
line. Exit code 77 says that there is no Pillow.

  convert IN OUT MODE FORMAT KEY=VALUE…    the picture IN, converted to MODE, in another format
  frames IN OUT NEXT…              a GIF of several frames
  load IN OUT MODE                 the pixels of the file IN, converted to MODE, as bytes
  load_drafted IN OUT MODE         the same, by the decoder already where it can (a JPEG's own gray)
  load_truncated IN OUT MODE       the same of a file that breaks off
  load_turned IN OUT MODE          the same, turned as its EXIF orientation says
  resize IN OUT X Y W H NEW_W NEW_H FILTER    the rectangle of IN resized; the filter does not look past it
"""

import sys

try:
    from PIL import Image, ImageFile, ImageOps
except ImportError:
    sys.exit(77)


def number(text):
    return int(text) if text.lstrip("-").isdigit() else text


def put(path, picture):
    with open(path, "wb") as file:
        file.write(picture.tobytes())


def main():
    for line in sys.stdin:
        job, source, target, *rest = line.split()
        if job == "convert":
            options = dict((key, number(value)) for key, value in (item.split("=") for item in rest[2:]))
            Image.open(source).convert(rest[0]).save(target, rest[1], **options)
        elif job == "frames":
            first, *others = (Image.open(path).convert("P") for path in (source, *rest))
            first.save(target, "GIF", save_all=True, append_images=others, duration=40)
        elif job.startswith("load"):
            ImageFile.LOAD_TRUNCATED_IMAGES = job == "load_truncated"
            picture = Image.open(source)
            if job == "load_drafted":
                picture.draft(rest[0], picture.size)
            if job == "load_turned":
                picture = ImageOps.exif_transpose(picture)
            put(target, picture.convert(rest[0]))
        elif job == "resize":
            x, y, w, h, new_w, new_h = map(int, rest[:6])
            picture = Image.open(source).crop((x, y, x + w, y + h))
            put(target, picture.resize((new_w, new_h), {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC,
                                                        "nearest": Image.NEAREST}[rest[6]]))
        else:
            sys.exit("no job " + job)


main()
