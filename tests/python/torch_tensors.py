"""Batches of LibTorch's tensors in Python, without a copy. With PyTorch where the module is built with its LibTorch."""

import gc
import sys
import unittest

import numpy as np

try:
    import wick_torch_bridge as bridge
except ModuleNotFoundError:
    sys.exit(77)  # built without LibTorch


class Tensors(unittest.TestCase):
    def test_each_row_comes_once_with_its_target(self):
        loader = bridge.rows(100, 8, seed=3, tensors="numpy")
        for _ in range(2):
            seen = []
            for data, target in loader:
                self.assertEqual((data.dtype, data.shape[1:], target.dtype), (np.float32, (3,), np.int64))
                np.testing.assert_array_equal(data[:, 0], target)
                np.testing.assert_array_equal(data[:, 1:], np.broadcast_to([1, 2], (len(target), 2)))
                seen += target.tolist()
            self.assertEqual(sorted(seen), list(range(100)))

    def test_memory_is_shared_and_outlives_the_loader(self):
        ((data, address),) = list(bridge.addressed(tensors="numpy"))
        gc.collect()
        self.assertEqual(data.ctypes.data, address)
        np.testing.assert_array_equal(data, [[0, 1, 2], [1, 1, 2]])
        kept = [batch for _ in range(50) for batch in bridge.rows(64, 8, tensors="numpy")]
        gc.collect()
        for data, target in kept:
            np.testing.assert_array_equal(data[:, 0], target)

    def test_strides(self):
        batches = list(bridge.turned(tensors="numpy"))
        np.testing.assert_array_equal(batches[1][0], [[2, 3], [1, 1], [2, 2]])
        self.assertEqual(batches[1][0].strides, (4, 12))

    def test_a_view_of_negated_numbers(self):
        (batch,) = list(bridge.negated(tensors="numpy"))
        np.testing.assert_array_equal(batch, [[-1, -2], [-1, -2]])

    def test_types_and_devices_that_numpy_has_not(self):
        self.assertEqual(next(iter(bridge.halves(False, tensors="numpy"))).dtype, np.float16)
        with self.assertRaisesRegex(RuntimeError, "NumPy has no bfloat16"):
            next(iter(bridge.halves(True, tensors="numpy")))
        with self.assertRaisesRegex(RuntimeError, "a tensor on meta can't be given to Python"):
            next(iter(bridge.nowhere(tensors="numpy")))

    def test_states_and_lengths(self):
        loader = bridge.rows(100, 8, seed=3, tensors="numpy")
        self.assertEqual(len(loader), 13)
        whole = [target.tolist() for _, target in loader]
        again = bridge.rows(100, 8, seed=3, tensors="numpy")
        batches = iter(again)
        for _ in range(5):
            next(batches)
        other = bridge.rows(100, 8, seed=3, tensors="numpy")
        other.load_state_dict(again.state_dict())
        self.assertEqual([target.tolist() for _, target in other], whole[5:])

    def test_pytorch(self):
        try:
            import torch
        except ModuleNotFoundError:
            self.skipTest("no PyTorch")
        if torch.__version__.split("+")[0] != bridge.libtorch:
            self.skipTest(f"the module is built with LibTorch {bridge.libtorch}")
        data, address = next(iter(bridge.addressed()))
        self.assertEqual((data.data_ptr(), data.dtype), (address, torch.float32))
        data, target = next(iter(bridge.rows(100, 8)))
        self.assertTrue(torch.equal(data[:, 0].long(), target))
        self.assertEqual(next(iter(bridge.halves(True))).dtype, torch.bfloat16)
        self.assertEqual(next(iter(bridge.turned()))[0].stride(), (1, 3))


if __name__ == "__main__":
    unittest.main()
