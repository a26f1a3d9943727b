#!/usr/bin/env python3
"""The figures of bench/images as a picture: reads its RESULT lines, writes SVG to standard output.

    chart.py RESULTS
"""

import sys
from xml.sax.saxutils import escape

TITLES = {
    "rrc": "500 × 375 px → RandomResizedCrop 224, flip",
    "val": "500 × 375 px → Resize 256, CenterCrop 224",
    "large": "2000 × 1500 px → RandomResizedCrop 224, flip",
    "full": "500 × 375 px, only decoded",
    "crops": "500 × 375 px → RandomResizedCrop 96, scale 0.05 to 0.32, flip",
    "crops_large": "2000 × 1500 px → RandomResizedCrop 96, scale 0.05 to 0.32, flip",
}
# By key: what is written beside the bar, and its color. The gray ones resize nothing; pale ones don't antialias.
OURS, LIMIT, PEER, ALIASED = "#d9480f", "#868e96", "#4c6ef5", "#bac8ff"
SIDES = {
    "wick": ("wick", OURS),
    "wick_package": ("wick, from Python", OURS),
    "wick_libjpeg": ("wick, decoding by libjpeg-turbo", OURS),
    "wick_no_index": ("wick, without the crop index", OURS),
    "limit": ("libjpeg-turbo alone, no resize", LIMIT),
    "limit_batches": ("libjpeg-turbo, into batches", LIMIT),
    "torch_data": ("torch::data, with wick’s codec", PEER),
    "wick_stb": ("wick, stb_image", OURS),
    "stb": ("stb_image, whole picture, no resize", LIMIT),
    "mlx_data": ("mlx-data", PEER),
    "dali": ("DALI (CPU)", PEER),
    "tf_data": ("tf.data", PEER),
    "torchvision_pil": ("PyTorch DataLoader, Pillow", PEER),
    "turbo_loader": ("TurboLoader (not antialiased)", ALIASED),
    "turbo_loader_antialias": ("TurboLoader, antialias", PEER),
    "spdl_load": ("SPDL", PEER),
    "ffcv_load": ("FFCV (not antialiased)", ALIASED),
}
WIDTH, LEFT, BAR, GAP, HEAD = 760, 250, 16, 5, 34


def results(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if len(words) > 2 and words[0] == "RESULT" and words[1].startswith("images_") and words[1] != "images_pixels":
                yield words[1][len("images_") :], dict(w.split("=", 1) for w in words[2:])


def bars(values):
    speeds = {k[: -len("_images_s")]: float(v) for k, v in values.items() if k.endswith("_images_s")}
    return sorted(((speed, *SIDES.get(key, (key, PEER))) for key, speed in speeds.items()), reverse=True)


def main():
    parts, y = [], 8
    workers = cores = "?"
    for name, values in results(sys.argv[1]):
        sides = bars(values)
        workers, cores = values.get("workers", "?"), values.get("cores", "?")
        parts.append(f'<text x="8" y="{y + 16}" class="t">{escape(TITLES.get(name, name))}</text>')
        y += HEAD - 8
        for speed, label, color in sides:
            width = max(1.0, (WIDTH - LEFT - 70) * speed / sides[0][0])
            parts.append(f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
                         f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2" fill="{color}"/>'
                         f'<text x="{LEFT + width + 6:.1f}" y="{y + 12}">{speed:,.0f}</text>')
            y += BAR + GAP
        y += 12
    if not parts:
        sys.exit(f"chart.py: no RESULT line of bench/images in {sys.argv[1]}")
    parts.append(f'<text x="8" y="{y + 10}" class="s">pictures a second, batches of 64 as uint8, {workers} workers on {cores} cores; '
                 f'medians of runs in turns (bash bench/run.sh images)</text>')
    y += 20
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
          f'font-family="system-ui, sans-serif" font-size="12">')
    print("<style>text{fill:#343a40}.t{font-weight:600;font-size:14px}.s{font-size:11px;fill:#868e96}"
          "@media(prefers-color-scheme:dark){text{fill:#dee2e6}}</style>")
    print("\n".join(parts))
    print("</svg>")


if __name__ == "__main__":
    main()
