"""Trains a small model on a folder of pictures, on a GPU where there is one, and resumes in mid-epoch after Ctrl-C or a kill.

    pip install . torch
    python3 examples/python/train.py photos/train --epochs 5
"""

import argparse
import os

import torch
import wick
from torch import nn
from wick import transforms as T

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", help="a sub-folder a class")
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--size", type=int, default=64, help="of the crops, in pixels")
parser.add_argument("--checkpoint", default="checkpoint.pt")
options = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
train = wick.image_folder(
    options.folder,
    batch=options.batch,
    seed=42,
    device=device,
    transforms=[T.RandomResizedCrop(options.size), T.RandomHorizontalFlip(), T.Normalize(0.5, 0.25)],
    on_error="skip",
)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, len(wick.image_classes(options.folder))),
).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def save():
    """Model, optimizer and place in the data, as one file that is replaced whole."""
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "train": train.state_dict()}
    torch.save(state, options.checkpoint + ".new")
    os.replace(options.checkpoint + ".new", options.checkpoint)


if os.path.exists(options.checkpoint):
    state = torch.load(options.checkpoint)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    train.load_state_dict(state["train"])
    print(f"resumes in epoch {train.current_epoch}")

try:
    for epoch in range(train.current_epoch, options.epochs):
        for images, labels in train.epoch(epoch):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")
        save()
except KeyboardInterrupt:
    save()
    print(f"saved {options.checkpoint} in epoch {train.current_epoch}")
print(train.report())
for key, text in {failure["key"]: failure["text"] for failure in train.failures}.items():
    print(f"left out: {key}: {text}")
