"""What mypy and pyright must accept of the package, and what they must refuse: each line with an ignore has that error."""

import pathlib

import wick
from wick import transforms as T

crops: list[T.Transform] = [T.RandomResizedCrop(224, scale=(0.5, 1.0)), T.RandomHorizontalFlip(), T.Normalize([0.5], [0.25])]
train: wick.Loader = wick.image_folder(pathlib.Path("photos"), batch=256, seed=42, transforms=crops, rank=0, world_size=1)
for images, labels in train:
    print(images, labels)
epoch: wick.Epoch = train.epoch(3)
print(len(train), len(epoch), train.samples, train.current_epoch, wick.__version__)
state = train.state_dict()
train.load_state_dict(state)
report: wick.Report = train.report()
names: list[str] = wick.image_classes("photos")
try:
    next(epoch)
except wick.SampleError as error:
    print(error.args)

wick.image_folder("photos", bach=256)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
wick.image_folder(42)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
T.RandomCrop("large")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
train.epochs(3)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
