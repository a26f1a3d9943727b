"""The examples in examples/python, with PyTorch and Lightning where they are installed: that a training resumes in mid-epoch."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import png  # noqa: E402

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python")


def needs(name):
    return unittest.skipIf(importlib.util.find_spec(name) is None, f"no {name}")


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.photos = os.path.join(cls.kept.name, "photos")
        random = np.random.default_rng(1)
        for i in range(600):
            folder = os.path.join(cls.photos, "ab"[i % 2])
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{i}.png"), "wb") as f:
                f.write(png(random.integers(0, 256, (24, 24, 3), np.uint8)))

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @needs("torch")
    def test_train(self):
        checkpoint = os.path.join(self.kept.name, "checkpoint.pt")
        command = [sys.executable, os.path.join(EXAMPLES, "train.py"), self.photos, "--size", "16", "--checkpoint", checkpoint]
        child = subprocess.Popen(command + ["--epochs", "100000"], stdout=subprocess.PIPE, text=True)
        while not os.path.exists(checkpoint):
            self.assertIsNone(child.poll())
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        text, _ = child.communicate(timeout=60)
        saved = re.search(r"saved .*checkpoint.pt in epoch ([0-9]+)", text)
        self.assertTrue(saved, text)
        epoch = int(saved.group(1))
        done = subprocess.run(command + ["--epochs", str(epoch + 2)], capture_output=True, text=True, timeout=60, check=True)
        self.assertRegex(done.stdout, f"resumes in epoch ({epoch}|{epoch + 1})\n")
        self.assertIn(f"epoch {epoch + 1}: loss", done.stdout)

    @needs("lightning")
    def test_lightning(self):
        import lightning
        from lightning.pytorch.callbacks import ModelCheckpoint

        sys.path.insert(0, EXAMPLES)
        from train_lightning import Classifier

        class Sums(lightning.Callback):
            def __init__(self):
                self.seen = []

            def on_train_batch_end(self, trainer, module, outputs, batch, number):
                self.seen.append((trainer.current_epoch, number, batch[0].sum().item()))

        def fit(*callbacks, **options):
            sums = Sums()
            trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
                                        enable_model_summary=False, callbacks=[sums, *callbacks],
                                        default_root_dir=self.kept.name)
            trainer.fit(Classifier(self.photos, 16), weights_only=False, **options)
            return sums.seen

        folder = os.path.join(self.kept.name, "lightning")
        whole = fit(ModelCheckpoint(folder, every_n_train_steps=13, save_top_k=-1))
        self.assertEqual(len(whole), 30)
        self.assertEqual(len({s for _, _, s in whole}), 30)  # each epoch has its own order
        (saved,) = [name for name in os.listdir(folder) if "step=13" in name]
        self.assertEqual(fit(ckpt_path=os.path.join(folder, saved)), whole[13:])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell runs this in the background, SIGINT is ignored
    unittest.main()
