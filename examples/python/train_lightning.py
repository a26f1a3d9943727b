"""A LightningModule with a loader of wick as train_dataloader: workers and files stay open from epoch to epoch, and Lightning's
checkpoints have the loader's place in the data.

    pip install . lightning
    python3 examples/python/train_lightning.py photos/train --epochs 5
"""

import argparse

import lightning
import torch
import wick
from torch import nn
from wick import transforms as T


class Classifier(lightning.LightningModule):
    def __init__(self, folder, size):
        super().__init__()
        self.folder, self.size = folder, size
        self.model = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, len(wick.image_classes(folder))),
        )

    def train_dataloader(self):
        return wick.image_folder(
            self.folder, batch=64, seed=42, device=self.device,  # where Lightning has put the model
            transforms=[T.RandomResizedCrop(self.size), T.RandomHorizontalFlip(), T.Normalize(0.5, 0.25)],
        )

    def training_step(self, batch, _):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a sub-folder a class")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--size", type=int, default=64, help="of the crops, in pixels")
    parser.add_argument("--resume", help="a checkpoint of Lightning's")
    options = parser.parse_args()
    trainer = lightning.Trainer(max_epochs=options.epochs, accelerator="auto", devices=1)
    trainer.fit(Classifier(options.folder, options.size), ckpt_path=options.resume)
    print(trainer.train_dataloader.report())
