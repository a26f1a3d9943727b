"""wick's own Python package: what its bridge costs, beside wick in C++."""
import importlib.metadata as m

from peer import BATCH, SIZE, Missing, serve

try:
    import wick
    from wick import transforms as T
except ImportError as e:
    wick = None
    reason = str(e)


def loader(workload, folder, workers, **options):
    steps = {
        "rrc": [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip()],
        "large": [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip()],
        "val": [T.Resize(256), T.CenterCrop(SIZE)],
        "full": [],
    }[workload]
    return wick.image_folder(folder, batch=BATCH, transforms=steps, shuffle=workload != "val", workers=workers, **options)


def batches(workload, folder, workers):
    if wick is None:
        raise Missing(reason)
    train = loader(workload, folder, workers)
    while True:
        for images, labels in train:
            yield len(labels)


def pictures(folder, workers):
    for images, _ in loader("val", folder, workers, tensors="numpy"):
        yield from images.transpose(0, 2, 3, 1)


def about():
    return f"wick {m.version('wick')} as a Python package"


if __name__ == "__main__":
    serve(batches, about, pictures)
