"""device="cuda", by a PyTorch of this test's own, whose streams, events and page-locking it holds in its hands. tests/gpu has
the real one."""

import contextlib
import ctypes
import sys
import threading
import time
import types
import unittest
from unittest import mock

import numpy as np
import wick


class Tensor:
    """In the host's memory, wherever it is said to be."""

    def __init__(self, array, device=None):
        self.array, self.device = array, device

    def data_ptr(self):
        return self.array.ctypes.data

    def to(self, device, non_blocking=False):
        return Tensor(self.array.copy(), device)


class Capsule:
    """What nanobind before version 2.8 gives."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class Device:
    def __init__(self, name, index=None):
        if isinstance(name, Device):
            name = str(name)
        self.type, _, number = name.partition(":")
        self.index = int(number) if number else index
        if self.type not in ("cpu", "cuda", "xpu"):
            raise RuntimeError(f"Expected one of cpu, cuda, xpu device type at start of device string: {name}")

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


class Event:
    """Happens when the test says so."""

    def __init__(self, happened):
        self.happened = happened

    def query(self):
        return self.happened

    def synchronize(self):
        self.happened = True


class Stream:
    def __init__(self, device=None, priority=0):
        self.priority = priority
        self.happens = True
        self.events, self.waits = [], []

    def record_event(self):
        self.events.append(Event(self.happens))
        return self.events[-1]

    def wait_event(self, event):
        self.waits.append(event)


class Gpu:
    """What wick asks of torch.cuda. A copy is made at once; when it has happened is what the streams' events say."""

    def __init__(self):
        self.current, self.side = Stream(), None
        self.inside, self.used = [], 0
        self.locked, self.locks, self.fault, self.faultless = {}, 0, 0, 0
        self.copies = []  # of the host's memory: address, bytes then

    def stream_of(self, device, priority):
        self.side = Stream(device, priority)
        return self.side

    @contextlib.contextmanager
    def entered(self, stream):
        self.inside.append(stream)
        yield
        self.inside.pop()

    def lock(self, address, size, flags):
        assert address not in self.locked and flags == 0
        self.faultless -= 1
        if self.faultless >= 0 or not self.fault:
            self.locked[address] = size
            self.locks += 1
            return 0
        return self.fault

    def unlock(self, address):
        del self.locked[address]
        return 0

    def __enter__(self):
        gpu = self

        class Copied(Tensor):
            def to(self, device, non_blocking=False):
                assert (device.type, device.index) == ("cuda", 1) and non_blocking
                assert gpu.inside == [gpu.side]
                assert gpu.locked[self.data_ptr()] >= self.array.nbytes
                gpu.copies.append((self.data_ptr(), self.array.tobytes()))
                return Copied(self.array.copy(), device)

            def record_stream(self, stream):
                assert stream is gpu.current
                gpu.used += 1

        self.patch = fake_torch(Copied, types.SimpleNamespace(
            device_count=lambda: 2, current_device=lambda: 1, Stream=self.stream_of, stream=self.entered,
            current_stream=lambda device: self.current,
            cudart=lambda: types.SimpleNamespace(cudaHostRegister=self.lock, cudaHostUnregister=self.unlock)))
        self.patch.start()
        return self

    def __exit__(self, *_):
        self.patch.stop()


def fake_torch(tensor, cuda):
    fake_torch.tensor = tensor
    torch, utils, dlpack = (types.ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.dlpack"))
    torch.Tensor, torch.device, torch.cuda, torch.utils, utils.dlpack = tensor, Device, cuda, utils, dlpack
    # nanobind keeps the first one that it finds.
    dlpack.from_dlpack = lambda a: fake_torch.tensor(np.from_dlpack(a if hasattr(a, "__dlpack__") else Capsule(a)))
    return mock.patch.dict(sys.modules, {module.__name__: module for module in (torch, utils, dlpack)})


DATA = np.random.default_rng(1).integers(0, 256, (400, 3, 16, 16), np.uint8)
TARGET = np.arange(400)


def loader(**options):
    return wick.tensors(DATA, TARGET, **{"batch": 20, "seed": 3, "workers": 2, "prefetch": 3, "tensors": "torch", "device": "cuda", **options})


class ToDevice(unittest.TestCase):
    def test_the_same_batches(self):
        expected = [(d.copy(), t.copy()) for d, t in loader(tensors="numpy", device="cpu")]
        with Gpu() as gpu:
            train = loader()
            for _ in range(2):
                train.load_state(loader(device="cpu").state())
                batches = list(train)
                self.assertEqual(len(batches), 20)
                for (data, target), (d, t) in zip(batches, expected):
                    np.testing.assert_array_equal(data.array, d)
                    np.testing.assert_array_equal(target.array, t)
            self.assertLess(gpu.side.priority, 0)
            self.assertEqual(gpu.used, 80)
            self.assertEqual(gpu.current.waits, gpu.side.events)
            self.assertLessEqual(gpu.locks, 2 * 20)  # each block once
            del train
            self.assertEqual(gpu.locked, {})

    def test_memory_that_the_device_has_yet_to_read_stays(self):
        with Gpu() as gpu:
            train = loader()
            batches = iter(train)
            next(batches)
            gpu.side.happens = False
            for _ in range(12):
                next(batches)
            time.sleep(0.1)
            for address, before in gpu.copies[2:]:
                self.assertEqual(ctypes.string_at(address, len(before)), before)
            self.assertEqual(len({address for address, _ in gpu.copies[2:]}), 24)
            for event in gpu.side.events:
                event.happened = True
            gpu.side.happens = True
            self.assertEqual(len(list(batches)), 7)
            locks = gpu.locks
            for _ in range(3):
                self.assertEqual(len(list(train)), 20)
            self.assertEqual(gpu.locks, locks)  # blocks are used again

    def test_a_loop_four_batches_ahead_waits(self):
        with Gpu() as gpu:
            gpu.current.happens = False
            train = loader()
            taken = []

            def loop():
                for _ in train:
                    taken.append(1)

            thread = threading.Thread(target=loop)
            thread.start()
            deadline = time.monotonic() + 60
            while len(taken) < 4 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            self.assertEqual(len(taken), 4)
            gpu.current.happens = True
            for event in gpu.current.events:
                event.happened = True
            thread.join()
            self.assertEqual(len(taken), 20)

    def test_a_device_as_an_object(self):
        with Gpu() as gpu:
            self.assertEqual(len(list(loader(device=Device("cuda", 1)))), 20)
            self.assertEqual(len(gpu.copies), 40)
            self.assertIsNone(next(iter(loader(device=Device("cpu"))))[0].device)

    def test_into_gets_what_lies_there(self):
        seen = []
        with Gpu():
            for _ in loader(into=lambda data, target: seen.append(data)):
                pass
        self.assertEqual(len(seen), 20)

    def test_blocks_go_when_a_loop_is_left(self):
        with Gpu() as gpu:
            train = loader()
            for _ in train:
                break
            gpu.side.happens = False
            next(iter(train))
            del train
            self.assertTrue(gpu.side.events[-1].happened)  # it was waited for
            self.assertEqual(gpu.locked, {})

    def test_no_memory_to_lock(self):
        with Gpu() as gpu:
            train = loader()
            gpu.fault = 2
            with self.assertRaisesRegex(wick.Error, "page-locked, CUDA's error 2; give a smaller prefetch or batch"):
                next(iter(train))
            gpu.fault = 0
            self.assertEqual(len(list(train)), 20)

    def test_a_batch_of_which_only_a_part_is_copied_stays_until_that_is_read(self):
        with Gpu() as gpu:
            train = loader()
            batches = iter(train)
            gpu.side.happens = False
            gpu.fault, gpu.faultless = 2, 1  # of the two tensors, the second
            with self.assertRaisesRegex(wick.Error, "page-locked"):
                next(batches)
            gpu.fault = 0
            (address, before), = gpu.copies
            for _ in range(8):
                next(batches)
            self.assertEqual(ctypes.string_at(address, len(before)), before)
            self.assertEqual([a for a, _ in gpu.copies].count(address), 1)

    def test_refused(self):
        with self.assertRaisesRegex(wick.Error, 'device="cuda" is PyTorch\'s, and batches are NumPy\'s'):
            loader(tensors="numpy")
        with Gpu():
            with self.assertRaisesRegex(wick.Error, 'device="cuda:2": PyTorch sees 2 .* LOCAL_RANK'):
                loader(device="cuda:2")
            with self.assertRaisesRegex(RuntimeError, "nowhere"):
                loader(device="nowhere")
        with fake_torch(Tensor, types.SimpleNamespace(device_count=lambda: 0)):
            with self.assertRaisesRegex(wick.Error, 'device="cuda": PyTorch sees 0 .* write device="cpu"'):
                loader()

    def test_other_kinds_of_device(self):
        with fake_torch(Tensor, None):
            data, target = next(iter(loader(device="xpu")))
            self.assertEqual((data.device.type, data.array.shape, target.device.type), ("xpu", (20, 3, 16, 16), "xpu"))
            data, _ = next(iter(loader(device="cpu")))
            self.assertIsNone(data.device)

    def test_tuples_dicts_and_lists(self):
        try:
            import wick_bridge as bridge
        except ModuleNotFoundError:
            self.skipTest("no module of the tests' pipelines")

        def values(of):
            if isinstance(of, Tensor):
                self.assertEqual(of.device.type, "cuda")
                return of.array.tolist()
            if isinstance(of, np.ndarray):
                return of.tolist()
            if isinstance(of, dict):
                return {name: values(each) for name, each in of.items()}
            return type(of)(map(values, of)) if isinstance(of, (tuple, list)) else of

        for name in ("sample", "tuple", "struct_", "indexed", "ragged", "packed", "group"):
            with self.subTest(name), Gpu():
                make = getattr(bridge, name)
                self.assertEqual([values(b) for b in make(tensors="torch", device="cuda")],
                                 [values(b) for b in make(tensors="numpy")])


if __name__ == "__main__":
    unittest.main()
