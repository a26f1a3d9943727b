"""The package wick: its pipelines over real files, its transforms, what it refuses."""

import functools
import http.server
import importlib.util
import inspect
import io
import os
import pathlib
import pydoc
import signal
import socket
import struct
import sys
import tarfile
import tempfile
import threading
import time
import types
import unittest
import zlib

import numpy as np
import wick
from wick import transforms as T


def png(pixels):
    """A PNG file of uint8 [H, W, 3]."""
    height, width, _ = pixels.shape

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Files(unittest.TestCase):
    """Twelve pictures of three classes as a folder, shards and a list."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.root = cls.kept.name
        cls.pixels = np.random.default_rng(1).integers(0, 256, (12, 20, 30, 3), np.uint8)
        lines = ["path,label"]
        for i, picture in enumerate(cls.pixels):
            folder = os.path.join(cls.root, "photos", "abc"[i % 3])
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{i:02}.png"), "wb") as f:
                f.write(png(picture))
            lines.append(f"photos/{'abc'[i % 3]}/{i:02}.png,{i % 3}")
        with open(os.path.join(cls.root, "list.csv"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        for shard in range(2):
            with tarfile.open(os.path.join(cls.root, f"train-{shard}.tar"), "w") as tar:
                for i in range(shard, 12, 2):
                    for name, data in ((f"{i:02}.png", png(cls.pixels[i])), (f"{i:02}.cls", str(i % 3).encode())):
                        info = tarfile.TarInfo(name)
                        info.size = len(data)
                        tar.addfile(info, io.BytesIO(data))

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def path(self, name):
        return os.path.join(self.root, name)

    def folder(self, **options):
        return wick.image_folder(self.path("photos"), **{"batch": 5, "tensors": "numpy", **options})

    def pairs(self, loader):
        """(pixels, label) of each sample, in order."""
        return [(image.tobytes(), int(label)) for images, labels in loader for image, label in zip(images, labels)]

    def expected(self):
        return sorted((picture.transpose(2, 0, 1).tobytes(), i % 3) for i, picture in enumerate(self.pixels))

    def test_image_folder(self):
        self.assertEqual(wick.image_classes(self.path("photos")), ["a", "b", "c"])
        loader = self.folder(seed=1)
        self.assertEqual((len(loader), loader.samples), (3, 12))
        first, second = self.pairs(loader), self.pairs(loader)
        self.assertEqual(sorted(first), self.expected())
        self.assertEqual(sorted(second), self.expected())
        self.assertNotEqual(first, second)
        images, labels = next(iter(loader))
        self.assertEqual((images.shape, images.dtype, labels.dtype), ((5, 3, 20, 30), np.uint8, np.int64))
        in_order = self.pairs(self.folder(shuffle=False))
        self.assertEqual([label for _, label in in_order], sorted(label for _, label in in_order))
        self.assertEqual([len(labels) for _, labels in self.folder(drop_last=True)], [5, 5])

    def test_names_of_the_package(self):
        with open(pathlib.Path(__file__).parents[2] / "include" / "wick" / "version.hpp", encoding="utf-8") as f:
            self.assertIn(f'"{wick.__version__}"', f.read())
        self.assertEqual(repr(self.folder()), "<Loader of image_folder: 12 samples, 3 batches>")
        self.assertEqual(repr(self.folder(rank=1, world_size=2)), "<Loader of image_folder: 12 samples, 3 batches, rank 1 of 2>")

    def test_misspelled_keywords(self):
        for call, text in (
            (lambda: self.folder(bach=4), r"^wick.image_folder\(\) has no keyword bach; did you mean batch\?$"),
            (lambda: wick.tokens(self.path("none"), 8, drop_lst=True), r"wick.tokens\(\) has no keyword drop_lst; did you mean drop_last\?"),
            (lambda: self.folder(num_workers=2), r"no keyword num_workers; did you mean workers\?$"),
            (lambda: self.folder(cache=True), r"no keyword cache; it has folder, batch"),
            (lambda: self.folder(batch="16"), r"^wick.image_folder\(\): batch='16'; it takes a whole number$"),
            (lambda: self.folder(batch=-4), r"batch=-4; it takes a whole number that isn't negative$"),
            (lambda: self.folder(shuffle="yes"), r"shuffle='yes'; it takes True or False$"),
            (lambda: self.folder(transforms=T.Resize(64)), r"transforms takes a list: \[Resize\(64\)\]$"),
            (lambda: self.folder(transforms=[T.Resize(64), T.CenterCrop]), r"transforms\[1\] is CenterCrop, without arguments; call it"),
            (lambda: self.folder(transforms=[lambda x: x]), r"transforms\[0\] is a Python function"),
            (lambda: self.folder(transforms=["flip"]), r"transforms\[0\] is 'flip'; give a transform of wick.transforms"),
            (lambda: T.RandomCrop(4, fill_holes=1), r"wick.RandomCrop\(\) has no keyword fill_holes; it has size, padding, pad_if_needed$"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                call()
        parameters = inspect.signature(wick.image_folder).parameters
        self.assertEqual((parameters["folder"].default, parameters["batch"].default), (inspect.Parameter.empty, 256))
        self.assertEqual(parameters["seed"].kind, inspect.Parameter.KEYWORD_ONLY)
        self.assertEqual(repr(T.RandomResizedCrop(224, scale=(0.5, 1))), "RandomResizedCrop(224, scale=(0.5, 1))")
        self.assertEqual(repr(T.RandomHorizontalFlip()), "RandomHorizontalFlip()")
        self.assertIn("Pictures in a folder a class", pydoc.render_doc(wick.image_folder, renderer=pydoc.plaintext))

    def test_class_folder(self):
        for i, text in enumerate((b"RIFF-a", b"RIFF-b", b"RIFF-c", b"text")):
            folder = os.path.join(self.root, "sounds", "yes" if i else "no")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{i}.wav" if i < 3 else "notes.txt"), "wb") as f:
                f.write(text)
        folder = self.path("sounds")
        self.assertEqual(wick.class_names(folder), ["no", "yes"])
        self.assertEqual(list(wick.class_folder(folder, batch=3, shuffle=False)),
                         [[(b"RIFF-a", 0), (b"RIFF-b", 1), (b"RIFF-c", 1)], [(b"text", 1)]])
        self.assertEqual(list(wick.class_folder(folder, extensions=[".wav"], batch=3, shuffle=False, drop_last=True)),
                         [[(b"RIFF-a", 0), (b"RIFF-b", 1), (b"RIFF-c", 1)]])
        with self.assertRaisesRegex(wick.Error, r"class_folder: has no files \(wanted: .mp3\).* extensions=\[…\], or set allow_empty=True"):
            wick.class_folder(folder, extensions=[".mp3"])

    def test_balanced(self):
        with tempfile.TemporaryDirectory() as root:
            for label, count in (("a", 1), ("b", 9)):
                os.mkdir(os.path.join(root, label))
                for i in range(count):
                    with open(os.path.join(root, label, f"{i}.txt"), "wb") as f:
                        f.write(label.encode())
            loader = wick.class_folder(root, balanced=True, batch=10)
            labels = [label for _ in range(200) for batch in loader for _, label in batch]
            self.assertEqual(len(labels), 2000)
            self.assertAlmostEqual(sum(labels) / 2000, 0.5, delta=0.05)
            with self.assertRaisesRegex(wick.Error, "balanced=True draws the samples at random; leave shuffle=False out"):
                wick.class_folder(root, balanced=True, shuffle=False)
            os.mkdir(os.path.join(root, "c"))
            with self.assertRaisesRegex(wick.Error, r"class 2 \(c\) of 3 has no samples, so it can't be drawn; remove the class$"):
                wick.class_folder(root, balanced=True, allow_empty=True)
        for loader in (self.folder(balanced=True, seed=1), wick.csv(self.path("list.csv"), balanced=True, tensors="numpy"),
                       wick.tar(self.path("train-*.tar"), balanced=True, tensors="numpy")):
            pairs = self.pairs(loader)
            self.assertEqual(len(pairs), 12)
            self.assertLessEqual(set(pairs), set(self.expected()))

    def test_tar(self):
        for shards in (self.path("train-{0..1}.tar"), self.path("train-*.tar"),
                       [self.path("train-0.tar"), self.path("train-1.tar")]):
            self.assertEqual(sorted(self.pairs(wick.tar(shards, batch=5, tensors="numpy"))), self.expected())
        os.utime(self.path("train-0.tar"), (1e9, 1e9))  # one that changed just now gets no index
        list(wick.tar(self.path("train-0.tar"), keep_index=True))
        self.assertTrue(os.path.exists(self.path("train-0.tar.wickidx")))

    def test_csv(self):
        self.assertEqual(sorted(self.pairs(wick.csv(self.path("list.csv"), batch=5, tensors="numpy"))), self.expected())
        with self.assertRaisesRegex(wick.Error, "file"):
            wick.csv(self.path("list.csv"), path_column="file")
        with open(self.path("list.csv"), encoding="utf-8") as f, open(self.path("list.txt"), "w", encoding="utf-8") as to:
            to.write("".join(f.readlines()[1:]).replace(",", " "))
        plain = wick.csv(self.path("list.txt"), path_column="0", label_column="1", separator=" ", header=False,
                         batch=5, tensors="numpy")
        self.assertEqual(sorted(self.pairs(plain)), self.expected())
        some = wick.csv(self.path("list.csv"), where={"label": "2"}, batch=5, tensors="numpy")
        self.assertEqual(sorted(self.pairs(some)), [pair for pair in self.expected() if pair[-1] == 2])
        with self.assertRaisesRegex(wick.Error, 'no row has "7" in column "label"; there are "0", "1", "2"'):
            wick.csv(self.path("list.csv"), where={"label": "7"})

    def test_urls(self):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # it knows no ranges, so that a reader goes away when it has enough

        server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=self.root))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        try:
            loader = wick.tar(url + "train-{0..1}.tar", batch=5, tensors="numpy")
        except wick.Error as error:
            if "libcurl" not in str(error):
                raise
            self.skipTest("the package was built without libcurl")
        else:
            self.assertEqual(sorted(self.pairs(loader)), self.expected())
            listed = wick.csv(self.path("list.csv"), root=url, batch=5, tensors="numpy")
            self.assertEqual(sorted(self.pairs(listed)), self.expected())
            with self.assertRaisesRegex(wick.Error, "404"):
                wick.tar(url + "none.tar")
        finally:
            server.shutdown()
            server.server_close()

    def test_interrupt_while_a_server_is_silent(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            for make in (
                lambda: wick.tar(url + "train-{0..39}.tar"),
                lambda: wick.tokens([f"{url}{i}.bin" for i in range(40)], 8),
            ):
                sender = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
                begun = time.monotonic()
                sender.start()
                try:
                    with self.assertRaises(KeyboardInterrupt):
                        make()
                except wick.Error as error:
                    sender.cancel()
                    if "libcurl" not in str(error):
                        raise
                    self.skipTest("the package was built without libcurl")
                self.assertLess(time.monotonic() - begun, 30)
                sender.join()

    def test_transforms(self):
        loader = self.folder(transforms=[T.RandomResizedCrop(8), T.RandomHorizontalFlip()], seed=1, workers=1)
        same = self.folder(transforms=[T.RandomResizedCrop(8), T.RandomHorizontalFlip()], seed=1, workers=3)
        other = self.folder(transforms=[T.RandomResizedCrop(8), T.RandomHorizontalFlip()], seed=2)
        first = self.pairs(loader)
        self.assertEqual(first, self.pairs(same))
        self.assertNotEqual(first, self.pairs(other))
        self.assertEqual(next(iter(loader))[0].shape[1:], (3, 8, 8))
        with self.assertRaises(wick.Error):  # of other transforms
            self.folder(transforms=[T.RandomResizedCrop(8)], seed=1).load_state_dict(loader.state_dict())

    def test_each_transform(self):
        normalize = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
        for t in (T.Resize(16), T.Resize((10, 12)), T.CenterCrop(12), T.CenterCrop((8, 10)), T.RandomCrop(16),
                  T.RandomCrop((18, 24), padding=2), T.RandomCrop(40, pad_if_needed=True), T.Pad(3), T.Pad((1, 2), fill=7),
                  T.Pad([1, 2, 3, 4]), T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(), T.RandomRotation(30),
                  T.RandomRotation((-5, 5)), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.Grayscale(3), T.RandomGrayscale(),
                  T.GaussianBlur(3), T.GaussianBlur(5, sigma=(0.5, 1.5)), T.TrivialAugmentWide(), T.RandAugment(),
                  T.RandAugment(num_ops=3, magnitude=5), T.AutoAugment(), T.AutoAugment("svhn"), T.RandomErasing(p=1.0),
                  T.RandomResizedCrop((9, 11), scale=(0.5, 1), ratio=(1, 1)), normalize):
            with self.subTest(repr(t)):
                images = np.concatenate([images for images, _ in self.folder(transforms=[t])])
                self.assertEqual(images.shape[0], 12)
                self.assertEqual(images.dtype, np.float32 if t is normalize else np.uint8)

    def test_values(self):
        plain = self.pairs(self.folder(seed=1))
        flipped = [images for images, _ in self.folder(seed=1, transforms=[T.RandomHorizontalFlip(1.0)])]
        self.assertEqual([i.tobytes() for images in flipped for i in images[..., ::-1]], [p for p, _ in plain])
        mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        got = np.concatenate([i for i, _ in self.folder(seed=1, transforms=[T.Normalize(mean, std)])])
        wanted = np.concatenate([i for i, _ in self.folder(seed=1)]).astype(np.float64) / 255
        wanted = (wanted - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
        self.assertLess(np.abs(got - wanted).max(), 1e-5)

    def test_wrong_transforms(self):
        with self.assertRaisesRegex(wick.Error, "CenterCrop comes after Normalize"):
            self.folder(transforms=[T.Normalize(0.5, 0.5), T.CenterCrop(4)])
        self.folder(transforms=[T.CenterCrop(4), T.Normalize(0.5, 0.5), T.RandomErasing()])
        for make, text in (
            (lambda: T.RandomHorizontalFlip(2.0), "2"),
            (lambda: T.RandomResizedCrop(0), "0"),
            (lambda: T.Normalize((123.675, 116.28, 103.53), (58, 57, 57)), "Normalize|normalize"),
            (lambda: T.Normalize([0.5] * 5, 0.5), "up to 4"),
            (lambda: T.Pad([1, 2, 3]), "padding"),
            (lambda: T.AutoAugment("cifar100"), "cifar100"),
        ):
            with self.assertRaisesRegex(wick.Error, text):
                make()
        with self.assertRaises(TypeError):
            self.folder(transforms=[lambda picture: picture])

    def test_a_damaged_file(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "a"))
            for name, data in (("0.png", png(self.pixels[0])), ("1.png", b"no picture"), ("2.png", png(self.pixels[2]))):
                with open(os.path.join(root, "a", name), "wb") as f:
                    f.write(data)
            with self.assertRaises(wick.SampleError) as raised:
                list(wick.image_folder(root, batch=3))
            self.assertEqual(raised.exception.key, os.path.join(root, "a", "1.png"))
            self.assertEqual(raised.exception.stage, "decode")
            self.assertIn('or set on_error="skip" to leave', str(raised.exception))
            loader = wick.image_folder(root, batch=3, on_error="skip")
            self.assertEqual([len(labels) for _, labels in loader], [2])
            self.assertRegex(loader.failures[0]["text"], "convert or remove it$")

    def test_a_damaged_file_whose_name_is_no_text(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "a"))
            path = os.path.join(os.fsencode(root), b"a", b"caf\xe9.png")
            with open(path, "wb") as f:
                f.write(b"no picture")
            loader = wick.image_folder(root)
            with self.assertRaises(wick.SampleError) as raised:
                list(loader)
            self.assertEqual(os.fsencode(raised.exception.key), path)
            self.assertIn(r"caf\xe9.png", str(raised.exception))
            self.assertEqual(os.fsencode(loader.failures[0]["key"]), path)
            str(loader.report()).encode()

    def test_ranks(self):
        whole = [labels.tolist() for _, labels in self.folder(seed=1, batch=4)]
        shares = []
        for rank in range(2):
            os.environ.update(RANK=str(rank), WORLD_SIZE="2")
            try:
                shares.append([labels.tolist() for _, labels in self.folder(seed=1, batch=4)])
            finally:
                del os.environ["RANK"], os.environ["WORLD_SIZE"]
        self.assertEqual([sorted(a + b) for a, b in zip(*shares)], [sorted(b) for b in whole])
        by_argument = [[labels.tolist() for _, labels in self.folder(seed=1, batch=4, rank=rank, world_size=2)] for rank in range(2)]
        self.assertEqual(by_argument, shares)
        for given in ({"rank": 2, "world_size": 2}, {"rank": 0}, {"world_size": 2}):
            with self.assertRaisesRegex(wick.Error, "give both, with rank from 0 to world_size - 1"):
                self.folder(**given)
        os.environ["WORLD_SIZE"] = "2"  # and no rank
        try:
            with self.assertRaisesRegex(wick.Error, "RANK is not set; .* give rank=…, world_size=…"):
                self.folder()
        finally:
            del os.environ["WORLD_SIZE"]

    def test_torch_distributed(self):
        distributed = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 1, get_world_size=lambda: 2)
        before = self.folder(seed=1, batch=4)
        whole = [labels.tolist() for _, labels in before]
        was = sys.modules.get("torch.distributed")
        sys.modules["torch.distributed"] = distributed
        try:
            share = [labels.tolist() for _, labels in self.folder(seed=1, batch=4)]
            self.assertEqual(share, [batch[2:] for batch in whole])
            with self.assertRaisesRegex(wick.Error, r"made for rank 0 of 1, and by now torch.distributed says rank 1 of 2; .*train_dataloader\(\)"):
                iter(before)
            alone = self.folder(seed=1, batch=4, rank=0, world_size=1)
            self.assertEqual([labels.tolist() for _, labels in alone], whole)
            for rank, world in (("0", "2"), ("1", "4")):
                os.environ.update(RANK=rank, WORLD_SIZE=world)
                try:
                    with self.assertRaisesRegex(wick.Error, f"torch.distributed says rank 1 of 2, and the environment RANK={rank} and WORLD_SIZE={world}"):
                        self.folder()
                finally:
                    del os.environ["RANK"], os.environ["WORLD_SIZE"]
            distributed.is_initialized = lambda: False
            self.assertEqual([labels.tolist() for _, labels in self.folder(seed=1, batch=4)], whole)
        finally:
            del sys.modules["torch.distributed"]
            if was is not None:
                sys.modules["torch.distributed"] = was

    def test_paths(self):
        root, home = pathlib.Path(self.root), os.environ.get("HOME")
        os.environ["HOME"] = self.root
        try:
            for folder in (root / "photos", "~/photos", pathlib.Path("~") / "photos", os.fsencode(root / "photos")):
                self.assertEqual(wick.image_classes(folder), ["a", "b", "c"])
                self.assertEqual(wick.image_folder(folder, tensors="numpy").samples, 12)
            for shards in (root / "train-*.tar", [root / "train-0.tar", "~/train-1.tar"]):
                self.assertEqual(wick.tar(shards, tensors="numpy").samples, 12)
            self.assertEqual(wick.csv(pathlib.Path("~/list.csv"), root=root, tensors="numpy").samples, 12)
            loader = wick.csv("~/list.csv", root="~", tensors="numpy", failure_log=root / "failures.jsonl")
            list(loader)
            loader.write_quarantine(root / "quarantine.txt")
            self.assertTrue((root / "quarantine.txt").exists())
            wick.csv("~/list.csv", tensors="numpy", quarantine=["~/quarantine.txt"])
            np.arange(100, dtype="uint16").tofile(root / "t.bin")
            self.assertEqual(wick.tokens(root / "t.bin", 10, tensors="numpy").samples, 9)
        finally:
            if home is not None:
                os.environ["HOME"] = home
        with self.assertRaises(TypeError):
            wick.image_folder(3)
        with self.assertRaisesRegex(wick.Error, "s3://no/such"):
            wick.image_folder(pathlib.Path("s3://no/such/"))

    def test_remedies(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "empty/a"))
            os.makedirs(os.path.join(root, "photos/a"))
            os.makedirs(os.path.join(root, "photos/b"))
            with open(os.path.join(root, "photos/a/1.PNG"), "wb") as f:
                f.write(png(self.pixels[0]))
            with self.assertRaisesRegex(wick.Error, "allow_empty=True") as seen:
                wick.image_folder(os.path.join(root, "photos"))
            self.assertNotIn(".allow_empty", str(seen.exception))
            self.assertIn("extensions=", str(seen.exception))
            photos = functools.partial(wick.image_folder, os.path.join(root, "photos"), tensors="numpy")
            self.assertEqual(photos(allow_empty=True).samples, 1)
            self.assertEqual(photos(allow_empty=True, extensions=[".png"]).samples, 1)
            with self.assertRaisesRegex(wick.Error, "max_pixels="):
                next(iter(photos(allow_empty=True, max_pixels=10)))
            with tarfile.open(os.path.join(root, "a.tar"), "w") as tar:
                for name in ("v1.0_0.png", "v1.0_0.cls", "v1.0_1.png"):
                    data = b"1" if name.endswith("cls") else png(self.pixels[0])
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
            shard = os.path.join(root, "a.tar")
            with self.assertRaisesRegex(wick.Error, 'key="to_last_dot"'):
                wick.tar(shard)
            with self.assertRaisesRegex(wick.Error, 'missing_member="leave_out"'):
                wick.tar(shard, key="to_last_dot")
            self.assertEqual(wick.tar(shard, key="to_last_dot", missing_member="leave_out", tensors="numpy").samples, 1)
            with self.assertRaisesRegex(wick.Error, '"to_first_dot" or "to_last_dot"'):
                wick.tar(shard, key="dot")
            packed = os.path.join(root, "train.bin")
            with open(packed, "wb") as f:
                f.write(b"BZh91AY&SY" + bytes(90))
            with self.assertRaisesRegex(wick.Error, "compressed with bzip2.*set raw=True"):
                wick.tokens(packed, 10)
            self.assertEqual(len(wick.tokens(packed, 10, raw=True, tensors="numpy")), 1)

    def test_torch_is_asked_for_when_the_loader_is_made(self):
        if importlib.util.find_spec("torch") is not None:
            self.skipTest("PyTorch is installed")
        with self.assertRaisesRegex(wick.Error, "PyTorch isn't installed"):
            self.folder(tensors="torch")


class Memory(unittest.TestCase):
    def test_tensors(self):
        data = np.arange(70, dtype=np.float32).reshape(35, 2)
        loader = wick.tensors(data, np.arange(35), batch=8, seed=1, tensors="numpy")
        self.assertEqual(len(loader), 5)
        seen = []
        for rows, targets in loader:
            self.assertEqual(rows.dtype, np.float32)
            self.assertTrue((rows == data[targets]).all())
            seen += targets.tolist()
        self.assertEqual(sorted(seen), list(range(35)))
        self.assertNotEqual(seen, sorted(seen))
        for kind in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"):
            (rows, _), = wick.tensors(np.ones((3, 2), kind), np.arange(3), shuffle=False, tensors="numpy")
            self.assertEqual(rows.dtype, np.dtype(kind))
            self.assertEqual(rows.tolist(), np.ones((3, 2), kind).tolist())

    def test_arrays_stay(self):
        loader = wick.tensors(np.full((1000, 100), 7, np.int64), np.arange(1000), batch=100, tensors="numpy")
        self.assertTrue(all((rows == 7).all() for rows, _ in loader))

    def test_wrong_arrays(self):
        for data, target, text in (
            (np.zeros((3, 2), np.uint64), np.arange(3), "type that batches"),
            (np.zeros((3, 2), complex), np.arange(3), "type that batches"),
            (np.zeros((3, 4))[:, ::2], np.arange(3), "side by side"),
            (np.zeros(()), np.arange(3), "single number"),
            (np.zeros((4, 2)), np.arange(3), "4|3"),
            (np.zeros((0, 2)), np.arange(0), "no row|empty|no sample"),
        ):
            with self.subTest(text):
                with self.assertRaisesRegex(wick.Error, text):
                    wick.tensors(data, target)

    def test_tokens(self):
        with tempfile.TemporaryDirectory() as root:
            for kind in ("uint16", "uint32", "int32"):
                path = os.path.join(root, kind + ".bin")
                np.arange(1001).astype(kind).tofile(path)
                loader = wick.tokens(path, 100, batch=4, dtype=kind, tensors="numpy", seed=1)
                starts = []
                for inputs, targets in loader:
                    self.assertEqual(inputs.dtype, np.int64)
                    self.assertTrue((targets == inputs + 1).all())
                    starts += inputs[:, 0].tolist()
                self.assertEqual(sorted(starts), list(range(0, 1000, 100)))
            with self.assertRaisesRegex(wick.Error, "float"):
                wick.tokens(path, 100, dtype="float")
            for part in range(2):
                np.arange(500 * part, 500 * part + 500).astype("uint16").tofile(os.path.join(root, f"part{part}.bin"))
            loader = wick.tokens(os.path.join(root, "part*.bin"), 100, shuffle=False, tensors="numpy")
            self.assertEqual(np.concatenate([inputs.ravel() for inputs, _ in loader]).tolist(), list(range(900)))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell runs this in the background, SIGINT is ignored
    unittest.main()
