"""The module of examples/python: packed positions as planes."""

import os
import tempfile
import unittest

import my_data
import numpy as np

POSITION = np.dtype([("board", np.uint64, 2), ("score", np.float32), ("ply", np.uint32)])


class Positions(unittest.TestCase):
    def test_planes(self):
        random = np.random.default_rng(1)
        positions = np.zeros(300, POSITION)
        positions["board"] = random.integers(0, 1 << 63, (300, 2), np.uint64)
        positions["score"] = np.arange(300)
        with tempfile.TemporaryDirectory() as folder:
            positions[:100].tofile(os.path.join(folder, "games-0.bin"))
            positions[100:].tofile(os.path.join(folder, "games-1.bin"))
            loader = my_data.positions(os.path.join(folder, "games-*.bin"), batch=64, seed=1, tensors="numpy")
            self.assertEqual(len(loader), 5)
            batches = list(loader)
        self.assertEqual([len(b["score"]) for b in batches], [64] * 4 + [44])
        planes, scores = (np.concatenate([b[name] for b in batches]) for name in ("planes", "score"))
        self.assertEqual(sorted(scores.tolist()), list(range(300)))
        self.assertNotEqual(scores.tolist(), sorted(scores.tolist()))
        boards = positions["board"][scores.astype(int)]
        wanted = boards[:, :, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        self.assertTrue((planes == wanted).all())


if __name__ == "__main__":
    unittest.main()
