"""FFCV's raw mode: a memory map of decoded uint8, RandomResizedCropRGBImageDecoder and a flip, to uint8.

It resizes by OpenCV's INTER_AREA. numba shares out the loop over a batch; its layer workqueue does so at the least cost,
while with TBB one thread was seen to do all.
"""
import importlib.metadata as m
import os

os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")

from kept import COMPARED, MIDDLE, check, load, numbers_of  # noqa: E402
from peer import SIZE, Missing, serve  # noqa: E402

try:
    from ffcv.fields import RGBImageField
    from ffcv.fields.rgb_image import CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import RandomHorizontalFlip
    from ffcv.writer import DatasetWriter
except ImportError as e:
    Loader = None
    reason = str(e)


class Pictures:
    def __init__(self, pictures):
        self.pictures = pictures

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        return (self.pictures[i],)


def path_of(folder):
    return os.path.join(folder, "pictures.beton")


def batches(workload, folder, workers):
    if Loader is None:
        raise Missing(reason)
    kept = load(workload, folder)
    DatasetWriter(path_of(folder), {"image": RGBImageField(write_mode="raw")}, num_workers=workers).from_indexed_dataset(
        Pictures(kept))
    loader = Loader(
        path_of(folder), batch_size=numbers_of(workload)[2], num_workers=workers, order=OrderOption.RANDOM, os_cache=True,
        drop_last=False, pipelines={"image": [RandomResizedCropRGBImageDecoder((SIZE, SIZE)), RandomHorizontalFlip()]})
    check((batch for (batch,) in loader), kept, "uint8", 255)
    while True:
        yield sum(len(batch) for (batch,) in loader)


def pictures(folder, workers):
    """The whole by the decoder that is measured, with nothing left to chance; the middle by its sister."""
    size = Loader(path_of(folder), batch_size=1, num_workers=1).reader.metadata["f0"][0]
    height, width = int(size["height"]), int(size["width"])
    whole = RandomResizedCropRGBImageDecoder((SIZE, SIZE), scale=(1.0, 1.0), ratio=(width / height, width / height))
    middle = CenterCropRGBImageDecoder((SIZE, SIZE), (MIDDLE + 0.5) / min(height, width))
    for decoder in (whole, middle):
        loader = Loader(
            path_of(folder), batch_size=COMPARED, num_workers=workers, indices=range(COMPARED), pipelines={"image": [decoder]})
        for (batch,) in loader:
            yield from batch


def about():
    import numba

    return f"ffcv {m.version('ffcv')}, {numba.get_num_threads()} threads"


if __name__ == "__main__":
    serve(batches, about, pictures, whole_epochs=True)
