"""TurboLoader's TBL-RAW: a memory map of decoded uint8, cropped, resized and flipped in one go, to float32 in [0, 1].

It has no uint8 output. Its fast path has a thread for each processor, whatever num_workers is. It resizes without
antialiasing. channels_last is its faster layout.
"""
import importlib.metadata as m
import os

from kept import COMPARED, MIDDLE, check, load, np, numbers_of
from peer import SIZE, Missing, serve

try:
    import turboloader
    from turboloader.tbl import open_raw_view
except ImportError as e:
    turboloader = None
    reason = str(e)


def path_of(folder):
    return os.path.join(folder, "pictures.tbl")


def write(workload, folder):
    """preprocess_to_tbl() would decode by itself and make the pictures square; the file is the same."""
    height, width, _ = numbers_of(workload)
    writer = turboloader.TblWriterV2(path_of(folder), enable_compression=False)
    for picture in load(workload, folder):
        writer.add_sample(picture.tobytes(), turboloader.SampleFormat.RAW_U8, width=width, height=height)
    writer.finalize()


def make_batches(dtype):
    def batches(workload, folder, workers):
        if turboloader is None:
            raise Missing(reason)
        if not os.path.exists(path_of(folder)):
            write(workload, folder)
        loader = turboloader.DataLoader(
            path_of(folder), batch_size=numbers_of(workload)[2], num_workers=workers, shuffle=True, image_size=SIZE,
            output_format="pytorch", train_aug=True, hflip_prob=0.5, dtype=dtype, channels_last=True)
        check((batch for batch, _ in loader), load(workload, folder), dtype, 1)
        epoch = 0
        while True:
            epoch += 1
            loader.set_epoch(epoch)
            yield sum(len(batch) for batch, _ in loader)

    return batches


def pictures(folder, workers):
    """By the function that the loader calls."""
    view, height, width = open_raw_view(path_of(folder))
    middle = ((width - MIDDLE) // 2, (height - MIDDLE) // 2, MIDDLE, MIDDLE)
    for window in ((0, 0, width, height), middle):
        out = np.empty((COMPARED, SIZE, SIZE, 3), np.float32)
        turboloader.crop_resize_normalize_u8_gather(
            view, np.arange(COMPARED), np.tile(np.float32(window), (COMPARED, 1)), np.zeros(COMPARED, np.uint8), out)
        yield from np.rint(out * 255).astype(np.uint8)


def about():
    return f"turboloader {m.version('turboloader')}, {os.cpu_count()} threads"


if __name__ == "__main__":
    serve(make_batches("float32"), about, pictures, whole_epochs=True)
