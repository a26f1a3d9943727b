"""Functions that give loaders: arguments, keywords, pipelines chosen at run time."""

import unittest

import numpy as np
import wick_bridge


def values(loader):
    return [int(v) for batch in loader for v in batch]


class Functions(unittest.TestCase):
    def test_arguments(self):
        self.assertEqual(values(wick_bridge.none(tensors="numpy")), list(range(10)))
        self.assertEqual(values(wick_bridge.function(6, tensors="numpy")), list(range(6)))
        self.assertEqual(values(wick_bridge.function(count=6, tensors="numpy")), list(range(6)))
        self.assertEqual(len(wick_bridge.shuffled(100)), 25)
        self.assertEqual(len(wick_bridge.shuffled(100, 10)), 10)
        with self.assertRaises(TypeError):
            wick_bridge.shuffled()
        with self.assertRaises(TypeError):
            wick_bridge.shuffled(100, 4, 42)  # seed is a keyword
        with self.assertRaises(TypeError):
            wick_bridge.shuffled(100, sed=42)

    def test_signature(self):
        text = wick_bridge.shuffled.__doc__
        for part in ("count: int", "batch: int = 4", "seed: int = 0", "-> wick_bridge.Loader", "Numbers from 0 on"):
            self.assertIn(part, text)

    def test_seed_and_workers(self):
        one = values(wick_bridge.shuffled(100, seed=1, workers=1, tensors="numpy"))
        self.assertEqual(sorted(one), list(range(100)))
        self.assertEqual(one, values(wick_bridge.shuffled(100, seed=1, workers=3, prefetch=2, tensors="numpy")))
        self.assertNotEqual(one, values(wick_bridge.shuffled(100, seed=2, tensors="numpy")))

    def test_chosen_at_run_time(self):
        in_order = values(wick_bridge.either(False, tensors="numpy"))
        self.assertEqual(in_order, list(range(10)))
        shuffled = values(wick_bridge.either(True, tensors="numpy"))
        self.assertNotEqual(shuffled, in_order)
        self.assertEqual(sorted(shuffled), in_order)

    def test_wrong_keywords(self):
        for options, text in (
            ({"on_error": "ignore"}, 'on_error="ignore": it may be "fail", "skip" or "replace"'),
            ({"tensors": "jax"}, 'tensors="jax": it may be "torch", "numpy" or "auto"'),
            ({"hang_after": -1.0}, "give seconds"),
            ({"hang_after": float("nan")}, "give seconds"),
            ({"workers": 100_000}, "workers"),
            ({"workers": 0}, "workers is 0; it is at least 1, or left out"),
            ({"failure_log": "/nowhere/at/all"}, "/nowhere/at/all"),
            ({"quarantine": ["/nowhere/at/all"]}, "/nowhere/at/all"),
        ):
            with self.subTest(options):
                with self.assertRaisesRegex(wick_bridge.Error, text):
                    wick_bridge.none(**options)
        with self.assertRaisesRegex(wick_bridge.Error, "batch"):
            wick_bridge.shuffled(10, 0)

    def test_tensors_by_default(self):
        import importlib.util

        (batch,) = list(wick_bridge.function(4))
        if importlib.util.find_spec("torch") is None:
            self.assertIsInstance(batch, np.ndarray)
        else:
            import torch

            self.assertIsInstance(batch, torch.Tensor)

    def test_no_copies(self):
        import copy
        import pickle

        for call in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaises(TypeError):
                call(wick_bridge.none())
        with self.assertRaises(TypeError):
            wick_bridge.Loader()


if __name__ == "__main__":
    unittest.main()
