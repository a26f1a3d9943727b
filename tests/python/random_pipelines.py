"""Random loaders of the package, each compared with a plain loop over the same samples, and with itself.

random_pipelines.py [--seed S] [--count N]: each of the N loaders has a random source, order, transforms, and batches, some of
its pictures are damaged. Without transforms that draw, it delivers what NumPy makes of the samples. In any case it delivers the
same at 1, 2 and 4 workers, split over 2 ranks, resumed at a random batch, and by batches of epoch 1 before those of epoch 0.
"""

import argparse
import io
import os
import random
import sys
import tarfile
import tempfile
import zlib

import numpy as np
import wick
from package import png
from wick import transforms as T


class Data:
    """Pictures of several sizes in each layout that a source reads; some can't be decoded."""

    def __init__(self, draw, root):
        self.root = root
        self.count = draw.choice([1, 2, 5, 11, 30])
        damaged = draw.choice([0, 0, 0.1, 0.4])
        one_size = draw.random() < 0.5
        self.samples = []  # (pixels, or None where damaged; label)
        lines = ["path,label"]
        shards = [tarfile.open(f"{root}/train-{i}.tar", "w") for i in range(2)]
        for i in range(self.count):
            size = (12, 14) if one_size else (9 + i % 5, 9 + i % 3)
            pixels = np.random.default_rng(draw.randrange(1 << 30)).integers(0, 256, (*size, 3), np.uint8)
            label = i % 3
            data = png(pixels)
            if draw.random() < damaged:
                data, pixels = data[: len(data) // 3], None
            self.samples.append((pixels, label))
            name = f"photos/{'abc'[label]}/{i:04}.png"
            os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
            with open(f"{root}/{name}", "wb") as f:
                f.write(data)
            lines.append(f"{name},{label}")
            for member, content in ((f"{i:04}.png", data), (f"{i:04}.cls", str(label).encode())):
                info = tarfile.TarInfo(member)
                info.size = len(content)
                shards[2 * i // max(self.count, 2)].addfile(info, io.BytesIO(content))
        for shard in shards:
            shard.close()
        with open(f"{root}/list.csv", "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        self.numbers = np.arange(self.count * 6, dtype=draw.choice([np.float32, np.int64, np.uint8])).reshape(self.count, 2, 3)
        np.arange(1, self.count * 3 + 2, dtype=np.uint16).tofile(f"{root}/tokens.bin")


# Each with what it does to pixels [H, W, 3] in NumPy, or None where it draws or filters.
PIXELWISE = [
    ("T.CenterCrop(6)", lambda p: p[round((p.shape[0] - 6) / 2):][:6, round((p.shape[1] - 6) / 2):][:, :6]),
    ("T.RandomHorizontalFlip(1.0)", lambda p: p[:, ::-1]),
    ("T.RandomVerticalFlip(1.0)", lambda p: p[::-1]),
    ("T.RandomHorizontalFlip(0.0)", lambda p: p),
    ("T.Pad(1)", lambda p: np.pad(p, ((1, 1), (1, 1), (0, 0)))),
    ("T.Pad([1, 2, 0, 3], fill=9)", lambda p: np.pad(p, ((2, 3), (1, 0), (0, 0)), constant_values=9)),
]
OTHERS = ["T.RandomResizedCrop(7)", "T.RandomHorizontalFlip()", "T.RandomCrop(6)", "T.RandomCrop((5, 7), padding=1)", "T.RandomVerticalFlip(0.3)",
          "T.RandomRotation(20)", "T.ColorJitter(0.4, 0.4, 0.2, 0.1)", "T.GaussianBlur(3)", "T.TrivialAugmentWide()", "T.RandAugment()",
          "T.AutoAugment()", "T.RandomErasing()", "T.Resize((8, 9))", "T.RandomGrayscale(0.5)", "T.Grayscale(3)"]


class Program:
    """A call of one of the package's functions, and what it should deliver in the order of the source, if that is known."""

    def __init__(self, draw, data):
        self.kind = draw.choice(["image_folder", "tar", "csv", "class_folder", "tokens", "tensors"])
        options = {"batch": draw.choice([1, 2, 3, 4, 7, 64]), "shuffle": draw.random() < 0.6, "drop_last": draw.random() < 0.3}
        if options["drop_last"]:
            options["batch"] = min(options["batch"], data.count)
        pictures = self.kind in ("image_folder", "tar", "csv")
        self.expected = None
        texts = []
        if pictures or self.kind == "class_folder":
            options["balanced"] = options["shuffle"] and draw.random() < 0.3
        if pictures:
            known = draw.random() < 0.4
            texts = [draw.choice(PIXELWISE)[0] if known else draw.choice(OTHERS + [t for t, _ in PIXELWISE]) for _ in range(draw.randrange(4))]
            texts.append("T.CenterCrop(6)" if known else draw.choice(["T.CenterCrop(6)", "T.Resize((6, 5))", "T.RandomResizedCrop(4)"]))
            if not known and draw.random() < 0.3:
                texts.append("T.Normalize(0.5, 0.25)")
        path = {"image_folder": "photos", "class_folder": "photos", "tar": "train-{0..1}.tar", "csv": "list.csv", "tokens": "tokens.bin"}.get(self.kind)
        where = [f"{data.root}/{path}"] if path else [data.numbers, np.arange(data.count)]
        if self.kind == "tokens":
            where.append(3)
        order = range(data.count)
        if self.kind in ("image_folder", "class_folder"):
            order = sorted(order, key=lambda i: (data.samples[i][1], i))
        if self.kind == "tensors":
            self.expected = [(data.numbers[i].tobytes(), i) for i in order]
        elif self.kind == "tokens":
            self.expected = [(np.arange(i * 3 + 1, i * 3 + 4).tobytes(), np.arange(i * 3 + 2, i * 3 + 5).tobytes()) for i in order]
        elif pictures and all(text in dict(PIXELWISE) for text in texts):
            self.expected = []
            for i in order:
                pixels, label = data.samples[i]
                for text in texts if pixels is not None else []:
                    pixels = dict(PIXELWISE)[text](pixels)
                self.expected.append(None if pixels is None else (pixels.transpose(2, 0, 1).tobytes(), label))
        self.options = options
        self.where, self.texts = where, texts
        self.seed = draw.randrange(1000)

    def __str__(self):
        given = [repr(w) if isinstance(w, (str, int)) else f"<{w.dtype} {w.shape}>" for w in self.where]
        given += [f"{k}={v}" for k, v in self.options.items()] + [f"seed={self.seed}"]
        return f"wick.{self.kind}({', '.join(given)}, transforms=[{', '.join(self.texts)}])"

    def loader(self, workers, **more):
        transforms = {"transforms": [eval(text, {"T": T}) for text in self.texts]} if self.texts else {}
        tensors = {} if self.kind == "class_folder" else {"tensors": "numpy"}
        return getattr(wick, self.kind)(*self.where, **self.options, **transforms, **tensors, seed=self.seed, workers=workers, on_error="skip", **more)


def row(value):
    return value.tobytes() if isinstance(value, np.ndarray) and value.ndim else value if isinstance(value, bytes) else int(value)


def rows(batch):
    if isinstance(batch, list):
        return [tuple(row(part) for part in sample) for sample in batch]
    return [tuple(row(part) for part in sample) for sample in zip(*batch)]


def delivered(loader, epoch):
    """The batches, or None where no sample of the epoch is whole."""
    try:
        return [rows(batch) for batch in loader.epoch(epoch)]
    except wick.Error as error:
        if "no sample" in str(error) or "every sample" in str(error) or "all samples" in str(error) or "nothing is left" in str(error):
            return None
        raise


def check(draw, program):
    first = program.loader(1)
    whole = [delivered(first, epoch) for epoch in (0, 1)]
    failures = sorted((f["epoch"], f["position"], f["key"], f["stage"]) for f in first.failures)
    size = program.options["batch"]
    if program.expected is not None and whole[0] is not None:
        kept = [x for x in program.expected if x is not None]
        got = [x for batch in whole[0] for x in batch]
        if not program.options["shuffle"]:
            count = len(program.expected) // size * size if program.options["drop_last"] else len(program.expected)
            wanted = [[x for x in program.expected[at : at + size] if x is not None] for at in range(0, count, size)]
            assert whole[0] == wanted, "other batches than the plain loop's"
        elif program.options.get("balanced"):
            assert set(got) <= set(kept), "samples that the plain loop hasn't"
        elif not program.options["drop_last"]:
            assert sorted(got) == sorted(kept), "other samples than the plain loop's"
    for workers in (1, 2, 4):
        loader = program.loader(workers, prefetch=draw.randrange(1, 5))
        assert delivered(loader, 1) == whole[1] and delivered(loader, 0) == whole[0], f"other batches at {workers} workers"
        again = sorted((f["epoch"], f["position"], f["key"], f["stage"]) for f in loader.failures)
        assert again == failures, f"other failures at {workers} workers: {again}, where there should be {failures}"
    if None in whole:
        return
    stopped, batches = program.loader(draw.choice([1, 2])), []
    taken = draw.randrange(len(whole[0]) + 1)
    walk = iter(stopped)
    for _ in range(taken):
        batches.append(rows(next(walk)))
    resumed = program.loader(draw.choice([1, 4]))
    resumed.load_state_dict(stopped.state_dict() if taken else program.loader(1).state_dict())
    rest = [rows(batch) for batch in resumed]
    if taken == len(whole[0]):
        assert batches == whole[0] and rest == whole[1], "another epoch after the end of the first"
    else:
        assert batches + rest == whole[0], f"other batches where it resumed, after batch {taken}"
    if size < 2:
        return
    shares = []
    by_argument = draw.random() < 0.5
    for rank in range(2):
        given = {"rank": rank, "world_size": 2} if by_argument else {}
        names = {} if by_argument else {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"}
        os.environ.update(names)
        try:
            shares.append(delivered(program.loader(draw.choice([1, 2]), **given), 1))
        finally:
            for name in names:
                del os.environ[name]
    shares = [[[]] * len(whole[1]) if share is None else share for share in shares]
    assert [a + b for a, b in zip(*shares, strict=True)] == whole[1], "the batches of two ranks aren't those of one"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    args = parser.parse_args()
    bad = 0
    for number in range(args.count):
        draw = random.Random(f"{args.seed} {number}")
        with tempfile.TemporaryDirectory() as root:
            program = Program(draw, Data(draw, root))
            try:
                check(draw, program)
            except (AssertionError, wick.Error) as error:
                bad += 1
                print(f"{number}: {type(error).__name__}: {error}\n    {program}", flush=True)
    print(f"random pipelines in Python: seed {args.seed}, {args.count} loaders, {bad} with a difference")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
