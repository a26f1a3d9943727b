"""What batches are in Python: types, shapes, names, and whose memory it is."""

import collections
import dataclasses
import gc
import importlib.util
import os
import time
import unittest
import weakref

import numpy as np
import wick_bridge


def only(make, **options):
    (batch,) = list(make(**{"tensors": "numpy", **options}))
    return batch


class Conversions(unittest.TestCase):
    def test_numbers(self):
        for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"):
            with self.subTest(name):
                batch = only(getattr(wick_bridge, name))
                self.assertIsInstance(batch, np.ndarray)
                self.assertEqual(batch.dtype, np.dtype(name))
                self.assertEqual(batch.tolist(), [0, 1, 2] if name != "bool" else [False, True, True])
                self.assertTrue(batch.flags.writeable)
        with self.assertRaisesRegex(wick_bridge.Error, "NumPy has no bfloat16"):
            only(wick_bridge.bfloat16)

    def test_torch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("no PyTorch")
        import torch

        for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "bool"):
            with self.subTest(name):
                (batch,) = list(getattr(wick_bridge, name)(tensors="torch"))
                self.assertIsInstance(batch, torch.Tensor)
                self.assertEqual(batch.dtype, getattr(torch, name))
                self.assertEqual(batch.to(torch.int64).tolist(), [0, 1, 2] if name != "bool" else [0, 1, 1])

    def test_sample(self):
        batches = list(wick_bridge.sample(tensors="numpy"))
        self.assertEqual([len(b) for b in batches], [2, 2, 2])
        data, target = batches[1]
        self.assertEqual(data.tolist(), [[2.0, 4.0], [3.0, 6.0]])
        self.assertEqual(data.dtype, np.float32)
        self.assertEqual(target.tolist(), [2, 3])
        self.assertEqual(batches[2][0].shape, (1, 2))

    def test_tuple(self):
        numbers, floats, texts = only(wick_bridge.tuple)
        self.assertEqual(numbers.tolist(), [0, 1, 2, 3])
        self.assertEqual(floats.dtype, np.float32)
        self.assertEqual(texts[1:], ["n1", "n2", "n3"])
        self.assertEqual(os.fsencode(texts[0]), b"\xff0")  # not UTF-8

    def test_names(self):
        batch = only(wick_bridge.struct_)
        self.assertEqual(list(batch), ["reward", "observation"])
        self.assertEqual(batch["reward"].tolist(), [0, 0.5, 1, 1.5])
        self.assertEqual(batch["observation"].tolist(), [[0, 1], [1, 2], [2, 3], [3, 4]])
        data, target = only(wick_bridge.indexed)
        self.assertEqual(list(target), ["value", "index", "key"])
        self.assertEqual(target["index"].tolist(), [0, 1, 2, 3])
        self.assertEqual(target["key"][2], "sample 2")

    def test_any_length(self):
        batch = only(wick_bridge.ragged)
        self.assertEqual(batch["lengths"].tolist(), [0, 1, 2, 3])
        self.assertEqual(batch["values"].tolist(), [[-1, -1, -1], [1, -1, -1], [2, 2, -1], [3, 3, 3]])
        batch = only(wick_bridge.packed)
        self.assertEqual(batch["values"].shape, (2, 8))
        self.assertEqual(sorted(v for v in batch["values"].ravel().tolist() if v >= 0), [0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
        self.assertEqual(set(batch), {"values", "segments", "positions", "cu_seqlens", "max_seqlen"})
        self.assertEqual(batch["max_seqlen"], max(np.diff(batch["cu_seqlens"])))

    def test_without_columns(self):
        self.assertEqual(list(wick_bridge.group()), [[(0, "0"), (1, "1")], [(2, "2")]])
        self.assertEqual(list(wick_bridge.bare()), [0, 1, 2])

    def test_into(self):
        @dataclasses.dataclass
        class Step:
            reward: np.ndarray
            observation: np.ndarray

        batch = only(wick_bridge.struct_, into=Step)
        self.assertIsInstance(batch, Step)
        self.assertEqual(batch.reward.tolist(), [0, 0.5, 1, 1.5])
        Pair = collections.namedtuple("Pair", "images labels")
        batch = next(iter(wick_bridge.sample(tensors="numpy", into=Pair)))
        self.assertIsInstance(batch, Pair)
        self.assertEqual(batch.labels.tolist(), [0, 1])
        self.assertEqual(only(wick_bridge.int64, into=lambda a: a.sum()), 3)
        with self.assertRaises(ZeroDivisionError):
            only(wick_bridge.int64, into=lambda a: 1 // 0)
        with self.assertRaises(TypeError):
            only(wick_bridge.struct_, into=Pair)  # other names

    def test_memory_is_the_batchs(self):
        loader = wick_bridge.large(64, tensors="numpy")
        kept, copies = [], []
        for _ in range(6):
            for batch in loader:
                kept.append(batch)
                copies.append(batch.copy())
        del loader, batch
        gc.collect()
        self.assertFalse(any(one.flags.owndata for one in kept))  # no copies
        for one, copy in zip(kept, copies):
            self.assertTrue((one == copy).all())
            self.assertTrue((one == one[:, :1]).all())
        view = kept[0][3]
        del kept, one
        gc.collect()
        self.assertTrue((view == view[0]).all())

    def test_a_reference_cycle_is_collected(self):
        class Trainer:
            def __init__(self):
                self.loader = wick_bridge.int64(tensors="numpy", into=self.make)

            def make(self, batch):
                return self, batch

        threads = len(os.listdir("/proc/self/task"))
        for used in ("not", "once", "kept"):
            trainer = Trainer()
            if used == "once":
                self.assertIs(next(iter(trainer.loader))[0], trainer)
            if used == "kept":
                trainer.batches = iter(trainer.loader)
                self.assertIs(next(trainer.batches)[0], trainer)
            gone = weakref.ref(trainer)
            del trainer
            gc.collect()
            self.assertIsNone(gone())
        until = time.monotonic() + 30  # workers, too; one that has been joined may be listed for a moment
        while len(os.listdir("/proc/self/task")) > threads and time.monotonic() < until:
            time.sleep(0.01)
        self.assertLessEqual(len(os.listdir("/proc/self/task")), threads)

    def test_writing(self):
        loader = wick_bridge.large(64, tensors="numpy")
        for batch in loader.epoch(0):
            batch += 1000
        self.assertEqual(sorted(int(row[0]) for batch in loader.epoch(0) for row in batch), list(range(64)))

    def test_no_growth(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        loader = wick_bridge.large(64, tensors="numpy")
        names = wick_bridge.struct_(tensors="numpy")
        for epoch in range(220):
            if epoch == 20:
                gc.collect()
                before = resident()
            for batch in loader:
                pass
            for batch in names:
                pass
        gc.collect()
        self.assertLess(resident() - before, 4 << 20)  # 200 epochs of 64 rows of 8 KB


if __name__ == "__main__":
    unittest.main()
