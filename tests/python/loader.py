"""Loaders in Python: epochs, states, errors, threads, Ctrl-C, forks, the end."""

import html
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
import wick_bridge


def noise(count=95, batch=10, **options):
    return wick_bridge.noise(count, batch, **{"tensors": "numpy", **options})


def raw(batches):
    return b"".join(a.tobytes() for batch in batches for a in batch)


def run_python(text, **options):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False, **options)


class Epochs(unittest.TestCase):
    def test_same_bytes_as_in_cpp(self):
        for epoch in (0, 1, 7):
            for workers in (1, 2, 4):
                batches = noise(seed=3, workers=workers).epoch(epoch)
                self.assertEqual(raw(batches), wick_bridge.noise_bytes(95, 10, 3, epoch))

    def test_loops_are_epochs(self):
        loader = noise(seed=3)
        self.assertEqual(len(loader), 10)
        self.assertEqual(loader.samples, 95)
        for epoch in range(3):
            self.assertEqual(raw(loader), wick_bridge.noise_bytes(95, 10, 3, epoch))
            self.assertEqual(loader.current_epoch, epoch)
        self.assertEqual(raw(loader.epoch(1)), wick_bridge.noise_bytes(95, 10, 3, 1))
        self.assertEqual(raw(loader), wick_bridge.noise_bytes(95, 10, 3, 2))

    def test_a_loop_that_was_left(self):
        loader = noise(seed=3)
        for _ in loader:
            break
        self.assertEqual(raw(loader), wick_bridge.noise_bytes(95, 10, 3, 1))

    def test_an_iterator_that_was_not_used(self):
        loader = noise(seed=3)
        iter(loader), iter(loader)
        self.assertEqual(raw(loader), wick_bridge.noise_bytes(95, 10, 3, 0))
        batches = iter(loader)
        head = raw([next(batches) for _ in range(4)])
        resumed = noise(seed=3)
        resumed.load_state(loader.state())
        iter(resumed)
        self.assertEqual(head + raw(resumed), wick_bridge.noise_bytes(95, 10, 3, 1))

    def test_iterators(self):
        loader = noise()
        first = iter(loader)
        self.assertIs(iter(first), first)
        self.assertEqual(len(first), 10)
        next(first)
        self.assertEqual(len(first), 9)
        self.assertEqual(len(list(first)), 9)
        for _ in range(3):
            self.assertRaises(StopIteration, next, first)
        second = iter(loader)
        next(second)
        with self.assertRaisesRegex(RuntimeError, "another epoch was begun"):
            next(first)
        self.assertEqual(len(first), 0)
        self.assertEqual(len(list(second)), 9)

    def test_an_iterator_keeps_its_loader(self):
        batches = iter(noise(seed=3))
        self.assertEqual(raw(batches), wick_bridge.noise_bytes(95, 10, 3, 0))

    def test_numbers_of_epochs(self):
        with self.assertRaises(TypeError):
            noise().epoch(-1)
        with self.assertRaisesRegex(wick_bridge.Error, "4294967295"):
            noise().epoch(1 << 32)

    def test_seek(self):
        loader = noise(seed=3)
        batches = list(loader.epoch(2))
        loader.seek(2, 4)
        self.assertEqual(loader.current_epoch, 2)
        self.assertEqual(raw(loader), raw(batches[4:]))
        with self.assertRaisesRegex(wick_bridge.Error, "the epoch has 10 batches"):
            loader.seek(2, 10)

    def test_fingerprint(self):
        loader, other = noise(seed=3, workers=1), noise(seed=3, workers=3)
        for batches in (loader, other):
            self.assertEqual(len(list(batches)), 10)
        self.assertEqual(loader.fingerprint(0), other.fingerprint(0))
        self.assertNotEqual(loader.fingerprint(0), 0)


class States(unittest.TestCase):
    def test_resume(self):
        whole = wick_bridge.noise_bytes(95, 10, 3, 0)
        following = wick_bridge.noise_bytes(95, 10, 3, 1)
        for taken in range(11):
            loader = noise(seed=3)
            batches = iter(loader)
            head = raw([next(batches) for _ in range(taken)])
            state = pickle.loads(pickle.dumps(loader.state_dict()))
            resumed = noise(seed=3, workers=3)
            resumed.load_state_dict(state)
            rest = raw(resumed)
            if taken == 10:
                self.assertEqual(rest, following)
                continue
            self.assertEqual(head + rest, whole)
            self.assertEqual(raw(resumed), following)

    def test_resume_by_a_loader_that_was_used(self):
        loader = noise(seed=3)
        batches = iter(loader)
        head = raw([next(batches) for _ in range(4)])
        state = loader.state_dict()
        self.assertEqual(len(list(loader)), 10)  # the next epoch
        loader.load_state_dict(state)
        self.assertEqual(head + raw(loader), wick_bridge.noise_bytes(95, 10, 3, 0))
        self.assertEqual(raw(loader), wick_bridge.noise_bytes(95, 10, 3, 1))

    def test_a_state_is_loaded_within_a_loop(self):
        loader = noise(seed=3)
        batches = iter(loader)
        head = raw([next(batches) for _ in range(4)])
        state = loader.state_dict()
        next(batches)
        loader.load_state_dict(state)
        self.assertEqual(head + raw(batches), wick_bridge.noise_bytes(95, 10, 3, 0))
        self.assertEqual(raw(loader), wick_bridge.noise_bytes(95, 10, 3, 1))  # the next epoch

    def test_states_of_cpp(self):
        whole = wick_bridge.noise_bytes(95, 10, 3, 0)
        for taken in (1, 4, 9):
            loader = noise(seed=3)
            loader.load_state(wick_bridge.noise_state(95, 10, 3, taken))
            self.assertEqual(raw(loader), whole[taken * 10 * (16 * 4 + 8) :])
            loader = noise(seed=3)
            batches = iter(loader)
            head = raw([next(batches) for _ in range(taken)])
            self.assertEqual(head + wick_bridge.noise_rest(95, 10, 3, loader.state()), whole)

    def test_wrong_states(self):
        loader = noise(seed=3)
        for state in ({}, {"wick": 1}, {"other": b""}):
            with self.assertRaisesRegex(wick_bridge.Error, "state_dict"):
                loader.load_state_dict(state)
        for state in (b"", b"nothing", noise(seed=4).state(), noise(96, seed=3).state()):
            with self.assertRaises(wick_bridge.Error):
                loader.load_state(state)
        self.assertEqual(raw(loader), wick_bridge.noise_bytes(95, 10, 3, 0))


class Errors(unittest.TestCase):
    def test_sample_error(self):
        batches = iter(wick_bridge.failing(5, tensors="numpy"))
        self.assertEqual(next(batches).tolist(), [0, 1, 2, 3])
        with self.assertRaises(wick_bridge.SampleError) as raised:
            next(batches)
        error = raised.exception
        self.assertIsInstance(error, wick_bridge.Error)
        self.assertIsInstance(error, RuntimeError)
        self.assertEqual((error.key, error.stage, error.epoch, error.position), ("sample 5", "check", 0, 5))
        self.assertIn("is 5; give another", str(error))
        self.assertEqual(next(batches).tolist(), [8, 9, 10, 11])

    def test_skip_and_replace(self):
        loader = wick_bridge.failing(5, on_error="skip", tensors="numpy")
        self.assertEqual([b.tolist() for b in loader], [[0, 1, 2, 3], [4, 6, 7], [8, 9, 10, 11]])
        (failure,) = loader.failures
        self.assertEqual((failure["key"], failure["stage"], failure["action"]), ("sample 5", "check", "skip"))
        loader = wick_bridge.failing(5, on_error="replace", tensors="numpy")
        self.assertEqual([len(b) for b in loader], [4, 4, 4])
        self.assertEqual(loader.failures[0]["action"], "replace")
        self.assertRegex(loader.failures[0]["substitute"], "sample [0-9]+")

    def test_quarantine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/quarantine"
            loader = wick_bridge.failing(5, on_error="skip", tensors="numpy")
            list(loader)
            loader.write_quarantine(path)
            again = wick_bridge.failing(5, quarantine=[path], tensors="numpy", on_error="skip")
            self.assertEqual([b.tolist() for b in again], [[0, 1, 2, 3], [4, 6, 7], [8, 9, 10, 11]])
            with self.assertRaisesRegex(wick_bridge.Error, "/nowhere"):
                loader.write_quarantine("/nowhere/at/all")

    def test_delivery_log(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/deliveries"
            batches = len(list(wick_bridge.failing(5, on_error="skip", delivery_log=path, tensors="numpy")))
            lines = [json.loads(line) for line in open(path)]
            self.assertEqual(len(lines), batches + 1)
            self.assertEqual([line["batch"] for line in lines[1:]], list(range(batches)))

    def test_failure_log(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "failures.jsonl")
            list(wick_bridge.failing(5, on_error="skip", failure_log=path, tensors="numpy"))
            with open(path, encoding="utf-8") as f:
                self.assertEqual(json.loads(f.readline())["key"], "sample 5")


class Reports(unittest.TestCase):
    def test_report(self):
        loader = noise(3000)
        list(loader)
        report = loader.report()
        self.assertEqual((report.batches, report.samples), (300, 3000))
        self.assertIn("noise", str(report))
        self.assertIn(report.advice().split()[0], str(report))
        self.assertEqual(report.to_dict()["samples"], 3000)
        self.assertEqual(json.loads(report.to_json()), report.to_dict())
        self.assertTrue(0 <= report.waiting <= 1 and report.seconds > 0)
        frame = report._repr_html_()
        self.assertTrue(frame.startswith('<iframe srcdoc="') and frame.count('"') == 4)
        page = html.unescape(frame.split('"')[1])
        self.assertEqual(page, report.to_html())
        self.assertIn("noise", page)

    def test_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            loader = noise()
            loader.trace(path)
            list(loader)
            loader.stop_trace()
            with open(path, encoding="utf-8") as f:
                self.assertTrue(json.load(f))


class Threads(unittest.TestCase):
    def setUp(self):
        wick_bridge.open_gate(False)

    def test_the_gil_is_free(self):
        batches = iter(wick_bridge.gated(tensors="numpy"))
        opener = threading.Timer(0.3, wick_bridge.open_gate, (True,))
        opener.start()
        begun = time.monotonic()
        self.assertEqual(next(batches).tolist(), [0, 1, 2, 3])  # would never end with the GIL
        self.assertGreaterEqual(time.monotonic() - begun, 0.25)
        opener.join()

    def test_the_gil_is_free_while_a_state_is_made(self):
        loader = wick_bridge.slow_to_hash(tensors="numpy")
        opener = threading.Timer(0.3, wick_bridge.open_gate, (True,))
        opener.start()
        self.assertGreater(len(loader.state()), 0)  # would never end with the GIL
        opener.join()
        self.assertIn("samples", loader.report().to_json())

    def test_two_threads(self):
        batches = iter(wick_bridge.gated(tensors="numpy"))
        found, refused = [], threading.Event()

        def take():
            try:
                found.append(next(batches).tolist())
            except RuntimeError as e:
                found.append(str(e))
                refused.set()

        threads = [threading.Thread(target=take) for _ in range(2)]
        for thread in threads:
            thread.start()
        self.assertTrue(refused.wait(60))
        wick_bridge.open_gate(True)
        for thread in threads:
            thread.join()
        self.assertIn("two threads", found[0])
        self.assertEqual(found[1], [0, 1, 2, 3])

    def test_a_second_thread_asks_while_the_first_waits(self):
        loader = wick_bridge.gated(tensors="numpy")
        found, waiting = [], threading.Event()
        batches = iter(loader)

        def take():
            waiting.set()
            found.append(next(batches).tolist())

        taker = threading.Thread(target=take)
        taker.start()
        waiting.wait()
        calls = [loader.report, loader.state, loader.state_dict, loader.stop_trace, lambda: loader.failures]
        calls += [lambda: loader.fingerprint(0), lambda: loader.write_quarantine("/nowhere"), lambda: loader.seek(0, 0)]
        calls += [lambda: loader.trace("/nowhere/at/all"), lambda: loader.current_epoch, lambda: len(batches)]
        calls += [lambda: loader.epoch(1), lambda: iter(loader)]
        try:
            deadline = time.monotonic() + 60
            for call in calls:
                while True:  # until the first thread is in next()
                    try:
                        call()
                    except RuntimeError as e:
                        if "two threads" in str(e):
                            break
                    self.assertLess(time.monotonic(), deadline)
        finally:
            wick_bridge.open_gate(True)
            taker.join()
        self.assertEqual(loader.failures, [])

    def test_a_signal_handler_asks_while_its_thread_waits(self):
        loader, asked = wick_bridge.gated(tensors="numpy"), []

        def ask(number, frame):
            asked.append((loader.state_dict(), loader.failures, loader.report().batches))
            wick_bridge.open_gate(True)

        before = signal.signal(signal.SIGALRM, ask)
        try:
            batches = iter(loader)
            start = loader.state_dict()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            self.assertEqual(next(batches).tolist(), [0, 1, 2, 3])
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(asked, [(start, [], 0)])
        self.assertNotEqual(loader.state_dict(), start)

    def test_what_a_batch_is_given_to_asks(self):
        def ask(batch):
            return loader.failures, loader.report().batches, batch.tolist()

        wick_bridge.open_gate(True)
        loader = wick_bridge.gated(tensors="numpy", into=ask)
        self.assertEqual(next(iter(loader)), ([], 1, [0, 1, 2, 3]))

    def test_a_loader_that_is_dropped_at_once(self):
        for _ in range(20):
            batches = iter(wick_bridge.gated(tensors="numpy"))
            del batches

    def test_interrupt(self):
        batches = iter(wick_bridge.gated(tensors="numpy"))
        begun = time.monotonic()
        sender = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        sender.start()
        with self.assertRaises(KeyboardInterrupt):
            next(batches)
        self.assertLess(time.monotonic() - begun, 30)
        sender.join()
        wick_bridge.open_gate(True)
        self.assertEqual([b.tolist() for b in batches], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])

    def test_handlers_of_signals(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: (seen.append(1), wick_bridge.open_gate(True)))
        try:
            batches = iter(wick_bridge.gated(tensors="numpy"))
            sender = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
            sender.start()
            self.assertEqual(next(batches).tolist(), [0, 1, 2, 3])
            sender.join()
            self.assertEqual(seen, [1])
        finally:
            signal.signal(signal.SIGUSR1, before)


class Processes(unittest.TestCase):
    def test_interrupt_ends_a_program(self):
        child = subprocess.Popen(
            [sys.executable, "-c", "import wick_bridge\nfor batch in wick_bridge.gated(tensors='numpy'): pass"],
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        _, text = child.communicate(timeout=20)
        self.assertIn("KeyboardInterrupt", text)
        self.assertNotEqual(child.returncode, 0)

    def test_the_end_in_mid_epoch(self):
        for text in (
            "loader = wick_bridge.noise(1000, tensors='numpy'); next(iter(loader))",
            "batches = iter(wick_bridge.noise(1000, tensors='numpy')); next(batches); batch = next(batches)",
            "loader = wick_bridge.gated(); batches = iter(loader)",
            "batch = next(iter(wick_bridge.noise(1000, tensors='numpy'))); import sys; sys.exit(0)",
        ):
            with self.subTest(text):
                done = run_python("import wick_bridge\n" + text)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_fork(self):
        text = """
import os, wick_bridge
loader = wick_bridge.noise(100, tensors="numpy")
next(iter(loader))
child = os.fork()
if child == 0:
    try:
        next(iter(loader))
    except RuntimeError as e:
        print(e, flush=True)
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(list(loader)))
"""
        done = run_python(text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fork", done.stdout)
        self.assertIn("7 10", done.stdout)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell runs this in the background, SIGINT is ignored
    unittest.main()
