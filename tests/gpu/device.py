"""device="cuda" of the package wick on a real GPU; without one, or without PyTorch, a word."""

import gc
import sys
import unittest

import numpy as np

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print(f"skipped: Torch has no GPU here (PyTorch {torch.__version__})")
    sys.exit(77)
import wick  # noqa: E402

DATA = np.random.default_rng(1).integers(0, 256, (2000, 3, 64, 48), np.uint8)
TARGET = np.arange(2000)
BATCH = 32
SQUARE = torch.rand(4096, 4096, device="cuda")
PRODUCT = torch.empty_like(SQUARE)


def loader(**options):
    return wick.tensors(DATA, TARGET, **{"batch": BATCH, "seed": 3, "device": "cuda", **options})


def keep_busy(times=20):
    """Work for the GPU that takes far longer than a copy, and no memory."""
    for _ in range(times):
        torch.mm(SQUARE, SQUARE, out=PRODUCT)


class Device(unittest.TestCase):
    def test_batches_are_those_of_the_cpu(self):
        train, expected = loader(), loader(device="cpu")
        for _ in range(3):
            kept = []
            for data, target in train:
                self.assertEqual((data.device, target.device), (torch.device("cuda", 0),) * 2)
                kept.append((data, target))
                if len(kept) % 8 == 0:
                    keep_busy()
            for (data, target), (d, t) in zip(kept, expected, strict=True):
                self.assertTrue(torch.equal(data.cpu(), d) and torch.equal(target.cpu(), t))

    def test_what_the_loop_drops_is_not_written_over(self):
        train, expected = loader(prefetch=8), loader(device="cpu")
        for _ in range(3):
            sums = []
            for data, _ in train:
                keep_busy(2)
                sums.append(data.sum(dtype=torch.int64))
            wanted = [int(data.sum(dtype=torch.int64)) for data, _ in expected]
            self.assertEqual([int(s) for s in sums], wanted)

    def test_a_loop_far_ahead_does_not_fill_the_gpu(self):
        gc.collect()
        keep_busy()
        torch.cuda.synchronize()
        before = torch.cuda.memory_stats()["active_bytes.all.current"]
        torch.cuda.reset_peak_memory_stats()
        for _ in loader(prefetch=3):
            keep_busy()
        most = torch.cuda.memory_stats()["active_bytes.all.peak"] - before
        self.assertLess(most / (BATCH * DATA[0].nbytes), 7)
        self.assertGreater(most, BATCH * DATA[0].nbytes)

    def test_a_captured_graph(self):
        data = torch.zeros(BATCH, 3, 64, 48, dtype=torch.uint8, device="cuda")
        target = torch.zeros(BATCH, dtype=torch.int64, device="cuda")
        total = torch.zeros(2, dtype=torch.int64, device="cuda")
        graph = torch.cuda.CUDAGraph()
        data.sum(dtype=torch.int64)
        with torch.cuda.graph(graph):
            total += torch.stack([data.sum(dtype=torch.int64), target.sum()])
        total.zero_()
        for d, t in loader(drop_last=True):
            data.copy_(d, non_blocking=True)
            target.copy_(t, non_blocking=True)
            graph.replay()
        wanted = [(int(d.sum(dtype=torch.int64)), int(t.sum())) for d, t in loader(drop_last=True, device="cpu")]
        self.assertEqual(total.tolist(), [sum(each) for each in zip(*wanted)])

    def test_a_stream_of_the_loop(self):
        mine = torch.cuda.Stream()
        with torch.cuda.stream(mine):
            sums = [data.sum(dtype=torch.int64) for data, _ in loader()]
        mine.synchronize()
        self.assertEqual([int(s) for s in sums], [int(d.sum(dtype=torch.int64)) for d, _ in loader(device="cpu")])

    def test_a_loader_may_go_at_any_batch(self):
        for i in range(30):
            train = iter(loader(seed=i))
            for _ in range(i % 4):
                next(train)
            del train

    def test_a_device_that_is_not_there(self):
        with self.assertRaisesRegex(wick.Error, 'device="cuda:63": PyTorch sees'):
            loader(device="cuda:63")


if __name__ == "__main__":
    unittest.main()
